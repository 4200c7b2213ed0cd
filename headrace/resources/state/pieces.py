"""Pieces of input that several sessions share: each is handed out once in an epoch, and again if its taker ends too soon."""

from __future__ import annotations

import threading
from collections import deque
from typing import Final

from headrace.core.errors import AbortedError, InvalidArgumentError
from headrace.resources.state.container import NodeState

TAKEN: Final = 0  # here is a piece
LATER: Final = 1  # all are handed out, and somebody may leave one
OVER: Final = 2  # all are done


class Pieces:
    """Thread-safe.  Knows the numbers of pieces only; ``digest`` stands for what they are."""

    def __init__(self, name: str, count: int, epochs: int, digest: str) -> None:
        """``epochs``: -1 for ever."""
        self._name, self._count, self._epochs, self._digest = name, count, epochs, digest
        self._lock = threading.Lock()
        self._begun = 0  # handed out for the first time, over all epochs
        self._left: deque[int] = deque()  # by takers that ended
        self._numbers = 0  # of handouts
        self._held: dict[int, tuple[PieceTaker, int]] = {}  # by handout

    def check(self, count: int, epochs: int, digest: str) -> None:
        """Refuses who means other pieces by this name."""
        if (count, epochs, digest) != (self._count, self._epochs, self._digest):
            same = "the same number, but not the same ones" if count == self._count else f"{count}"
            raise InvalidArgumentError(
                None, None,
                f"pieces {self._name!r} are {self._count}, {self._epochs} times, for whoever asked first; this program has "
                f"{same}, {epochs} times. All must give the same pieces in the same order",
            )  # fmt: skip

    def take(self, taker: PieceTaker) -> tuple[int, int, int]:
        """`TAKEN` with the number of the handout and of the piece; otherwise `LATER` or `OVER`."""
        with self._lock:
            if self._left:
                piece = self._left.popleft()
            elif self._count and (self._epochs < 0 or self._begun < self._epochs * self._count):
                piece = self._begun % self._count
                self._begun += 1
            else:
                return (LATER if self._held else OVER), -1, -1
            self._numbers += 1
            self._held[self._numbers] = taker, piece
            return TAKEN, self._numbers, piece

    def finish(self, taker: PieceTaker, handout: int) -> None:
        """The piece is done."""
        with self._lock:
            if self._held.get(handout, (None,))[0] is not taker:
                raise AbortedError(
                    None, None, f"handout {handout} of pieces {self._name!r} is not held by this session"
                )
            del self._held[handout]

    def give_back(self, taker: PieceTaker) -> None:
        """What the taker has not done is for others, before all else."""
        with self._lock:
            left = [handout for handout, (holder, _) in self._held.items() if holder is taker]
            self._left.extend(self._held.pop(handout)[1] for handout in left)


class PieceTaker(NodeState):
    """A session that takes pieces.  It ends when the session is closed, or its process is lost."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces

    def end(self) -> None:
        self.pieces.give_back(self)
