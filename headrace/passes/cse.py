"""CSE: nodes of the same type, attributes, inputs, control inputs and device become one (white paper 5.1).

%a = Relu(%x)   %b = Relu(%x)   %c = Add(%a, %b)      ->      %a = Relu(%x)   %c = Add(%a, %a)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.passes.step_graph import Node, StepGraph, Value

_SIMPLE = frozenset({bool, int, str, DType})
_SMALL = 4096  # bytes of a constant worth comparing


def cse(graph: StepGraph) -> StepGraph:
    """Never merges stateful or random nodes.  Where there are frames, a constant belongs to the frame that uses it."""
    framed = any(n.op_def.traits.primitive for n in graph.nodes)
    seen: dict[Any, Node] = {}
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    for node in graph.nodes:
        if not node.op_def.traits.pure or node.op_def.traits.host or (framed and node.op_def.traits.constant):
            continue
        key = _key(node, values, nodes)
        if key is None:
            continue
        first = seen.setdefault(key, node)
        if first is not node:
            nodes[node] = first
            values.update(zip(node.outputs, first.outputs, strict=True))
    graph.replace(values, nodes)
    graph.nodes = [n for n in graph.nodes if n not in nodes]
    return graph


def _key(node: Node, values: dict[Value, Value], nodes: dict[Node, Node]) -> Any:
    attrs = []
    for name, value in sorted(node.attrs.items()):
        frozen = _freeze(value)
        if frozen is None:
            return None
        attrs.append((name, frozen))
    inputs = tuple([values.get(v, v) for v in node.inputs])
    controls = frozenset([nodes.get(c, c) for c in node.control_inputs])
    return node.op_def, tuple(attrs), inputs, controls, node.device, node.colocation


def _freeze(value: Any) -> Any:
    """A hashable stand-in that is equal exactly when the values are the same; None: do not compare."""
    if type(value) in _SIMPLE:
        return type(value), value
    if isinstance(value, np.ndarray):
        if value.nbytes > _SMALL or value.dtype == object:
            return None
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, TensorShape):
        return "shape", value.tuple
    if isinstance(value, (list, tuple)):
        parts = [_freeze(v) for v in value]
        return None if any(p is None for p in parts) else ("list", *parts)
    if isinstance(value, float):
        return "float", value.hex()
    try:
        hash(value)
    except TypeError:
        return None
    return type(value).__name__, value
