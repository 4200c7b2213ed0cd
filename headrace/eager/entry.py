"""The way into a function of the library while ops run at once: a wrapper with its signature, generated for it.

The wrapper knows the commonest calls (a tensor; a tensor and a tensor, a number or a list of numbers; the rest by default) and
runs their kernel itself, in one piece: with tensors this small, each Python call would be seen in the time.  All others are
left to ``Memory``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headrace.core.dtypes import DType
from headrace.eager import record
from headrace.eager.failure import explain
from headrace.eager.learn import Memory, variable_rank
from headrace.eager.tensor import EagerTensor, _handles, as_handle

F = TypeVar("F", bound=Callable[..., Any])

_SPACE: dict[str, Any] = {
    "DType": DType, "EagerTensor": EagerTensor, "enter": record.enter, "explain": explain,
    "handle": as_handle, "handles": _handles, "keep": record.keep, "ndim": variable_rank, "new": object.__new__,
    "snapshot": record.snapshot,
    "now": record.now, "numbers": {int},
}  # fmt: skip

_START = """\
def wrapper({signature}):
    tapes = now()
    if tapes is None:
        tapes = enter()
        if tapes is None:
            return function({arguments})
    if {first}.__class__ is EagerTensor:
{tensor}
    elif {first}.__class__ is list:
{list}
    return call(({arguments},))
"""

_LANE = """\
if {condition}:
    {prepare}
    key = {key}
    step = steps.get(key)
    if step is None:
        ranked = {ranked}
        step = steps.get(ranked)
        if step is None:
            return call(({arguments},), key, ranked)
    try:
        value = step.function({values}, *step.tail) if step.tail else step.function({values})
    except Exception as e:
        raise explain(e, step.bound.op_def, ({tensors}, *step.constants)) from e
    made = new(EagerTensor)
    made._value = value
    made._kind = step.kind
    if tapes:
        keep(tapes, step.bound, ({tensors}, *step.constants), (made,))
    return made
"""


def at_once(function: F) -> F:
    """Decorates a function of pure ops: while ops run at once, calls of a kind met before go straight to the kernels.

    It must not depend on anything but its arguments, nor change anything.
    """
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        raise TypeError(f"{function.__qualname__} needs parameters, all of which may be given by position")
    names = [p.name for p in parameters]
    memory = Memory(function, names)
    space = {**_SPACE, "function": function, "call": memory.call, "steps": memory.quick}
    signature = []
    for p in parameters:
        if p.default is p.empty:
            signature.append(p.name)
        else:
            signature.append(f"{p.name}=default_{p.name}")
            space[f"default_{p.name}"] = p.default
    text = _START.format(
        signature=", ".join(signature), arguments=", ".join(names), first=names[0],
        tensor=_indented(_tensor_lanes(parameters)), list=_indented(_list_lanes(parameters)),
    )  # fmt: skip
    exec(compile(text, f"<headrace entry of {function.__qualname__}>", "exec"), space)
    return functools.wraps(function)(space["wrapper"])  # type: ignore[return-value]


def _tensor_lanes(parameters: Sequence[inspect.Parameter]) -> str:
    """The code of the commonest calls whose first argument is a tensor."""
    x, *others = [p.name for p in parameters]
    y = others[0] if others and others[0] != "name" else ""
    lanes = []
    if (rest := _by_default(parameters[1:])) is not None:
        ranked = f"key + 1000 + 1000 * {x}._value.ndim"
        lanes.append(_lane(parameters, rest, f"{x}._kind", ranked, f"{x}._value", x))
    if y and (rest := _by_default(parameters[2:])) is not None:
        both = f"-1000 * {x}._kind - {y}._kind"
        ranks = f"key - 1000000 * (1 + {x}._value.ndim + 100 * {y}._value.ndim)"
        lanes.append(
            _lane(
                parameters,
                f"{y}.__class__ is EagerTensor and {rest}",
                both,
                ranks,
                f"{x}._value, {y}._value",
                f"{x}, {y}",
            )
        )
        for test, key in (
            (f"{y}.__class__ is int", f"({x}._kind, {y})"),
            (f"{y}.__class__ is list and {{*map(type, {y})}} == numbers", f"({x}._kind, tuple({y}))"),
            (f"{y}.__class__ is DType", f"({x}._kind, 'type', {y}.as_datatype_enum)"),
            (f"{y}.__class__ is slice", f"({x}._kind, {y}.start, {y}.stop, {y}.step, slice)"),
        ):
            lanes.append(
                _lane(parameters, f"{test} and {rest}", key, f"(*key, {x}._value.ndim, 'rank')", f"{x}._value", x)
            )
        given = ", ".join("snapshot(tapes, v)" if p.name == y else p.name for p in parameters)
        lanes.append(
            _lane(
                parameters, f"{y}.__class__ in handles and {rest}", f"-1000 * {x}._kind - v._kind",
                f"key - 1000000 * (1 + {x}._value.ndim + 100 * ndim(v))", f"{x}._value, v._value.value", f"{x}, v",
                prepare=f"v = handle({y})\n    if tapes:\n        return wrapper({given})",
            )
        )  # fmt: skip
    if len(others) > 1 and y and others[1] != "name" and (rest := _by_default(parameters[3:])) is not None:
        z = others[1]
        lanes.append(
            _lane(
                parameters, f"{y}.__class__ is EagerTensor and {z}.__class__ is EagerTensor and {rest}",
                f"({x}._kind, {y}._kind, {z}._kind)", f"(*key, {x}._value.ndim, {y}._value.ndim, {z}._value.ndim)",
                f"{x}._value, {y}._value, {z}._value", f"{x}, {y}, {z}",
            )
        )  # fmt: skip
    return "".join(lanes)


def _list_lanes(parameters: Sequence[inspect.Parameter]) -> str:
    """The same for a list of tensors."""
    x = parameters[0].name
    rest = _by_default(parameters[1:])
    number = ""
    if rest is None and (rest := _by_default(parameters[2:])) is not None:
        number = parameters[1].name
        rest = f"{number}.__class__ is int and {rest}"
    if rest is None:
        return ""
    prepare = f"kinds = tuple([t._kind for t in {x} if t.__class__ is EagerTensor])"
    lane = _lane(
        parameters, rest, f"(kinds, {number or None})", f"(*key, *[t._value.ndim for t in {x}], 'rank')",
        f"[t._value for t in {x}]", f"*{x}", prepare,
    )  # fmt: skip
    unless = f"    if len(kinds) != len({x}):\n        return call(({_given(parameters)},))\n"
    return lane.replace("    key = ", f"{unless}    key = ", 1)


def _lane(
    parameters: Sequence[inspect.Parameter], condition: str, key: str, ranked: str, values: str, tensors: str,
    prepare: str = "pass",
) -> str:  # fmt: skip
    return _LANE.format(
        condition=condition, key=key, ranked=ranked, values=values, tensors=tensors, prepare=prepare,
        arguments=_given(parameters),
    )  # fmt: skip


def _given(parameters: Sequence[inspect.Parameter]) -> str:
    return ", ".join(p.name for p in parameters)


def _indented(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() != "pass"] or ["pass"]
    return "\n".join(f"        {line}" for line in lines)


def _by_default(parameters: Sequence[inspect.Parameter]) -> str | None:
    """The test that these were not given; names do not matter."""
    counted = [p for p in parameters if p.name != "name"]
    if any(p.default is p.empty for p in counted):
        return None
    return " and ".join(f"{p.name} is default_{p.name}" for p in counted) or "True"
