"""Calling torch below its autograd: a step's kernels are not differentiated by torch, so torch need not ask whether to.

That look costs an eighth of a small kernel's time, and more for a view.  What differentiates with torch all the same (a kernel
without a gradient rule, a user's Python function or own op) says so with ``autograd``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from headrace.resources.calling.torch_names import DISPATCH

below_autograd: Any = nullcontext  # where torch lacks one of the names, its autograd is always there
_KEYS: Any = None
if None not in DISPATCH:
    below_autograd, _AUTOGRAD, _excluded, _excludes, _includes, _force = DISPATCH
    _before = _excludes()
    with below_autograd():
        _KEYS = _excludes() - _before  # _AUTOGRAD, and those of the devices


@contextmanager
def autograd() -> Iterator[None]:
    """Torch's autograd is there, wherever this is called from."""
    if _KEYS is None or not _excluded(_AUTOGRAD):
        yield
        return
    with _force(_includes(), _excludes() - _KEYS):
        yield


def with_autograd(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run with torch's autograd."""

    @functools.wraps(wrapped)
    def run(*args: Any, **kwargs: Any) -> Any:
        with autograd():
            return wrapped(*args, **kwargs)

    return run
