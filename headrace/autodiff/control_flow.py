"""Gradients of nodes that hold bodies: each body is differentiated into another body, held by another node.

A conditional's gradient is a conditional; a loop's gradient is a loop that runs as many iterations, backwards.  A gradient
body gets what it needs of the forward body from a *stash*: the forward node gets one more output that holds, for the branch
taken or for each iteration, exactly the values asked for.  Shapes are stashed as shapes, not as the tensors that have them;
constants are built again; captured values are captured again.  There is a stash for each device that nodes of the body ask for,
so that values wait for the gradient where they were made.

    %y = While(%x; body: x -> x * w)

    %n, %y, %r = While(%x, (); body: x, r -> x * w, push(r, x))
    %dx, %dw = _Repeat(%n, %dy, 0, %r; body: dx, dw, r -> dx * w, dw + dx * pop(r), rest(r))
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.autodiff.gradients import BODY_RULES, differentiate, is_trainable
from headrace.autodiff.lives import zeros
from headrace.autodiff.registration import gradient_rule
from headrace.core import dtypes
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph
from headrace.graph.body_read import held_bodies
from headrace.graph.convert import convert_to_tensor, make_constant
from headrace.graph.functional import (
    add_output,
    add_variable,
    build_if,
    build_repeat,
    first_result,
    first_variable,
    is_loop,
    outside,
)
from headrace.graph.graph import Graph
from headrace.graph.handle import shape_for_gradient, value_of
from headrace.graph.infer import constant_value
from headrace.graph.operation import Operation, Tensor

StashKey = tuple[str, Tensor | None]  # the device of the values, or a variant that is alone: it may be on any device
WHOLE: StashKey = ("", None)  # of the only stash

_LIKE = {"ZerosLike": 0, "OnesLike": 1}


@dataclass(slots=True)
class Stash:
    """Values that a forward body hands to its gradient together.  ``argument`` holds them in the gradient's body."""

    argument: Tensor
    values: list[Tensor] = field(default_factory=list)  # of the forward body
    popped: Operation | None = None

    @property
    def rest(self) -> Tensor:
        """The stash without the values of this body."""
        if self.popped is None:
            raise ValueError("nothing was stashed")
        return self.popped._outputs[0]


