"""When the values of a graph with primitives of control flow are alive, for its gradients.

A value that is used on one side of a Switch only has a gradient that is dead on the other side, where it should be zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.cell import cells_of, ordered
from headrace.graph.convert import convert_to_tensor
from headrace.graph.graph import Graph
from headrace.graph.handle import shape_of
from headrace.graph.operation import Operation, Tensor
from headrace.graph.raise_cond import ALWAYS, OTHER, Guard, decided, guards


def zeros(t: Tensor) -> Tensor:
    tensor: Tensor
    if t.dtype._is_ref_dtype and t.dtype._is_resource:
        tensor = raw_ops.Fill(shape_of(t), convert_to_tensor(0, t.dtype.base_dtype), name="zeros_like")
        tensor.set_shape(t._shape)
    else:
        tensor = raw_ops._ZerosVariant(t) if t.dtype.base_dtype.name == "variant" else raw_ops.ZerosLike(t)
    return tensor


class Lives:
    """What is alive when, of the nodes that a graph has when a gradient is begun.  ``refused``: why loops were not raised."""

    def __init__(self, graph: Graph, refused: Sequence[str]) -> None:
        self.refused = refused
        self.cells = cells_of(graph._nodes)
        self.alive = guards(ordered(self.cells.values()))

    def guard(self, tensor: Tensor) -> Guard:
        cell = self.cells.get(tensor.op)  # none: a stash that the gradient has just made
        return ALWAYS if cell is None else self.alive.get((cell, tensor.value_index)) or self.alive[cell]

    def decision(self, merge: Operation) -> tuple[Tensor, int] | None:
        """The predicate that decides between the two inputs of a Merge, and the side that the first is on."""
        split = decided([self.guard(t) for t in merge.inputs])
        return None if split is None else (_tensor(split[0]), split[1])

    def completed(self, op: Operation, grads: list[Any]) -> list[Any]:
        """The gradients of a node's inputs, alive whenever the inputs are: zeros where the node itself is dead."""
        cell = self.cells.get(op)
        if cell is None or cell.is_primitive or not self.alive[cell]:
            return grads
        return [
            None if grad is None else self._completed(grad, tensor, self.alive[cell] - self.guard(tensor), op)
            for grad, tensor in zip(grads, op.inputs, strict=True)
        ]

    def _completed(self, grad: Any, tensor: Tensor, more: Guard, op: Operation) -> Any:
        if any(side == OTHER for _, side in more):
            raise LookupError(
                f"The gradient of {tensor.name} cannot be built: {op.name} (made at {op.source}) uses it behind a Merge that "
                f"does not join the two sides of a Switch. Use tf.cond, or give the value to the Switch. "
                f"{'; '.join(self.refused)} {at()}"
            )
        left = sorted(more, key=lambda one: len(self.alive.get(one[0][0], ALWAYS)))
        while left:
            port, side = left.pop()  # the innermost
            nothing = zeros(tensor)
            for other, which in left:
                nothing = raw_ops.Switch(nothing, _tensor(other))[which]
            nothing = raw_ops.Switch(nothing, _tensor(port))[1 - side]
            grad = raw_ops.Merge([convert_to_tensor(grad), nothing]).output
        return grad


living: ContextVar[Lives | None] = ContextVar("living", default=None)  # of the sweep under way


def _tensor(port: Any) -> Tensor:
    cell, index = port
    return cell.origin._outputs[index]
