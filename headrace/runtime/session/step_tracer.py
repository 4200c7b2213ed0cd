"""StepTracer: traces steps of the sessions that run on a worker, for somebody who asks from outside (``headrace trace``).

Each partition and each plan that runs while the tracer is there is traced a few times, one step at a time: other steps of it run
as always meanwhile.  A partition is planned once more before its first traced step, on another thread, so that no step waits for
that.  The first traced step is not noted: it is slower than those after it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable, Iterable
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, time_ns
from typing import Any, Final

from headrace.resources.stepping.waiting import Done
from headrace.runtime.host.recorder import Entry, Recorder
from headrace.runtime.session.step_stats import step_stats

MOST: Final = 1000  # requests of which steps are traced, whatever comes


@dataclass(frozen=True, slots=True)
class TracedStep:
    """What one partition has done in a step, or a plan that is not cut.  Times are of the day, in nanoseconds."""

    session: str
    step: int  # the session's number of it
    request: int  # the same in all steps of the partition or plan
    tasks: frozenset[str]  # of those that it has messages from or for, and its own
    parts: int  # partitions of the step on this task
    writes: bool  # whether steps write variables
    began: int
    ended: int
    recorder: Recorder

    def stats(self, host: str) -> Any:
        """As StepStats; ``host``: the device of nodes without one."""
        return step_stats(self.recorder, host)

    def lines(self) -> dict[str, str]:
        """The line of the program that has made each node."""
        return lines(self.recorder.entries)


def lines(entries: Iterable[Entry]) -> dict[str, str]:
    """The line of the program of each node that has run; those that passes made have none."""
    return {e.node.name: str(e.node.source) for e in entries if not e.stage and not e.node.type.startswith("_")}


@dataclass(slots=True)
class Subject:
    """A partition or plan that is traced: about it, and how far its tracing has come."""

    request: int
    session: str
    tasks: frozenset[str] = frozenset()
    parts: int = 1
    writes: bool = False
    handle: int | None = None  # of the copy that notes times; None: there is none yet
    is_busy: bool = False
    left: int = 0  # traced steps that are to come, with the first one


@dataclass(slots=True)
class StepTracer:
    """Thread-safe.  ``asker``: who wants it.  ``steps``: to be traced of each partition.  ``seconds``: after which it ends."""

    asker: str
    steps: int
    seconds: float
    _until: float = field(init=False)
    _subjects: dict[Hashable, Subject] = field(default_factory=dict)
    _found: list[TracedStep] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _copies: list[Callable[[], None]] = field(default_factory=list)  # forget the copies
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._until = monotonic() + self.seconds

    @property
    def is_over(self) -> bool:
        return monotonic() > self._until

    def again(self, seconds: float) -> None:
        """Traces so many steps once more of each partition that was traced before, and goes on for so many seconds."""
        with self._lock:
            self._until = monotonic() + seconds
            for subject in self._subjects.values():
                if (
                    subject.handle is not None or subject.left <= self.steps
                ):  # its first traced step may be still to come
                    subject.left = max(subject.left, self.steps)

    def end(self) -> None:
        """No step is traced any more; the copies are forgotten, but for those that run."""
        with self._lock:
            self._until = 0.0
            forget, self._copies = self._copies, []
        for one in forget:
            one()

    def take(self) -> list[TracedStep]:
        """The steps that were traced since the last call."""
        with self._lock:
            found, self._found = self._found, []
        return found

    def writing(self) -> list[str]:
        """The sessions of which steps that write variables have begun."""
        with self._lock:
            return sorted({subject.session for subject in self._subjects.values() if subject.writes})

    # ---- partitions

    def partition(self, partitions: Any, handle: int, submit: Callable[[Callable[[], None]], None]) -> Subject | None:
        """The partition, if this step of it is to be traced: `traced` gives what is called at its end.

        ``submit`` runs what makes its copy, later.
        """
        with self._lock:
            subject = self._subjects.get((partitions, handle))
            if subject is not None:
                return subject if self._begins(subject) else None
            if len(self._subjects) >= MOST or self.is_over:
                return None
            subject = self._subjects[partitions, handle] = Subject(len(self._subjects), partitions.session)
        submit(partial(self._prepare, partitions, handle, subject))
        return None

    def _begins(self, subject: Subject) -> bool:
        if subject.is_busy or subject.left <= 0 or self.is_over:
            return False
        subject.is_busy = True
        return True

    def _prepare(self, partitions: Any, handle: int, subject: Subject) -> None:
        """Makes the copy of a partition.  One that cannot be planned again is not traced; its own steps say why."""
        try:
            new, subject.tasks, subject.parts, subject.writes = partitions.copy_to_trace(handle)
        except Exception:  # noqa: BLE001 - a trace must not end a step of the program
            return
        with self._lock:
            if not self.is_over:
                self._copies.append(partial(self._forget, partitions, new, subject))
                subject.handle, subject.left = new, self.steps + 1
                return
        partitions.forget(new)

    def _forget(self, partitions: Any, handle: int, subject: Subject) -> None:
        if not subject.is_busy:
            partitions.forget(handle)

    def traced(self, subject: Subject, partitions: Any, step: int, done: Done) -> Done:
        """What the partition calls when it is over, in place of ``done``."""
        began = time_ns()

        def over(results: Any, error: BaseException | None) -> None:
            if error is None:
                self._note(subject, step, began, partitions.recorder(subject.handle))
            self.leave(subject)
            if self.is_over:
                partitions.forget(subject.handle)
            done(results, error)

        return over

    # ---- plans that are not cut

    def plan(self, plan: Any, session: str, task: str, writes: bool) -> Subject | None:
        """The plan, if this step of it is to be traced; `note` is called after the step, and then `leave`."""
        with self._lock:
            subject = self._subjects.get(plan)
            if subject is None and len(self._subjects) < MOST:
                subject = Subject(len(self._subjects), session, frozenset([task]), 1, writes, left=self.steps + 1)
                self._subjects[plan] = subject
            return subject if subject is not None and self._begins(subject) else None

    def note(self, subject: Subject, began: int, recorder: Recorder) -> None:
        """A step of a plan has ended."""
        self._note(subject, next(self._numbers), began, recorder)

    def leave(self, subject: Subject) -> None:
        """A traced step is over, however it has ended."""
        with self._lock:
            subject.left -= 1
            subject.is_busy = False

    def _note(self, subject: Subject, step: int, began: int, recorder: Recorder) -> None:
        ended = time_ns()
        with self._lock:
            if not self.is_over and subject.left <= self.steps:
                self._found.append(TracedStep(
                    subject.session, step, subject.request, subject.tasks, subject.parts, subject.writes, began, ended,
                    copy(recorder),  # `Recorder.start` replaces what it holds
                ))  # fmt: skip
