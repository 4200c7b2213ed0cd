"""Statistics of datasets: stages that measure what passes them, and those that say who is told of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

from headrace.resources.calling.batch import Element
from headrace.resources.data.sparse import SparseValue
from headrace.resources.data.stage import Cursor, OneCursor, OneInput, Run, Stage, Statistics

Measure = Callable[[Callable[[], Element | None]], tuple[Element | None, float]]
_STRING = 24  # bytes that TensorFlow takes for a string beside its characters


def latency(next_element: Callable[[], Element | None]) -> tuple[Element | None, float]:
    """The next element, and the microseconds that it took."""
    start = time.perf_counter_ns()
    element = next_element()
    return element, float((time.perf_counter_ns() - start) // 1000)


def size(next_element: Callable[[], Element | None]) -> tuple[Element | None, float]:
    """The next element, and its bytes."""
    element = next_element()
    return element, float(bytes_of(element or ()))


def bytes_of(element: Element) -> int:
    """How much its values take."""
    return sum(map(_bytes, element))


def _bytes(value: Any) -> int:
    if isinstance(value, SparseValue):
        return _bytes(value.indices) + _bytes(value.values) + 8 * len(value.shape)
    if getattr(getattr(value, "dtype", None), "hasobject", False):
        return sum(_STRING + len(one) for one in value.ravel().tolist())
    return int(getattr(value, "nbytes", 0))


class Measured(OneInput):
    """The same elements; each is measured on its way, if anybody listens."""

    def __init__(self, input: Stage, tag: bytes, measure: Measure) -> None:
        super().__init__(input)
        self.tag, self.measure, self.device = tag, measure, input.device

    def begin(self, run: Run) -> Cursor:
        return _MeasuredCursor(self, run)


class _MeasuredCursor(OneCursor):
    def next(self) -> Element | None:
        statistics = self.run.settings.statistics
        if statistics is None:
            return self.input.next()
        element, value = self.stage.measure(self.input.next)
        if element is not None:
            statistics.add(self.stage.tag, value)
        return element  # type: ignore[no-any-return]

    def ready(self) -> bool:
        return self.input.ready()


class _Prefixed:
    def __init__(self, statistics: Statistics, prefix: bytes) -> None:
        self._statistics, self._prefix = statistics, prefix

    def add(self, tag: bytes, value: float) -> None:
        self._statistics.add(self._prefix + tag, value)


class Observed(OneInput):
    """The same elements; measures of this stage and those before go to the statistics."""

    is_setting = True

    def __init__(self, input: Stage, statistics: Statistics, prefix: bytes, all_edges: bool = False) -> None:
        """``all_edges``: the latency of every stage is measured."""
        super().__init__(_measured_everywhere(input, {}) if all_edges else input)
        self.statistics = _Prefixed(statistics, prefix + b"::") if prefix else statistics
        self.device = input.device

    def begin(self, run: Run) -> Cursor:
        return self.input.begin(run.under(statistics=self.statistics))


def _measured_everywhere(stage: Stage, copies: dict[Stage, Stage]) -> Stage:
    """A copy of the chain in which the latency of each stage is measured."""
    if stage not in copies:
        again: Any = copy(stage)
        again.inputs = tuple(map(partial(_measured_everywhere, copies=copies), stage.inputs))
        if isinstance(stage, OneInput):
            (again.input,) = again.inputs
        copies[stage] = Measured(again, b"record_latency_" + stage.name.encode(), latency)
    return copies[stage]
