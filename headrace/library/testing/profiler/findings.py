"""Where the time of traced steps goes: events of timelines in, findings out.  Nothing is run here.

A task's time in a step is what it computes, what it waits for, and the rest: Python between the nodes, messages under way.
Waiting counts only while the task computes nothing.  What a task does by itself, its *own time*, is computing and waiting
for its own queues and iterators, not for other tasks: a task whose own time is far above that of its job is a straggler.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Final

from headrace.library.testing.profiler.critical_path import Hop, critical_path
from headrace.library.testing.profiler.wait_cause import node_text, task_name

Event = Mapping[str, Any]  # of a timeline, as JSON has it
Span = tuple[int, int]

SLOW: Final = 1.5  # times the median of its job: a straggler
LARGE: Final = 0.2  # of a step: worth a sentence
SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Item:
    """Something that takes time in each step: an op, or a wait with its cause."""

    task: str
    what: str  # "MatMul `product`", "waits for queue input/fifo_queue"
    source: str
    micros: float  # per step
    share: float  # of the step
    is_wait: bool
    is_own: bool  # not a wait for another task or device

    def __str__(self) -> str:
        return f"{self.what}{f' ({self.source})' * bool(self.source)}"


@dataclass(frozen=True, slots=True)
class TaskTime:
    """What a task does in a step, in parts of the step."""

    task: str
    computes: float
    waits: float
    rest: float
    own_micros: float


@dataclass(frozen=True, slots=True)
class Idle:
    """How much of a step a device computes nothing, and why: parts of the step, the largest first."""

    device: str  # "ps 0 CPU:0"
    idle: float
    causes: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """What traces tell.  ``items``: the largest first.  ``path``: the critical path, its largest parts first."""

    steps: int
    step_micros: float
    verdict: str
    tasks: tuple[TaskTime, ...]
    items: tuple[Item, ...]
    path: tuple[Hop, ...] = ()
    devices: tuple[Idle, ...] = ()

    def costliest(self, count: int) -> tuple[Item, ...]:
        """The ops that compute longest."""
        return tuple(item for item in self.items if not item.is_wait)[:count]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


@dataclass
class _Work:
    """What one task has done in the steps of one trace."""

    computed: list[Span] = field(default_factory=list)
    waited: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    own: list[Span] = field(default_factory=list)
    ops: Counter[str] = field(default_factory=Counter)
    stages: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # of iterators, by their node
    sources: dict[str, str] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)  # waits for others
    nodes: dict[str, str] = field(default_factory=dict)  # by wait: the node that waits


def find(traces: Iterable[Sequence[Event]]) -> Findings:
    """``traces``: the events of timelines with steps, one for each client; several workers of a job have one each."""
    items: list[Item] = []
    tasks: dict[str, list[TaskTime]] = defaultdict(list)
    durations: list[int] = []
    path: list[Hop] = []
    devices: list[Idle] = []
    for events in traces:
        steps = _steps(events)
        durations += [ended - began for began, ended in steps]
        total = sum(ended - began for began, ended in steps)
        for task, work in _work(events).items():
            tasks[task].append(_task_time(task, work, total, len(steps)))
            items += _items(task, work, total, len(steps))
        path += critical_path(events, steps)
        devices += _idle(events, steps)
    times = tuple(_mean(found) for _, found in sorted(tasks.items()))
    items.sort(key=lambda item: -item.share)
    verdict = _straggler(times, items) or _largest(times, items)
    path.sort(key=lambda hop: -hop.micros)
    micros = sum(durations) / len(durations)
    return Findings(len(durations), micros, verdict, times, tuple(items), tuple(path), tuple(devices))


def _steps(events: Sequence[Event]) -> list[Span]:
    """The steps of a trace; one that has none marked is a single step."""
    steps = [_span(event) for event in events if event.get("cat") == "Step"]
    if steps:
        return steps
    spans = [_span(event) for event in events if event["ph"] == "X" and event.get("cat") in ("Op", "Wait")]
    if not spans:
        raise ValueError("the trace has neither steps nor nodes")
    return [(min(began for began, _ in spans), max(ended for _, ended in spans))]


def _idle(events: Sequence[Event], steps: Sequence[Span]) -> Iterator[Idle]:
    """Of each device of a trace.  What it waits for counts only while it computes nothing."""
    devices = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    total = sum(ended - began for began, ended in steps)
    computed: dict[int, list[Span]] = defaultdict(list)
    waited: dict[int, dict[str, list[Span]]] = defaultdict(lambda: defaultdict(list))
    for event in (e for e in events if e["ph"] == "X" and e.get("cat") in ("Op", "Wait")):
        spans = computed[event["pid"]] if event["cat"] == "Op" else waited[event["pid"]][event["name"]]
        spans += _within(_span(event), steps)
    for pid in sorted(computed.keys() | waited.keys()):
        name = devices[pid].removesuffix(" Compute")
        busy = computed[pid]
        causes = {what: _besides(spans, busy) / total for what, spans in waited[pid].items()}
        waiting = _besides([span for spans in waited[pid].values() for span in spans], busy) / total
        idle = 1 - _length(busy) / total
        causes["nothing is ready: Python between nodes, or other devices compute"] = max(idle - waiting, 0.0)
        largest = sorted(((what, share) for what, share in causes.items() if share > 0), key=lambda one: -one[1])
        yield Idle(f"{task_name(name)} {name.rpartition('device:')[2]}", idle, tuple(largest))


def _within(span: Span, steps: Sequence[Span]) -> list[Span]:
    """The parts of a span that are in steps."""
    began, ended = span
    return [(max(began, b), min(ended, e)) for b, e in steps if max(began, b) < min(ended, e)]


def _work(events: Sequence[Event]) -> dict[str, _Work]:
    """By task."""
    devices = {e["pid"]: e["args"]["name"].removesuffix(" Compute") for e in events if e["name"] == "process_name"}
    found: dict[str, _Work] = defaultdict(_Work)
    slices = [e for e in events if e["ph"] == "X" and e.get("cat") in ("Op", "Wait", "Stage")]
    for event, own_time in zip(slices, _self_times(slices), strict=True):
        work, args, span = found[task_name(devices[event["pid"]])], event["args"], _span(event)
        what = event["name"] if event["cat"] == "Wait" else node_text(args["op"], args["name"])
        work.sources.setdefault(what, args.get("source", ""))
        if event["cat"] == "Stage":
            work.stages[args["name"].rpartition("/")[0]][what] += own_time
            continue
        if event["cat"] == "Wait":
            work.waited[what].append(span)
            work.nodes.setdefault(what, args["name"])
            if args["op"] == "_RecvMany":
                work.foreign.add(what)
                continue
        else:
            work.computed.append(span)
            work.ops[what] += own_time
        work.own.append(span)
    return found


def _self_times(slices: Sequence[Event]) -> list[int]:
    """The time of each slice without that of the slices in it: the nodes of a loop's body are in the loop."""
    times = [event["dur"] for event in slices]
    open_by_lane: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i in sorted(range(len(slices)), key=lambda i: (slices[i]["ts"], -slices[i]["dur"])):
        event, stack = slices[i], open_by_lane[slices[i]["pid"], slices[i]["tid"]]
        while stack and _span(slices[stack[-1]])[1] <= event["ts"]:
            stack.pop()
        if stack:
            times[stack[-1]] -= event["dur"]
        stack.append(i)
    return times


