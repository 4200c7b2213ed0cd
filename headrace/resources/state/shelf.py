"""What a staging area holds: elements in a row or by key, which calls can be served, and how many bytes are used.

Who waits is the business of `StagingMachine`.  Not thread-safe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from headrace.core.errors import InvalidArgumentError, OpError, ResourceExhaustedError
from headrace.resources.calling.value import Value
from headrace.resources.stepping.attempt import Attempt
from headrace.resources.stepping.waiting import Done

WAITS = object()


class Put(Attempt):
    """Puts values: all of an element, or in a map those at `indices` of the element of `key`."""

    __slots__ = ("indices", "key", "size", "values")

    for_room = True

    def __init__(self, values: Sequence[Value], done: Done, key: int = 0, indices: Sequence[int] = ()) -> None:
        super().__init__(done)
        self.values, self.key, self.indices = tuple(values), key, tuple(indices)
        self.size = sum(map(byte_size, values))


class Get(Attempt):
    """Gets the next element, or the one of `key`; in a map only its values at `indices`.  `keep` leaves it where it is."""

    __slots__ = ("indices", "keep", "key")

    def __init__(self, done: Done, key: int | None = None, indices: Sequence[int] = (), keep: bool = False) -> None:
        super().__init__(done)
        self.key, self.indices, self.keep = key, tuple(indices), keep


def byte_size(value: Value) -> int:
    """The memory of a value: of its numbers, or of its strings and the pointers to them."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return int(value.nbytes) + sum(map(len, value.reshape(-1)))


class Shelf(ABC):
    """What is in a staging area of at most `capacity` elements and `memory_limit` bytes; 0 is no limit."""

    overtaking: bool  # whether a put that fits may go before one that does not

    def __init__(self, capacity: int, memory_limit: int) -> None:
        self._capacity, self._memory_limit = capacity, memory_limit
        self.used = 0  # bytes

    def objection(self, attempt: Put | Get) -> OpError | None:
        """Why this call can never succeed."""
        if isinstance(attempt, Put) and 0 < self._memory_limit < attempt.size:
            message = (
                f"{attempt.size} bytes were put into a staging area with a memory limit of {self._memory_limit} bytes"
            )
            return ResourceExhaustedError(None, None, message)
        return None

    def fits(self, put: Put) -> bool:
        """Whether there is room for `put`."""
        if 0 < self._capacity <= len(self):
            return False
        return not self._memory_limit or self.used + put.size <= self._memory_limit

    def contents(self) -> str:
        """How full it is, in words."""
        limits = [f" of {limit}" if limit else "" for limit in (self._capacity, self._memory_limit)]
        one = len(self) == 1 and not self._capacity
        return f"{len(self)}{limits[0]} element{'' if one else 's'} and {self.used}{limits[1]} bytes"

    @abstractmethod
    def add(self, put: Put) -> OpError | None:
        """Takes the values in, or says why not."""

    @abstractmethod
    def find(self, get: Get) -> Any:
        """The result of `get`, or an error, or WAITS."""

    @abstractmethod
    def clear(self) -> None:
        """Drops everything."""

    @abstractmethod
    def __len__(self) -> int:
        """How many complete elements there are."""


class Row(Shelf):
    """Elements one after another; the key of a `Get` is the place."""

    overtaking = False

    def __init__(self, capacity: int, memory_limit: int) -> None:
        super().__init__(capacity, memory_limit)
        self._elements: deque[tuple[tuple[Value, ...], int]] = deque()  # with their bytes

    def objection(self, attempt: Put | Get) -> OpError | None:
        if isinstance(attempt, Get) and attempt.key is not None and attempt.key < 0:
            return InvalidArgumentError(None, None, f"An index of a staging area is 0 or more; got {attempt.key}")
        return super().objection(attempt)

    def add(self, put: Put) -> None:
        self._elements.append((put.values, put.size))
        self.used += put.size

    def find(self, get: Get) -> Any:
        place = get.key or 0
        if place >= len(self._elements):
            return WAITS
        if get.keep:
            return self._elements[place][0]
        values, size = self._elements.popleft()
        self.used -= size
        return values

    def clear(self) -> None:
        self._elements.clear()
        self.used = 0

    def __len__(self) -> int:
        return len(self._elements)


class Map(Shelf):
    """Elements by key.  Values of an element may come, and go, one by one; a taker waits until all have come.

    Without a key comes the element with the lowest (`ordered`), else the one that was complete first.  Incomplete
    elements count for bytes, not for `capacity`.  A put that does not fit is overtaken by those that do: somebody may
    wait for their keys.  `components`, the number of values of an element, is set before the first is put.
    """

    overtaking = True

    def __init__(self, components: int | None, capacity: int, memory_limit: int, ordered: bool) -> None:
        super().__init__(capacity, memory_limit)
        self.components, self._ordered = components, ordered
        self._complete: dict[int, dict[int, Value]] = {}
        self.incomplete: dict[int, dict[int, Value]] = {}

    def objection(self, attempt: Put | Get) -> OpError | None:
        indices = attempt.indices
        if any(a >= b for a, b in zip(indices, indices[1:], strict=False)):
            return InvalidArgumentError(None, None, f"Indices are not strictly ordered: {list(indices)}")
        for index in indices:
            if index < 0 or (self.components is not None and index >= self.components):
                message = f"Index {index} for key {attempt.key} is outside the {self.components} values of an element"
                return InvalidArgumentError(None, None, message)
        return super().objection(attempt)

    def fits(self, put: Put) -> bool:
        """What comes to an incomplete element always fits: it would hold its bytes for ever otherwise."""
        if len(put.indices) == self.components:
            return super().fits(put)
        return put.key in self.incomplete or not self._memory_limit or self.used + put.size <= self._memory_limit

    def add(self, put: Put) -> OpError | None:
        """TensorFlow drops an element whose key is there already; we refuse it."""
        assert self.components is not None
        element = self.incomplete.get(put.key, {}) if len(put.indices) < self.components else {}
        for index in put.indices:
            if index in element:
                return InvalidArgumentError(None, None, f"Value {index} for key {put.key} was put already")
        element = {**element, **dict(zip(put.indices, put.values, strict=True))}
        if len(element) < self.components:
            self.incomplete[put.key] = element
        elif put.key in self._complete:
            return InvalidArgumentError(None, None, f"Key {put.key} is there already")
        else:
            self._complete[put.key] = element
            if len(put.indices) < self.components:
                del self.incomplete[put.key]
        self.used += put.size
        return None

    def find(self, get: Get) -> Any:
        key = get.key
        if key is None and self._complete:
            key = min(self._complete) if self._ordered else next(iter(self._complete))
        element = self._complete.get(key)  # type: ignore[arg-type]
        if element is None:
            return WAITS
        for index in get.indices:
            if index not in element:
                return InvalidArgumentError(None, None, f"Value {index} for key {key} has been removed already")
        values = tuple(element[index] for index in get.indices)
        if not get.keep:
            self._remove(key, element, get.indices)  # type: ignore[arg-type]
        return values if get.key is not None else (key, values)

    def _remove(self, key: int, element: dict[int, Value], indices: Sequence[int]) -> None:
        for index in indices:
            self.used -= byte_size(element.pop(index))
        if not element:
            del self._complete[key]

    def clear(self) -> None:
        self._complete.clear()
        self.incomplete.clear()
        self.used = 0

    def __len__(self) -> int:
        return len(self._complete)
