"""The decorators of ``tensorflow.python.util`` that programs put on functions of their own: deprecation, export, contexts."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from headrace.library.log import warn

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_PRINT_DEPRECATION_WARNINGS = True  # programs set it to False in the module they import

contextmanager = contextlib.contextmanager


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Decorator:
    """Marks a function as deprecated: its first call logs the instructions."""
    return _announced(lambda arguments: True, instructions)


def deprecated_args(date: str | None, instructions: str, *names: Any, **kwargs: Any) -> Decorator:
    """Marks arguments as deprecated: the first call that gives one of them logs the instructions."""
    plain = {name[0] if isinstance(name, tuple) else name for name in names}
    return _announced(lambda arguments: bool(plain & set(arguments)), instructions)


def deprecated_arg_values(date: str | None, instructions: str, warn_once: bool = True, **values: Any) -> Decorator:
    """Marks values of arguments as deprecated: the first call that gives one of them logs the instructions."""
    return _announced(
        lambda arguments: any(arguments.get(name) == value for name, value in values.items()), instructions
    )


def tf_export(*names: str, **kwargs: Any) -> Decorator:
    """Marks a function as public; here the function itself."""
    return lambda function: function


def make_decorator(target: Callable[..., Any], decorator_func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``decorator_func`` with the name and the documentation of ``target``."""
    return functools.wraps(target)(decorator_func)


def unwrap(maybe_decorated: Any) -> tuple[list[Any], Any]:
    """No decorators, and the function below those there are."""
    return [], inspect.unwrap(maybe_decorated)


def _announced(concerns: Callable[[dict[str, Any]], bool], instructions: str) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        announced = False

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal announced
            if not announced and concerns(signature.bind_partial(*args, **kwargs).arguments):
                announced = True
                warn("%s is deprecated. %s", function.__qualname__, instructions)
            return function(*args, **kwargs)

        return call

    return decorate
