"""Rivals: two plans of one request, one with nodes where a policy has put them, one with all on their first devices.

State is in the same place for both, so each run of the program is one of either: they take turns on the program's own data, and
the faster one is kept.  The best time of each counts, as where compiled plans are tried (runtime/planning/tier.py).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final

from headrace.runtime.drive.plans import Run, StepPlan
from headrace.runtime.planning.tier import Trial

MARGIN: Final = 0.05  # of the time: for less a step is not spread over devices, which others may need

log = logging.getLogger("headrace.place")


class Rivals:
    """Thread-safe."""

    def __init__(self, moved: StepPlan, plain: StepPlan, finish: Callable[[], None] | None = None) -> None:
        """``finish`` waits until the accelerators have done all that was asked of them."""
        self._plans = {True: moved, False: plain}
        self._runs: dict[bool, Run] = {}
        self._finish = finish
        self._trial: Trial | None = Trial()
        self._faster: bool | None = None  # whether that is the plan with moved nodes
        self._lock = threading.Lock()

    def bind(self, entry: Callable[[StepPlan], Run]) -> None:
        """Says what runs a step of a plan."""
        with self._lock:
            if not self._runs:
                self._runs = {moved: entry(plan) for moved, plan in self._plans.items()}

    @property
    def chosen(self) -> StepPlan:
        """The plan that is kept; until that is known, the one with moved nodes."""
        return self._plans[self._faster is not False]

    @property
    def best(self) -> dict[bool, float]:
        """The best seconds of the plan with moved nodes (True) and of the other (False), while they are tried."""
        return {} if self._trial is None else dict(self._trial.best)

    def run(self, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """Runs one step, of the plan that is kept or of the one whose turn it is."""
        faster = self._faster
        if faster is not None:
            return self._runs[faster](feeds)
        with self._lock:
            moved = self._trial is None or self._trial.new_next()
        self._wait()  # what earlier steps began is not a part of this one
        begin = perf_counter()
        results = self._runs[moved](feeds)
        self._wait()
        self._note(moved, perf_counter() - begin)
        return results

    def loosen(self) -> None:
        """Breaks the circles through what the plans hold."""
        for plan in self._plans.values():
            plan.loosen()

    def _wait(self) -> None:
        if self._finish is not None:
            self._finish()

    def _note(self, moved: bool, seconds: float) -> None:
        with self._lock:
            trial = self._trial
            if self._faster is not None or trial is None or not trial.note(moved, seconds):
                return
            self._faster = trial.best[True] < trial.best[False] * (1.0 - MARGIN)
        where = "where the policy puts them" if self._faster else "on their first devices"
        times = f"{trial.best[True] * 1e3:.3f} ms against {trial.best[False] * 1e3:.3f} ms"
        log.info("keeps the nodes of a step of %d nodes %s: %s", len(self.chosen.graph.nodes), where, times)