class GradientBody(FuncGraph):
    """The body of a gradient.  Tensors of the forward body used in it come from a stash.

    With a ``name`` it is a function that serves every call of the forward function: its captures come from the stash too, of
    which there is one.
    """

    def __init__(self, outer_graph: Graph, forward: FuncGraph, swap: bool = False, name: str = "") -> None:
        super().__init__(f"the gradient of {forward.description}", outer_graph, name)
        self.forward = forward
        self.swap = swap  # tensors wait in the host's memory
        self.stashes: dict[StashKey, Stash] = {}
        self._stashed: dict[Tensor, Tensor] = {}
        self._by_device = not name and _asks_for_devices(forward)
        self._sources = {} if name else {inner: outer for outer, inner in forward.captures.items()}

    def create_op(self, op_type: Any, inputs: Sequence[Tensor], *args: Any, **kwargs: Any) -> Operation:
        definition = op_type if isinstance(op_type, OpDef) else REGISTRY.get(op_type)
        if inputs and all(t.op.graph is self.forward for t in inputs):
            # The shape is stashed, not the tensor.
            if definition.traits.host_output or definition.name == "VariableShape":
                with self.forward.as_default(), self.forward.plain_scopes():
                    return self.forward.create_op(definition, inputs, *args, **kwargs)
            if definition.name in _LIKE and inputs[0].dtype.base_dtype.name != "string":
                shape = raw_ops.Shape(inputs[0])
                filler = convert_to_tensor(_LIKE[definition.name], inputs[0].dtype.base_dtype)
                filled: Tensor = raw_ops.Fill(shape, filler, name=kwargs.get("name"))
                filled.set_shape(inputs[0]._shape)
                return filled.op
        return super().create_op(op_type, inputs, *args, **kwargs)

    def _own(self, tensor: Tensor, op_type: str) -> Tensor:
        if isinstance(tensor, Tensor) and tensor.op.graph is self.forward:
            return self._from_forward(tensor)
        return super()._own(tensor, op_type)

    def _from_forward(self, tensor: Tensor) -> Tensor:
        copy = self._stashed.get(tensor, self._copied.get(tensor))
        if copy is not None:
            return copy
        if tensor in self._sources:
            return self.capture(self._sources[tensor])
        if tensor.op.op_def.traits.constant:
            copy = self._copied[tensor] = self.copy_constant(tensor)
            return copy
        static_value = constant_value(tensor) if tensor.dtype.base_dtype.is_integer else None
        if static_value is not None:
            with self.plain_scopes(), self.as_default():
                value = static_value.astype(tensor.dtype.as_numpy_dtype)  # a static value may be of a wider type
                copy = self._copied[tensor] = make_constant(value, tensor.dtype.base_dtype)
            return copy
        if self.swap and tensor.dtype.base_dtype.is_floating and tensor._shape.ndims != 0:
            return self._swapped(tensor)
        return self._pop(tensor, self._key(tensor))

    def _swapped(self, tensor: Tensor) -> Tensor:
        with self.forward.as_default(), self.forward.plain_scopes():
            out: Tensor = raw_ops._SwapOut(tensor)
        popped = self._pop(out, self._key(tensor))
        with self.as_default(), self.plain_scopes():
            back: Tensor = raw_ops._SwapIn(popped, T=tensor.dtype.base_dtype)
        back.set_shape(tensor._shape)
        self._copied[tensor] = back
        return back

    def _key(self, tensor: Tensor) -> StashKey:
        """The stash that a value belongs in."""
        if not self._by_device:
            return WHOLE
        return ("", tensor) if tensor.dtype.base_dtype is dtypes.variant else (_device(tensor, self.forward), None)

    def _pop(self, tensor: Tensor, key: StashKey) -> Tensor:
        """One more value from a stash."""
        variant = dtypes.variant
        stash = self.stashes.get(key)
        if stash is None:
            stash = self.stashes[key] = Stash(self._new_arg(variant, TensorShape([]), "stash"))
        if stash.popped is None:
            with self.plain_scopes():
                stash.popped = self.create_op("_PopStash", [stash.argument], [variant], name="pop", attrs={"T": ()})
        popped = stash.popped
        value = Tensor(popped, len(popped._outputs), tensor.dtype.base_dtype, tensor._shape)
        popped._outputs = (*popped._outputs, value)
        popped._attrs["T"] = (*popped._attrs["T"], tensor.dtype.base_dtype)
        stash.values.append(tensor)
        self._stashed[tensor] = value
        return value

    def push(self, rest: Tensor, key: StashKey = WHOLE) -> Tensor:
        """In the forward body: the stash with the values of this body on top."""
        with self.forward.as_default(), self.forward.plain_scopes():
            return raw_ops._PushStash(rest, [value_of(t) for t in self.stashes[key].values])


def _empty(key: StashKey) -> Tensor:
    """A stash without values, in the current graph.  One of several is on the device of its values."""
    graph = context.get_default_graph()
    free = contextlib.nullcontext() if key == WHOLE else graph.colocate_with(None, ignore_existing=True)
    with free, graph.device(key[0]) if key[0] else contextlib.nullcontext():
        empty: Tensor = raw_ops._EmptyStash(purpose=key[0] if key[1] is None else key[1].name)
    return empty


def _asks_for_devices(body: FuncGraph) -> bool:
    """Whether nodes of a body, or of bodies in it, ask for a device."""
    bodies = [body]
    for graph in bodies:
        for op in graph.get_operations():
            if op.device and not op.op_def.traits.feed:
                return True
            bodies += [inner for inner in held_bodies(op) if inner not in bodies]
    return False


def _device(tensor: Tensor, body: FuncGraph) -> str:
    """The device that the maker of a value of a body asks for.

    That of a loop variable is the maker of its next value; what a conditional or loop gives is made inside it.
    """
    seen: set[Tensor] = set()
    while tensor not in seen:
        seen.add(tensor)
        op = tensor.op
        if tensor in body.args:
            tensor = body.outputs[body.args.index(tensor)]
        elif "then_branch" in op.attrs:
            body = op.attrs["then_branch"]
            tensor = body.outputs[tensor.value_index]
        elif "body" in op.attrs and tensor.value_index >= first_result(op):
            body = op.attrs["body"]
            tensor = body.outputs[tensor.value_index - first_result(op)]
        elif op.op_def.traits.host_output and op.inputs and not op.device:
            tensor = op.inputs[0]  # a shape is taken where the value is
    return tensor.op.device


def _dense(grad: Any) -> Tensor:
    return convert_to_tensor(grad)


# ---- conditionals


