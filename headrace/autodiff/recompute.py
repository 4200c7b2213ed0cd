"""A function of tensors whose inner values are not kept for the gradient, but computed again when it is asked for.

The function is called once.  Its gradient rule copies the nodes it made and lets the copies start from held inputs
(``_Hold``), which are handed over only when the gradient of the result has arrived: until then nothing inside is kept.

    y = f(x)                       forward, as ever
    x' = _Hold(x, after dy)        backward: y' = copy of f's nodes on x';  dx = gradient of y' with respect to x'

Only nodes that compute the same value again are copied.  What draws random numbers, reads or writes state, or holds a body of
control flow runs once, and its results count as inputs: a dropout has the same mask, a moving average moves once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.autodiff.gradients import gradients, is_trainable
from headrace.autodiff.registration import register_anonymous
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor


def recomputed(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], tupleize: bool = False
) -> Any:  # fmt: skip
    """Calls ``f`` in the default graph; its results have gradients that compute its inner values again."""
    graph = context.get_default_graph()
    inputs = [raw_ops.Identity(convert_to_tensor(a)) if _is_tensor_like(a) else a for a in args]
    first = len(graph._nodes)
    outcome = f(*inputs, **kwargs)
    is_list = isinstance(outcome, (list, tuple))
    results = [convert_to_tensor(r) for r in (outcome if is_list else [outcome])]
    if not results:
        raise ValueError(
            f"a function given to recompute_grad must return at least one tensor, {_name(f)} returned none {at()}"
        )
    part = _Segment(results, set(graph._nodes[first:]))
    name = register_anonymous(part.gradient(tupleize))
    with graph.gradient_override_map({"IdentityN": name}):
        passed = raw_ops.IdentityN([*results, *part.border])[: len(results)]
    if not is_list:
        return passed[0]
    return type(outcome)(*passed) if hasattr(outcome, "_fields") else type(outcome)(passed)


def _is_tensor_like(value: Any) -> bool:
    """Numbers and flags that steer the function stay what they are."""
    return not (value is None or isinstance(value, (bool, int, str)) or callable(value))


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", repr(f))


class _Segment:
    """The nodes between some inputs and results, and the tensors at their border."""

    def __init__(self, results: Sequence[Tensor], new: set[Operation]) -> None:
        self.results = list(results)
        self.nodes: list[Operation] = []  # to copy, inputs first
        self.border: list[Tensor] = []  # what the copies start from, of types that gradients pass through
        live = self._reach([t.op for t in results], new)
        moving: set[Tensor] = set()
        border: dict[Tensor, None] = {}
        for op in sorted(live, key=lambda o: o._id):
            for t in op.inputs:
                if t.op not in live and is_trainable(t.dtype) and not t.op.op_def.traits.constant:
                    border[t] = None
                    moving.add(t)
            if any(t in moving for t in op.inputs):  # else nothing that is held leads here: used as it is
                self.nodes.append(op)
                moving.update(op._outputs)
        self.border = list(border)

    @staticmethod
    def _reach(ops: list[Operation], new: set[Operation]) -> set[Operation]:
        live: set[Operation] = set()
        while ops:
            op = ops.pop()
            if op in new and op not in live and _repeats(op):
                live.add(op)
                ops.extend(t.op for t in op.inputs)
        return live

    def gradient(self, tupleize: bool) -> Callable[..., list[Any]]:
        """The rule of an IdentityN of (results, border)."""
        count = len(self.results)

        def rule(op: Operation, *grads: Any) -> list[Any]:
            border = list(op.inputs[count:])
            if not border:
                return [None] * count
            arrived = [convert_to_tensor(g) for g in grads[:count] if g is not None]
            border_again = raw_ops._Hold(border, arrived)
            again = self._copy(dict(zip(self.border, border_again, strict=True)))
            results = [(t, g) for t, g in zip(again, grads, strict=False) if is_trainable(t.dtype)]
            input_grads = gradients([t for t, _ in results], border_again, [g for _, g in results], name="recompute")
            if tupleize:
                input_grads = _all_or_none(input_grads)
            return [None] * count + input_grads

        return rule

    def _copy(self, values: dict[Tensor, Tensor]) -> list[Tensor]:
        graph = context.get_default_graph()
        for op in self.nodes:
            inputs = [values.get(t, t) for t in op.inputs]
            copy = graph.create_op(
                op.op_def, inputs, [t.dtype for t in op._outputs], name=op.name.rsplit("/", 1)[-1], attrs=dict(op.attrs)
            )
            copy._device = op.device
            values.update(zip(op._outputs, copy._outputs, strict=True))
        return [values.get(t, t) for t in self.results]


def _repeats(op: Operation) -> bool:
    """Whether the node gives the same result when it runs again with the same inputs, and does nothing else."""
    traits = op.op_def.traits
    if not traits.pure or traits.host or any(isinstance(a, FuncGraph) for a in op.attrs.values()):
        return False
    return not any(t.dtype._is_ref_dtype for t in (*op.inputs, *op._outputs))


def _all_or_none(grads: list[Any]) -> list[Any]:
    """The gradients, none of which can be used before all are there."""
    with context.get_default_graph().control_dependencies([g for g in grads if g is not None]):
        return [None if g is None else raw_ops.Identity(convert_to_tensor(g)) for g in grads]
