"""Sources: stages with nothing before them that have their elements in memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
import torch

from headrace.core.errors import DataLossError, InvalidArgumentError, from_python
from headrace.core.random_words import RandomWords
from headrace.resources.calling.batch import Element
from headrace.resources.data.stage import Cursor, Run, Stage, State
from headrace.resources.stepping.interrupt import shield


class _Counted(Cursor):
    """A cursor whose position is how many elements it has given."""

    def __init__(self) -> None:
        self.given = 0

    def save(self) -> State:
        return self.given

    def restore(self, state: State) -> None:
        self.given = state


class Listed(Stage):
    """Elements in a list."""

    shares = True

    def __init__(self, elements: Sequence[Element]) -> None:
        self.elements = elements

    def begin(self, run: Run) -> Cursor:
        return _ListedCursor(self.elements)


class _ListedCursor(_Counted):
    def __init__(self, elements: Sequence[Element]) -> None:
        super().__init__()
        self._elements = elements

    def next(self) -> Element | None:
        if self.given >= len(self._elements):
            return None
        self.given += 1
        return self._elements[self.given - 1]

    def fill(self, elements: list[Element], count: int) -> None:
        taken = self._elements[self.given : self.given + count]
        self.given += len(taken)
        elements.extend(taken)


class Slices(Stage):
    """The rows of some values."""

    shares = True

    def __init__(self, components: Sequence[Any]) -> None:
        self.count = len(components[0])
        self.rows = [_row_of(value) for value in components]

    def begin(self, run: Run) -> Cursor:
        return _SlicesCursor(self)


def _row_of(value: Any) -> Callable[[int], Any]:
    """What gives a row of the value: numbers as arrays, which are made in a tenth of the time of a tensor."""
    if isinstance(value, torch.Tensor):
        return value.__getitem__ if value.dtype == torch.bfloat16 else value.numpy().__getitem__
    if value.ndim > 1 or not isinstance(value, np.ndarray):
        return value.__getitem__  # type: ignore[no-any-return]
    return lambda i: np.array(value[i], object)


class _SlicesCursor(_Counted):
    def __init__(self, stage: Slices) -> None:
        super().__init__()
        self._rows, self._count = stage.rows, stage.count

    def next(self) -> Element | None:
        i = self.given
        if i >= self._count:
            return None
        self.given = i + 1
        return tuple([row(i) for row in self._rows])

    def fill(self, elements: list[Element], count: int) -> None:
        places = range(self.given, min(self.given + count, self._count))
        self.given += len(places)
        elements.extend(zip(*[map(row, places) for row in self._rows], strict=True))


class Range(Stage):
    """The integers of a range."""

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers

    def begin(self, run: Run) -> Cursor:
        return _RangeCursor(self.numbers)


class _RangeCursor(_Counted):
    def __init__(self, numbers: range) -> None:
        super().__init__()
        self._numbers = numbers

    def next(self) -> Element | None:
        try:
            number = self._numbers[self.given]
        except IndexError:
            return None
        self.given += 1
        return (np.int64(number),)


class Random(Stage):
    """Random words of 32 bits, without end: TensorFlow's stream of two seeds, or one of seeds nobody knows if both are zero."""

    def __init__(self, seed: int, seed2: int) -> None:
        self.seed, self.seed2 = seed, seed2

    def begin(self, run: Run) -> Cursor:
        return _RandomCursor(self)


class _RandomCursor(Cursor):
    def __init__(self, stage: Random) -> None:
        self._words = RandomWords.seeded(stage.seed, stage.seed2)

    def next(self) -> Element | None:
        return (np.int64(self._words.draw(1)[0]),)

    def save(self) -> State:
        return self._words.position()

    def restore(self, state: State) -> None:
        self._words = RandomWords.at(state)


class Iterated(Stage):
    """What a Python iterable gives.  Its position is restored by taking elements until it is there, unless it can go there."""

    shares = True
    repeatable = False  # it is a program's own code

    def __init__(
        self, start: Callable[..., Iterator[Element]], go_to: Callable[[int], Iterator[Element]] | None = None,
        wants_run: bool = False, unsaved: str = "",
    ) -> None:  # fmt: skip
        """``start`` makes an iterator from the first element on, ``go_to`` one from an element on.

        ``wants_run``: ``start`` is given the run.  ``unsaved``: why its position cannot be saved.
        """
        self.start, self.go_to, self.wants_run, self.unsaved = start, go_to, wants_run, unsaved

    @property
    def blocks(self) -> bool:
        return self.wants_run  # it waits for others until the run ends

    def begin(self, run: Run) -> Cursor:
        return _IteratedCursor(self, run)


class _IteratedCursor(_Counted):
    def __init__(self, stage: Iterated, run: Run) -> None:
        super().__init__()
        self._stage, self._run = stage, run
        run.at_close(self, _IteratedCursor._end)
        self._iterator: Iterator[Element] | None = None
        self._over = False

    def next(self) -> Element | None:
        if self._over:
            return None
        try:
            element = self._advance()
        except Exception:
            self.given += 1  # one that is refused
            raise
        if element is None:
            self._finish()
        else:
            self.given += 1
        return element

    def _end(self) -> None:
        """Lets what a generator holds go; one that runs on another thread looks at the run itself."""
        if isinstance(self._iterator, Generator):
            with suppress(ValueError):
                self._iterator.close()

    def _finish(self) -> None:
        self._over = True
        self._iterator = None

    def _advance(self) -> Element | None:
        return _interruptible(next, self._begun(), None)

    def _begun(self) -> Iterator[Element]:
        if self._iterator is None:
            self._iterator = self._stage.start(self._run) if self._stage.wants_run else self._stage.start()
        return self._iterator

    def fill(self, elements: list[Element], count: int) -> None:
        if self._over:
            return
        before = len(elements)
        try:
            _interruptible(elements.extend, islice(self._begun(), count))
            if len(elements) - before < count:
                self._finish()
        except Exception:
            self.given += 1  # one that is refused
            raise
        finally:
            self.given += len(elements) - before

    def save(self) -> State:
        if self._stage.unsaved:
            raise InvalidArgumentError(None, None, self._stage.unsaved)
        return [self.given, self._over]

    def restore(self, state: State) -> None:
        self.given, self._over = state
        if self._stage.go_to is not None:
            self._iterator = self._stage.go_to(self.given)
            return
        refused: Exception | None = None
        for i in range(0 if self._over else self.given):
            try:
                element = self._advance()
            except Exception as e:  # noqa: BLE001 - whoever took it knows
                refused = e
                continue
            if element is None:
                raise DataLossError(
                    None, None, f"{self._stage.title} had given {self.given} elements, it has only {i} now"
                ) from refused


def _interruptible(call: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a program's own code, which Ctrl-C may interrupt."""
    guard = shield()
    try:
        return call(*arguments) if guard is None else guard.through(call, *arguments)
    except Exception as e:  # noqa: BLE001 - it is raised as what TensorFlow raises
        raise from_python(e) from e
