"""Node: one call of a layer on tensors that layers made, an edge of the graph that models are made of.

A tensor knows the call it comes from: ``tensor._keras_history`` is the layer, the number of the call and the number of the
output.  Layers know their calls: ``_inbound_nodes`` made their outputs, ``_outbound_nodes`` take them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from headrace.library import nest
from headrace.library.backend.keras_tensor import int_shape, unnested


class KerasHistory(NamedTuple):
    """Where a tensor comes from: a layer, which of its calls, which output of that call."""

    layer: Any
    node_index: int
    tensor_index: int


class Node:
    """One call of a layer.  Made once, when it happens; it registers itself with the layers that it links.

    Args:
      layer: The layer that was called.
      inputs: Its first argument; None for a layer that is an input itself.
      args, kwargs: The other arguments.
      outputs: What it returned.
      connect: Whether the outputs come from this call; False for a model's own link from its inputs to its outputs.
    """

    def __init__(
        self, layer: Any, inputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any, connect: bool = True
    ) -> None:  # fmt: skip
        self.layer = layer
        self.call_args = args
        self.call_kwargs = kwargs
        self.is_input = inputs is None
        self.input_tensors = [outputs] if inputs is None else unnested(inputs)
        self.output_tensors = [outputs] if inputs is None else outputs
        self.outputs = outputs
        self.inputs = inputs
        flat = () if inputs is None or not connect else nest.flatten((inputs, args, list(kwargs.values())))
        self.keras_inputs: list[Any] = [t for t in flat if getattr(t, "_keras_history", None) is not None]
        self.input_shapes = nest.map_structure(int_shape, self.input_tensors)
        self.output_shapes = nest.map_structure(int_shape, self.output_tensors)
        for tensor in self.keras_inputs:
            tensor._keras_history.layer._outbound_nodes.append(self)
        index = len(layer._inbound_nodes)
        layer._inbound_nodes.append(self)
        if self.is_input or (self.keras_inputs and all(hasattr(t, "_keras_history") for t in nest.flatten(inputs))):
            for i, tensor in enumerate(nest.flatten(outputs)):
                tensor._keras_history = KerasHistory(layer, index, i)

    @property
    def outbound_layer(self) -> Any:
        """The layer that was called."""
        return self.layer

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments besides the first, by name."""
        return {**dict(zip(self.layer._call_names[1:], self.call_args, strict=False)), **self.call_kwargs}

    @property
    def parents(self) -> list[Node]:
        """The calls that made the inputs."""
        return [t._keras_history.layer._inbound_nodes[t._keras_history.node_index] for t in self.keras_inputs]

    @property
    def inbound_layers(self) -> Any:
        """The layers that made the inputs; one alone is not in a list."""
        return unnested([t._keras_history.layer for t in self.keras_inputs])

    @property
    def node_indices(self) -> Any:
        """Which calls of these layers made the inputs."""
        return unnested([t._keras_history.node_index for t in self.keras_inputs])

    @property
    def tensor_indices(self) -> Any:
        """Which outputs of these calls the inputs are."""
        return unnested([t._keras_history.tensor_index for t in self.keras_inputs])

    def iterate_inbound(self) -> Iterator[tuple[Any, int, int, Any]]:
        """For each input: the layer that made it, which call, which output, the tensor."""
        for tensor in self.keras_inputs:
            yield (*tensor._keras_history, tensor)

    def get_config(self) -> dict[str, Any]:
        """What is known of the call, as plain data."""
        inbound = [t._keras_history for t in self.keras_inputs]
        return {
            "outbound_layer": self.layer.name,
            "inbound_layers": [history.layer.name for history in inbound],
            "node_indices": [history.node_index for history in inbound],
            "tensor_indices": [history.tensor_index for history in inbound],
        }


class Connected:
    """What a layer says of the calls it was part of."""

    name: str
    _inbound_nodes: list[Node]
    _outbound_nodes: list[Node]

    @property
    def inbound_nodes(self) -> list[Node]:
        """The calls of this layer."""
        return self._inbound_nodes

    @property
    def outbound_nodes(self) -> list[Node]:
        """The calls that take what this layer made."""
        return self._outbound_nodes

    def _of_node(self, node_index: int, field: str, what: str) -> Any:
        if not self._inbound_nodes:
            raise RuntimeError(f"The layer {self.name} has never been called and thus has no defined {what}.")
        if not 0 <= node_index < len(self._inbound_nodes):
            raise ValueError(
                f"Asked to get {what} at node {node_index}, but the layer {self.name} has only "
                f"{len(self._inbound_nodes)} inbound nodes."
            )
        values = getattr(self._inbound_nodes[node_index], field)
        return values[0] if isinstance(values, list) and len(values) == 1 else values

    def get_input_at(self, node_index: int) -> Any:
        """The input of the call with this number."""
        return self._of_node(node_index, "input_tensors", "input")

    def get_output_at(self, node_index: int) -> Any:
        """The output of the call with this number."""
        return self._of_node(node_index, "output_tensors", "output")

    def get_input_shape_at(self, node_index: int) -> Any:
        """The static shape of the input of the call with this number."""
        return self._of_node(node_index, "input_shapes", "input shape")

    def get_output_shape_at(self, node_index: int) -> Any:
        """The static shape of the output of the call with this number."""
        return self._of_node(node_index, "output_shapes", "output shape")

    def get_input_mask_at(self, node_index: int) -> Any:
        """The mask of the input of the call with this number."""
        return _masks(self.get_input_at(node_index))

    def get_output_mask_at(self, node_index: int) -> Any:
        """The mask of the output of the call with this number."""
        return _masks(self.get_output_at(node_index))

    @property
    def input(self) -> Any:
        """The input of the layer's first call."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} is not connected, no input to return.")
        return self._of_node(0, "input_tensors", "input")

    @property
    def output(self) -> Any:
        """The output of the layer's first call."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")
        return self._of_node(0, "output_tensors", "output")

    @property
    def input_mask(self) -> Any:
        """The mask of the input of the layer's first call."""
        return _masks(self.input)

    @property
    def output_mask(self) -> Any:
        """The mask of the output of the layer's first call."""
        return _masks(self.output)

    @property
    def input_shape(self) -> Any:
        """The static shape of the layer's input, if it is the same in all calls."""
        return self._same_in_all_calls("input_shapes", "input shape")

    @property
    def output_shape(self) -> Any:
        """The static shape of the layer's output, if it is the same in all calls."""
        return self._same_in_all_calls("output_shapes", "output shape")

    def _same_in_all_calls(self, field: str, what: str) -> Any:
        if not self._inbound_nodes:
            raise AttributeError(f"The layer {self.name} has never been called and thus has no defined {what}.")
        if len({str(getattr(node, field)) for node in self._inbound_nodes}) > 1:
            raise AttributeError(
                f'The layer "{self.name}" has multiple inbound nodes with different {what}s, hence the notion of "{what}" '
                f"is ill-defined for the layer. Use `get_{what.replace(' ', '_')}_at(node_index)` instead."
            )
        return getattr(self._inbound_nodes[0], field)


def _masks(tensors: Any) -> Any:
    if isinstance(tensors, list):
        return [getattr(t, "_keras_mask", None) for t in tensors]
    return getattr(tensors, "_keras_mask", None)
