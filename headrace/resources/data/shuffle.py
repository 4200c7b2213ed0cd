"""Shuffling: TensorFlow's buffer and its streams of random words, so that a seed gives TensorFlow's order."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import random_words
from headrace.core.errors import InvalidArgumentError
from headrace.core.random_words import RandomWords
from headrace.resources.calling.batch import Element
from headrace.resources.data.stage import Cursor, OneCursor, OneInput, Run, Stage, State, pause


class Seeds:
    """The pairs of seeds of the epochs of one iterator; ``anew``: each epoch has another."""

    def __init__(self, seed: int, seed2: int, anew: bool) -> None:
        if seed == 0 and seed2 == 0:
            seed, seed2 = random_words.source.getrandbits(63), random_words.source.getrandbits(63)
        self._pair, self._anew = (seed, seed2), anew
        self._words = RandomWords.seeded(seed, seed2)

    def next(self) -> tuple[int, int]:
        """Those of the next epoch."""
        if not self._anew:
            return self._pair
        first, second = self._words.draw(2)
        return first, second

    def save(self) -> State:
        return [list(self._pair), self._words.position()]

    def restore(self, state: State) -> None:
        first, second = state[0]
        self._pair, self._words = (first, second), RandomWords.at(state[1])


class Shuffle(OneInput):
    """Elements drawn at random from a buffer; ``count`` epochs without a border between them, -1: for ever."""

    def __init__(self, input: Stage, size: int, seed: int, seed2: int, anew: bool = True, count: int = 1) -> None:
        super().__init__(input)
        if size < 1:
            raise InvalidArgumentError(None, None, "buffer_size must be greater than zero.")
        if count < 1 and count != -1:
            raise InvalidArgumentError(None, None, f"count must be greater than zero or equal to -1, got {count}")
        self.size, self.seed, self.seed2, self.anew, self.count = size, seed, seed2, anew, count

    def begin(self, run: Run) -> Cursor:
        return _ShuffleCursor(self, run)


class _Slice:
    """The elements of one epoch that are in the buffer.  TensorFlow puts the first into the place of the one that it draws."""

    def __init__(self, elements: list[Element]) -> None:
        self._elements, self._start = elements, 0
        self.add = elements.append

    def __len__(self) -> int:
        return len(self._elements) - self._start

    def pass_through(self, elements: Sequence[Element], words: Sequence[int]) -> list[Element]:
        """Adds each element and draws one, by its word."""
        drawn = []
        for element, word in zip(elements, words, strict=True):
            self.add(element)
            drawn.append(self.draw(word))
        return drawn

    def draw(self, word: int) -> Element:
        elements, start = self._elements, self._start
        place = start + word % len(self)
        drawn, elements[place] = elements[place], elements[start]
        elements[start] = ()
        self._start += 1
        if self._start > 1024 and self._start > len(self):
            del elements[: self._start]
            self._start = 0
        return drawn

    def save(self) -> State:
        return [list(element) for element in self._elements[self._start :]]


class _ShuffleCursor(OneCursor):
    """The buffer holds the elements of one epoch, or of several behind each other: only the first gives elements."""

    def __init__(self, stage: Shuffle, run: Run) -> None:
        super().__init__(stage, run)
        self._seeds = run.shared(stage, lambda: Seeds(stage.seed, stage.seed2, stage.anew))
        self._words = RandomWords.seeded(*self._seeds.next())
        self._slices = [_Slice([])]  # one for each epoch in the buffer; never empty
        self._held = 0  # elements in all of them
        self._epoch = 0
        self._over = False
        self._empty = True  # the input has given nothing in this epoch

    def next(self) -> Element | None:
        stage = self.stage
        while not self._over and self._held < stage.size:
            if self._held + 1 < stage.size:
                pause()
            element = self.input.next()
            if element is not None:
                self._slices[-1].add(element)
                self._held += 1
                self._empty = False
                continue
            self._epoch += 1
            if self._epoch == stage.count or (self._empty and stage.count < 0):
                self._over = True
                break
            self._empty = True
            self.input = stage.input.begin(self.run)
            self._slices.append(_Slice([]))
        while len(self._slices) > 1 and not self._slices[0]:
            del self._slices[0]
            self._words = RandomWords.seeded(*self._seeds.next())
        if not self._held:
            return None
        self._held -= 1
        return self._slices[0].draw(*self._words.draw(1))

    def fill(self, elements: list[Element], count: int) -> None:
        while (
            count and not self._over and (self._held + 1 < self.stage.size or len(self._slices) > 1 or not self._held)
        ):
            element = self.next()
            if element is None:
                return
            elements.append(element)
            count -= 1
        if self._over:
            super().fill(elements, count)
        elif count:
            self._pass_through(elements, count)

    def _pass_through(self, elements: list[Element], count: int) -> None:
        """`fill` while the buffer lacks one element: each that comes makes another one go."""
        taken: list[Element] = []
        try:
            self.input.fill(taken, count)
        finally:
            self._empty = self._empty and not taken
            elements += self._slices[0].pass_through(taken, self._words.draw(len(taken)))
        if len(taken) < count:
            super().fill(elements, count - len(taken))

    def fullness(self) -> tuple[int, int]:
        return self._held, self.stage.size

    def position(self) -> State:
        return [self._words.position(), [s.save() for s in self._slices], self._epoch, self._over, self._empty]

    def move(self, position: State) -> None:
        words, slices, self._epoch, self._over, self._empty = position
        self._words = RandomWords.at(words)
        self._slices = [_Slice([tuple(element) for element in elements]) for elements in slices]
        self._held = sum(map(len, self._slices))
