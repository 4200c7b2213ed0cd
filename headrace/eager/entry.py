"""``learned``: the decorator of library functions.  While ops run eagerly, a call whose key is known runs its recipe.

The key of a call holds the dtypes of its tensors and its Python arguments.  To build a graph, the function itself runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headrace.core.dtypes import DType
from headrace.eager.learn import NOTHING, RANK, RECIPES, SHAPE, VALUE, learn
from headrace.eager.recipe import Recipe
from headrace.eager.tape_entry import now, snapshot, watching_tapes
from headrace.eager.tensor import _DTYPES, EagerHandle, EagerTensor, _handles

F = TypeVar("F", bound=Callable[..., Any])
_LENGTH = 16  # of the longest list of numbers that is part of a key
_TENSORS = {enum: (EagerTensor, enum) for enum in _DTYPES}  # the tokens of tensors, by dtype
_UNKNOWN = object()  # the token of an argument that recipes are not kept for


def learned(wrapped: F) -> F:
    """Decorates a function of pure ops: while ops run eagerly, a call like an earlier one goes straight to the kernels.

    The function may depend on its arguments only, and must not change anything.
    """
    memory = Memory(wrapped)
    recipes = memory.recipes

    @functools.wraps(wrapped)
    def entry(*args: Any, **kwargs: Any) -> Any:
        tapes = now()
        if tapes is None:
            tapes = watching_tapes()
            if tapes is None:
                return wrapped(*args, **kwargs)
        tensors: list[Any] = []
        key: list[Any] = []
        for value in args:
            if isinstance(value, EagerTensor):
                tensors.append(value)
                key.append(_TENSORS[value._dtype_enum])
            else:
                key.append(_token(value, tensors, tapes))
        if kwargs:
            for name, value in kwargs.items():
                if name != "name":
                    key += (name, _token(value, tensors, tapes))
        recipe = recipes.get(memory.whole(key, tensors) if memory.level else tuple(key))
        if recipe is None:
            recipe = memory.learn(key, tensors, args, kwargs)
            if recipe is None:
                return wrapped(*args, **kwargs)
        return recipe.run(tensors, tapes)

    return entry  # type: ignore[return-value]


class Memory:
    """The recipes of one function by the keys of its calls.  ``level`` is how closely it has ever looked at tensors."""

    __slots__ = ("count", "level", "recipes", "wrapped")

    def __init__(self, wrapped: Callable[..., Any]) -> None:
        self.wrapped = wrapped
        self.recipes: dict[Any, Recipe | None] = {}  # None: such a call has no recipe
        self.level = NOTHING
        self.count = 0

    def whole(self, key: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The key, with the ranks or shapes of the tensors if the function looks at them."""
        if self.level == RANK:
            return ("ranks", *key, *[t._value.ndim for t in tensors])
        return ("shapes", *key, *[t._value.shape for t in tensors]) if self.level == SHAPE else tuple(key)

    def learn(
        self, key: Sequence[Any], tensors: Sequence[Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Recipe | None:
        """The recipe of a call that has none yet; None if it cannot have one."""
        if _UNKNOWN in key or self.count >= RECIPES or self.whole(key, tensors) in self.recipes:
            return None
        self.count += 1

        def on_probes(probes: Sequence[Any]) -> Any:
            left = iter(probes)
            positional = [_with_probes(a, left) for a in args]
            return self.wrapped(
                *positional, **{n: a if n == "name" else _with_probes(a, left) for n, a in kwargs.items()}
            )

        looked, recipe = learn(on_probes, tensors)
        if self.level < looked < VALUE:  # the keys so far say too little
            self.level = looked
            self.recipes.clear()
        self.recipes[self.whole(key, tensors)] = recipe
        return recipe


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
    value_class = value.__class__
    if value_class is int or value is None:
        return value
    if value_class is EagerTensor:
        tensors.append(value)
        return _TENSORS[value._dtype_enum]
    if value_class is list or value_class is tuple:
        return _token_of_list(value, tensors, tapes)
    if value_class is float and value == 0:
        return (value_class, str(value))  # 0.0 equals -0.0
    if value_class in _SIMPLE:
        return (value_class, value)
    if value_class in _handles:
        handle = _handles[value_class](value)
        if handle.__class__ is not EagerHandle or not hasattr(handle._value, "value"):
            return _UNKNOWN
        tensors.append(snapshot(tapes, handle))
        return _TENSORS[tensors[-1]._dtype_enum]
    if value_class is slice:
        return _token_of_numbers(value_class, (value.start, value.stop, value.step))
    return (value_class, "...") if value is Ellipsis else _UNKNOWN


_SIMPLE = frozenset((bool, str, float, DType, type))


def _token_of_list(value: Any, tensors: list[Any], tapes: Sequence[Any]) -> Any:
    if len(value) > _LENGTH:
        return _UNKNOWN
    if value and _is_tensor(value[0]):
        tokens = [_token(v, tensors, tapes) if _is_tensor(v) else _UNKNOWN for v in value]
        return _UNKNOWN if _UNKNOWN in tokens else (value.__class__, *tokens)
    return _token_of_numbers(value.__class__, value)


def _token_of_numbers(value_class: type, values: Sequence[Any]) -> Any:
    tensors: list[Any] = []
    tokens = [v if v.__class__ is int else _token(v, tensors, ()) for v in values]
    return _UNKNOWN if tensors or _UNKNOWN in tokens else (value_class, *tokens)
