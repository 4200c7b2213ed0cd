"""How a save is done: written while it runs or later from a copy, beside other steps or in a cut between them.

A thread says so for the saves that it runs, by `Saving.entered`; the ops that save, and the runtime, look at `current`.  A save
that nobody says anything about is written while it runs, beside other steps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

import torch

from headrace.core.errors import CancelledError

T = TypeVar("T")

SHARDS: Final = 0  # the stages in which files are made: first those of each task,
COPY: Final = 1  # where they are on a disk of the task the same again, in the checkpoint's folder,
MERGE: Final = 2  # then, when all of these are there, what puts them together,
KEEP: Final = 3  # and what is done with those on the task's disk
STAGES: Final = (SHARDS, COPY, MERGE, KEEP)


class Elsewhere(Protocol):
    """What a save has left to be written on another task."""

    def write(self, stage: int) -> Callable[[], None]:
        """Begins to make the files of a stage; returns what waits for them, and raises what went wrong."""

    def end(self, given_up: bool) -> None:
        """Nothing more is to be written."""


class Saving:
    """One save: how it is to be done, and what there is to say of it afterwards."""

    def __init__(
        self, asynchronous: bool = False, consistent: bool = False, wait_secs: float = 60.0,
        local: tuple[str, str] | None = None,
    ) -> None:  # fmt: skip
        """``asynchronous``: copies the values only, and leaves the writing to whoever calls `write_files`.

        ``consistent``: no step may write what is saved meanwhile; one that runs already is waited for, for ``wait_secs``.
        ``local``: a folder on a disk of each task, for files that are written there first and read from there, and the prefix of
        the whole checkpoint.
        """
        self.local = local
        self._undo: list[Callable[[], None]] = []
        self.asynchronous = asynchronous
        self.consistent = consistent
        self.wait_secs = wait_secs
        self.elsewhere: list[Elsewhere] = []
        self._deferred: list[tuple[int, Callable[[], None]]] = []  # by stage
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

    def defer(self, stage: int, write: Callable[[], None], undo: Callable[[], None] | None = None) -> None:
        """Leaves something to be written; ``undo`` is called if the save is given up."""
        self._deferred.append((stage, write))
        if undo is not None:
            self._undo.append(undo)

    def write_files(self) -> None:
        """Writes what was left for later, here and on other tasks."""
        for stage in STAGES:
            waits = [one.write(stage) for one in self.elsewhere]
            self.write_stage(stage)
            for wait in waits:
                wait()
        for one in self.elsewhere:
            one.end(given_up=False)

    def write_stage(self, stage: int) -> None:
        """Writes what was left here for a stage, one after the other."""
        with self.entered():
            for write in [write for at, write in self._deferred if at == stage]:
                write()
        self._deferred = [one for one in self._deferred if one[0] != stage]  # the copies may go

    def check(self) -> None:
        """Raises CancelledError if the save was given up."""
        if self._given_up:
            raise CancelledError(None, None, "the save failed elsewhere, or was interrupted")

    def give_up(self, seconds: float) -> None:
        """Ends the writing of files, and waits for it so long: threads look at it between pieces."""
        for one in self.elsewhere:
            one.end(given_up=True)
        with self._changed:
            self._given_up = True
            self._changed.wait_for(lambda: not self._files, seconds)
        for undo in self._undo:
            undo()


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


def deferring() -> Saving | None:
    """The save of this thread that files are to be left to (`Saving.defer`); None if they are to be made now."""
    saving = current.saving
    return saving if saving is not None and saving.asynchronous else None


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
