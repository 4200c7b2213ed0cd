"""Stages that call a function for each element.  A function is any callable of values that gives a tuple of values."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import torch

from headrace.core.errors import InvalidArgumentError, OpError, OutOfRangeError, from_python
from headrace.resources.calling.batch import Element
from headrace.resources.data.outcome import Outcome
from headrace.resources.data.rows import RowFunction
from headrace.resources.data.stage import Cursor, OneCursor, OneInput, Run, Stage, State, at_element, pause

Function = Callable[..., Element]
MANY: Final = 256  # elements for which a function is called at once
QUICK_S: Final = 0.01  # that they may take
SMALL: Final = 4096  # bytes of an element that is stacked with others and taken apart again


class Calling(OneInput):
    """A stage with a function, which gets an element and then what it has captured."""

    preserves = False  # whether it is known to give one element for each

    def __init__(self, input: Stage, function: Function, captured: Sequence[Any] = ()) -> None:
        super().__init__(input)
        self.function, self.captured = function, tuple(captured)

    @property
    def repeatable(self) -> bool:
        if not (super().repeatable and getattr(self.function, "repeatable", False)):
            return False
        return all(map(_is_constant, self.captured))

    def by_rows(self, run: Run) -> RowFunction | None:
        """The function for many elements, where that gives the same elements and is worth it: they are small then."""
        if not (self.repeatable and run.settings.by_rows and _are_small(self.input)):
            return None
        by_rows = getattr(self.function, "by_rows", None)
        return None if by_rows is None else by_rows(len(self.input.types))

    def begun(self, run: Run, cursor: Callable[[Any, Run], Cursor]) -> Cursor:
        """A cursor of a stage that maps: elsewhere, for many elements at once, or ``cursor``."""
        if run.settings.elsewhere is not None:
            found: Cursor = run.settings.elsewhere(self, run)
            return found
        many = self.by_rows(run)
        return cursor(self, run) if many is None else RowsCursor(self, run, many)

    def call(self, element: Element, index: int) -> Element:
        """The result for an element; an error says which element it was."""
        try:
            return self.function(*element, *self.captured)
        except OpError as e:
            raise at_element(e, index, self) from e.__cause__


class CallingCursor(OneCursor):
    """Counts the elements it has taken."""

    index = 0

    def take(self) -> Element | None:
        element = self.input.next()
        if element is not None:
            self.index += 1
        return element

    def call(self, element: Element) -> Element:
        """The result for the element that was taken last."""
        return self.stage.call(element, self.index - 1)  # type: ignore[no-any-return]

    def position(self) -> State:
        return self.index

    def move(self, position: State) -> None:
        self.index = position


class Map(Calling):
    """The results of a function.  One that raises OutOfRangeError ends the dataset there."""

    shares = True

    def begin(self, run: Run) -> Cursor:
        return self.begun(run, _MapCursor)


class _MapCursor(CallingCursor):
    def next(self) -> Element | None:
        element = self.take()
        if element is None:
            return None
        try:
            return self.call(element)
        except OutOfRangeError:
            return None


class OneByOne(OneInput):
    """The same elements; functions before it are called for single ones only."""

    is_setting = True

    def __init__(self, input: Stage) -> None:
        super().__init__(input)
        self.device = input.device

    def begin(self, run: Run) -> Cursor:
        return self.input.begin(run.under(by_rows=False))


class _BesideCursor(CallingCursor):
    """Elements, each with what the function says of it behind its values."""

    def next(self) -> Element | None:
        pause()
        element = self.take()
        return None if element is None else (*element, *self.call(element))


def begin_beside(stage: Calling, run: Run) -> Cursor:
    """A cursor of the stage's input whose elements have what the function says of them behind their values."""
    many = stage.by_rows(run)
    return _BesideCursor(stage, run) if many is None else RowsCursor(stage, run, many, beside=True)


