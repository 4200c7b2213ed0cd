"""The loops of fit, evaluate and predict: batches through steps, figures to callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.library.keras.callbacks.callback import CallbackList

Run = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list[Any]]


class Totals:
    """The figures of an epoch: the mean loss of all samples (or of all steps), and the last value of each metric."""

    def __init__(self, by_samples: bool) -> None:
        self._by_samples = by_samples
        self._loss = 0.0
        self._weight = 0
        self._last: list[Any] = []

    def add(self, values: list[Any], size: int) -> None:
        """Takes a batch into account."""
        weight = size if self._by_samples else 1
        self._loss += float(values[0]) * weight
        self._weight += weight
        self._last = values

    def values(self) -> list[float]:
        """The loss and the metrics; nothing if there was no batch."""
        return [self._loss / self._weight, *map(float, self._last[1:])] if self._weight else []


def run_epoch(model: Any, source: Any, step_for: Callable[[Any], Run], callbacks: CallbackList, mode: str) -> Totals:
    """All batches of one epoch of "train" or "test"."""
    totals = Totals(by_samples=source.samples is not None and source.steps is None)
    begin, end = callbacks.for_batches(mode, "begin"), callbacks.for_batches(mode, "end")
    names = model.metrics_names
    for number, (xs, ys, ws) in enumerate(source.epoch()):
        size = xs[0].shape[0] if xs else 1
        logs: dict[str, Any] = {"batch": number, "size": size}
        for hook in begin:
            hook(number, logs)
        values = step_for(ws)(xs, ys, ws)
        totals.add(values, size)
        if end:
            logs.update(zip(names, map(float, values), strict=True))
            for hook in end:
                hook(number, logs)
        if mode == "train" and model.stop_training:
            break
    return totals


def run_predictions(source: Any, run: Run, callbacks: CallbackList) -> list[Any]:
    """The outputs for all batches, one array for each output."""
    begin, end = callbacks.for_batches("predict", "begin"), callbacks.for_batches("predict", "end")
    gathered = Gathered(source.samples)
    for number, (xs, _, _) in enumerate(source.epoch()):
        size = xs[0].shape[0] if xs else 1
        logs = {"batch": number, "size": size}
        for hook in begin:
            hook(number, logs)
        values = run(xs, (), ())
        gathered.add(values)
        for hook in end:
            hook(number, logs)
    return gathered.arrays()


class Gathered:
    """Arrays joined one after another: into place where it is known how many rows there will be."""

    def __init__(self, rows: int | None) -> None:
        self._rows = rows
        self._filled = 0
        self._whole: list[Any] = []
        self._parts: list[list[Any]] = []

    def add(self, values: Sequence[Any]) -> None:
        """Adds the rows of a batch."""
        if self._rows is None or any(np.ndim(v) == 0 for v in values):
            self._parts.append(list(values))
            return
        if not self._whole:
            self._whole = [np.empty((self._rows, *v.shape[1:]), v.dtype) for v in values]
        count = values[0].shape[0]
        for whole, value in zip(self._whole, values, strict=True):
            whole[self._filled : self._filled + count] = value
        self._filled += count

    def arrays(self) -> list[Any]:
        """All rows, one array for each value."""
        if self._whole:
            return self._whole
        return [np.concatenate([np.atleast_1d(v) for v in column]) for column in zip(*self._parts, strict=True)]
