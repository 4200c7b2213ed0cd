"""Tensors that ops made of what layers made: before a layer takes one, each such op becomes a layer itself.

So a model can be built of layers and of ops between them.  The layer of an op is made in op_layer.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph.operation import Operation
from headrace.graph.structures import SparseTensor
from headrace.library.backend.graph import graph_state
from headrace.library.layers.call_context import call_context


class _OpLayers:
    make: Callable[[Operation, Sequence[Any]], None] | None = None  # installed by op_layer.py


def install_op_layers(make: Callable[[Operation, Sequence[Any]], None]) -> None:
    """Called once: what makes the layer of an op, given those of its inputs that come from layers."""
    _OpLayers.make = staticmethod(make)


def add_missing_history(tensors: Sequence[Any], in_call: bool = False) -> None:
    """Makes layers of the ops between these tensors and the layers that they come from, if they come from any."""
    if all(hasattr(t, "_keras_history") for t in tensors):
        return
    if (call_context().in_call and not in_call) or not any(graph_state(t.graph).has_inputs for t in tensors):
        return
    for op in _ops_after_layers(tensors):
        assert _OpLayers.make is not None
        _OpLayers.make(op, [t for t in op.inputs if hasattr(t, "_keras_history")])


def _ops_after_layers(tensors: Sequence[Any]) -> list[Operation]:
    """The ops without a layer that depend on tensors of layers, producers first; refuses those that are no dense tensors."""
    for t in tensors:
        if isinstance(t, SparseTensor) and not hasattr(t, "_keras_history") and _come_from_layers([t.values.op]):
            raise ValueError(
                "Ops that make sparse tensors do not become layers by themselves: put them into a "
                f"tf.keras.layers.Lambda. Sparse tensor: {t}"
            )
    ops = [t.op for t in tensors if not isinstance(t, SparseTensor) and not hasattr(t, "_keras_history")]
    return _come_from_layers(ops)


def _come_from_layers(ops: Sequence[Operation]) -> list[Operation]:
    found: dict[Operation, bool] = {}
    order: list[Operation] = []
    stack: list[tuple[Operation, bool]] = [(op, False) for op in reversed(ops)]
    while stack:
        op, inputs_known = stack.pop()
        if inputs_known:
            if any(hasattr(t, "_keras_history") or found.get(t.op) for t in op.inputs):
                found[op] = True
                order.append(op)
        elif op not in found:
            found[op] = False
            stack.append((op, True))
            stack.extend((t.op, False) for t in op.inputs if not hasattr(t, "_keras_history"))
    return order
