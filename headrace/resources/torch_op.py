"""Ops of torch's that Headrace defines, in the namespace ``torch.ops.headrace``, for the eyes of a compiler.

They are defined on first use: by the kernel that shows one to the tracer, or by name where compiled code that another process
has made calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

_makers: dict[str, Callable[[], Any]] = {}
Result = TypeVar("Result")


def defines(*names: str) -> Callable[[Callable[[], Result]], Callable[[], Result]]:
    """Decorates the function that defines the ops of these names; it runs once."""

    def decorate(make: Callable[[], Result]) -> Callable[[], Result]:
        once = cache(make)
        for name in names:
            if name in _makers:
                raise ValueError(f"the op headrace::{name} is defined twice")
            _makers[name] = once
        return once

    return decorate


def define(name: str) -> None:
    """Defines the op if it is one of Headrace's."""
    if name in _makers:
        _makers[name]()
