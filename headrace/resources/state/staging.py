"""Staging areas: values put by one step and got by another, bounded by number and by bytes.

`StagingMachine` decides who goes on, without threads; a shelf holds the values; `StagingArea` and `MapStagingArea` are
the locks around them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError
from headrace.resources.calling.value import Value
from headrace.resources.state.shelf import WAITS, Get, Map, Put, Row, Shelf
from headrace.resources.stepping.attempt import Attempt, Driver, Ended, finish
from headrace.resources.stepping.waiting import Done, Wait


class StagingMachine:
    """Who waits for room on a shelf, and who for what it will hold, in the order they came.  Not thread-safe."""

    def __init__(self, shelf: Shelf, title: str) -> None:
        self.shelf, self.title = shelf, title
        self.putters: deque[Put] = deque()
        self.getters: deque[Get] = deque()

    def put(self, attempt: Put) -> Ended:
        error = self.shelf.objection(attempt)
        if error is not None:
            return [attempt.end(error)]
        self.putters.append(attempt)
        return self._advance()

    def get(self, attempt: Get) -> Ended:
        error = self.shelf.objection(attempt)
        if error is not None:
            return [attempt.end(error)]
        self.getters.append(attempt)
        return self._advance()

    def clear(self) -> Ended:
        self.shelf.clear()
        return self._advance()

    def cancel(self, attempt: Attempt, error: Exception) -> Ended:
        if attempt.ended:
            return []
        line: deque[Any] = self.putters if isinstance(attempt, Put) else self.getters
        line.remove(attempt)
        return [attempt.end(error), *self._advance()]

    def _advance(self) -> Ended:
        ended: Ended = []
        while self._advance_putters(ended) or self._advance_getters(ended):
            pass
        return ended

    def _advance_putters(self, ended: Ended) -> bool:
        waiting: deque[Put] = deque()
        before = len(ended)
        for put in self.putters:
            if (waiting and not self.shelf.overtaking) or not self.shelf.fits(put):
                waiting.append(put)
            else:
                ended.append(put.end(self.shelf.add(put)))
        self.putters = waiting
        return len(ended) > before

    def _advance_getters(self, ended: Ended) -> bool:
        waiting: deque[Get] = deque()
        before = len(ended)
        for get in self.getters:
            outcome = self.shelf.find(get)
            if outcome is WAITS:
                waiting.append(get)
            else:
                ended.append(get.end(outcome))
        self.getters = waiting
        return len(ended) > before

    def describe(self, attempt: Attempt) -> str:
        if isinstance(attempt, Put):
            return f"{self.contents()}, {attempt.size} bytes wait to be put"
        key = attempt.key if isinstance(attempt, Get) else None
        return f"{self.contents()}, {'one' if key is None else f'number {key}'} is asked for"

    def contents(self) -> str:
        """How full the area is, in words."""
        return f"{self.title} has {self.shelf.contents()}"


class _Area(Driver):
    """Thread-safe, never blocks: a call that cannot end now returns a `Wait`; `done` is called outside the lock."""

    _machine: StagingMachine

    def describe_wait(self, attempt: Attempt) -> str:
        """An area is made by the first of its ops that runs: the line says where it is used, not where it begins."""
        description = self._machine.describe(attempt)
        return f"{description} (first used at {self._made_at})" if self._made_at else description

    def size(self) -> int:
        return len(self._machine.shelf)

    def clear(self) -> None:
        """Drops what is there; puts that wait go in."""
        with self._lock:
            ended = self._machine.clear()
        finish(ended)

    def describe(self) -> str:
        """How full the area is, and who waits at it."""
        machine = self._machine
        return f"{machine.contents()}; {len(machine.putters)} wait to put, {len(machine.getters)} wait to get"


class StagingArea(_Area):
    """First in, first out; a capacity or a limit of 0 is none."""

    def __init__(self, name: str, capacity: int = 0, memory_limit: int = 0, made_at: str = "") -> None:
        super().__init__(StagingMachine(Row(capacity, memory_limit), f"StagingArea '{name}'"), made_at)

    def put(self, values: Sequence[Value], done: Done) -> Wait | None:
        return self._begin(self._machine.put, Put(values, done))

    def get(self, done: Done) -> Wait | None:
        """Removes the first element; ends with its values."""
        return self._begin(self._machine.get, Get(done))

    def peek(self, index: int, done: Done) -> Wait | None:
        """Ends with the values of the element at `index`, when there is one; it stays."""
        return self._begin(self._machine.get, Get(done, index, keep=True))


class MapStagingArea(_Area):
    """Elements of `components` values by integer keys; a capacity or a limit of 0 is none.

    Without `components`, `set_dtypes` says how many there are before the first is put.
    """

    def __init__(
        self, name: str, components: int | None, capacity: int = 0, memory_limit: int = 0, ordered: bool = False,
        made_at: str = "",
    ) -> None:  # fmt: skip
        self._map = Map(components, capacity, memory_limit, ordered)
        self.title = f"MapStagingArea '{name}'"
        super().__init__(StagingMachine(self._map, self.title), made_at)
        self.dtypes: tuple[DType, ...] = ()

    def set_dtypes(self, dtypes: tuple[DType, ...]) -> None:
        """Says what the values of an element are; whoever says so again must say the same."""
        with self._lock:
            self.dtypes = self.dtypes or dtypes
            self._map.components = len(self.dtypes)
        if self.dtypes != dtypes:
            there, asked = ([dtype.name for dtype in several] for several in (self.dtypes, dtypes))
            raise InvalidArgumentError(None, None, f"{self.title} has dtypes {there} but requested dtypes were {asked}")

    def put(self, key: int, indices: Sequence[int], values: Sequence[Value], done: Done) -> Wait | None:
        """Puts the values at `indices` of the element of `key`."""
        return self._begin(self._machine.put, Put(values, done, key, indices))

    def get(self, key: int | None, indices: Sequence[int], done: Done) -> Wait | None:
        """Removes values of the element of `key` and ends with them; without a key, with any element's key and values."""
        return self._begin(self._machine.get, Get(done, key, indices))

    def peek(self, key: int, indices: Sequence[int], done: Done) -> Wait | None:
        """Ends with values of the element of `key`, when it is complete; they stay."""
        return self._begin(self._machine.get, Get(done, key, indices, keep=True))

    def incomplete_size(self) -> int:
        return len(self._map.incomplete)
