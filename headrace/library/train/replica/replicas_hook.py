"""What `ReplicasOptimizer.make_session_run_hook` returns: the counts of a job in the log."""

from __future__ import annotations

from time import monotonic, time_ns
from typing import Any, Final

from headrace.core.config import RunOptions
from headrace.core.device import short
from headrace.core.errors import AbortedError, UnavailableError
from headrace.core.source import at
from headrace.library import log
from headrace.library.testing.profiler.findings import find
from headrace.library.testing.profiler.timeline import Timeline
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.resources.state.replicas.counts import Report, is_of_several, since, total

TRACED: Final = 2  # steps of a worker that is slow; the first plans what is traced, and tells nothing


class ReplicasHook(SessionRunHook):
    """Asks for the report every so often, in a step of its own.  A worker that is slow traces a step, to say why."""

    def __init__(self, optimizer: Any, every_secs: float) -> None:
        if not every_secs > 0:
            raise ValueError(f"every_secs must be positive, got {every_secs!r} {at()}")
        self._optimizer, self._every_secs = optimizer, every_secs
        self._before: Report | None = None
        self._slow: set[str] = set()
        self._to_trace = 0  # steps

    def begin(self) -> None:
        self._optimizer._check_is_applied("the hook of tf.train.replicas can begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._before is None:  # else it is another session of the same job
            _, self._before = self._optimizer._look(session)
        self._begin_to_measure()

    def _begin_to_measure(self) -> None:
        self._outside = self._inside = 0.0  # of runs, in seconds
        self._ended_at: float | None = None  # the last run; None: it has failed, or there was none
        self._due = monotonic() + self._every_secs

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._begun_at = monotonic()
        self._begun_ns = time_ns()
        if self._ended_at is not None:
            self._outside += self._begun_at - self._ended_at
            self._ended_at = None
        return SessionRunArgs(None, options=RunOptions(trace_level=RunOptions.FULL_TRACE)) if self._to_trace else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        now = monotonic()
        self._inside += now - self._begun_at
        if self._to_trace:
            self._to_trace -= 1
            if not self._to_trace:
                self._say_why(run_context.session.graph, run_values.run_metadata.step_stats)
        if now >= self._due:
            self._look(run_context.session)
            self._begin_to_measure()
        self._ended_at = monotonic()

    def end(self, session: Any) -> None:
        try:
            self._look(session, at_end=True)
        except (AbortedError, UnavailableError) as error:  # others may have stopped the servers: the training is done
            log.warning("What replicas have counted at the end is not known: %s", error)

    def _look(self, session: Any, at_end: bool = False) -> None:
        step, report = self._optimizer._look(session)
        assert self._before is not None
        new, self._before = since(self._before, report), report
        if not is_of_several(report):
            return
        if at_end:
            log.info("%s", in_words(report))
        else:  # at the end those that are done seem slow
            self._tell_of_slow_workers(step, report, new)

    def _tell_of_slow_workers(self, step: int, report: Report, new: Report) -> None:
        slow = dict(report["slow"])
        for worker in sorted(slow.keys() - self._slow):
            own = ""
            if worker == report["worker"]:
                own = self._own_time(new["by_worker"][worker]["waiting"])
                self._worker, self._to_trace = worker, TRACED
            log.warning("step %d: %s takes %.1f times the median%s", step, short(worker), slow[worker], own)
        for worker in sorted(self._slow - slow.keys()):
            log.warning("step %d: %s is no longer slow, or has left", step, short(worker))
        self._slow = set(slow)

    def _own_time(self, waiting: float) -> str:
        """What this worker does while others wait for it."""
        working = self._inside - min(waiting, self._inside) + self._outside
        return f": {100 * self._outside / working:.0f} % of its time is outside of session.run" if working > 0 else ""

    def _say_why(self, graph: Any, stats: Any) -> None:
        """What takes most of the time that this worker spends on a step by itself."""
        began, now = self._begun_ns // 1000, time_ns() // 1000
        events = [
            *Timeline(stats, graph).events(),
            {"ph": "X", "cat": "Step", "name": "", "ts": began, "dur": now - began},
        ]
        found = find([events])
        task = short(self._worker).partition("/")[0]
        own = sum(time.own_micros for time in found.tasks if time.task == task)
        most = next((item for item in found.items if item.task == task and item.is_own), None)
        if most is not None and own:
            part = f"{100 * most.micros / own:.0f} % of its own time"
            does = f"{most} for {part}" if most.is_wait else f"spends {part} in {most}"
            log.warning("%s is slow: in the last step it %s", short(self._worker), does)


def in_words(report: Report) -> str:
    """The whole job in a line."""
    counted, late = total(report, "counted"), total(report, "late")
    staleness, tallies = report["staleness"], report["by_worker"]
    parts = [f"updates: {report['updates']}", f"gradients: {counted} counted, {late} late"]
    if staleness:
        mean = sum(steps * count for steps, count in staleness.items()) / sum(staleness.values())
        parts.append(f"staleness: {round(mean, 2):g} on average, {max(staleness)} at most")
    shares = {worker: (tally["waiting"], tally["waiting"] + tally["working"]) for worker, tally in tallies.items()}
    waits = [f"{short(worker)} {100 * part / whole:.0f} %" for worker, (part, whole) in shares.items() if whole > 0]
    if waits:
        parts.append(f"waiting: {', '.join(waits)}")
    return f"replicas: {'; '.join(parts)}"
