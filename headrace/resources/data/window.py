"""Windows of elements of one key: collected until they are complete, then turned into a dataset by a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.resources.calling.batch import Element
from headrace.resources.data.function import Calling, Function, begin_beside
from headrace.resources.data.source import Listed
from headrace.resources.data.stage import Cursor, Run, Stage, State


class GroupByWindow(Calling):
    """``function`` gives the key of an element, ``reduce`` a dataset for a key and a window, ``size`` how large that is."""

    shares = True

    def __init__(
        self, input: Stage, function: Function, captured: Sequence[Any], reduce: Function, size: Function
    ) -> None:
        super().__init__(input, function, captured)
        self.reduce, self.size = reduce, size

    @property
    def blocks(self) -> bool:
        return True  # the datasets that the function makes may

    def begin(self, run: Run) -> Cursor:
        return _GroupByWindowCursor(self, run)

    def window(self, elements: Sequence[Element]) -> Listed:
        window = Listed(elements)
        window.types, window.shapes = self.input.types, self.input.shapes
        return window


class _GroupByWindowCursor(Cursor):
    def __init__(self, stage: GroupByWindow, run: Run) -> None:
        self.stage, self.run = stage, run
        self._keyed = begin_beside(stage, run)
        self._groups: dict[int, list[Element]] = {}
        self._sizes: dict[int, int] = {}
        self._open: tuple[int, list[Element], Run] | None = None  # the key, window and run of what is being read
        self._ended = False

    def next(self) -> Element | None:
        while True:
            if self._open is not None:
                element = self._open[2].cursor.next()
                if element is not None:
                    return element
                self.run.forget(self._open[2])
                self._open = None
            if not self._ended:
                self._collect()
            elif self._groups:
                self._start(min(self._groups))
            else:
                return None

    def _collect(self) -> None:
        keyed = self._keyed.next()
        if keyed is None:
            self._ended = True
            return
        element, key = keyed[:-1], int(keyed[-1])
        group = self._groups.setdefault(key, [])
        group.append(element)
        if key not in self._sizes:
            self._sizes[key] = int(self.stage.size(np.int64(key))[0])
            if self._sizes[key] < 1:
                raise InvalidArgumentError(
                    None, None, f"Window size must be greater than zero, but got {self._sizes[key]}."
                )
        if len(group) == self._sizes[key]:
            self._start(key)

    def _start(self, key: int) -> None:
        elements = self._groups.pop(key)
        self._open = (key, elements, self._run_of(key, elements))

    def _run_of(self, key: int, elements: list[Element]) -> Run:
        (dataset,) = self.stage.reduce(np.int64(key), self.stage.window(elements))
        return self.run.inner(dataset)

    def save(self) -> State:
        groups = [[key, [list(e) for e in elements], self._sizes[key]] for key, elements in self._groups.items()]
        opened = None
        if self._open is not None:
            key, elements, run = self._open
            opened = [key, [list(e) for e in elements], run.save()]
        return [self._keyed.save(), self._ended, groups, opened]

    def restore(self, state: State) -> None:
        keyed, self._ended, groups, opened = state
        self._keyed.restore(keyed)
        self._groups = {key: [tuple(e) for e in elements] for key, elements, _ in groups}
        self._sizes = {key: size for key, _, size in groups}
        if opened is not None:
            key, saved, inner = opened
            elements = [tuple(e) for e in saved]
            run = self._run_of(key, elements)
            run.restore(inner)
            self._open = (key, elements, run)
