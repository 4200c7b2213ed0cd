"""``at_once``: the way into a function of the library.  While ops run at once, a call of a kind met before runs its plan.

The kind of a call is the dtypes of its tensors and its Python arguments.  A graph is built by the function as it is written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headrace.core.dtypes import DType
from headrace.eager.learn import NOTHING, PLANS, RANK, SHAPE, VALUE, learn
from headrace.eager.recipe import Plan
from headrace.eager.tape_entry import now, recording, snapshot
from headrace.eager.tensor import _DTYPES, EagerHandle, EagerTensor, _handles

F = TypeVar("F", bound=Callable[..., Any])
_LENGTH = 16  # of the longest list of numbers that is part of a key
_TENSORS = {kind: (EagerTensor, kind) for kind in _DTYPES}  # the tokens of tensors, by dtype
_UNKNOWN = object()  # the token of an argument that plans are not kept for


def at_once(function: F) -> F:
    """Decorates a function of pure ops: while ops run at once, a call of a kind met before goes straight to the kernels.

    It must not depend on anything but its arguments, nor change anything.
    """
    memory = Memory(function)
    plans = memory.plans

    @functools.wraps(function)
    def entry(*args: Any, **kwargs: Any) -> Any:
        tapes = now()
        if tapes is None:
            tapes = recording()
            if tapes is None:
                return function(*args, **kwargs)
        tensors: list[Any] = []
        key: list[Any] = []
        for value in args:
            if isinstance(value, EagerTensor):
                tensors.append(value)
                key.append(_TENSORS[value._kind])
            else:
                key.append(_token(value, tensors, tapes))
        if kwargs:
            for name, value in kwargs.items():
                if name != "name":
                    key += (name, _token(value, tensors, tapes))
        plan = plans.get(memory.whole(key, tensors) if memory.level else tuple(key))
        if plan is None:
            plan = memory.learn(key, tensors, args, kwargs)
            if plan is None:
                return function(*args, **kwargs)
        return plan.run(tensors, tapes)

    return entry  # type: ignore[return-value]


class Memory:
    """The plans of one function by the kinds of its arguments; ``level`` is how closely it has ever looked at tensors."""

    __slots__ = ("count", "function", "level", "plans")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.plans: dict[Any, Plan | None] = {}  # None: what was learned is that there is none
        self.level = NOTHING
        self.count = 0

    def whole(self, key: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The key with what the function looks at, of these tensors."""
        if self.level == RANK:
            return ("ranks", *key, *[t._value.ndim for t in tensors])
        return ("shapes", *key, *[t._value.shape for t in tensors]) if self.level == SHAPE else tuple(key)

    def learn(
        self, key: Sequence[Any], tensors: Sequence[Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Plan | None:
        """The plan of a call that has none yet; None if it cannot have one."""
        if _UNKNOWN in key or self.count >= PLANS or self.whole(key, tensors) in self.plans:
            return None
        self.count += 1

        def on_probes(probes: Sequence[Any]) -> Any:
            left = iter(probes)
            given = [_with_probes(a, left) for a in args]
            return self.function(*given, **{n: a if n == "name" else _with_probes(a, left) for n, a in kwargs.items()})

        looked, plan = learn(on_probes, tensors)
        if self.level < looked < VALUE:  # the keys until now say too little
            self.level = looked
            self.plans.clear()
        self.plans[self.whole(key, tensors)] = plan
        return plan


def _with_probes(value: Any, probes: Any) -> Any:
    """The argument with the next probes in the place of its tensors."""
    if _is_tensor(value):
        return next(probes)
    if value.__class__ in (list, tuple) and value and _is_tensor(value[0]):
        return value.__class__([next(probes) for _ in value])
    return value


def _is_tensor(value: Any) -> bool:
    return value.__class__ is EagerTensor or value.__class__ in _handles


# ---- keys


def _token(value: Any, tensors: list[Any], tapes: Sequence[Any]) -> Any:
    """What an argument adds to the key.  Tensors, and the values of variables, go to ``tensors``."""
    kind = value.__class__
    if kind is int or value is None:
        return value
    if kind is EagerTensor:
        tensors.append(value)
        return _TENSORS[value._kind]
    if kind is list or kind is tuple:
        return _token_of_list(value, tensors, tapes)
    if kind is float and value == 0:
        return (kind, str(value))  # 0.0 equals -0.0
    if kind in _SIMPLE:
        return (kind, value)
    if kind in _handles:
        handle = _handles[kind](value)
        if handle.__class__ is not EagerHandle or not hasattr(handle._value, "value"):
            return _UNKNOWN
        tensors.append(snapshot(tapes, handle))
        return _TENSORS[tensors[-1]._kind]
    if kind is slice:
        return _token_of_numbers(kind, (value.start, value.stop, value.step))
    return (kind, "...") if value is Ellipsis else _UNKNOWN


_SIMPLE = frozenset((bool, str, float, DType, type))


def _token_of_list(value: Any, tensors: list[Any], tapes: Sequence[Any]) -> Any:
    if len(value) > _LENGTH:
        return _UNKNOWN
    if value and _is_tensor(value[0]):
        tokens = [_token(v, tensors, tapes) if _is_tensor(v) else _UNKNOWN for v in value]
        return _UNKNOWN if _UNKNOWN in tokens else (value.__class__, *tokens)
    return _token_of_numbers(value.__class__, value)


def _token_of_numbers(kind: type, values: Sequence[Any]) -> Any:
    tensors: list[Any] = []
    tokens = [v if v.__class__ is int else _token(v, tensors, ()) for v in values]
    return _UNKNOWN if tensors or _UNKNOWN in tokens else (kind, *tokens)
