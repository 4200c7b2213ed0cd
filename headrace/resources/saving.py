"""How a save is done: written while it runs or later from a copy, beside other steps or in a cut between them.

A thread says so for the saves that it runs, by `Saving.entered`; the ops that save, and the runtime, look at `current`.  A save
that nobody says anything about is written while it runs, beside other steps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import torch

T = TypeVar("T")


class Copies:
    """The values of a save, copied to the host.  The memory is kept for the next save.  One save at a time may use it."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, Any], torch.Tensor] = {}
        self._lock = threading.Lock()

    def take(self, key: tuple[str, Any], value: Any) -> Any:
        """A copy of a value; ``key`` is its name and its slice.  Steps may change the value from now on."""
        if not isinstance(value, torch.Tensor):  # strings
            return value.copy()
        with self._lock:
            buffer = self._buffers.get(key)
        if buffer is None or buffer.shape != value.shape or buffer.dtype != value.dtype:
            buffer = torch.empty(value.shape, dtype=value.dtype)
            with self._lock:
                self._buffers[key] = buffer
        return buffer.copy_(value.detach())


class Saving:
    """One save: how it is to be done, and what there is to say of it afterwards."""

    def __init__(self, copies: Copies | None = None, consistent: bool = False, wait_secs: float = 60.0) -> None:
        """``copies``: to copy the values only, and leave the writing to whoever calls what is in ``deferred``, in order.

        ``consistent``: no step may write what is saved meanwhile; one that runs already is waited for, for ``wait_secs``.
        """
        self.copies = copies
        self.consistent = consistent
        self.wait_secs = wait_secs
        self.deferred: list[Callable[[], None]] = []
        self.torn: tuple[str, ...] = ()  # variables that steps wrote, or may have written, while it read them

    @contextmanager
    def entered(self) -> Iterator[Saving]:
        """Saves that this thread runs inside are done this way."""
        outer, current.saving = current.saving, self
        try:
            yield self
        finally:
            current.saving = outer


class _Current(threading.local):
    def __init__(self) -> None:
        self.saving: Saving | None = None


current: Final = _Current()


def carried(call: Callable[[], T]) -> Callable[[], T]:
    """The call, for another thread: saves inside are done as saves of this thread."""
    saving = current.saving
    if saving is None:
        return call

    def run() -> T:
        with saving.entered():
            return call()

    return run


def do_or_defer(write: Callable[[], None]) -> None:
    """Does what makes files of a save, now or when the saving says so."""
    saving = current.saving
    if saving is None or saving.copies is None:
        write()
    else:
        saving.deferred.append(write)
