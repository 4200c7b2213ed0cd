"""Where the time of a job's steps goes that runs already: its tasks trace the next ones, and the program knows nothing of it.

    headrace trace grpc://localhost:2222

Any task of the job will do: it is asked for the others, as by ``headrace top``.  Each task traces the next steps of all sessions.
For each session the step that counts is the one that writes variables and takes most of the time; of it, the steps that all their
tasks have traced make the timeline.
"""

from __future__ import annotations

import itertools
import secrets
import sys
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Final, NamedTuple

from headrace.cluster.clock import Clock
from headrace.cluster.overview import Overview
from headrace.cluster.trace_request import TakeTraces, TracedPiece, TraceSteps
from headrace.core.errors import InvalidArgumentError, OpError
from headrace.core.proto import protos
from headrace.library.testing.profiler.findings import Event, find
from headrace.library.testing.profiler.timeline import Timeline
from headrace.library.testing.profiler.wait_cause import task_name
from headrace.runtime.session.causality import settle, shift
from headrace.tools.said import said
from headrace.tools.time_text import time_text
from headrace.tools.trace import Choice, add_stats, show, together, with_steps, write

LOOK: Final = 0.2  # seconds between two looks at what the tasks have
MORE: Final = 5  # steps in addition: tasks do not begin to trace in the same moment
MOSTLY: Final = 0.5  # of the time between steps, if it is worth a sentence


class Piece(NamedTuple):
    """What one task has traced of a step, by the clock of this process."""

    task: str
    trace: TracedPiece
    stats: Any
    began: int
    ended: int


@dataclass
class TracedStep:
    """A step with its parts on all tasks; times in nanoseconds."""

    session: str
    pieces: list[Piece]

    @property
    def request(self) -> frozenset[tuple[str, int]]:
        return frozenset((piece.task, piece.trace.request) for piece in self.pieces)

    @property
    def span(self) -> tuple[int, int]:
        return min(piece.began for piece in self.pieces), max(piece.ended for piece in self.pieces)

    @property
    def tasks(self) -> frozenset[str]:
        return frozenset(piece.task for piece in self.pieces)

    @property
    def nanos(self) -> int:
        began, ended = self.span
        return ended - began

    @property
    def is_complete(self) -> bool:
        """Whether all partitions were traced, of all tasks that any of them speaks with."""
        involved = {task for piece in self.pieces for task in piece.trace.tasks}
        here = {task: [piece.trace.parts for piece in self.pieces if piece.task == task] for task in involved}
        return all(counts and len(counts) == counts[0] for counts in here.values())

    @property
    def writes(self) -> bool:
        return any(piece.trace.writes for piece in self.pieces)


def trace_cluster(target: str, choice: Choice, seconds: float = 30.0) -> int:
    """Traces steps of a job that runs; returns 0, 1 if none came or it cannot be reached, 2 if that is no target."""
    if choice.fetch is not None or choice.go_on:
        print(
            "headrace trace: --fetch and --go-on are for a program; a job that runs goes on anyway, and the step that "
            "writes variables is traced",
            file=sys.stderr,
        )
        return 2
    try:
        with Overview(target) as overview:
            collected, problems = collect(overview, choice.steps, seconds)
    except (OpError, ImportError) as e:
        print(f"headrace trace: {said(e)}", file=sys.stderr)
        return 2 if isinstance(e, InvalidArgumentError) else 1
    for task, problem in problems.items():
        print(f"headrace trace: {task} traces nothing: {said(problem)}", file=sys.stderr)
    if not collected:
        print(
            f"headrace trace: no step was traced by all its tasks within {seconds:g} s. Do steps run? headrace top {target} "
            "says what the tasks do",
            file=sys.stderr,
        )
        return 1
    return judge(collected, choice)


def judge(collected: Sequence[Sequence[TracedStep]], choice: Choice) -> int:
    """Writes the timeline of the steps of sessions, and what it tells.  2: it cannot be written."""
    traces = [_events(steps) for steps in collected]
    findings = find(traces)
    if not write(traces[0] if len(traces) == 1 else together(traces), choice):
        return 2
    note, verdict = _beside(collected)
    if verdict:
        findings = replace(findings, verdict=verdict)
    clients = f"{len(collected)} sessions" if len(collected) > 1 else ""
    show(findings, choice, sys.stdout, note, clients)
    return 0


