"""The readable text form of a graph: one line a node, in creation order, stable enough for tests to compare.

    %x = Placeholder() {dtype=float32, shape=(?, 3)} : float32[?,3]
    %y = MatMul(%x, %w) {transpose_a=False, transpose_b=False} ^%init @/device:CPU:0 : float32[?,4]

Works on anything with a node's fields (name, type, inputs, attrs, control inputs, device, outputs), so client graphs and
the graphs that passes rewrite print alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape


def attr_text(value: Any) -> str:
    """An attribute's value, short."""
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return shape_text(value)
    if isinstance(value, np.ndarray):
        if value.size <= 8:
            return " ".join(str(value.tolist()).split())
        return f"<{value.dtype} {list(value.shape)}>"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(attr_text(v) for v in value) + "]"
    if callable(value):
        return f"<{getattr(value, '__name__', type(value).__name__)}>"
    return repr(value)


def shape_text(shape: TensorShape) -> str:
    dims = shape.tuple
    return "?" if dims is None else "(" + ", ".join("?" if d is None else str(d) for d in dims) + ")"


def type_text(tensor: Any) -> str:
    """``float32[?,3]``; ``float32[...]`` when not even the rank is known."""
    dims = tensor.shape.tuple
    inside = "..." if dims is None else ",".join("?" if d is None else str(d) for d in dims)
    return f"{tensor.dtype.name}[{inside}]"


def tensor_text(tensor: Any) -> str:
    return f"%{tensor.op.name}" if tensor.value_index == 0 else f"%{tensor.op.name}:{tensor.value_index}"


def node_text(node: Any) -> str:
    """One node as one line."""
    line = f"%{node.name} = {node.type}({', '.join(tensor_text(t) for t in node.inputs)})"
    hidden = {a.name for a in node.op_def.signature.inferred}
    attrs = {k: v for k, v in node.attrs.items() if k not in hidden}
    if attrs:
        line += " {" + ", ".join(f"{k}={attr_text(v)}" for k, v in sorted(attrs.items())) + "}"
    for control in node.control_inputs:
        line += f" ^%{control.name}"
    if node.device:
        line += f" @{node.device}"
    if node.outputs:
        line += " : " + ", ".join(type_text(t) for t in node.outputs)
    return line


def to_text(nodes: Iterable[Any]) -> str:
    """All nodes, one line each, in the order given."""
    return "\n".join(node_text(n) for n in nodes)
