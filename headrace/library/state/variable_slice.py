"""``v[1:3]`` of a variable: a tensor that can also be assigned to, in graphs, in bodies and eagerly."""

from __future__ import annotations

import weakref
from typing import Any

from headrace.eager.tensor import Immediate
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph
from headrace.graph.operation import Tensor
from headrace.library.tensor.slicing import slice_spec

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


class VariableSlice(Tensor):
    """A slice in a graph."""

    __slots__ = ()

    def assign(self, value: Any, name: str | None = None) -> Tensor:
        """Sets just this part of the variable; the result is the whole variable after that."""
        read, begin, end, strides = self.op.inputs
        handle = outermost(read).op.inputs[0]
        of_resource = handle.dtype._is_resource
        assign = raw_ops.ResourceStridedSliceAssign if of_resource else raw_ops.StridedSliceAssign
        assigned: Tensor = assign(
            handle, begin, end, strides, value,
            name=name or f"{self.op.name}/_assign", **{mask: self.op.attrs[mask] for mask in _MASKS},
        )  # fmt: skip
        if not of_resource:
            return assigned
        with context.get_default_graph().control_dependencies([assigned]):
            return raw_ops.ReadVariableOp(handle, dtype=read.dtype)


class EagerSlice(Immediate):
    """A slice taken eagerly."""

    __slots__ = ()

    def assign(self, value: Any, name: str | None = None) -> Any:
        """Sets just this part of the variable, which is the result."""
        whole, item = SLICED[self]
        begin, end, strides, masks = slice_spec(item)
        raw_ops.StridedSliceAssign(whole._variable, begin, end, strides, value, **masks)
        return whole


SLICED: weakref.WeakKeyDictionary[EagerSlice, tuple[Any, Any]] = (
    weakref.WeakKeyDictionary()
)  # the variable and the index


def outermost(tensor: Tensor) -> Tensor:
    """The tensor outside all bodies that a body's capture stands for; any other tensor itself."""
    graph = tensor.graph
    while isinstance(graph, FuncGraph):
        outer = next((o for o, inner in graph.captures.items() if inner is tensor), None)
        if outer is None:
            return tensor
        tensor, graph = outer, outer.graph
    return tensor
