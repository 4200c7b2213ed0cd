"""StepTraces: a task's steps, traced for somebody who is no client of theirs (``headrace trace grpc://host:port``)."""

from __future__ import annotations

import threading
from time import time_ns
from typing import Final

from headrace.cluster.trace_request import TracedPiece, Traces
from headrace.core import errors
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.session.step_tracer import StepTracer

LONGEST: Final = 3600.0  # seconds that anybody may have steps traced; who asks may be gone


class StepTraces:
    """Thread-safe.  Traces for one asker at a time."""

    def __init__(self, worker: LocalWorker) -> None:
        self._worker = worker
        self._lock = threading.Lock()

    def begin(self, asker: str, steps: int, seconds: float) -> None:
        """From now on steps are traced."""
        with self._lock:
            before: StepTracer | None = self._worker.step_tracer
            if before is not None and before.asker == asker and not before.is_over:
                before.again(min(seconds, LONGEST))
                return
            if before is not None and not before.is_over:
                why = f"somebody else has steps of {self._worker.task} traced; try again when that is over"
                raise errors.AlreadyExistsError(None, None, why)
            if before is not None:
                before.end()
            self._worker.step_tracer = StepTracer(asker, steps, min(seconds, LONGEST))

    def take(self, asker: str, ends: bool, incarnation: int) -> Traces:
        """What was traced since the last call."""
        with self._lock:
            tracer: StepTracer | None = self._worker.step_tracer
            if tracer is None or tracer.asker != asker:
                why = f"{self._worker.task} traces nothing for this asker, or not any more"
                raise errors.AbortedError(None, None, why)
            if ends:
                self._worker.step_tracer = None
                tracer.end()
        host = self._worker.device("").name
        traces = [
            TracedPiece(
                one.session, one.step, one.request, sorted(one.tasks), one.parts, one.writes, one.began, one.ended,
                one.stats(host).SerializeToString(), one.lines(),
            )
            for one in tracer.take()
        ]  # fmt: skip
        return Traces(incarnation, traces, time_ns(), tracer.writing())
