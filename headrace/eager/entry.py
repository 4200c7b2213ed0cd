"""The way into a function of the library while ops run at once: a wrapper with its signature, generated for it.

The wrapper knows the commonest calls (a tensor; a tensor and a tensor, a number or a list of numbers; the rest by default) and
runs their kernel itself, in one piece: with tensors this small, each Python call would be seen in the time.  Each way of
calling is a lane with its own table of steps.  All other calls are left to ``Memory``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from headrace.core.dtypes import DType
from headrace.eager import record
from headrace.eager.learn import Memory, variable_rank
from headrace.eager.tensor import EagerHandle, EagerTensor, _handles, as_handle

F = TypeVar("F", bound=Callable[..., Any])
_LISTS = ("values", "inputs")  # names of arguments that are mostly lists

# Names that the generated code uses; parameters may be called anything else.
_SPACE: dict[str, Any] = {
    "h_DType": DType, "h_Tensor": EagerTensor, "h_enter": record.enter, "h_handle": as_handle,
    "h_handles": _handles, "h_keep": record.keep, "h_now": record.now, "h_numbers": {int},
    "h_rank": variable_rank, "h_snapshot": record.snapshot, "h_Handle": EagerHandle,
    "h_int": int, "h_is": isinstance, "h_len": len, "h_list": list, "h_map": map, "h_numel": torch.Tensor.numel,
    "h_slice": slice, "h_tuple": tuple, "h_type": type, "h_Exception": Exception,
}  # fmt: skip

_START = """\
def h_wrapper({signature}):
    h_tapes = h_now()
    if h_tapes is None:
        h_tapes = h_enter()
        if h_tapes is None:
            return h_function({arguments})
    if {is_first}:
{one}
    elif {is_other}:
{other}
    return h_call(({arguments},))
"""

# The key is written twice, so that the common case need not keep it.  A function that an object holds is called by a name of
# its own: Python would look for a method first.
_LANE = """\
h_step = {steps}.get({key})
if h_step is None:
    h_step = {steps}.get({ranked})
    if h_step is None:
        return h_call(({arguments},), {steps}, {key}, {ranked})
h_run = h_step.run
h_next = h_step.next
try:
    h_value = {run}
except h_Exception as h_error:
    if h_step.exact is not None and h_step.exact != {ranks}:
        return h_other(({arguments},), {steps}, {key}, {ranked})
    raise h_step.failed(h_error, ({tensors}, *h_step.constants)) from h_error
h_made = h_Tensor()
h_made._value = h_value
h_made._kind = h_step.kind
if h_tapes:
    h_keep(h_tapes, h_step.bound, ({tensors}, *h_step.constants), (h_made,))
