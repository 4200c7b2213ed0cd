"""Copies of a task's variables that another task keeps in its memory, for the case that the first one is lost.

A copy of all variables of a task is a *generation*.  There are two at most: the last that is whole everywhere, and the one that
is being made.  Whoever copies says which is the last; the others go, and their memory is used again.  It may hold all values but
for some rows: then only these are sent, and changed there.

The copies belong to the sessions that have a share in them.  When the last share ends, by a close or the loss of its process,
the job is over and the memory is free.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import torch

from headrace.core.errors import AbortedError, NotFoundError
from headrace.resources.state.container import NodeState
from headrace.resources.state.variable import Variable

ALL: Final = torch.tensor([-1])  # in place of the numbers of rows


class Generation(NamedTuple):
    """The values of a task's variables."""

    number: int  # any, the same on all tasks
    step: int  # the global step: the values are of this step, or later ones
    layout: str  # names, dtypes and shapes of the variables
    values: list[Any]
    base: int = 0  # the number of a generation that differs in some rows only; 0: none is known
    rows: Sequence[Any] = ()  # the numbers of these rows in each value, or `ALL`


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
        """Adds a copy of these values: all of them, or the rows that are not as in its base.

        Of the generations that there are only ``last`` stays.
        """
        with self._lock:
            dropped = [one for one in self._generations if one.number != last and one.layout == generation.layout]
            self._generations = [one for one in self._generations if one.number == last]
        dropped.sort(key=lambda one: one.number != generation.base)
        if generation.base and not (dropped and dropped[0].number == generation.base):
            raise AbortedError(
                None, None, f"There is no generation {generation.base} of the copy {self.name} to be changed"
            )
        room = dropped[0].values if dropped else [None] * len(generation.values)
        del dropped
        each = zip(generation.values, generation.rows or [ALL] * len(room), room, strict=True)
        values = [
            _copied(value, old) if _is_all(rows) else old.index_copy_(0, rows, value) for value, rows, old in each
        ]
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

    def change(self, number: int, layout: str) -> tuple[list[Any], list[Any]]:
        """What is new in a generation since its base: the numbers of rows, and these rows, of each value."""
        with self._lock:
            rows = next((one.rows for one in self._generations if one.number == number), ())
        values = self.take(number, layout)
        rows = list(rows) or [ALL] * len(values)
        each = zip(values, rows, strict=True)
        return rows, [value if _is_all(some) else value.index_select(0, some) for value, some in each]

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


class RowMarks(NodeState):
    """Which rows of variables were written since a generation was copied, for one session.  Ends with it.

    There are two turns, one for each of the two generations that are kept: each is made of what it was two copies before.
    """

    def __init__(self) -> None:
        self._asker = f"copy {secrets.token_hex(8)}"
        self._variables: set[Variable] = set()
        self._lock = threading.Lock()
        self._ended = False

    def rows(self, variable: Variable, turn: int, base: int, number: int) -> Any:
        """The numbers of the rows that were written since the generation ``base`` was read; None for all."""
        with self._lock:
            if self._ended:
                return None
            self._variables.add(variable)
            return variable.take_touched(f"{self._asker} {turn}", str(base), str(number))

    def end(self) -> None:
        with self._lock:
            self._ended = True
            for variable in self._variables:
                for turn in range(2):
                    variable.forget_touched(f"{self._asker} {turn}")


def _is_all(rows: Any) -> bool:
    return len(rows) == 1 and int(rows[0]) < 0


def _copied(value: Any, room: Any) -> Any:
    """A copy in the host's memory; in ``room``, if it fits."""
    if not isinstance(value, torch.Tensor):  # strings
        return value.copy()
    if not isinstance(room, torch.Tensor) or room.shape != value.shape or room.dtype != value.dtype:
        room = torch.empty(value.shape, dtype=value.dtype)
    return room.copy_(value)
