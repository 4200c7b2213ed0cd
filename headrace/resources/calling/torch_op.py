"""Ops of torch's that Headrace defines, in the namespace ``torch.ops.headrace``, for the eyes of a compiler.

They are defined on first use: by the kernel that shows one to the tracer, or by name where compiled code that another process
has made calls it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import torch

_library = torch.library.Library("headrace", "FRAGMENT")
_lock = threading.RLock()
_makers: dict[str, Callable[[], Any]] = {}
Result = TypeVar("Result")


def defines(*names: str) -> Callable[[Callable[[], Result]], Callable[[], Result]]:
    """Decorates the function that defines the ops of these names; it runs once, whichever threads call it."""

    def decorate(make: Callable[[], Result]) -> Callable[[], Result]:
        made = cache(make)

        def once() -> Result:
            with _lock:
                return made()

        for name in names:
            if name in _makers:
                raise ValueError(f"the op headrace::{name} is defined twice")
            _makers[name] = once
        return once

    return decorate


def torch_op(
    schema: str, implementation: Callable[..., Any], fake: Callable[..., Any] | None = None, pointwise: bool = False,
    draws: bool = False,
) -> Any:  # fmt: skip
    """The op of torch's that ``schema`` names; ``fake`` gives results without values, and is the implementation by default.

    ``pointwise``: each number of the result is made of the numbers in its place.  ``draws``: random numbers, new in each call.

    Not ``torch.library.custom_op``: the first call of one of those imports the compiler, which stops a step for a second.
    """
    name = schema.partition("(")[0]
    asked = {torch.Tag.pointwise: pointwise, torch.Tag.nondeterministic_seeded: draws}
    tags = (torch.Tag.pt2_compliant_tag, *(tag for tag, is_asked in asked.items() if is_asked))
    _library.define(schema, tags=tags)
    _library.impl(name, implementation, "CompositeExplicitAutograd")
    torch.library.register_fake(f"headrace::{name}", fake or implementation, lib=_library)
    return getattr(torch.ops.headrace, name).default


def define(name: str) -> None:
    """Defines the op if it is one of Headrace's."""
    if name in _makers:
        _makers[name]()