return h_made
"""

# A function with no, one or more arguments after the tensors; a call with a star costs more than the question.
_RUN = (
    "h_run({values}) if h_next is None else "
    "h_run({values}, h_next) if h_step.rest is None else h_run({values}, *h_step.rest)"
)


def at_once(function: F) -> F:
    """Decorates a function of pure ops: while ops run at once, calls of a kind met before go straight to the kernels.

    It must not depend on anything but its arguments, nor change anything.
    """
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        raise TypeError(f"{function.__qualname__} needs parameters, all of which may be given by position")
    names = [p.name for p in parameters]
    memory = Memory(function, names)
    entry = _Entry(parameters, memory)
    space = entry.space
    space.update(h_function=function, h_call=memory.call, h_other=memory.other)
    signature = []
    for p in parameters:
        if p.default is p.empty:
            signature.append(p.name)
        else:
            signature.append(f"{p.name}=h_default_{p.name}")
            space[f"h_default_{p.name}"] = p.default
    lanes = [
        (f"h_is({names[0]}, h_Tensor)", _indented(entry.of_tensor(), 8)),
        (f"h_type({names[0]}) is h_list", _indented(entry.of_list(), 8)),
    ]
    if names[0] in _LISTS:
        lanes.reverse()
    (is_first, one), (is_other, other) = lanes
    text = _START.format(
        signature=", ".join(signature),
        arguments=", ".join(names),
        is_first=is_first,
        one=one,
        is_other=is_other,
        other=other,
    )
    exec(compile(text, f"<headrace entry of {function.__qualname__}>", "exec"), space)
    return functools.wraps(function)(space["h_wrapper"])  # type: ignore[return-value]


class _Entry:
    """The code of the lanes of one function."""

    def __init__(self, parameters: Sequence[inspect.Parameter], memory: Memory) -> None:
        self.parameters = parameters
        self.names = [p.name for p in parameters]
        self.memory = memory
        self.space = dict(_SPACE)

    def of_tensor(self) -> str:
        """The commonest calls whose first argument is a tensor."""
        x, *others = self.names
        y = others[0] if others and others[0] != "name" else ""
        code = ""
        if (rest := _by_default(self.parameters[1:])) is not None:
            rank = f"{x}._value.ndim"
            code = _branch(rest, self._of_one(x, f"{x}._kind", f"({x}._kind, {rank})"))
        if y and (rest := _by_default(self.parameters[2:])) is not None:
            code += _branch(rest, self._by_second(x, y), bool(code))
        if len(others) > 1 and y and others[1] != "name" and (rest := _by_default(self.parameters[3:])) is not None:
            code += _branch(self._all_tensors((y, others[1]), rest), self._tensors(x, y, others[1]))
        return code

    def _of_one(self, x: str, key: str, ranked: str) -> str:
        return self._lane(key, ranked, f"({x}._value.ndim,)", f"{x}._value", x, f"{x}._value")

    def _all_tensors(self, names: Sequence[str], rest: str) -> str:
        return " and ".join([*[f"h_is({n}, h_Tensor)" for n in names], rest])

    def _tensors(self, *names: str) -> str:
        ranks = ", ".join(f"{n}._value.ndim" for n in names)
        kinds, values = (", ".join(f"{n}.{what}" for n in names) for what in ("_kind", "_value"))
        first = f"{names[0]}._value"
        return self._lane(f"({kinds})", f"({kinds}, {ranks})", f"({ranks})", values, ", ".join(names), first)

    def _by_second(self, x: str, y: str) -> str:
        """The lanes by what the second argument is."""
        rank = f"{x}._value.ndim"

        def lane(key: str) -> str:
            return self._of_one(x, f"({x}._kind, {key})", f"({x}._kind, {key}, {rank}, 'rank')")

        numbers = f"h_count = h_len({y})\n"
        numbers += _branch("h_count == 1", f"h_a = {y}[0]\n{_branch('h_type(h_a) is h_int', lane('h_a'))}")
        pair = _branch("h_type(h_a) is h_int and h_type(h_b) is h_int", lane("h_a, h_b"))
        numbers += _branch("h_count == 2", f"h_a = {y}[0]\nh_b = {y}[1]\n{pair}", True)
        numbers += _branch(f"{{*h_map(h_type, {y})}} == h_numbers", lane(f"*{y}"), True)
        parts = f"h_a = {y}.start\nh_b = {y}.stop\nh_c = {y}.step\n"
        plain = " and ".join(f"({n} is None or h_type({n}) is h_int)" for n in ("h_a", "h_b", "h_c"))
        code = _branch("h_class is h_int", lane(y))
        code += _branch("h_class is h_list", numbers, True)
        code += _branch(f"h_is({y}, h_Tensor)", self._tensors(x, y), True)
        code += _branch("h_class is h_DType", lane(f"{y}.as_datatype_enum"), True)
        code += _branch("h_class is h_slice", parts + _branch(plain, lane("h_a, h_b, h_c")), True)
        code += _branch("h_class in h_handles", self._variable(x, y), True)
        return f"h_class = h_type({y})\n{code}"

    def _variable(self, x: str, y: str) -> str:
        ranks = f"({x}._value.ndim, h_rank(h_v))"
        given = ", ".join("h_snapshot(h_tapes, h_v)" if n == y else n for n in self.names)
        start = (
            f"h_v = h_handle({y})\n"
            f"if h_v.__class__ is not h_Handle:\n    return h_function({', '.join(self.names)})\n"
            f"if h_tapes:\n    return h_wrapper({given})\n"
        )
        kinds = f"({x}._kind, h_v._kind)"
        values = f"{x}._value, h_v._value.value"
        return start + self._lane(kinds, f"(*{kinds}, *{ranks})", ranks, values, f"{x}, h_v", f"{x}._value")

    def of_list(self) -> str:
        """The same for a list of tensors, or of sizes."""
        x = self.names[0]
        rest = _by_default(self.parameters[1:])
        number = ""
        if rest is None and (rest := _by_default(self.parameters[2:])) is not None:
            number = self.names[1]
            rest = f"h_type({number}) is h_int and {rest}"
        if rest is None:
            return ""
        axis = number or None
        two = self._lane(
            f"({axis}, h_first._kind, h_second._kind)",
            f"({axis}, h_first._kind, h_second._kind, h_first._value.ndim, h_second._value.ndim)",
            "None", "[h_first._value, h_second._value]", "h_first, h_second",
        )  # fmt: skip
        many = (
            f"h_kinds = [t._kind for t in {x} if h_is(t, h_Tensor)]\n"
            f"if h_len(h_kinds) != h_len({x}):\n    return h_call(({', '.join(self.names)},))\n"
        ) + self._lane(
            f"({axis}, *h_kinds)", f"({axis}, *h_kinds, *[t._value.ndim for t in {x}], 'rank')",
            "None", f"[t._value for t in {x}]", f"*{x}",
        )  # fmt: skip
        tensors = f"h_second = {x}[1] if h_len({x}) == 2 else None\n{_branch('h_is(h_second, h_Tensor)', two)}{many}"
        code = f"h_first = {x}[0] if {x} else None\n{_branch('h_is(h_first, h_Tensor)', tensors)}"
        if not number:
            sizes = self._lane(f"h_tuple({x})", f"h_tuple({x})", "None", "", "*()")
            code += _branch(f"h_type(h_first) is h_int and {_of_numbers(x)}", sizes, True)
        return _branch(rest, code)

    def _lane(self, key: str, ranked: str, ranks: str, values: str, tensors: str, first: str = "") -> str:
        """``first``: the code of a value whose size may decide."""
        steps = f"h_steps_{len(self.memory.quick)}"
        self.space[steps] = self.memory.lane()
        return _LANE.format(
            steps=steps, key=key, ranked=ranked, ranks=ranks, tensors=tensors, arguments=", ".join(self.names),
            run=_RUN.format(values=values).replace("(, ", "("),
        )  # fmt: skip


def _of_numbers(x: str) -> str:
    """The test that a list holds Python's integers and nothing else: short lists quickly."""
    one, two = f"h_type({x}[0]) is h_int", f"h_type({x}[1]) is h_int"
    return f"{x} and {one} and ({two} if h_len({x}) == 2 else h_len({x}) == 1 or {{*h_map(h_type, {x})}} == h_numbers)"


