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

from headrace.core.errors import CancelledError

T = TypeVar("T")


class Saving:
    """One save: how it is to be done, and what there is to say of it afterwards."""

    def __init__(self, asynchronous: bool = False, consistent: bool = False, wait_secs: float = 60.0) -> None:
        """``asynchronous``: copies the values only, and leaves the writing to whoever calls what is in ``deferred``, in order.

        ``consistent``: no step may write what is saved meanwhile; one that runs already is waited for, for ``wait_secs``.
        """
        self.asynchronous = asynchronous
        self.consistent = consistent
        self.wait_secs = wait_secs
        self.deferred: list[Callable[[], None]] = []
        self.torn: tuple[str, ...] = ()  # variables that steps wrote, or may have written, while it read them
        self._changed = threading.Condition()
        self._files = 0  # that threads of this process are writing
        self._given_up = False

    @contextmanager
    def entered(self) -> Iterator[Saving]:
        """Saves that this thread runs inside are done this way."""
        outer, current.saving = current.saving, self
        try:
            yield self
        finally:
            current.saving = outer

    @contextmanager
    def one_file(self) -> Iterator[None]:
        """A thread writes a file of this save inside.  A save that was given up begins none."""
        with self._changed:
            self.check()
            self._files += 1
        try:
            yield
        finally:
            with self._changed:
                self._files -= 1
                self._changed.notify_all()

    def check(self) -> None:
        """Raises CancelledError if the save was given up."""
        if self._given_up:
            raise CancelledError(None, None, "the save failed elsewhere, or was interrupted")

    def give_up(self, seconds: float) -> None:
        """Ends the writing of files, and waits for it so long: threads look at it between pieces."""
        with self._changed:
            self._given_up = True
            self._changed.wait_for(lambda: not self._files, seconds)


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


def deferred() -> list[Callable[[], None]] | None:
    """Where a save of this thread leaves what makes its files; None if it is to make them itself."""
    saving = current.saving
    return saving.deferred if saving is not None and saving.asynchronous else None


@contextmanager
def one_file() -> Iterator[Callable[[], None]]:
    """A thread writes a file of a save inside.  It gives a call that raises CancelledError once the save was given up."""
    saving = current.saving
    if saving is None:
        yield lambda: None
    else:
        with saving.one_file():
            yield saving.check


def copy_of(value: Any) -> Any:
    """A value in memory of its own on the host.  Steps may change the value itself from now on."""
    if not isinstance(value, torch.Tensor):  # strings
        return value.copy()
    return torch.empty(value.shape, dtype=value.dtype).copy_(value.detach())
