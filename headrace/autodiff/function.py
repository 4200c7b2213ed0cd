"""Gradients of calls: a function's body is differentiated into the body of another function, which every call shares.

    %y = PartitionedCall(%x; f: x -> x * x)

    %y, %r = PartitionedCall(%x; f: x -> x * x, push(x))
    %dx = PartitionedCall(%dy, %r; g: dy, r -> dy * 2 * pop(r))

The stash is one more output of ``f``; a plan that inlines both calls passes the stashed values directly.  A function that
calls itself has a gradient that calls itself: while one is being built, the calls in it already know its inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.autodiff.control_flow import WHOLE, GradientBody, Stash
from headrace.autodiff.gradients import BODY_RULES, differentiate, is_trainable
from headrace.autodiff.lives import zeros
from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph, function_name
from headrace.graph.convert import convert_to_tensor
from headrace.graph.functional import build_call, extend_call
from headrace.graph.handle import shape_of
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices

# The key of a gradient that the user wrote: it is called with the node and the gradients that arrived, zeros for none.
CUSTOM: str = "custom"


class FunctionGradient:
    """One gradient of a function: of the outputs ``differentiated`` with respect to the inputs ``asked``."""

    def __init__(self, f: FuncGraph, differentiated: Sequence[int], asked: Sequence[int]) -> None:
        self.f = f
        self.differentiated = tuple(differentiated)
        self.asked = tuple(asked)
        self.building = True
        self.whole = False  # gives a dense gradient for all that is asked, zeros if need be
        self.body = GradientBody(f.outer_graph, f, name=function_name(f"gradient_of_{f.name or 'body'}"))
        self.slot: int | None = None  # where among the outputs of f the stash is
        self.parts: list[tuple[int, int]] = []  # for each gradient: the input it is of, the number of tensors it takes

    def build(self, whole: bool) -> None:
        self.whole = whole
        f, body = self.f, self.body
        inputs = f.inputs
        with body.as_default():
            flowing = [
                body.add_arg(f.outputs[i].dtype.base_dtype, f.outputs[i]._shape, "gradient")
                for i in self.differentiated
            ]
            if whole:  # decided before the body is built, for the calls inside
                self.parts = [(j, 1) for j in self.asked]
                self.slot = len(f.outputs)
                body.outputs = [inputs[j] for j in self.asked]  # stand-ins: of the same types and shapes
                body.stashes[WHOLE] = Stash(body.add_arg(dtypes.variant, TensorShape([]), "stash"))
                f.outputs.append(None)  # type: ignore[arg-type]  # until the stash is built
            try:
                gradients = differentiate(
                    f, [f.outputs[i] for i in self.differentiated], flowing, [inputs[j] for j in self.asked], body
                )
            except BaseException:
                if whole:
                    f.outputs.pop()
                raise
            outputs: list[Any] = []
            if not whole:
                self.parts = []
            for j, grad in zip(self.asked, gradients, strict=True):
                if whole:
                    outputs.append(zeros(inputs[j]) if grad is None else convert_to_tensor(grad))
                elif isinstance(grad, IndexedSlices):
                    outputs.extend([grad.values, grad.indices])
                    self.parts.append((j, 2))
                elif grad is not None:
                    outputs.append(convert_to_tensor(grad))
                    self.parts.append((j, 1))
            body.outputs = [body._own(t, "gradient") for t in outputs]
        self._stash()
        self.building = False
        f._mutated()

    def _stash(self) -> None:
        f, body = self.f, self.body
        if not body.stashes:
            return
        with f.as_default(), f.plain_scopes():
            empty = raw_ops._EmptyStash()
        stash = body.push(empty)
        if self.slot is None:
            self.slot = len(f.outputs)
            f.outputs.append(stash)
            body.args.append(body.stashes[WHOLE].argument)
        else:
            f.outputs[self.slot] = stash


def of_function(f: FuncGraph, differentiated: Sequence[int], asked: Sequence[int], whole: bool) -> FunctionGradient:
    """The gradient, made when it is first asked for."""
    key = (tuple(differentiated), tuple(asked), whole)
    gradient: FunctionGradient | None = f.gradients.get(key)
    if gradient is None:
        gradient = f.gradients[key] = FunctionGradient(f, differentiated, asked)
        try:
            gradient.build(whole)
        except BaseException:
            del f.gradients[key]
            raise
    elif gradient.building:
        gradient.body.recursive = True  # this call is inside it
    return gradient


def whole_gradient(f: FuncGraph, visible: int, order: int) -> FunctionGradient:
    """The gradient of everything with respect to everything; that of ``order`` 2 is also of the first one's stash."""
    slots = [whole_gradient(f, visible, k).slot for k in range(1, order)]
    differentiated = [i for i in (*range(visible), *slots) if i is not None and _trainable(f.outputs[i])]
    asked = [j for j, t in enumerate(f.inputs) if is_trainable(t.dtype)]
    return of_function(f, differentiated, asked, True)