def if_gradient(op: Operation, grads: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """The gradient of the branch that was taken."""
    graph = context.get_default_graph()
    differentiated = [i for i, g in enumerate(grads) if g is not None and is_trainable(op._outputs[i].dtype)]
    flowing = [_dense(grads[i]) for i in differentiated]
    asked = [j for j in range(len(op.inputs) - 1) if needed[j + 1] and is_trainable(op.inputs[j + 1].dtype)]
    branches: list[FuncGraph] = [op.attrs["then_branch"], op.attrs["else_branch"]]
    bodies = [GradientBody(graph, branch) for branch in branches]
    branch_grads = []
    for branch, body in zip(branches, bodies, strict=True):
        with body.as_default():
            arrived = [body._own(g, "gradient") for g in flowing]
            inputs = branch.inputs
            branch_grads.append(
                differentiate(
                    branch, [branch.outputs[i] for i in differentiated], arrived, [inputs[j] for j in asked], body
                )
            )
    present = [k for k in range(len(asked)) if any(one[k] is not None for one in branch_grads)]
    result: list[Any] = [None] * len(op.inputs)
    if not present:
        return result
    for branch, body, one in zip(branches, bodies, branch_grads, strict=True):
        with body.as_default():
            inputs = branch.inputs
            outputs = [zeros(inputs[asked[k]]) if one[k] is None else _dense(one[k]) for k in present]
            body.outputs = [body._own(t, "gradient") for t in outputs]
    _stash_branches(op, graph, bodies)
    node = build_if(graph._own(op.inputs[0], "gradient"), bodies[0], bodies[1], "If")
    for k, tensor in zip(present, node._outputs, strict=True):
        result[1 + asked[k]] = tensor
    return result


def _stash_branches(op: Operation, graph: Graph, bodies: Sequence[GradientBody]) -> None:
    """Makes the forward branches stash values and the gradient branches receive the stashes."""
    for key in dict.fromkeys(key for body in bodies for key in body.stashes):
        outputs = []
        for body in bodies:
            with body.forward.as_default(), body.forward.plain_scopes():
                empty = _empty(key)
            outputs.append(body.push(empty, key) if key in body.stashes else empty)
        stash = graph._own(add_output(op, outputs), "gradient")
        for body in bodies:
            if key in body.stashes:
                body.captures[stash] = body.stashes[key].argument


# ---- loops


def loop_gradient(op: Operation, grads: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """The loop run backwards: gradients of the loop variables flow, those of captured values add up."""
    result: list[Any] = [None] * len(op.inputs)
    if not op.attrs["back_prop"]:
        return result
    graph = context.get_default_graph()
    body: FuncGraph = op.attrs["body"]
    first, out, count = first_variable(op), first_result(op), len(body.args)
    inputs = body.inputs
    reach = _Reach(body)
    variables = reach.variables(
        {j for j in range(count) if grads[out + j] is not None}, {j for j in range(len(inputs)) if needed[first + j]}
    )
    if not variables:
        return result
    captured = [j for j in range(count, len(inputs)) if needed[first + j] and is_trainable(inputs[j].dtype)]
    backward = GradientBody(graph, body, op.attrs["swap_memory"])
    with backward.as_default():
        flowing = [backward.add_arg(inputs[j].dtype.base_dtype, inputs[j]._shape, "gradient") for j in variables]
        gradients = differentiate(
            body, [body.outputs[j] for j in variables], flowing, [inputs[j] for j in [*variables, *captured]], backward
        )
        following = [
            zeros(inputs[j]) if g is None else _dense(g)
            for j, g in zip(variables, gradients[: len(variables)], strict=True)
        ]
        summed = [(j, g) for j, g in zip(captured, gradients[len(variables) :], strict=True) if g is not None]
        for j, g in summed:
            total = backward.add_arg(inputs[j].dtype.base_dtype, inputs[j]._shape, "sum")
            following.append(_sum(total, _dense(g)))
        backward.outputs = [backward._own(t, "gradient") for t in following]
    initial = [
        _no_gradient(op._outputs[out + j]) if grads[out + j] is None else _dense(grads[out + j]) for j in variables
    ] + [zeros(op.inputs[first + j]) for j, _ in summed]
    positions = [first + j for j in variables] + [first + j for j, _ in summed]
    sources = [op.inputs[p] for p in positions]
    for key, stash in backward.stashes.items():
        backward.args.append(stash.argument)
        backward.outputs.append(stash.rest)
        initial.append(graph._own(_stash_loop(op, backward, key), "gradient"))
    times = op._outputs[0] if out else op.inputs[0]
    node = build_repeat(
        graph._own(times, "gradient"), [graph._own(t, "gradient") for t in initial], backward, "Repeat",
        swap_memory=op.attrs["swap_memory"], parallel_iterations=op.attrs["parallel_iterations"],
    )  # fmt: skip
    result = [None] * len(op.inputs)  # the stash is among them by now
    places = {id(t): i for i, t in enumerate(op.inputs)}
    for source, tensor in zip(sources, node._outputs, strict=False):
        i = places[id(source)]
        result[i] = tensor if result[i] is None else _sum(result[i], tensor)
    return result


def _no_gradient(result: Tensor) -> Tensor:
    """Zeros for a result that no gradient arrived at.  They need not the result itself if its shape is known."""
    if result.dtype.base_dtype is dtypes.variant:
        return zeros(result)
    shape = shape_for_gradient(result)
    filled: Tensor = raw_ops.Fill(shape, convert_to_tensor(0, result.dtype.base_dtype), name="zeros_like")
    filled.set_shape(result._shape)
    return filled


def _sum(x: Tensor, y: Tensor) -> Tensor:
    return raw_ops._AddVariants(x, y) if x.dtype.base_dtype.name == "variant" else raw_ops.AddV2(x, y)


def _stash_loop(op: Operation, backward: GradientBody, key: StashKey) -> Tensor:
    """Makes the forward loop stash the values of each iteration; the whole stash is one more result of it."""
    with op.graph.as_default(), outside(op.graph):
        empty = _empty(key)
    return add_variable(op, empty, lambda rest: backward.push(rest, key))


class _Reach:
    """Which inputs of a body its outputs depend on in a way that has a gradient."""

    def __init__(self, body: FuncGraph) -> None:
        self.body = body
        inputs = body.inputs
        self._position = {t: i for i, t in enumerate(inputs)}
        self._within: dict[Operation, list[_Reach]] = {}  # of the nodes in it that hold bodies
        self._behind = [self._walk(t) for t in body.outputs]

    def _walk(self, output: Tensor) -> set[int]:
        positions: set[int] = set()
        seen: set[Tensor] = set()
        stack = [output]
        while stack:
            tensor = stack.pop()
            if tensor in seen or not is_trainable(tensor.dtype):
                continue
            seen.add(tensor)
            if tensor in self._position:
                positions.add(self._position[tensor])
            elif gradient_rule(tensor.op) != (True, None):
                stack.extend(self._sources(tensor))
        return positions

    def _sources(self, tensor: Tensor) -> Sequence[Tensor]:
        """The inputs of its node that a tensor depends on: of a loop or a conditional not all that its other results need."""
        op = tensor.op
        if not is_loop(op) and "then_branch" not in op.attrs:
            return op.inputs
        if op not in self._within:
            bodies = [op.attrs["body"]] if is_loop(op) else [op.attrs["then_branch"], op.attrs["else_branch"]]
            self._within[op] = [_Reach(body) for body in bodies]
        position = tensor.value_index - first_result(op)
        if position < 0:
            return ()
        first = first_variable(op) if is_loop(op) else 1
        behind = set[int]().union(*(reach.all_behind(position) for reach in self._within[op]))
        return [op.inputs[first + i] for i in sorted(behind)]

    def all_behind(self, output: int) -> set[int]:
        """The inputs that an output depends on; of a loop those of earlier iterations, and what the variable starts with."""
        variables = len(self.body.args)
        if not variables:
            return self._behind[output]
        behind, before = {output}, set[int]()
        while behind != before:
            before = behind
            behind = before.union(*(self._behind[j] for j in before if j < variables))
        return behind

    def variables(self, arriving: set[int], sources: set[int]) -> list[int]:
        """The loop variables whose gradient arrives from the outputs ``arriving`` and matters to the inputs ``sources``."""
        count = len(self._behind)
        arrives = {j for j in arriving if is_trainable(self.body.args[j].dtype)}
        while True:
            more = {i for j in arrives for i in self._behind[j] if i < count} - arrives
            if not more:
                break
            arrives |= more
        matters = set(sources)
        while True:
            more = {j for j in range(count) if self._behind[j] & matters} - matters
            if not more:
                break
            matters |= more
        return sorted(arrives & matters)


def _if_rule(op: Operation, *grads: Any) -> Any:
    return if_gradient(op, grads, [True] * len(op.inputs))


def _loop_rule(op: Operation, *grads: Any) -> Any:
    return loop_gradient(op, grads, [True] * len(op.inputs))


BODY_RULES[_if_rule] = if_gradient
BODY_RULES[_loop_rule] = loop_gradient
for _name in ("If", "StatelessIf"):
    REGISTRY.gradients[_name] = _if_rule
for _name in ("While", "StatelessWhile", "_Repeat", "_StatelessRepeat"):
    REGISTRY.gradients[_name] = _loop_rule
