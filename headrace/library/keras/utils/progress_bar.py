"""The line that shows how far a loop is, with the mean of what was measured on the way."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


class Progbar:
    """A line on the standard output that shows how many of a number of steps are done.

    Args:
      target: How many steps there are; None if that is not known.
      width: How many characters the bar has.
      verbose: 0 shows nothing, 1 a bar that moves, 2 one line when all steps are done.
      interval: How many seconds are at least between two updates of the line.
      stateful_metrics: Names of values that are shown as they come; of others the mean is shown.
      unit_name: What one step is called.

    >>> bar = tf.keras.utils.Progbar(4, verbose=0)
    >>> for step in range(4):
    ...     bar.add(1, values=[("loss", 0.5)])
    """

    def __init__(
        self, target: int | None, width: int = 30, verbose: int = 1, interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None, unit_name: str = "step",
    ) -> None:  # fmt: skip
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.unit_name = unit_name
        self.stateful_metrics = set(stateful_metrics or ())
        self._moves = (hasattr(sys.stdout, "isatty") and sys.stdout.isatty()) or "ipykernel" in sys.modules
        self._shown_width = 0
        self._done = 0
        self._sums: dict[str, list[Any]] = {}  # by name, in the order of their coming: the sum, and of how many
        self._start = time.time()
        self._last_update = 0.0

    def update(self, current: int, values: Sequence[tuple[str, Any]] | None = None) -> None:
        """Shows that `current` steps are done.

        Args:
          current: The number of steps that are done.
          values: Pairs of a name and a value, which counts for all steps since the last update.
        """
        for name, value in values or ():
            self._take(name, value, current - self._done)
        self._done = current
        now = time.time()
        finished = self.target is not None and current >= self.target
        if self.verbose == 1:
            if now - self._last_update < self.interval and self.target is not None and not finished:
                return
            self._show_bar(current, now, finished)
        elif self.verbose == 2 and finished:
            count = f"{current:{_digits(self.target)}d}/{self.target}"
            _write(f"{count} - {now - self._start:.0f}s{self._described()}\n")
        self._last_update = now

    def add(self, n: int, values: Sequence[tuple[str, Any]] | None = None) -> None:
        """Shows that `n` more steps are done.

        Args:
          n: How many steps were done since the last update.
          values: Pairs of a name and a value, which counts for these steps.
        """
        self.update(self._done + n, values)

    def _take(self, name: str, value: Any, steps: int) -> None:
        if name in self.stateful_metrics:
            self._sums[name] = [value, 1]
            return
        entry = self._sums.setdefault(name, [0, 0])
        entry[0] += value * steps
        entry[1] += steps

    def _show_bar(self, current: int, now: float, finished: bool) -> None:
        start = "\b" * self._shown_width + "\r" if self._moves else "\n"
        bar = self._bar(current)
        info = self._time(current, now, finished) + self._described()
        width = len(bar) + len(info)
        covered = " " * max(0, self._shown_width - width)
        _write(start + bar + info + covered + ("\n" if finished else ""))
        self._shown_width = width

    def _bar(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        filled = int(self.width * current / self.target) if self.target else self.width
        bar = "=" * max(0, filled - 1)
        if filled > 0:
            bar += ">" if current < self.target else "="
        return f"{current:{_digits(self.target)}d}/{self.target} [{bar}{'.' * (self.width - filled)}]"

    def _time(self, current: int, now: float, finished: bool) -> str:
        each = (now - self._start) / current if current else 0.0
        if self.target is not None and not finished:
            return f" - ETA: {_clock(each * (self.target - current))}"
        spent = f" - {now - self._start:.0f}s"
        if each >= 1 or each == 0:
            return f"{spent} {each:.0f}s/{self.unit_name}"
        if each >= 1e-3:
            return f"{spent} {each * 1e3:.0f}ms/{self.unit_name}"
        return f"{spent} {each * 1e6:.0f}us/{self.unit_name}"

    def _described(self) -> str:
        return "".join(f" - {name}: {_number(total, count)}" for name, (total, count) in self._sums.items())


def _digits(target: int | None) -> int:
    return len(str(target))


def _clock(seconds: float) -> str:
    if seconds > 3600:
        return f"{int(seconds // 3600)}:{int(seconds % 3600 // 60):02d}:{int(seconds % 60):02d}"
    if seconds > 60:
        return f"{int(seconds // 60)}:{int(seconds % 60):02d}"
    return f"{int(seconds)}s"


def _number(total: Any, count: int) -> str:
    mean = float(np.mean(total / max(1, count)))
    return f"{mean:.4f}" if abs(mean) > 1e-3 else f"{mean:.4e}"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
