"""What TensorFlow's ``function_utils`` tells of Python functions: their arguments, their names, their code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

from headrace.core.source import at


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that a function can be called with: those a method or a partial has bound are left out.

    >>> from headrace.library.system.callable import fn_args
    >>> fn_args(lambda features, labels=None: features)
    ('features', 'labels')
    """
    _check(fn)
    bound = getattr(fn, "keywords", {})
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(fn).parameters.values()
    return tuple(one.name for one in parameters if one.kind in plain and one.name not in bound)


def has_kwargs(fn: Callable[..., Any]) -> bool:
    """Whether a function takes arguments of any name (``**kwargs``)."""
    _check(fn)
    return any(one.kind is one.VAR_KEYWORD for one in inspect.signature(fn).parameters.values())


def get_func_name(func: Callable[..., Any]) -> str:
    """A function's name, ``Class.method`` of a method, and the class of another thing that can be called, as text."""
    if not callable(func):
        raise ValueError(f"Argument must be callable, got {func!r} of type {type(func).__name__} {at()}")
    plain = inspect.unwrap(func)
    if inspect.ismethod(plain):
        return f"{type(plain.__self__).__name__}.{plain.__func__.__name__}"
    return plain.__name__ if inspect.isfunction(plain) else str(type(plain))


def get_func_code(func: Callable[..., Any]) -> CodeType | None:
    """A function's code; None for what has none."""
    if not callable(func):
        raise ValueError(f"Argument must be callable, got {func!r} of type {type(func).__name__} {at()}")
    plain = inspect.unwrap(func)
    if not (inspect.isfunction(plain) or inspect.ismethod(plain)):
        plain = getattr(plain, "__call__", None)  # noqa: B004 - an object of a class with that method
    return getattr(plain, "__code__", None)


def _check(function: Any) -> None:
    if not callable(function):
        raise TypeError(
            f"fn should be a function-like object, got {function!r} of type {type(function).__name__} {at()}"
        )
