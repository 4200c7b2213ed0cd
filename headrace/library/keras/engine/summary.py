"""The table of a model's layers that ``model.summary()`` prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.library.layers.tracking import unique

_COLUMNS = ["Layer (type)", "Output Shape", "Param #"]


def print_summary(
    model: Any, line_length: int | None = None, positions: Sequence[float] | None = None,
    print_fn: Callable[[str], Any] | None = None,
) -> None:  # fmt: skip
    """Prints the table, line by line."""
    write = print if print_fn is None else print_fn
    in_sequence = _is_sequence(model)
    line_length = line_length or (65 if in_sequence else 98)
    shares = positions or ([0.45, 0.85, 1.0] if in_sequence else [0.33, 0.55, 0.67, 1.0])
    ends = [int(line_length * p) for p in shares] if shares[-1] <= 1 else [int(p) for p in shares]
    write(f'Model: "{model.name}"')
    write("_" * line_length)
    write(_row(_COLUMNS if in_sequence else [*_COLUMNS, "Connected to"], ends))
    write("=" * line_length)
    layers = model.layers
    for i, layer in enumerate(layers):
        fields = [f"{layer.name} ({type(layer).__name__})", _output_shape(layer), _parameters(layer)]
        if in_sequence:
            write(_row(fields, ends))
        else:
            _write_connected(write, fields, _connections(model, layer), ends)
        write(("=" if i == len(layers) - 1 else "_") * line_length)
    trainable, fixed = _count(model.trainable_weights), _count(model.non_trainable_weights)
    collected = model.__dict__.get("_collected_trainable_weights")  # what a compiled model trains
    trainable = trainable if collected is None else _count(collected)
    write(f"Total params: {trainable + fixed:,}")
    write(f"Trainable params: {trainable:,}")
    write(f"Non-trainable params: {fixed:,}")
    write("_" * line_length)


def _is_sequence(model: Any) -> bool:
    """Whether each layer takes what the one before it makes."""
    if type(model).__name__ == "Sequential" or not model._is_graph_network:
        return True
    nodes: list[Any] = []
    for at_depth in model._topology.nodes_by_depth.values():
        if len(at_depth) > 1 or len(at_depth[0].keras_inputs) > 1:
            return False
        nodes += at_depth
    return all(sum(node in nodes for node in layer._inbound_nodes) <= 1 for layer in model.layers)


def _row(fields: Sequence[Any], ends: Sequence[int]) -> str:
    line = ""
    for i, (field, end) in enumerate(zip(fields, ends, strict=True)):
        line = (f"{line[:-1]} " if i else "") + str(field)
        line = line[:end].ljust(end)
    return line


def _output_shape(layer: Any) -> Any:
    try:
        return layer.output_shape
    except AttributeError:
        return "multiple"
    except RuntimeError:
        return "?"


def _parameters(layer: Any) -> Any:
    """How many numbers a layer has; one that the model never calls has no variables yet."""
    unused = not layer.built and not getattr(layer, "_is_graph_network", False)
    return "0 (unused)" if unused else layer.count_params()


def _connections(model: Any, layer: Any) -> list[str]:
    nodes = set(model._topology.nodes())
    return [
        f"{source.name}[{node_index}][{tensor_index}]"
        for node in layer._inbound_nodes
        if node in nodes
        for source, node_index, tensor_index, _ in node.iterate_inbound()
    ]


def _write_connected(
    write: Callable[[str], Any], fields: list[Any], connections: list[str], ends: Sequence[int]
) -> None:
    write(_row([*fields, connections[0] if connections else ""], ends))
    for further in connections[1:]:
        write(_row(["", "", "", further], ends))


def _count(weights: Sequence[Any]) -> int:
    return sum(int(np.prod(weight.shape.as_list())) for weight in unique(weights))
