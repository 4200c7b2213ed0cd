"""Where the time of a program's steps goes: some of them are traced, and the timeline is judged in a sentence.

    headrace trace train.py --batch=64          or   python -m headrace.tools.trace train.py --batch=64

The step of the program's loop is traced: the first request that its main thread runs for the second time, or with `--fetch
loss` the first that fetches `loss`.  The program ends with the last traced step, or goes on with `--go-on`.  Nothing that it
prints reaches stdout, which has the verdict only.  Traces that were written before are judged again, those of several workers
together: `headrace trace w0.json w1.json`.

    headrace trace grpc://localhost:2222

traces the next steps of a job that runs (`headrace.tools.trace_cluster`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import time_ns
from typing import Any, TextIO

from headrace.client.session import BaseSession
from headrace.core.config import RunMetadata, RunOptions
from headrace.library.testing.profiler.critical_path import BETWEEN
from headrace.library.testing.profiler.findings import SHOWN, Event, Findings, find
from headrace.library.testing.profiler.timeline import Timeline
from headrace.runtime.explain.explanation_text import text_table
from headrace.tensorflow.__main__ import main as run_program
from headrace.tools.time_text import time_text
from headrace.tools.trace_picture import picture
from headrace.tools.watch import Call, asked, fetches_name, watching

LINES = 10  # of each table that shows all parts
VIEWER = "https://ui.perfetto.dev"
WARM = 2  # runs of the request before the first that is traced, which plans the traced step and is not shown


@dataclass(frozen=True)
class Choice:
    """What to trace, and what to write."""

    steps: int = 5
    fetch: str | None = None
    out: str = "trace.json"
    as_json: bool = False
    all_parts: bool = False  # show the critical path, the costliest ops and why devices are idle too
    go_on: bool = False
    picture: str | None = None


@dataclass
class Tracer:
    """Traces runs of one request of a program, and says what it found."""

    choice: Choice
    out: TextIO
    seen: dict[Any, int] = field(default_factory=dict)  # how often each request was run
    request: Any = None  # the one that is traced
    graph: Any = None
    stats: Any = None  # of all traced steps
    spans: list[tuple[int, int]] = field(default_factory=list)  # of these, in microseconds
    plain_micros: int = 0  # the last run that was not traced
    done: bool = False

    def see(self, session: BaseSession, fetches: Any, feed_dict: Any, call: Call) -> Any:
        """Runs a step of the program, traced or not; ends the program after the last one."""
        names, request = ([], None) if self.done else asked(session, fetches, feed_dict)
        if request is None or not self._is_chosen(request, names):
            return call()
        self.request, self.graph = request, session.graph
        if self.seen[request] <= WARM:
            began = time_ns()
            results = call()
            self.plain_micros = (time_ns() - began) // 1000
            return results
        results = self._traced(call)
        if len(self.spans) == self.choice.steps:
            self.report()
            if not self.choice.go_on:
                raise SystemExit(0)
        return results

    def _is_chosen(self, request: Any, names: Sequence[str]) -> bool:
        self.seen[request] = self.seen.get(request, 0) + 1
        if self.request is not None:
            return bool(request == self.request)
        return self.seen[request] > 1 if self.choice.fetch is None else fetches_name(names, self.choice.fetch)

    def _traced(self, call: Call) -> Any:
        metadata = RunMetadata()
        began = time_ns()
        results = call(options=RunOptions(trace_level=RunOptions.FULL_TRACE), run_metadata=metadata)
        if self.stats is None:  # the first
            self.stats = type(metadata.step_stats)()
            return results
        self.spans.append((began // 1000, time_ns() // 1000))
        add_stats(self.stats, metadata.step_stats)
        return results

    def report(self) -> None:
        """Writes the timeline of what was traced so far, and the verdict.  Nothing is traced afterwards."""
        self.done = True
        events = self.events()
        if not write(events, self.choice):
            raise SystemExit(2)
        plain = self.plain_micros
        show(
            find([events]), self.choice, self.out,
            f" (the last one before, not traced: {time_text(plain / 1e6)})" if plain else "",
        )  # fmt: skip

    def events(self) -> list[Event]:
        """The timeline, with a slice for each step."""
        return with_steps(Timeline(self.stats, self.graph), self.spans)


def with_steps(timeline: Timeline, spans: Sequence[tuple[int, int]]) -> list[Event]:
    """The events of a timeline, with a slice for each step: from and to when it ran, in microseconds."""
    events: list[Event] = list(timeline.events(show_memory=True))
    pid, tid = (1 + max((event.get(key, 0) for event in events), default=0) for key in ("pid", "tid"))
    events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": "steps"}})
    place = {"ph": "X", "cat": "Step", "pid": pid, "tid": tid}
    return events + [
        {**place, "name": f"step {i}", "ts": began, "dur": ended - began} for i, (began, ended) in enumerate(spans, 1)
    ]  # fmt: skip


def add_stats(stats: Any, more: Any) -> None:
    """Adds the nodes of another step, device by device."""
    devices = {device.device: device for device in stats.dev_stats}
    for device in more.dev_stats:
        if device.device in devices:
            devices[device.device].MergeFrom(_without_name(device))
        else:
            stats.dev_stats.add().CopyFrom(device)


def _without_name(device: Any) -> Any:
    copy = type(device)()
    copy.CopyFrom(device)
    copy.ClearField("device")
    return copy


def trace_program(program: Sequence[str], choice: Choice) -> int:
    """Runs a program (a file or ``-m`` and a module, then its arguments) and traces steps of it.

    Returns 0, or 1 if the program ended before a step was traced; what the program raises is raised.
    """
    tracer = Tracer(choice, sys.stdout)
    try:
        with watching(tracer.see), redirect_stdout(sys.stderr):
            status = run_program(program)
            if status:
                return status
    except SystemExit:
        if not tracer.done and not tracer.seen:
            raise
    if not tracer.spans:
        print(f"headrace trace: {_problem(tracer)}", file=sys.stderr)
        return 1
    if not tracer.done:
        tracer.report()
    return 0


def _problem(tracer: Tracer) -> str:
    needed = f"it takes {WARM + 2} runs of a request to trace one"
    if tracer.request is not None:
        return f"the program ended after {tracer.seen[tracer.request]} runs of the request; {needed}"
    if tracer.choice.fetch is not None:
        return f"the program ended: no request fetched {tracer.choice.fetch!r}"
    return f"the program ended: no request was run twice; {needed}"


def read_traces(paths: Sequence[str], choice: Choice) -> int:
    """Judges traces that were written before, one for each worker, and writes them as one."""
    traces: list[list[Event]] = []
    try:
        traces = [json.loads(Path(path).read_text())["traceEvents"] for path in paths]
        findings = find(traces)
    except (OSError, ValueError, KeyError, TypeError) as e:
        print(
            f"headrace trace: traces are files that headrace trace or a Timeline wrote; {', '.join(paths)}: {e}",
            file=sys.stderr,
        )
        return 2
    alone = len(paths) == 1  # its timeline is there already
    if alone:
        choice = replace(choice, out=paths[0])
    if not write(traces[0] if alone else together(traces), choice, timeline=not alone):
        return 2
    show(findings, replace(choice, all_parts=True), sys.stdout)
    return 0


def together(traces: Sequence[Sequence[Event]]) -> list[Event]:
    """Several traces as one: processes, threads and arrows get numbers of their own; processes are named after their trace."""
    joined: list[Event] = []
    first = dict.fromkeys(("pid", "tid", "id"), 0)
    for number, events in enumerate(traces, 1):
        for event in events:
            moved = {**event, **{key: event[key] + first[key] for key in first if key in event}}
            if event["name"] == "process_name":
                moved["args"] = {"name": f"{number}: {event['args']['name']}"}
            joined.append(moved)
        first = {key: 1 + max((event.get(key, 0) for event in joined), default=0) for key in first}
    return joined


def write(events: Sequence[Event], choice: Choice, timeline: bool = True) -> bool:
    """Writes the timeline unless told otherwise, and the picture if one is wanted; False, and says why, if that cannot be."""
    path = choice.out
    try:
        for path in filter(None, (choice.out * timeline, choice.picture)):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"traceEvents": events}, separators=(",", ":")) if path == choice.out else picture(events)
            Path(path).write_text(text)
    except OSError as e:
        print(f"headrace trace: {path} cannot be written: {e.strerror or e}", file=sys.stderr)
        return False
    return True


def show(findings: Findings, choice: Choice, out: TextIO, note: str = "", whose: str = "") -> None:
    """Prints the verdict and its tables.  ``note``: about the steps; ``whose`` they are."""
    if choice.as_json:
        print(json.dumps({**findings.to_dict(), "timeline": choice.out}, indent=1), file=out, flush=True)
        return
    first = findings.verdict[0].upper() if len(findings.tasks) == 1 else findings.verdict[0]
    many = "s" * (findings.steps != 1)
    steps = (
        f"{findings.steps} step{many}{f' of {whose},' * bool(whose)} of {time_text(findings.step_micros / 1e6)}{note}"
    )
    tasks = [
        (t.task, f"{t.computes:.0%}", f"{t.waits:.0%}", f"{t.rest:.0%}", time_text(t.own_micros / 1e6))
        for t in findings.tasks
    ]
    items = [
        (f"{i.share:.0%}", time_text(i.micros / 1e6), i.task, i.what, i.source)
        for i in findings.items[:SHOWN]
        if i.share >= 0.005
    ]
    print(
        first + findings.verdict[1:],
        f"{steps}. Timeline: {choice.out}, to be opened at {VIEWER}",
        text_table("Tasks", ("task", "computes", "waits", "neither", "own time"), tasks),
        text_table("Where the time goes", ("share", "per step", "task", "what", "made at"), items),
        *(_parts(findings) if choice.all_parts else ()),
        sep="\n\n", file=out, flush=True,
    )  # fmt: skip


def _parts(findings: Findings) -> list[str]:
    """The critical path, the costliest ops, and why devices are idle, as tables."""
    path = [
        (f"{hop.share:.0%}", time_text(hop.micros / 1e6), hop.task, hop.what, hop.source)
        for hop in findings.path[:LINES]
    ]
    nodes = sum(hop.share for hop in findings.path if hop.cause != BETWEEN)
    ops = [(time_text(i.micros / 1e6), f"{i.share:.0%}", i.task, i.what, i.source) for i in findings.costliest(LINES)]
    idle = [
        (one.device, f"{one.idle:.0%}", "; ".join(f"{what} {share:.0%}" for what, share in one.causes[:3]))
        for one in findings.devices
    ]
    return [
        text_table(
            f"Critical path, {nodes:.0%} of it nodes and messages", ("share", "per step", "task", "what", "made at"), path
        ),
        text_table("Ops that compute longest", ("per step", "share", "task", "what", "made at"), ops),
        text_table("Devices", ("device", "idle", "why"), idle),
    ]  # fmt: skip


def are_traces(program: Sequence[str]) -> bool:
    """Whether files of traces are given in the place of a program."""
    return bool(program) and all(one.endswith(".json") for one in program)


def main(argv: Sequence[str]) -> int:
    """The command without typer."""
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.trace", description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5, help="how many steps to trace")
    parser.add_argument("--fetch", help="trace the first request that fetches this tensor or operation")
    parser.add_argument("--out", default="trace.json", help="where the timeline goes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--go-on", action="store_true", help="let the program go on after the traced steps")
    parser.add_argument("--read", action="store_true", help="judge traces that were written before")
    parser.add_argument("--svg", help="where a picture of the last step goes")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to wait for steps of a running job")
    parser.add_argument(
        "program", nargs=argparse.REMAINDER, help="a file, or -m and a module, and its arguments; or grpc://host:port"
    )
    options = parser.parse_args(argv)
    if not options.program:
        parser.error("which program?")
    choice = Choice(options.steps, options.fetch, options.out, options.json, go_on=options.go_on, picture=options.svg)
    return trace(options.program, choice, options.read, options.seconds)


def trace(program: Sequence[str], choice: Choice, read: bool = False, seconds: float = 30.0) -> int:
    """Traces a program, or a job that runs if ``program`` is its target, or judges traces; returns the exit status."""
    if read or are_traces(program):
        return read_traces(program, choice)
    if program[0].startswith("grpc://"):
        if len(program) > 1:
            after = " ".join([*program[1:], program[0]])
            print(f"headrace trace: options come before the target: headrace trace {after}", file=sys.stderr)
            return 2
        from headrace.tools.trace_cluster import trace_cluster  # needs the extra `cluster`

        return trace_cluster(program[0], choice, seconds)
    return trace_program(program, choice)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
