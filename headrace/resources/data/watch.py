"""Where the time of a chain goes: what each stage has given, and how long that took, noted while somebody looks.

Elements pass at about a microsecond for each stage, so nothing is noted otherwise: watching puts a function of its own into the
place of `next` of each cursor, and takes it away again.  Stages are known by their titles, since functions make the same stage
anew for each element.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any

Span = Callable[[str, int, int], None]


class Figures:
    """Of one stage: elements, nanoseconds that it computed itself, nanoseconds that others waited for it."""

    __slots__ = ("computed", "elements", "waited")

    def __init__(self) -> None:
        self.elements = self.computed = self.waited = 0


class Watch:
    """What was noted of the stages of one iterator.  Thread-safe.  ``span`` is told when each `next` began and ended."""

    def __init__(self) -> None:
        self.began = perf_counter_ns()
        self.figures: dict[str, Figures] = {}
        self.span: Span | None = None
        self._lock = threading.Lock()
        self._thread = threading.local()

    def attach(self, stage: Any, cursor: Any) -> None:
        """Watches a cursor of the stage."""
        if "next" not in vars(cursor):
            cursor.fill = partial(fill_one_by_one, cursor)  # by the next line's `next`
            cursor.next = self._timed(stage, cursor.next, waits=vars(type(stage)).get("blocks") is True)

    @staticmethod
    def detach(cursor: Any) -> None:
        vars(cursor).pop("next", None)
        vars(cursor).pop("fill", None)

    def _timed(self, stage: Any, call: Callable[[], Any], waits: bool) -> Callable[[], Any]:
        """``waits``: what the call spends beyond its inputs is waiting for other threads."""
        title, thread = title_of(stage), self._thread

        def timed() -> Any:
            outer = getattr(thread, "inputs", 0)
            thread.inputs = 0
            element = None
            began = perf_counter_ns()
            try:
                element = call()
            finally:
                ended = perf_counter_ns()
                spent, own = ended - began, ended - began - thread.inputs
                thread.inputs = outer + spent
                self._add(title, int(element is not None), 0 if waits else own, spent)
                if self.span is not None:
                    self.span(title, began, ended)
            return element

        return timed

    def calling(self, stage: Any, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call of a function on some thread, as work of the stage."""

        def timed(*arguments: Any) -> Any:
            began = perf_counter_ns()
            try:
                return call(*arguments)
            finally:
                self._add(title_of(stage), 0, perf_counter_ns() - began, 0)

        return timed

    def _add(self, title: str, elements: int, computed: int, waited: int) -> None:
        with self._lock:
            figures = self.figures.get(title)
            if figures is None:
                figures = self.figures[title] = Figures()
            figures.elements += elements
            figures.computed += computed
            figures.waited += waited


def fill_one_by_one(cursor: Any, elements: list[Any], count: int) -> None:
    """Adds the next elements to a list by `next`: so many, fewer at the end."""
    take, add = cursor.next, elements.append
    for _ in range(count):
        element = take()
        if element is None:
            return
        add(element)


def title_of(stage: Any) -> str:
    """The stage in reports: a part of another stage has no title of its own."""
    return stage.title if "title" in vars(stage) else type(stage).__name__
