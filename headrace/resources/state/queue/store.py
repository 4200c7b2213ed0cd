"""In which order a queue gives its elements: first in first out, at random, or by priority.

A store holds elements (tuples of values it does not look into, except a priority) and knows nothing of capacity, of
closing or of who waits: `QueueMachine` asks it.  Not thread-safe.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from headrace.core.random_words import RandomWords

Element = tuple[Any, ...]


class Store(Protocol):
    """The elements of a queue."""

    def put(self, element: Element) -> None:
        """Adds an element."""

    def take(self) -> Element:
        """Removes the next element and returns it; there must be one."""

    def put_all(self, elements: Iterable[Element]) -> None:
        """Adds elements, in order."""

    def take_some(self, count: int) -> list[Element]:
        """Removes the next elements and returns them; there must be that many."""

    def give_back(self, elements: Sequence[Element]) -> None:
        """Adds elements that were taken, in the order they were taken, so that they come before all others."""

    def ready(self, closed: bool) -> int:
        """How many elements may be taken now; `closed` means that no more will be added."""

    def elements(self, taken: Sequence[Element]) -> list[Element]:
        """All elements as `replace` takes them, if those in `taken` were given back."""

    def position(self) -> list[int]:
        """What else decides which elements come next."""

    def replace(self, elements: Iterable[Element], position: Sequence[int]) -> None:
        """Has these elements instead of its own, and goes on from `position`."""

    def __len__(self) -> int: ...


class FifoStore:
    """First in, first out."""

    def __init__(self) -> None:
        self._elements: deque[Element] = deque()
        self.put = self._elements.append
        self.take = self._elements.popleft
        self.put_all = self._elements.extend

    def take_some(self, count: int) -> list[Element]:
        take = self.take
        return [take() for _ in range(count)]

    def give_back(self, elements: Sequence[Element]) -> None:
        self._elements.extendleft(reversed(elements))

    def ready(self, closed: bool) -> int:
        return len(self._elements)

    def elements(self, taken: Sequence[Element]) -> list[Element]:
        return [*taken, *self._elements]

    def position(self) -> list[int]:
        return []

    def replace(self, elements: Iterable[Element], position: Sequence[int]) -> None:
        self._elements.clear()
        self._elements.extend(elements)

    def __len__(self) -> int:
        return len(self._elements)


class ShuffleStore:
    """At random, and only from more than `min_after_dequeue` elements until the queue is closed.

    With seeds, the order is TensorFlow's; two zeros mean seeds nobody knows.
    """

    def __init__(self, min_after_dequeue: int, seed: int = 0, seed2: int = 0) -> None:
        self._elements: list[Element] = []
        self.put = self._elements.append
        self.put_all = self._elements.extend
        self.min_after_dequeue = min_after_dequeue
        self._words = RandomWords.seeded(seed, seed2)

    def take(self) -> Element:
        return self.take_some(1)[0]

    def take_some(self, count: int) -> list[Element]:
        elements = self._elements
        taken = []
        for word in self._words.draw(count):
            index = word % len(elements)
            taken.append(elements[index])
            elements[index] = elements[-1]
            elements.pop()
        return taken

    def give_back(self, elements: Sequence[Element]) -> None:
        self._elements.extend(elements)

    def ready(self, closed: bool) -> int:
        return len(self._elements) if closed else max(0, len(self._elements) - self.min_after_dequeue)

    def elements(self, taken: Sequence[Element]) -> list[Element]:
        return [*self._elements, *taken]

    def position(self) -> list[int]:
        return self._words.position()

    def replace(self, elements: Iterable[Element], position: Sequence[int]) -> None:
        words = RandomWords.at(position)
        self._elements[:] = elements
        self._words = words

    def __len__(self) -> int:
        return len(self._elements)


class PriorityStore:
    """Lowest first component (an integer) first, and first in first out among equals."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Element]] = []
        self._first = self._last = 0  # numbers of elements: those given back count down, new ones up

    def put(self, element: Element) -> None:
        self._last += 1
        heapq.heappush(self._heap, (int(element[0]), self._last, element))

    def put_all(self, elements: Iterable[Element]) -> None:
        for element in elements:
            self.put(element)

    def take(self) -> Element:
        return heapq.heappop(self._heap)[2]

    def take_some(self, count: int) -> list[Element]:
        return [self.take() for _ in range(count)]

    def give_back(self, elements: Sequence[Element]) -> None:
        for element in reversed(elements):
            self._first -= 1
            heapq.heappush(self._heap, (int(element[0]), self._first, element))

    def ready(self, closed: bool) -> int:
        return len(self._heap)

    def elements(self, taken: Sequence[Element]) -> list[Element]:
        """In the order in which they would be taken."""
        given_back = [(int(element[0]), self._first - len(taken) + i, element) for i, element in enumerate(taken)]
        return [element for *_, element in sorted([*given_back, *self._heap], key=lambda item: item[:2])]

    def position(self) -> list[int]:
        return []

    def replace(self, elements: Iterable[Element], position: Sequence[int]) -> None:
        self._heap.clear()
        self.put_all(elements)

    def __len__(self) -> int:
        return len(self._heap)
