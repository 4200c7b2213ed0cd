"""Copies of a task's variables that another task keeps in its memory, for the case that the first one is lost.

A copy of all variables of a task is a *generation*.  There are two at most: the last that is whole everywhere, and the one that
is being made.  Whoever copies says which is the last; the others go, and their memory is used again.

The copies belong to the sessions that have a share in them.  When the last share ends, by a close or the loss of its process,
the job is over and the memory is free.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import torch

from headrace.core.errors import AbortedError, NotFoundError
from headrace.resources.state.container import NodeState


class Generation(NamedTuple):
    """The values of a task's variables."""

    number: int  # any, the same on all tasks
    step: int  # the global step: the values are of this step, or later ones
    layout: str  # names, dtypes and shapes of the variables
    values: list[Any]


class MemoryCopies:
    """The copies of one task's variables on another.  Thread-safe, but only one call at a time may keep."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._lock = threading.Lock()
        self._generations: list[Generation] = []
        self._shares: set[CopyShare] = set()

    def join(self, share: CopyShare) -> None:
        with self._lock:
            self._shares.add(share)

    def leave(self, share: CopyShare) -> None:
        """Ends a share; the last one takes all copies with it."""
        with self._lock:
            self._shares.discard(share)
            if not self._shares:
                self._generations = []

    def keep(self, share: CopyShare, last: int, generation: Generation) -> None:
        """Adds a copy of these values.  Of the generations that there are only ``last`` stays."""
        with self._lock:
            dropped = [one for one in self._generations if one.number != last]
            self._generations = [one for one in self._generations if one.number == last]
        room = next((one.values for one in dropped if one.layout == generation.layout), [None] * len(generation.values))
        del dropped
        values = [_copied(value, old) for value, old in zip(generation.values, room, strict=True)]
        with self._lock:
            if share not in self._shares:
                raise AbortedError(None, None, f"The session that makes the copy {self.name} has ended")
            self._generations.append(generation._replace(values=values))

    def generations(self, layout: str) -> list[tuple[int, int]]:
        """Number and step of the copies of variables of this layout."""
        with self._lock:
            return [(one.number, one.step) for one in self._generations if one.layout == layout]

    def take(self, number: int, layout: str) -> list[Any]:
        """The values of a generation.  They stay the copy's: the caller copies them."""
        with self._lock:
            for one in self._generations:
                if one.number == number and one.layout == layout:
                    return one.values
            there = [one.number for one in self._generations]
        raise NotFoundError(None, None, f"There is no generation {number} of the copy {self.name}; there are {there}")

    def drop(self) -> None:
        with self._lock:
            self._generations = []


class CopyShare(NodeState):
    """A session's share in copies.  It ends when the session is closed, or its process is lost."""

    def __init__(self, copies: MemoryCopies) -> None:
        self.copies = copies
        copies.join(self)

    def end(self) -> None:
        self.copies.leave(self)


def _copied(value: Any, room: Any) -> Any:
    """A copy in the host's memory; in ``room``, if it fits."""
    if not isinstance(value, torch.Tensor):  # strings
        return value.copy()
    if not isinstance(room, torch.Tensor) or room.shape != value.shape or room.dtype != value.dtype:
        room = torch.empty(value.shape, dtype=value.dtype)
    return room.copy_(value)
