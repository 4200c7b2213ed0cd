"""In which order a queue gives its elements: first in first out, at random, or by priority.

A store holds elements, which it does not look into, except for a priority.  It knows nothing of capacity, of closing
or of who waits: `QueueMachine` asks it.  Not thread-safe.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

Element = Any  # a tuple of values, or a `Row` of a block, which acts as one


class Store(Protocol):
    """The elements of a queue."""

    def put(self, element: Element) -> None:
        """Adds an element."""

    def take(self) -> Element:
        """Removes the next element and returns it; there must be one."""

    def give_back(self, elements: Sequence[Element]) -> None:
        """Adds elements that were taken, in the order they were taken, so that they come before all others."""

    def ready(self, closed: bool) -> int:
        """How many elements may be taken now; `closed` means that no more will be added."""

    def __len__(self) -> int: ...


class FifoStore:
    """First in, first out."""

    def __init__(self) -> None:
        self._elements: deque[Element] = deque()
        self.put = self._elements.append
        self.take = self._elements.popleft

    def give_back(self, elements: Sequence[Element]) -> None:
        self._elements.extendleft(reversed(elements))

    def ready(self, closed: bool) -> int:
        return len(self._elements)

    def __len__(self) -> int:
        return len(self._elements)


class ShuffleStore:
    """At random, and only from more than `min_after_dequeue` elements until the queue is closed.

    With seeds, the order is TensorFlow's; two zeros mean seeds nobody knows.
    """

    def __init__(self, min_after_dequeue: int, seed: int = 0, seed2: int = 0) -> None:
        self._elements: list[Element] = []
        self.put = self._elements.append
        self.min_after_dequeue = min_after_dequeue
        self._words = _Words(seed, seed2)

    def take(self) -> Element:
        elements, words = self._elements, self._words
        index = (words.left or words.draw()).pop() % len(elements)
        element = elements[index]
        elements[index] = elements[-1]
        elements.pop()
        return element

    def give_back(self, elements: Sequence[Element]) -> None:
        self._elements.extend(elements)

    def ready(self, closed: bool) -> int:
        return len(self._elements) if closed else max(0, len(self._elements) - self.min_after_dequeue)

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

    def take(self) -> Element:
        return heapq.heappop(self._heap)[2]

    def give_back(self, elements: Sequence[Element]) -> None:
        for element in reversed(elements):
            self._first -= 1
            heapq.heappush(self._heap, (int(element[0]), self._first, element))

    def ready(self, closed: bool) -> int:
        return len(self._heap)

    def __len__(self) -> int:
        return len(self._heap)


_WORD = 0xFFFFFFFF
_BLOCKS = 256  # of four words, made together


class _Words:
    """The stream of 32-bit words that TensorFlow's shuffling queue draws from: Philox 4x32-10."""

    def __init__(self, seed: int, seed2: int) -> None:
        if seed == 0 and seed2 == 0:
            system = random.SystemRandom()
            seed, seed2 = system.getrandbits(64), system.getrandbits(64)
        self._key = seed & _WORD, seed >> 32 & _WORD
        self._high = seed2 & _WORD, seed2 >> 32 & _WORD  # the upper half of the counter
        self._block = 0
        self.left: list[int] = []  # backwards

    def draw(self) -> list[int]:
        """Makes more, when none is left."""
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
        self.left = np.stack([a, b, c, d], 1).reshape(-1)[::-1].tolist()
        return self.left