def _span(event: Event) -> Span:
    return event["ts"], event["ts"] + event["dur"]


def _union(spans: Iterable[Span]) -> list[Span]:
    """The spans, joined where they overlap, in order."""
    joined: list[Span] = []
    for began, ended in sorted(spans):
        if joined and began <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], ended)
        else:
            joined.append((began, ended))
    return joined


def _length(spans: Iterable[Span]) -> int:
    return sum(ended - began for began, ended in _union(spans))


def _besides(spans: Sequence[Span], others: Sequence[Span]) -> int:
    """How long ``spans`` take while none of ``others`` does."""
    return _length([*spans, *others]) - _length(others)


def _task_time(task: str, work: _Work, total: int, steps: int) -> TaskTime:
    computes = _length(work.computed)
    waits = _besides([span for spans in work.waited.values() for span in spans], work.computed)
    rest = max(total - computes - waits, 0)
    return TaskTime(task, computes / total, waits / total, rest / total, _length(work.own) / steps)


def _mean(times: Sequence[TaskTime]) -> TaskTime:
    """A task in the steps of several clients."""
    columns = zip(*((t.computes, t.waits, t.rest, t.own_micros) for t in times), strict=True)
    return TaskTime(times[0].task, *(sum(column) / len(times) for column in columns))


def _items(task: str, work: _Work, total: int, steps: int) -> list[Item]:
    micros = dict(work.ops)
    micros |= {what: _besides(spans, work.computed) for what, spans in work.waited.items()}
    found = []
    for what, took in micros.items():
        said, is_wait = what, what in work.waited
        if is_wait and (stages := work.stages.get(work.nodes[what])):
            stage = max(stages, key=stages.__getitem__)
            said += f", mostly on {stage.partition(' ')[0]}"
        own = what not in work.foreign
        found.append(Item(task, said, work.sources[what], took / steps, took / total, is_wait, own))
    return found


def _straggler(times: Sequence[TaskTime], items: Sequence[Item]) -> str:
    """One sentence on the task that is slowest in comparison with others of its job; "" if none is slow."""
    slow: list[tuple[float, TaskTime, str]] = []
    for time in times:
        job = time.task.rpartition(" ")[0]
        others = [t.own_micros for t in times if t.task != time.task and t.task.rpartition(" ")[0] == job]
        if others and time.own_micros > SLOW * (usual := median(others)):
            slow.append((time.own_micros / max(usual, 1.0), time, job))
    for ratio, time, job in sorted(slow, key=lambda found: -found[0]):
        item = next((item for item in items if item.task == time.task and item.is_own), None)
        if item is not None and item.share >= LARGE:
            return f"{time.task} takes {ratio:.1f} times the median of the other tasks of {job!r}: {_doing(item)}."
    return ""


def _largest(times: Sequence[TaskTime], items: Sequence[Item]) -> str:
    """One sentence on what takes most of the step."""
    item = next((item for item in items if item.is_own), None)
    if item is not None and item.share >= LARGE:
        who = item.task if len(times) > 1 else "the step"
        return f"{who} is starved: {_doing(item)}." if item.is_wait else f"{who} is slow in one place: {_doing(item)}."
    rest = min((time.rest for time in times), default=1.0)
    if rest >= 0.5:
        return f"No node takes long: {rest:.0%} of the step is Python between the nodes, or messages under way."
    most = f" The most, {item.share:.0%}, is {item}." if item is not None else ""
    return f"The time is spread over many nodes.{most}"


def _doing(item: Item) -> str:
    if item.is_wait:
        return f"it {item} for {item.share:.0%} of the step"
    return f"it spends {item.share:.0%} of the step in {item}"