def _beside(collected: Sequence[Sequence[TracedStep]]) -> tuple[str, str]:
    """What the programs do between steps: a note, and a verdict if that takes most of the time of one of them."""
    everywhere = frozenset.intersection(*(steps[0].tasks for steps in collected))
    pauses: list[int] = []
    share, verdict = MOSTLY, ""
    for steps in collected:
        between = _between(steps)
        pauses += between
        if between and (part := sum(between) / (steps[-1].span[0] - steps[0].span[0])) > share:
            who = " and ".join(sorted(map(task_name, steps[0].tasks - everywhere))) or "the program"
            share, verdict = part, (
                f"{who} spends {part:.0%} of the time outside of steps: between two of them it does something else, its input "
                f"or its Python, for {time_text(sum(between) / len(between) / 1e9)}."
            )  # fmt: skip
    if not pauses:
        return "", ""
    mean = time_text(sum(pauses) / len(pauses) / 1e9)
    return f"; between two of them the program does something else for {mean}", verdict


def _between(steps: Sequence[TracedStep]) -> list[int]:
    """The time from the end of each step to the beginning of the next run of the same request."""
    spans = [step.span for step in steps]
    return [max(after[0] - before[1], 0) for before, after in itertools.pairwise(spans)]


def collect(overview: Overview, steps: int, seconds: float) -> tuple[list[list[TracedStep]], dict[str, OpError]]:
    """For each session its steps; and the tasks that trace nothing, with the reason.

    Once some sessions have enough steps, the others have a quarter of the time, and so have steps that write variables.
    """
    asker = secrets.token_hex(8)
    request = partial(TraceSteps, asker, steps + MORE, seconds + 2 * overview.patience)
    begun, problems = overview.ask_all(request)
    found = _Found()
    until = monotonic() + seconds
    settles = False
    try:
        while begun and monotonic() < until:
            threading.Event().wait(LOOK)
            found.take(overview, list(begun), asker, False)
            enough = [one for one in found.chosen(steps) if len(one) >= steps]
            writing = {one[0].session for one in enough if one[0].writes}
            if writing and writing >= found.writing:
                break
            if enough and not settles:
                settles, until = True, min(until, monotonic() + seconds / 4)
            overview.ask_all(request, list(begun))  # they may have been ready at different times
    finally:
        found.take(overview, list(begun), asker, True)
    return found.chosen(steps), problems


class _Found:
    """What the tasks have traced so far."""

    def __init__(self) -> None:
        self._steps: dict[tuple[str, int], TracedStep] = {}
        self._clocks: dict[str, Clock] = defaultdict(Clock)
        self.writing: set[str] = set()  # sessions with steps that write variables

    def take(self, overview: Overview, tasks: Sequence[str], asker: str, ends: bool) -> None:
        """Asks the tasks."""
        answers, _ = overview.ask_all(partial(TakeTraces, asker, ends), tasks)
        for task, (answer, asked, answered) in answers.items():
            self.writing.update(answer.writing)
            self._clocks[task].note(asked, answer.now, answered)
            offset = self._clocks[task].difference(answer.now)
            for trace in answer.traces:
                stats = protos().StepStats.FromString(trace.statistics)
                shift(stats, offset)
                step = self._steps.setdefault((trace.session, trace.step), TracedStep(trace.session, []))
                step.pieces.append(Piece(task, trace, stats, trace.began + offset, trace.ended + offset))

    def chosen(self, steps: int) -> list[list[TracedStep]]:
        """For each session the first steps of the request that counts; sessions that write nothing only if all are so."""
        by_session: dict[str, dict[Any, list[TracedStep]]] = defaultdict(lambda: defaultdict(list))
        for step in self._steps.values():
            if step.is_complete:
                by_session[step.session][step.request].append(step)
        chosen = []
        for requests in by_session.values():
            best = max(requests.values(), key=lambda of: (of[0].writes, min(len(of), steps), sum(s.nanos for s in of)))
            chosen.append(sorted(best, key=lambda step: step.span)[:steps])
        return [one for one in chosen if one[0].writes] or chosen


def _events(steps: Sequence[TracedStep]) -> list[Event]:
    stats = protos().StepStats()
    lines: dict[str, str] = {}
    for piece in (piece for step in steps for piece in step.pieces):
        add_stats(stats, piece.stats)
        lines |= piece.trace.lines
    settle(stats, steps[0].pieces[0].task)
    timeline = Timeline(stats)
    timeline.lines = lines
    return with_steps(timeline, [(began // 1000, ended // 1000) for began, ended in (step.span for step in steps)])
