"""Rivals: two plans of one request, one with nodes where a policy has put them, one with all on their first devices.

State is in the same place for both, so each run of the program is one of either: they take turns on the program's own data, and
the faster one is kept (`contest`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final

from headrace.runtime.drive.plans import Run, StepPlan
from headrace.runtime.session.contest import AGAIN, Contest

log: Final = logging.getLogger("headrace.place")


class Rivals:
    """Thread-safe."""

    def __init__(self, moved: StepPlan, plain: StepPlan, finish: Callable[[], None] | None = None) -> None:
        """``finish`` waits until the accelerators have done all that was asked of them."""
        self._plans = {True: moved, False: plain}
        self._runs: dict[bool, Run] = {}
        self._finish = finish
        self._contest = Contest()
        self._faster: bool | None = None  # whether that is the plan with moved nodes
        self._since = 0  # runs since that was found out
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
    def times(self) -> dict[bool, list[float]]:
        """The seconds of the plan with moved nodes (True) and of the other (False), in the last contest."""
        with self._lock:
            return {moved: list(times) for moved, times in self._contest.times.items()}

    def run(self, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """Runs one step, of the plan that is kept or of the one whose turn it is."""
        if self._faster is False:
            return self._runs[False](feeds)
        if self._faster and not self._is_due():
            return self._runs[True](feeds)
        with self._lock:
            moved = self._contest.new_next()
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

    def _is_due(self) -> bool:
        """Whether the plan with moved nodes is to be looked at again.  Runs that race only count a little less."""
        self._since += 1
        if self._since < AGAIN:
            return False
        with self._lock:
            if self._faster and self._contest.new_stays is not None:
                self._contest.look_again()
        return True

    def _note(self, moved: bool, seconds: float) -> None:
        with self._lock:
            if self._contest.new_stays is not None:
                return
            self._contest.note(moved, seconds)
            if self._contest.new_stays is None:
                return
            before, self._faster, self._since = self._faster, self._contest.new_stays, 0
            mine, other = self._contest.medians
        if self._faster is not before:
            where = "where the policy puts them" if self._faster else "on their first devices"
            times = f"{mine * 1e3:.3f} ms against {other * 1e3:.3f} ms"
            log.info("keeps the nodes of a step of %d nodes %s: %s", len(self.chosen.graph.nodes), where, times)