class RowsCursor(CallingCursor):
    """Calls the function for many elements at once, and one by one where that fails.

    Begins with few elements, and takes more at once as long as that is quick.
    """

    def __init__(self, stage: Calling, run: Run, many: RowFunction, beside: bool = False) -> None:
        """``beside``: what it gives are the elements, with the results behind their values."""
        super().__init__(stage, run)
        self._many, self._beside = many, beside
        self._count = 1  # elements to take at once
        self._taken: deque[Outcome] = deque()  # not called for yet
        self._results: deque[Element] = deque()  # of the elements before those

    def next(self) -> Element | None:
        if not self._results and not self._taken:
            self._take()
        if self._results:
            self.index += 1
            return self._results.popleft()
        if not self._taken:
            return None
        element = self._taken.popleft().get()
        assert element is not None
        self.index += 1
        if self._beside:
            return (*element, *self.call(element))
        try:
            return self.call(element)
        except OutOfRangeError:
            return None

    def fill(self, elements: list[Element], count: int) -> None:
        while count:
            ready = min(count, len(self._results))
            if ready == 0:
                element = self.next()
                if element is None:
                    return
                elements.append(element)
                count -= 1
                continue
            pop = self._results.popleft
            elements.extend([pop() for _ in range(ready)])
            self.index += ready
            count -= ready

    def _take(self) -> None:
        pause()
        begin = time.perf_counter()
        elements: list[Element] = []
        failed: Outcome | None = None
        try:
            self.input.fill(elements, self._count)
        except Exception as e:  # noqa: BLE001 - raised when the elements before it are given
            failed = Outcome(error=from_python(e))
        if len(elements) > 1:
            with suppress(Exception):  # whatever it is: the call for the element will raise it again
                results = self._many(elements, self.stage.captured)
                if self._beside:
                    results = [(*e, *r) for e, r in zip(elements, results, strict=True)]
                self._results.extend(results)
                elements = []
        self._taken.extend(map(Outcome, elements))
        if failed is not None:
            self._taken.append(failed)
        quick = time.perf_counter() - begin < QUICK_S
        self._count = min(2 * self._count, MANY) if quick else max(self._count // 2, 1)

    def position(self) -> State:
        return [self.index, [list(one) for one in self._results], [one.save() for one in self._taken]]

    def move(self, position: State) -> None:
        self.index, results, taken = position
        self._results.extend(map(tuple, results))
        self._taken.extend(map(Outcome.restored, taken))


def _is_constant(captured: Any) -> bool:
    """Whether what a function has captured stays the same: a value or a table that nobody writes, and no variable."""
    return isinstance(captured, (torch.Tensor, np.ndarray, np.generic)) or getattr(captured, "fixed", False)


def _are_small(stage: Stage) -> bool:
    """Whether elements of the stage are known to be small, or vectors."""
    size = 0
    for dtype, shape in zip(stage.types, stage.shapes, strict=True):
        if not shape.is_fully_defined() and shape.ndims != 1:
            return False
        size += dtype.size * (shape.num_elements() or 1)
    return size <= SMALL


class Filter(Calling):
    """The elements for which a function gives true."""

    def begin(self, run: Run) -> Cursor:
        return _FilterCursor(self, run)


class _FilterCursor(Cursor):
    def __init__(self, stage: Filter, run: Run) -> None:
        self._asked = begin_beside(stage, run)

    def next(self) -> Element | None:
        while True:
            found = self._asked.next()
            if found is None:
                return None
            if holds(found[-1]):
                return found[:-1]

    def save(self) -> State:
        return self._asked.save()

    def restore(self, state: State) -> None:
        self._asked.restore(state)


class TakeWhile(Calling):
    """The elements before the first for which a function gives false."""

    def begin(self, run: Run) -> Cursor:
        return _TakeWhileCursor(self, run)


class _TakeWhileCursor(CallingCursor):
    over = False

    def next(self) -> Element | None:
        element = None if self.over else self.take()
        self.over = element is None or not holds(*self.call(element))
        return None if self.over else element

    def position(self) -> State:
        return [self.index, self.over]

    def move(self, position: State) -> None:
        self.index, self.over = position


def holds(value: Any) -> bool:
    """What a predicate says."""
    if value.ndim:
        raise InvalidArgumentError(None, None, "Filter predicate `predicate` must return a scalar bool.")
    return bool(value)


class Scan(Calling):
    """A function of the state so far and the element, which gives the next state and an element."""

    shares = True

    def __init__(self, input: Stage, initial: Sequence[Any], function: Function, captured: Sequence[Any] = ()) -> None:
        super().__init__(input, function, captured)
        self.initial = tuple(initial)

    def begin(self, run: Run) -> Cursor:
        return _ScanCursor(self, run)


class _ScanCursor(CallingCursor):
    def __init__(self, stage: Scan, run: Run) -> None:
        super().__init__(stage, run)
        self._state = stage.initial

    def next(self) -> Element | None:
        element = self.take()
        if element is None:
            return None
        results = self.call((*self._state, *element))
        count = len(self._state)
        self._state = results[:count]
        return results[count:]

    def position(self) -> State:
        return [self.index, list(self._state)]

    def move(self, position: State) -> None:
        self.index, state = position
        self._state = tuple(state)


class Reduction(Scan):
    """One element: the state when a function has been called with it and each element."""

    def begin(self, run: Run) -> Cursor:
        return _ReductionCursor(self, run)


class _ReductionCursor(_ScanCursor):
    over = False

    def next(self) -> Element | None:
        if self.over:
            return None
        while True:
            pause()
            element = self.take()
            if element is None:
                self.over = True
                return self._state
            self._state = self.call((*self._state, *element))

    def position(self) -> State:
        return [super().position(), self.over]

    def move(self, position: State) -> None:
        super().move(position[0])
        self.over = position[1]


class Interleave(Calling):
    """The elements of the datasets that a function makes, ``block`` of each of ``cycle`` in turn."""

    shares = True

    def __init__(
        self, input: Stage, function: Function, captured: Sequence[Any], cycle: int, block: int,
        wrapped: Callable[[Stage], Stage] | None = None,
    ) -> None:  # fmt: skip
        """``cycle``: -1 for as many as there are cores.  ``wrapped``: what is read instead of a dataset of the function."""
        super().__init__(input, function, captured)
        if cycle < 1 and cycle != -1:
            raise InvalidArgumentError(None, None, f"cycle_length must be greater than zero, got {cycle}.")
        if block < 1:
            raise InvalidArgumentError(None, None, f"block_length must be greater than zero, got {block}.")
        self.cycle, self.block, self.wrapped = cycle, block, wrapped

    @property
    def blocks(self) -> bool:
        return True  # the datasets that the function makes may

    def begin(self, run: Run) -> Cursor:
        return _InterleaveCursor(self, run)


class _Open:
    """A dataset that is being read: the element it was made of, and its run."""

    def __init__(self, element: Element, run: Run) -> None:
        self.element, self.run = element, run


class _InterleaveCursor(CallingCursor):
    def __init__(self, stage: Interleave, run: Run) -> None:
        super().__init__(stage, run)
        self._open: list[_Open | None] = [None] * (run.cores if stage.cycle < 0 else stage.cycle)
        self._turn = 0  # whose turn it is
        self._given = 0  # elements in this turn
        self._ended = False  # the input

    def next(self) -> Element | None:
        while True:
            now = self._open[self._turn]
            if now is None:
                if self._ended and not any(self._open):
                    return None
                if not self._ended:
                    self._start()
                else:
                    self._next_turn()
                continue
            element = now.run.cursor.next()
            if element is None:
                self.run.forget(now.run)
                self._open[self._turn] = None
                self._next_turn()
                continue
            self._given += 1
            if self._given == self.stage.block:
                self._next_turn()
            return element

    def _next_turn(self) -> None:
        self._turn, self._given = (self._turn + 1) % len(self._open), 0

    def _start(self) -> None:
        """Opens the next dataset in the place whose turn it is."""
        pause()
        element = self.take()
        if element is None:
            self._ended = True
        else:
            self._open[self._turn] = _Open(element, self._run_of(element))

    def _run_of(self, element: Element) -> Run:
        (dataset,) = self.call(element)
        wrapped = self.stage.wrapped
        return self.run.inner(dataset if wrapped is None else wrapped(dataset))

    def position(self) -> State:
        opened = [None if one is None else [list(one.element), one.run.save()] for one in self._open]
        return [self.index, self._turn, self._given, self._ended, opened]

    def move(self, position: State) -> None:
        self.index, self._turn, self._given, self._ended, opened = position
        self._open = [None] * len(opened)
        for i, one in enumerate(opened):
            if one is not None:
                element = tuple(one[0])
                run = self._run_of(element)
                run.restore(one[1])
                self._open[i] = _Open(element, run)
