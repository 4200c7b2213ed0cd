"""Pieces of input that several sessions share: each is handed out once in an epoch, and again if its taker ends too soon."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from headrace.core.errors import AbortedError, InvalidArgumentError
from headrace.resources.state.container import NodeState
from headrace.resources.state.movable import Contents, Movable

TAKEN: Final = 0  # here is a piece
LATER: Final = 1  # all are handed out, and somebody may leave one
OVER: Final = 2  # all are done
UNSHUFFLED: Final = -1  # a seed: pieces come in their own order in each epoch
DRAWN: Final = -2  # a seed: whoever makes the pieces draws one


@dataclass(slots=True)
class _Handout:
    taker: PieceTaker
    turn: int  # its place among all that are handed out, over all epochs
    piece: int
    position: int  # how many of its elements nobody else needs


class Pieces(Movable):
    """Thread-safe.  Knows the numbers of pieces only; ``digest`` stands for what they are."""

    def __init__(self, name: str, count: int, epochs: int, digest: str, seed: int = UNSHUFFLED) -> None:
        """``epochs``: -1 for ever."""
        self._name, self._count, self._epochs, self._digest, self._asked = name, count, epochs, digest, seed
        self._seed = secrets.randbits(62) if seed == DRAWN else seed
        self._lock = threading.Lock()
        self._begun = 0  # handed out for the first time, over all epochs
        self._left: deque[tuple[int, int]] = deque()  # turns and positions, of takers that ended
        self._numbers = 0  # of handouts
        self._held: dict[int, _Handout] = {}
        self._order: tuple[int, np.ndarray[tuple[int], np.dtype[np.int64]]] | None = None  # of an epoch

    def check(self, count: int, epochs: int, digest: str, seed: int) -> None:
        """Refuses who means other pieces by this name."""
        if (count, epochs, digest, seed) != (self._count, self._epochs, self._digest, self._asked):
            same = "the same number, but not the same ones" if count == self._count else f"{count}"
            raise InvalidArgumentError(
                None, None,
                f"pieces {self._name!r} are {self._count}, {self._epochs} times, {_shuffled(self._asked)}, for whoever asked "
                f"first; this program has {same}, {epochs} times, {_shuffled(seed)}. All must give the same pieces in the "
                "same order",
            )  # fmt: skip

    def take(self, taker: PieceTaker) -> tuple[int, int, int, int]:
        """`TAKEN` with the numbers of the handout and the piece, and where to begin in it; otherwise `LATER` or `OVER`."""
        with self._lock:
            if self._left:
                turn, position = self._left.popleft()
            elif self._count and (self._epochs < 0 or self._begun < self._epochs * self._count):
                turn, position = self._begun, 0
                self._begun += 1
            else:
                return (LATER if self._held else OVER), -1, -1, 0
            self._numbers += 1
            handout = self._held[self._numbers] = _Handout(taker, turn, self._piece(turn), position)
            return TAKEN, self._numbers, handout.piece, position

    def _piece(self, turn: int) -> int:
        epoch, place = divmod(turn, self._count)
        if self._seed < 0:
            return place
        if self._order is None or self._order[0] != epoch:
            words = np.random.Philox(key=np.array([self._seed, epoch], np.uint64)).random_raw(self._count)
            self._order = epoch, np.argsort(words, kind="stable")
        return int(self._order[1][place])

    def report(self, taker: PieceTaker, handout: int, position: int) -> None:
        """So many elements of the piece need not come again."""
        with self._lock:
            self._of(taker, handout).position = position

    def finish(self, taker: PieceTaker, handout: int) -> None:
        """The piece is done."""
        with self._lock:
            self._of(taker, handout)
            del self._held[handout]

    def _of(self, taker: PieceTaker, number: int) -> _Handout:
        handout = self._held.get(number)
        if handout is None or handout.taker is not taker:
            raise AbortedError(
                None, None,
                f"handout {number} of pieces {self._name!r} is not held by this session: a checkpoint was restored meanwhile, or "
                "the session was taken for lost",
            )  # fmt: skip
        return handout

    def finish_pieces(self, taker: PieceTaker, pieces: Sequence[int]) -> None:
        """Pieces that this taker holds are done, of each the handout that is oldest."""
        for piece in pieces:
            with self._lock:
                mine = (n for n, handout in self._held.items() if handout.taker is taker and handout.piece == piece)
                number = next(mine, -1)
            self.finish(taker, number)

    def give_back(self, taker: PieceTaker) -> None:
        """What the taker has not done is for others, before all else."""
        with self._lock:
            numbers = [number for number, handout in self._held.items() if handout.taker is taker]
            left = [self._held.pop(number) for number in numbers]
            self._left.extend((handout.turn, handout.position) for handout in left)

    # ---- checkpoints

    def position(self) -> tuple[str, list[int]]:
        """What the pieces are, and which are done: all that have had their turn, but those that are listed."""
        with self._lock:
            left = [*self._left, *((handout.turn, handout.position) for handout in self._held.values())]
            return self._digest, [self._count, self._seed, self._begun, *(n for one in sorted(left) for n in one)]

    def move(self, digest: str, position: Sequence[int]) -> None:
        """Goes on from what `position` gave.  What anybody holds is not theirs any more."""
        count, seed, begun, *left = position
        if (digest, count) != (self._digest, self._count) or (
            seed != self._asked if self._asked != DRAWN else seed < 0
        ):
            raise InvalidArgumentError(
                None, None,
                f"the checkpoint has a position among {count} pieces, {_shuffled(seed)}; pieces {self._name!r} of this program "
                f"are {self._count}, {_shuffled(self._asked)}, and must be the same ones in the same order",
            )  # fmt: skip
        with self._lock:
            self._seed, self._begun, self._order = seed, begun, None
            self._left = deque(zip(left[::2], left[1::2], strict=True))
            self._held.clear()

    def packed(self) -> Contents | None:
        digest, position = self.position()
        return {"digest": digest, "position": position}, []

    def unpack(self, data: dict[str, Any], tensors: Sequence[Any]) -> None:
        self.move(data["digest"], data["position"])


def _shuffled(seed: int) -> str:
    return "not shuffled" if seed == UNSHUFFLED else "shuffled" if seed == DRAWN else f"shuffled with seed {seed}"


class PieceTaker(NodeState):
    """A session that takes pieces.  It ends when the session is closed, or its process is lost."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces

    def end(self) -> None:
        self.pieces.give_back(self)
