"""What factories share that make functions which are alike: ``sin = unary("sin", "Sin", "The sine.")``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def called(name: str, text: str) -> Callable[[F], F]:
    """Decorates a function that a factory makes with the name and the docstring that users see."""

    def decorate(made: F) -> F:
        made.__name__ = made.__qualname__ = name
        made.__doc__ = text
        return made

    return decorate