def _branch(condition: str, code: str, otherwise: bool = False) -> str:
    return f"{'elif' if otherwise else 'if'} {condition}:\n{_indented(code, 4)}\n"


def _indented(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in (text or "pass").splitlines())


def _by_default(parameters: Sequence[inspect.Parameter]) -> str | None:
    """The test that these were not given; names do not matter."""
    counted = [p for p in parameters if p.name != "name"]
    if any(p.default is p.empty for p in counted):
        return None
    # Several comparisons by identity slow down what follows; one of tuples, which begins with identity, does not.
    flags = [p for p in counted if p.default.__class__ in (bool, DType)]
    if flags == [p for p in flags if p.default.__class__ is bool] and len(flags) < 2:
        flags = []
    tests = [_is_default(p) for p in counted if p not in flags]
    if flags:
        tests.append(f"({', '.join(p.name for p in flags)},) == ({', '.join(f'h_default_{p.name}' for p in flags)},)")
    return " and ".join(tests) or "True"


def _is_default(parameter: inspect.Parameter) -> str:
    """The quickest test for a default."""
    name, value = parameter.name, parameter.default
    if value.__class__ is int:
        return f"h_is({name}, h_int) and {name} == {value}"
    return f"{name} is {value if value is None or value is True or value is False else f'h_default_{name}'}"
