"""Stages that choose: elements that were not there before, elements without errors, from which of several chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError, OpError
from headrace.resources.calling.batch import Element
from headrace.resources.calling.value import array_held
from headrace.resources.data.stage import Cursor, OneCursor, OneInput, Run, Stage, State, pause


class Unique(OneInput):
    """The elements, of one component, that are equal to none before them."""

    def begin(self, run: Run) -> Cursor:
        return _UniqueCursor(self, run)


class _UniqueCursor(OneCursor):
    def __init__(self, stage: Unique, run: Run) -> None:
        super().__init__(stage, run)
        self._seen: dict[Any, Element] = {}

    def next(self) -> Element | None:
        while True:
            pause()
            element = self.input.next()
            if element is None:
                return None
            key = _key(element[0])
            if key not in self._seen:
                self._seen[key] = element
                return element

    def position(self) -> State:
        return [list(element) for element in self._seen.values()]

    def move(self, position: State) -> None:
        self._seen = {_key(element[0]): tuple(element) for element in position}


def _key(value: Any) -> Any:
    array = np.asarray(array_held(value))
    return array.shape, tuple(np.ravel(array)) if array.dtype.hasobject else array.tobytes()


class IgnoreErrors(OneInput):
    """The elements that can be computed; the others are left out."""

    def begin(self, run: Run) -> Cursor:
        return _IgnoreErrorsCursor(self, run)


class _IgnoreErrorsCursor(OneCursor):
    def next(self) -> Element | None:
        while True:
            pause()
            try:
                return self.input.next()
            except OpError:
                self.run.check_open()


class Directed(Stage):
    """Elements of several chains; a further chain says which comes next.  Ends with that one, or when all others have ended."""

    def __init__(self, selector: Stage, inputs: Sequence[Stage], stop_on_empty: bool = False) -> None:
        """``stop_on_empty``: ends when a chain has ended that comes next."""
        self.inputs = (selector, *inputs)
        self.stop_on_empty = stop_on_empty

    def begin(self, run: Run) -> Cursor:
        return _DirectedCursor([stage.begin(run) for stage in self.inputs], self.stop_on_empty)


class _DirectedCursor(Cursor):
    def __init__(self, cursors: Sequence[Cursor], stop_on_empty: bool) -> None:
        self._cursors, self._stop_on_empty = cursors, stop_on_empty
        self._active = [True] * (len(cursors) - 1)

    def next(self) -> Element | None:
        while any(self._active):
            pause()
            chosen = self._cursors[0].next()
            if chosen is None:
                return None
            number = int(chosen[0])
            if not 0 <= number < len(self._active):
                raise InvalidArgumentError(
                    None, None,
                    f"Selector index out of range: {number} >= {len(self._active)}",
                )  # fmt: skip
            if self._active[number]:
                element = self._cursors[number + 1].next()
                if element is not None:
                    return element
                self._active = [a and i != number and not self._stop_on_empty for i, a in enumerate(self._active)]
        return None

    def save(self) -> State:
        return [list(self._active), [cursor.save() for cursor in self._cursors]]

    def restore(self, state: State) -> None:
        self._active = list(state[0])
        for cursor, one in zip(self._cursors, state[1], strict=True):
            cursor.restore(one)
