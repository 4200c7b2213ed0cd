"""The stream of random 32-bit words that TensorFlow's shuffling draws from: Philox 4x32-10."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

source: random.Random = random.SystemRandom()
"""Where a program that gives no seed gets one."""

_WORD = 0xFFFFFFFF
_BLOCKS = 256  # of four words, made together


class RandomWords:
    """A stream, and how far it is drawn.  Not thread-safe."""

    def __init__(self, key: tuple[int, int], high: tuple[int, int], drawn: int = 0) -> None:
        """``high`` is the upper half of the counter, ``drawn`` how many words of the stream are left out."""
        self._key, self._high = key, high
        self._block = drawn // 4
        self._words: list[int] = []
        self._next = 0
        self.draw(drawn % 4)

    @staticmethod
    def seeded(seed: int, seed2: int) -> RandomWords:
        """The stream of two seeds; of seeds nobody knows if both are zero."""
        if seed == 0 and seed2 == 0:
            seed, seed2 = source.getrandbits(64), source.getrandbits(64)
        return RandomWords((seed & _WORD, seed >> 32 & _WORD), (seed2 & _WORD, seed2 >> 32 & _WORD))

    def position(self) -> list[int]:
        """Which stream it is, and how many words of it are drawn."""
        return [*self._key, *self._high, 4 * self._block - (len(self._words) - self._next)]

    @staticmethod
    def at(position: Sequence[int]) -> RandomWords:
        """The stream from a position on."""
        key_low, key_high, low, high, drawn = position
        return RandomWords((key_low, key_high), (low, high), drawn)

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
        words: list[int] = np.stack([a, b, c, d], 1).reshape(-1).tolist()
        return words