def _trainable(tensor: Tensor | None) -> bool:
    return tensor is None or is_trainable(tensor.dtype)


def call_gradient(op: Operation, grads: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """The gradients of a call's inputs: a call of the gradient function."""
    f: FuncGraph = op.attrs["f"]
    custom: Callable[..., Any] | None = f.gradients.get(CUSTOM)
    result: list[Any] = [None] * len(op.inputs)
    if custom is not None:
        visible = op._outputs[: op.attrs["visible"]]
        produced = custom(op, *[zeros(t) if g is None else g for g, t in zip(grads, visible, strict=False)])
        gradients = list(produced) if isinstance(produced, (list, tuple)) else [produced]
        return gradients + result[len(gradients) :]
    graph = context.get_default_graph()
    if f.recursive or graph.executing_eagerly:
        gradient = _of_order(f, op, grads)
    else:
        differentiated = [i for i, g in enumerate(grads) if g is not None and is_trainable(op._outputs[i].dtype)]
        asked = [j for j, t in enumerate(op.inputs) if needed[j] and is_trainable(t.dtype)]
        gradient = of_function(f, differentiated, asked, False)
    arguments = [
        zeros(op._outputs[i]) if grads[i] is None else convert_to_tensor(grads[i]) for i in gradient.differentiated
    ]
    if not gradient.parts:
        return result
    if gradient.slot is not None:
        if len(op._outputs) <= gradient.slot:
            if graph.executing_eagerly:
                op = graph.call_again(op, gradient.slot + 1)  # type: ignore[attr-defined]
            else:
                extend_call(op, gradient.slot + 1)
        arguments.append(op._outputs[gradient.slot])
    arguments = [graph._own(t, "gradient") for t in arguments]
    stateful = False if gradient.body.recursive else None
    call = build_call(gradient.body, arguments, [], gradient.body.outputs, "PartitionedCall", stateful)
    outputs = iter(call._outputs)
    for j, count in gradient.parts:
        tensors = [next(outputs) for _ in range(count)]
        result[j] = tensors[0] if count == 1 else IndexedSlices(tensors[0], tensors[1], shape_of(op.inputs[j]))
    return result


def _of_order(f: FuncGraph, op: Operation, grads: Sequence[Any]) -> FunctionGradient:
    """The whole gradient that takes in all that arrived: for each stash with a gradient, one order more."""
    visible = op.attrs["visible"]
    order = 1
    while True:
        gradient = whole_gradient(f, visible, order)
        covered = set(gradient.differentiated)
        if all(i in covered for i, g in enumerate(grads) if g is not None and is_trainable(op._outputs[i].dtype)):
            return gradient
        order += 1


def _rule(op: Operation, *grads: Any) -> Any:
    return call_gradient(op, grads, [True] * len(op.inputs))


BODY_RULES[_rule] = call_gradient
for _name in ("PartitionedCall", "StatefulPartitionedCall"):
    REGISTRY.gradients[_name] = _rule
