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
from headrace.eager.learn import Memory, variable_rank
from headrace.eager.tensor import EagerHandle, EagerTensor, _handles, as_handle

F = TypeVar("F", bound=Callable[..., Any])

# Names that the generated code uses; parameters may be called anything else.
_SPACE: dict[str, Any] = {
    "h_DType": DType, "h_Tensor": EagerTensor, "h_enter": record.enter, "h_handle": as_handle,
    "h_handles": _handles, "h_keep": record.keep, "h_new": object.__new__, "h_now": record.now, "h_numbers": {int},
    "h_plain": {int, type(None)}, "h_rank": variable_rank, "h_snapshot": record.snapshot, "h_Handle": EagerHandle,
    "h_int": int, "h_list": list, "h_map": map, "h_slice": slice, "h_tuple": tuple, "h_type": type, "h_Exception": Exception,
}  # fmt: skip

_START = """\
def h_wrapper({signature}):
    h_tapes = h_now()
    if h_tapes is None:
        h_tapes = h_enter()
        if h_tapes is None:
            return h_function({arguments})
    if {first}.__class__ is h_Tensor:
{tensor}
    elif {first}.__class__ is h_list:
{list}
    return h_call(({arguments},))
"""

_LANE = """\
if {condition}:
    {prepare}
    h_key = {key}
    h_step = h_steps.get(h_key)
    if h_step is None:
        h_ranked = {ranked}
        h_step = h_steps.get(h_ranked)
        if h_step is None:
            return h_call(({arguments},), h_key, h_ranked)
    try:
        h_value = h_step.function({values}, *h_step.tail) if h_step.tail else h_step.function({values})
    except h_Exception as h_error:
        raise h_step.failed(h_error, ({tensors}, *h_step.constants)) from h_error
    h_made = h_new(h_Tensor)
    h_made._value = h_value
    h_made._kind = h_step.kind
    if h_tapes:
        h_keep(h_tapes, h_step.bound, ({tensors}, *h_step.constants), (h_made,))
    return h_made
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
    space = {**_SPACE, "h_function": function, "h_call": memory.call, "h_steps": memory.quick}
    signature = []
    for p in parameters:
        if p.default is p.empty:
            signature.append(p.name)
        else:
            signature.append(f"{p.name}=h_default_{p.name}")
            space[f"h_default_{p.name}"] = p.default
    text = _START.format(
        signature=", ".join(signature), arguments=", ".join(names), first=names[0],
        tensor=_indented(_tensor_lanes(parameters)), list=_indented(_list_lanes(parameters)),
    )  # fmt: skip
    exec(compile(text, f"<headrace entry of {function.__qualname__}>", "exec"), space)
    return functools.wraps(function)(space["h_wrapper"])  # type: ignore[return-value]


def _tensor_lanes(parameters: Sequence[inspect.Parameter]) -> str:
    """The code of the commonest calls whose first argument is a tensor."""
    x, *others = [p.name for p in parameters]
    y = others[0] if others and others[0] != "name" else ""
    lanes = []
    if (rest := _by_default(parameters[1:])) is not None:
        ranked = f"h_key + 1000 + 1000 * {x}._value.ndim"
        lanes.append(_lane(parameters, rest, f"{x}._kind", ranked, f"{x}._value", x))
    if y and (rest := _by_default(parameters[2:])) is not None:
        both = f"-1000 * {x}._kind - {y}._kind"
        ranks = f"h_key - 1000000 * (1 + {x}._value.ndim + 100 * {y}._value.ndim)"
        lanes.append(
            _lane(
                parameters,
                f"{y}.__class__ is h_Tensor and {rest}",
                both,
                ranks,
                f"{x}._value, {y}._value",
                f"{x}, {y}",
            )
        )
        for test, key in (
            (f"{y}.__class__ is h_int", f"({x}._kind, {y})"),
            (f"{y}.__class__ is h_list and {{*h_map(h_type, {y})}} == h_numbers", f"({x}._kind, h_tuple({y}))"),
            (f"{y}.__class__ is h_DType", f"({x}._kind, 'type', {y}.as_datatype_enum)"),
            (
                f"{y}.__class__ is h_slice and {{*h_map(h_type, ({y}.start, {y}.stop, {y}.step))}} <= h_plain",
                f"({x}._kind, {y}.start, {y}.stop, {y}.step, h_slice)",
            ),
        ):
            lanes.append(
                _lane(parameters, f"{test} and {rest}", key, f"(*h_key, {x}._value.ndim, 'rank')", f"{x}._value", x)
            )
        given = ", ".join("h_snapshot(h_tapes, h_v)" if p.name == y else p.name for p in parameters)
        unless = f"    if h_v.__class__ is not h_Handle:\n        return h_function({_given(parameters)})\n"
        lanes.append(
            _lane(
                parameters, f"{y}.__class__ in h_handles and {rest}", f"-1000 * {x}._kind - h_v._kind",
                f"h_key - 1000000 * (1 + {x}._value.ndim + 100 * h_rank(h_v))", f"{x}._value, h_v._value.value", f"{x}, h_v",
                prepare=f"h_v = h_handle({y})\n{unless}    if h_tapes:\n        return h_wrapper({given})",
            )
        )  # fmt: skip
    if len(others) > 1 and y and others[1] != "name" and (rest := _by_default(parameters[3:])) is not None:
        z = others[1]
        lanes.append(
            _lane(
                parameters, f"{y}.__class__ is h_Tensor and {z}.__class__ is h_Tensor and {rest}",
                f"({x}._kind, {y}._kind, {z}._kind)", f"(*h_key, {x}._value.ndim, {y}._value.ndim, {z}._value.ndim)",
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
        rest = f"{number}.__class__ is h_int and {rest}"
    if rest is None:
        return ""
    sizes = "" if number else _lane(
        parameters, f"{x} and {x}[0].__class__ is h_int and {rest} and {{*h_map(h_type, {x})}} == h_numbers",
        f"(*{x}, 'sizes')", "h_key", "*()", "*()",
    )  # fmt: skip
    prepare = f"h_kinds = [t._kind for t in {x} if t.__class__ is h_Tensor]"
    lane = _lane(
        parameters, rest, f"({number or None}, *h_kinds)", f"(*h_key, *[t._value.ndim for t in {x}], 'rank')",
        f"[t._value for t in {x}]", f"*{x}", prepare,
    )  # fmt: skip
    unless = f"    if len(h_kinds) != len({x}):\n        return h_call(({_given(parameters)},))\n"
    return sizes + lane.replace("    h_key = ", f"{unless}    h_key = ", 1)


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
    return " and ".join(f"{p.name} is h_default_{p.name}" for p in counted) or "True"
