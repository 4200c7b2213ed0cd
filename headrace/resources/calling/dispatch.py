"""Calling torch below its autograd: a step's kernels are not differentiated by torch, so torch need not ask whether to.

That look costs an eighth of a small kernel's time, and more for a view.  What differentiates with torch all the same (a kernel
without a gradient rule, a user's Python function or own op) says so with ``autograd``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

below_autograd = torch._C._AutoDispatchBelowAutograd  # type: ignore[attr-defined]

_AUTOGRAD = torch._C.DispatchKey.AutogradOther  # excluded with those of the devices
_excluded = torch._C._dispatch_tls_is_dispatch_key_excluded
_excludes = torch._C._dispatch_tls_local_exclude_set
_includes = torch._C._dispatch_tls_local_include_set  # type: ignore[attr-defined]

_before = _excludes()
with below_autograd():
    _KEYS = _excludes() - _before


@contextmanager
def autograd() -> Iterator[None]:
    """Torch's autograd is there, wherever this is called from."""
    if not _excluded(_AUTOGRAD):
        yield
        return
    with torch._C._ForceDispatchKeyGuard(_includes(), _excludes() - _KEYS):
        yield


def with_autograd(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run with torch's autograd."""

    @functools.wraps(wrapped)
    def run(*args: Any, **kwargs: Any) -> Any:
        with autograd():
            return wrapped(*args, **kwargs)

    return run
