"""TensorFlowOpLayer: an op between layers as a layer, so that a model can run it on other inputs.

Inputs of the op that no layer made are its constants: in the graph they were built in the tensors themselves, elsewhere
their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.core.proto import protos
from headrace.core.registry import REGISTRY
from headrace.graph import context
from headrace.graph.convert import convert_to_tensor
from headrace.graph.graph import Graph
from headrace.graph.importer import import_graph_def
from headrace.graph.infer import constant_value
from headrace.graph.operation import Operation
from headrace.library import nest
from headrace.library.backend.graph import in_keras_graph
from headrace.library.backend.graph_copy import computed_again
from headrace.library.backend.keras_tensor import unnested
from headrace.library.backend.session import get_session
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.history import install_op_layers
from headrace.library.layers.node import Node

_PREFIX = "tf_op_layer_"


class TensorFlowOpLayer(Layer):
    """One op as a layer.

    Args:
      node_def: The op as a NodeDef, as its dictionary, or the operation itself.
      name: The name of the op; the layer's begins with "tf_op_layer_".
      constants: The inputs that no layer makes, by their index.
      trainable: Accepted for the sake of configurations; the layer has no variables.
      dtype: Accepted for the sake of configurations.
    """

    def __init__(
        self, node_def: Any, name: str, constants: Mapping[Any, Any] | None = None, trainable: bool = True,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(name=_PREFIX + name, trainable=trainable, dtype=dtype)
        self._operation = node_def if isinstance(node_def, Operation) else _imported(node_def)
        self._node_def = None if isinstance(node_def, Operation) else node_def
        self.constants = {int(index): value for index, value in (constants or {}).items()}
        self.built = True

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        """Runs the op on other inputs."""
        every = nest.flatten(inputs)
        for index in sorted(self.constants):
            every.insert(index, self._constant(self.constants[index]))
        op = self._operation
        graph = context.get_default_graph()
        name = op.name.split("/")[-1]
        made = graph.create_op(op.op_def, every, [t.dtype for t in op.outputs], name=name, attrs=dict(op.attrs))
        return unnested(list(made._outputs))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shapes of the outputs of the op for inputs of some shapes."""
        return self._shape_of_outputs(input_shape)

    def _constant(self, value: Any) -> Any:
        graph = context.get_default_graph()
        own = getattr(value, "graph", None)
        if own is None:
            return convert_to_tensor(value)
        if own is graph or getattr(graph, "root", graph) is own:
            return value
        return computed_again([value], {}, graph)[0] if in_keras_graph(own) else convert_to_tensor(_known(value))

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        config = super().get_config()
        node_def = self._node_def or self._operation.node_def
        return {
            **config, "name": config["name"].removeprefix(_PREFIX), "node_def": _to_dict(node_def),
            "constants": {index: np.asarray(_known(value)).tolist() for index, value in self.constants.items()},
        }  # fmt: skip

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A new layer, from what `get_config` gives."""
        return cls(**{**config, "node_def": _from_dict(config["node_def"])})


def _known(value: Any) -> Any:
    """The value of a constant of an op."""
    if not hasattr(value, "graph"):
        return value
    known = constant_value(value)
    if known is not None:
        return known
    if in_keras_graph(value.graph):
        return computed_again([value], {}, value.graph.outer_graph)[0].numpy()
    return get_session((value,)).run(value)


def _imported(node_def: Any) -> Operation:
    """The op of a NodeDef, in a graph of its own with placeholders for its inputs."""
    node = protos().NodeDef()
    node.CopyFrom(node_def)
    graph_def = protos().GraphDef()
    types = _input_types(node)
    del node.input[:]
    for i, type_number in enumerate(types):
        stand_in = graph_def.node.add(name=f"input_{i}", op="Placeholder")
        stand_in.attr["dtype"].type = type_number
        node.input.append(stand_in.name)
    graph_def.node.append(node)
    with Graph().as_default():
        op = (import_graph_def(graph_def, return_elements=[node.name], name="") or [None])[0]
    assert isinstance(op, Operation)
    return op


def _input_types(node: Any) -> list[int]:
    """The dtypes of the inputs of an op, by their numbers in messages."""
    types: list[int] = []
    for arg in REGISTRY.get(node.op).signature.inputs:
        if arg.type_list_attr:
            types += node.attr[arg.type_list_attr].list.type
        else:
            type_number = arg.dtype.as_datatype_enum if arg.dtype else node.attr[arg.type_attr].type
            types += [type_number] * (node.attr[arg.number_attr].i if arg.number_attr else 1)
    return types


def _to_dict(node_def: Any) -> Any:
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(node_def)


def _from_dict(data: Any) -> Any:
    from google.protobuf.json_format import ParseDict

    return ParseDict(data, protos().NodeDef()) if isinstance(data, dict) else data


def make_op_layer(op: Operation, from_layers: Sequence[Any]) -> None:
    """Makes the layer of an op that takes tensors of layers."""
    constants = {i: t for i, t in enumerate(op.inputs) if not hasattr(t, "_keras_history")}
    layer = TensorFlowOpLayer(op, op.name, constants)
    Node(layer, unnested(list(from_layers)), (), {}, list(op.outputs))


install_op_layers(make_op_layer)
