"""Elements of one key reduced to one: a state for each key, which a function makes anew with each of its elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.resources.calling.batch import Element
from headrace.resources.data.function import Calling, CallingCursor, Function
from headrace.resources.data.stage import Cursor, Run, Stage, State, pause


class GroupByReducer(Calling):
    """``function`` gives the key of an element.  Gives ``final`` of each state when the input has ended, in the order of keys."""

    shares = True

    def __init__(
        self,
        input: Stage,
        function: Function,
        captured: Sequence[Any],
        init: Function,
        reduce: Function,
        final: Function,
    ) -> None:
        super().__init__(input, function, captured)
        self.init, self.reduce, self.final = init, reduce, final

    def begin(self, run: Run) -> Cursor:
        return _GroupByReducerCursor(self, run)


class _GroupByReducerCursor(CallingCursor):
    def __init__(self, stage: GroupByReducer, run: Run) -> None:
        super().__init__(stage, run)
        self._states: dict[int, Element] = {}
        self._ended = False

    def next(self) -> Element | None:
        while not self._ended:
            pause()
            element = self.take()
            if element is None:
                self._ended = True
                break
            key = int(self.call(element)[0])
            if key not in self._states:
                self._states[key] = self.stage.init(np.int64(key))
            self._states[key] = self.stage.reduce(*self._states[key], *element)
        if not self._states:
            return None
        final: Element = self.stage.final(*self._states.pop(min(self._states)))
        return final

    def position(self) -> State:
        return [self.index, self._ended, [[key, list(state)] for key, state in self._states.items()]]

    def move(self, position: State) -> None:
        self.index, self._ended, states = position
        self._states = {key: tuple(state) for key, state in states}
