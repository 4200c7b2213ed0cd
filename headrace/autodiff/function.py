"""Gradients of calls: a function's body is differentiated into the body of another function, which every call shares.

    %y = PartitionedCall(%x; f: x -> x * x)

    %y, %r = PartitionedCall(%x; f: x -> x * x, push(x))
    %dx = PartitionedCall(%dy, %r; g: dy, r -> dy * 2 * pop(r))

The record is one more output of ``f``; a plan that inlines both calls passes the recorded values directly.  A function that
calls itself has a gradient that calls itself: while one is being made, the calls in it already know its inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.autodiff.control_flow import GradientBody
from headrace.autodiff.gradients import BODY_RULES, differentiate, is_trainable, zeros
from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.function import FuncGraph, function_name
from headrace.graph.functional import build_call, extend_call
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices

# Gradients that users give a function: called with the node and the gradients that arrived, zeros for none.
CUSTOM: str = "custom"


class FunctionGradient:
    """One gradient of a function: of the outputs ``given`` with respect to the inputs ``asked``."""

    def __init__(self, f: FuncGraph, given: Sequence[int], asked: Sequence[int]) -> None:
        self.f = f
        self.given = tuple(given)
        self.asked = tuple(asked)
        self.building = True
        self.whole = False  # gives a dense gradient for all that is asked, zeros if need be
        self.body = GradientBody(f.outer_graph, f, name=function_name(f"gradient_of_{f.name or 'body'}"))
        self.slot: int | None = None  # where among the outputs of f the record is
        self.parts: list[tuple[int, int]] = []  # for each gradient: the input it is of, the number of tensors it takes

    def build(self, whole: bool) -> None:
        self.whole = whole
        f, body = self.f, self.body
        inputs = f.inputs
        with body.as_default():
            flowing = [body.add_arg(f.outputs[i].dtype.base_dtype, f.outputs[i]._shape, "gradient") for i in self.given]
            if whole:  # known before it is built, for the calls inside
                self.parts = [(j, 1) for j in self.asked]
                self.slot = len(f.outputs)
                body.outputs = [inputs[j] for j in self.asked]  # stand-ins: of the same types and shapes
                body.record = body.add_arg(dtypes.variant, TensorShape([]), "record")
                f.outputs.append(None)  # type: ignore[arg-type]  # until there is something to record
            try:
                found = differentiate(
                    f, [f.outputs[i] for i in self.given], flowing, [inputs[j] for j in self.asked], body
                )
            except BaseException:
                if whole:
                    f.outputs.pop()
                raise
            outputs: list[Any] = []
            if not whole:
                self.parts = []
            for j, grad in zip(self.asked, found, strict=True):
                if whole:
                    outputs.append(zeros(inputs[j]) if grad is None else convert_to_tensor(grad))
                elif isinstance(grad, IndexedSlices):
                    outputs.extend([grad.values, grad.indices])
                    self.parts.append((j, 2))
                elif grad is not None:
                    outputs.append(convert_to_tensor(grad))
                    self.parts.append((j, 1))
            body.outputs = [body._own(t, "gradient") for t in outputs]
        self._record()
        self.building = False
        f._mutated()

    def _record(self) -> None:
        f, body = self.f, self.body
        if not self.whole and not body.recorded:
            return
        with f.as_default(), f.plain_scopes():
            empty = raw_ops._EmptyRecord()
        record = body.push(empty)
        if self.slot is None:
            self.slot = len(f.outputs)
            f.outputs.append(record)
            body.args.append(body.record)  # type: ignore[arg-type]
        else:
            f.outputs[self.slot] = record


def of_function(f: FuncGraph, given: Sequence[int], asked: Sequence[int], whole: bool) -> FunctionGradient:
    """The gradient, made when it is first asked for."""
    key = (tuple(given), tuple(asked), whole)
    found: FunctionGradient | None = f.gradients.get(key)
    if found is None:
        found = f.gradients[key] = FunctionGradient(f, given, asked)
        try:
            found.build(whole)
        except BaseException:
            del f.gradients[key]
            raise
    elif found.building:
        found.body.recursive = True  # this call is inside it
    return found


def whole_gradient(f: FuncGraph, visible: int, order: int) -> FunctionGradient:
    """The gradient of everything with respect to everything; that of ``order`` 2 is also of the first one's record."""
    slots = [whole_gradient(f, visible, k).slot for k in range(1, order)]
    given = [i for i in (*range(visible), *slots) if i is not None and _trainable(f.outputs[i])]
    asked = [j for j, t in enumerate(f.inputs) if is_trainable(t.dtype)]
    return of_function(f, given, asked, True)


def _trainable(tensor: Tensor | None) -> bool:
    return tensor is None or is_trainable(tensor.dtype)


def call_gradient(op: Operation, grads: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    """The gradients of a call's inputs: a call of the gradient function."""
    f: FuncGraph = op.attrs["f"]
    custom: Callable[..., Any] | None = f.gradients.get(CUSTOM)
    result: list[Any] = [None] * len(op.inputs)
    if custom is not None:
        visible = op._outputs[: op.attrs["visible"]]
        produced = custom(op, *[zeros(t) if g is None else g for g, t in zip(grads, visible, strict=False)])
        found = list(produced) if isinstance(produced, (list, tuple)) else [produced]
        return found + result[len(found) :]
    graph = context.get_default_graph()
    if f.recursive or graph.executing_eagerly:
        made = _of_order(f, op, grads)
    else:
        given = [i for i, g in enumerate(grads) if g is not None and is_trainable(op._outputs[i].dtype)]
        asked = [j for j, t in enumerate(op.inputs) if wanted[j] and is_trainable(t.dtype)]
        made = of_function(f, given, asked, False)
    arguments = [zeros(op._outputs[i]) if grads[i] is None else convert_to_tensor(grads[i]) for i in made.given]
    if not made.parts:
        return result
    if made.slot is not None:
        if len(op._outputs) <= made.slot:
            if graph.executing_eagerly:
                op = graph.call_again(op, made.slot + 1)  # type: ignore[attr-defined]
            else:
                extend_call(op, made.slot + 1)
        arguments.append(op._outputs[made.slot])
    arguments = [graph._own(t, "gradient") for t in arguments]
    call = build_call(made.body, arguments, [], made.body.outputs, "PartitionedCall", _stateful(made))
    outputs = iter(call._outputs)
    for j, count in made.parts:
        tensors = [next(outputs) for _ in range(count)]
        result[j] = tensors[0] if count == 1 else IndexedSlices(tensors[0], tensors[1], raw_ops.Shape(op.inputs[j]))
    return result


def _stateful(made: FunctionGradient) -> bool | None:
    return False if made.body.recursive else None


def _of_order(f: FuncGraph, op: Operation, grads: Sequence[Any]) -> FunctionGradient:
    """The whole gradient that takes in all that arrived: for each record with a gradient, one order more."""
    visible = op.attrs["visible"]
    order = 1
    while True:
        made = whole_gradient(f, visible, order)
        covered = set(made.given)
        if all(i in covered for i, g in enumerate(grads) if g is not None and is_trainable(op._outputs[i].dtype)):
            return made
        order += 1


def _rule(op: Operation, *grads: Any) -> Any:
    return call_gradient(op, grads, [True] * len(op.inputs))


BODY_RULES[_rule] = call_gradient
for _name in ("PartitionedCall", "StatefulPartitionedCall"):
    REGISTRY.gradients[_name] = _rule
