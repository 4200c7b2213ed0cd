"""What is asked of a task whose steps are traced from outside: `tools/trace_cluster.py` asks, `step_traces.py` answers."""

from __future__ import annotations

import msgspec

from headrace.cluster.request import Answer, Request


class TraceSteps(Request):
    """Traces steps of all sessions: so many of each partition, from now on and for so long at most.

    ``asker``: known to nobody else.  While somebody's steps are traced, another one is refused; the same one gets as many again.
    """

    quick = True
    asker: str
    steps: int
    seconds: float


class TracedPiece(msgspec.Struct):
    """A `runtime.session.step_tracer.TracedStep`, with StepStats as protobuf writes them; ``lines``: of the program, by node."""

    session: str
    step: int
    request: int
    tasks: list[str]
    parts: int
    writes: bool
    began: int
    ended: int
    statistics: bytes
    lines: dict[str, str]


class Traces(Answer):
    """What was traced since the last one, and the task's time of day in nanoseconds.

    ``writing``: sessions with steps that write variables here, traced or still to be.
    """

    traces: list[TracedPiece]
    now: int
    writing: list[str]


class TakeTraces(Request):
    """What has `TraceSteps` of the same asker traced?  ``ends``: and no more."""

    answer = Traces
    asker: str
    ends: bool
