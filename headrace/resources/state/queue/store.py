"""In which order a queue gives its elements: first in first out, at random, or by priority.

A store holds elements (tuples of values it does not look into, except a priority) and knows nothing of capacity, of
closing or of who waits: `QueueMachine` asks it.  Not thread-safe.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

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
        self._words = _Words.seeded(seed, seed2)

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
        words = _Words.at(position)
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


_WORD = 0xFFFFFFFF
_BLOCKS = 256  # of four words, made together


class _Words:
    """The stream of 32-bit words that TensorFlow's shuffling queue draws from: Philox 4x32-10."""

    def __init__(self, key: tuple[int, int], high: tuple[int, int], drawn: int = 0) -> None:
        """``high`` is the upper half of the counter, ``drawn`` how many words of the stream are left out."""
        self._key, self._high = key, high
        self._block = drawn // 4
        self._words: list[int] = []
        self._next = 0
        self.draw(drawn % 4)

    @staticmethod
    def seeded(seed: int, seed2: int) -> _Words:
        """The stream of two seeds; of seeds nobody knows if both are zero."""
        if seed == 0 and seed2 == 0:
            system = random.SystemRandom()
            seed, seed2 = system.getrandbits(64), system.getrandbits(64)
        return _Words((seed & _WORD, seed >> 32 & _WORD), (seed2 & _WORD, seed2 >> 32 & _WORD))

    def position(self) -> list[int]:
        """Which stream it is, and how many words of it are drawn."""
        return [*self._key, *self._high, 4 * self._block - (len(self._words) - self._next)]

    @staticmethod
    def at(position: Sequence[int]) -> _Words:
        """The stream from a position on."""
        key_low, key_high, low, high, drawn = position
        return _Words((key_low, key_high), (low, high), drawn)

    def draw(self, count: int) -> list[int]:
        """The next words of the stream."""
        while len(self._words) - self._next < count:
            self._words = self._words[self._next :] + self._make()
            self._next = 0
        self._next += count
        return self._words[self._next - count : self._next]

    def _make(self) -> list[int]:
        blocks = np.arange(self._block, self._block + _BLOCKS, dtype=np.uint64)
        self._block += _BLOCKS
        a: Any = blocks & _WORD
        b: Any = blocks >> 32
        c, d = (np.full(_BLOCKS, word, np.uint64) for word in self._high)
        k0, k1 = self._key
        for _ in range(10):
            p, q = a * 0xD2511F53, c * 0xCD9E8D57
            a, b, c, d = (q >> 32) ^ b ^ k0, q & _WORD, (p >> 32) ^ d ^ k1, p & _WORD
            k0, k1 = k0 + 0x9E3779B9 & _WORD, k1 + 0xBB67AE85 & _WORD
        return np.stack([a, b, c, d], 1).reshape(-1).tolist()
