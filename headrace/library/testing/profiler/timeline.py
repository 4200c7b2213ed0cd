"""Timeline: the trace of a step (``RunMetadata.step_stats``) in the format that ``chrome://tracing`` and Perfetto show.

A trace that TensorFlow made is shown as TensorFlow shows it.  Headrace's own say more (`DeviceStepStats.thread_names`): which
thread ran a node, and which nodes did not run but wait.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.library.testing.profiler.wait_cause import task_name, wait_cause

_LABEL = re.compile(r"(.*) = (.*)\((.*)\)")
_STAGE = re.compile(r".* = (\w+) .*\(made at (.*)\)")
_OP_TIMES = ("schedule", "gpu", "all")
_WAITING = 0  # the thread of nodes that wait


@dataclass
class _Slice:
    """A node of the trace, with its place in the picture; times in microseconds."""

    node: Any
    device: str
    pid: int
    began: int
    ended: int
    op: str
    inputs: Sequence[str]
    is_plain: bool = False  # TensorFlow's own trace
    waits: bool = False
    source: str = ""
    lane: int = 0

    def event(self, phase: str, category: str, name: str, time: int) -> dict[str, Any]:
        return {"ph": phase, "cat": category, "name": name, "pid": self.pid, "tid": self.lane, "ts": time}


@dataclass
class _Lane:
    """Slices one above the other: each lies within the one below, or after it."""

    ends: list[int] = field(default_factory=list)

    def takes(self, slice: _Slice) -> bool:
        while self.ends and self.ends[-1] <= slice.began:
            self.ends.pop()
        return not self.ends or (not slice.waits and slice.ended <= self.ends[-1])


class Timeline:
    """The nodes of one step by time and device.

    ``tf.profiler.Timeline(run_metadata.step_stats).generate_chrome_trace_format()`` gives the contents of a file to look at.
    With ``graph``, nodes have the line of the program that made them.

    Args:
      step_stats: The ``step_stats`` of a `tf.RunMetadata` that a traced step has filled.
      graph: The graph of the step; None for a timeline without lines of the program.

    >>> metadata = tf.RunMetadata()
    >>> value = tf.Session().run(tf.add(1.0, 2.0), options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
    ...                          run_metadata=metadata)
    >>> trace = tf.profiler.Timeline(metadata.step_stats).generate_chrome_trace_format()
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        if step_stats is None:
            raise ValueError(
                "step_stats is None: run the step with options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) and "
                "run_metadata=tf.RunMetadata()"
            )
        self._step_stats = step_stats
        operations = [] if graph is None else graph.get_operations()
        self.lines: dict[str, str] = {op.name: str(op.source) for op in operations}  # of the program, by node

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:  # fmt: skip
        """The trace as JSON.

        ``show_dataflow`` draws arrows from a tensor to the nodes that take it, and from what sends to what receives.
        ``show_memory`` adds the memory in use, as the trace has it.  The time of a node is that of its kernels too, so
        ``op_time`` makes no difference.
        """
        if op_time not in _OP_TIMES:
            raise ValueError(f"op_time must be one of {', '.join(_OP_TIMES)}, got {op_time!r}")
        return json.dumps({"traceEvents": self.events(show_dataflow, show_memory)}, separators=(",", ":"))

    def events(self, show_dataflow: bool = True, show_memory: bool = False) -> list[dict[str, Any]]:
        """The events of the trace, as JSON has them."""
        events = [_metadata("process_name", "Allocators", 0)]
        slices: list[_Slice] = []
        lanes = 1  # Perfetto takes threads of one number for the same, whatever their process, and 0 for none
        for i, stats in enumerate(self._step_stats.dev_stats):
            pid = 1 + 2 * i
            events.append(_metadata("process_name", f"{stats.device} Compute", pid))
            events.append(_metadata("process_name", f"{stats.device} Tensors", pid + 1))
            if stats.thread_names:
                placed = [self._slice(node, stats.device, pid) for node in stats.node_stats]
                named = list(_place(placed, stats.thread_names, lanes))
                lanes += len(named)
                events += named
            else:
                placed = _plain_slices(stats, pid)
            slices += placed
        made = _made(slices) if show_dataflow else {}
        for slice in slices:
            events.append(_span(slice))
            events += _arrows(slice, made, len(events))
        if show_dataflow:
            events += _message_arrows(slices, len(events))
            events += _queue_arrows(slices, len(events))
        if show_memory:
            events += _counters(slices)
        return events

    def _slice(self, node: Any, device: str, pid: int) -> _Slice:
        """A node of Headrace's own trace."""
        op, inputs = _parsed(node.timeline_label)
        source = ""
        if stage := _STAGE.match(node.timeline_label):
            op, source, inputs = stage[1], stage[2], []
        else:
            source = self.lines.get(node.node_name, "")  # others were made by passes, or are in bodies
        # Whole microseconds: Perfetto rounds others, and slices would overlap.
        began, ended = node.all_start_nanos // 1000, (node.all_start_nanos + node.all_end_rel_nanos) // 1000
        waits = node.thread_id == _WAITING
        return _Slice(node, device, pid, began, max(ended, began + waits), op, inputs, False, waits, source)


def _place(slices: Sequence[_Slice], names: Any, number: int) -> Iterator[dict[str, Any]]:
    """Gives each slice a lane of its thread, from ``number`` on; yields the names of the lanes.  What waits comes last."""
    for thread in sorted(names, key=lambda t: (t == _WAITING, names[t])):
        lanes: list[_Lane] = []
        for slice in slices:
            if slice.node.thread_id != thread:
                continue
            lane = next((i for i, lane in enumerate(lanes) if lane.takes(slice)), len(lanes))
            if lane == len(lanes):
                lanes.append(_Lane())
            lanes[lane].ends.append(slice.ended)
            slice.lane = number + lane
        for lane in range(len(lanes)):
            yield _metadata("thread_name", names[thread], slices[0].pid, tid=number + lane)
        number += len(lanes)


def _plain_slices(stats: Any, pid: int) -> list[_Slice]:
    """The slices of a trace without threads: those in one lane do not overlap."""
    ends = [0]
    slices = []
    for node in stats.node_stats:
        began, ended = node.all_start_micros, node.all_start_micros + node.all_end_rel_micros
        lane = next((i for i, end in enumerate(ends) if began > end), len(ends))
        ends[lane : lane + 1] = [ended]
        op, inputs = _parsed(node.timeline_label)
        slices.append(_Slice(node, stats.device, pid, began, ended, op, inputs, True, lane=lane))
    return slices


def _made(slices: Sequence[_Slice]) -> dict[str, _Slice]:
    """Each tensor with the slice of its node."""
    return {
        f"{slice.node.node_name}:{index}" if index else slice.node.node_name: slice
        for slice in slices
        for index in range(len(slice.node.output))
    }


def _parsed(label: str) -> tuple[str, list[str]]:
    """The op and the inputs in a node's label."""
    match = _LABEL.match(label)
    if match is None:
        return "unknown", []
    _, op, inputs = match.groups()
    return op, inputs.split(", ") if inputs else []


def _metadata(event: str, name: str, pid: int, **lane: int) -> dict[str, Any]:
    return {"name": event, "ph": "M", "pid": pid, **lane, "args": {"name": name}}


def _span(slice: _Slice) -> dict[str, Any]:
    args = {
        "name": slice.node.node_name,
        "op": slice.op,
        **{f"input{i}": name for i, name in enumerate(slice.inputs)},
    }
    category, name = "Stage" if _STAGE.match(slice.node.timeline_label) else "Op", slice.op
    if slice.waits:
        category, name = "Wait", f"waits for {wait_cause(slice.op, slice.node.node_name, slice.inputs, slice.device)}"
    if slice.source:
        args["source"] = slice.source
    return {**slice.event("X", category, name, slice.began), "dur": slice.ended - slice.began, "args": args}


def _arrows(slice: _Slice, made: dict[str, _Slice], number: int) -> list[dict[str, Any]]:
    """Arrows from the inputs that were made on another device or lane; their numbers begin with ``number``."""
    events: list[dict[str, Any]] = []
    for name in slice.inputs:
        maker = made.get(name, slice)
        if (maker.pid, maker.lane) != (slice.pid, slice.lane):
            events += _arrow("DataFlow", name, maker, slice, slice.began, number + len(events))
    return events


def _arrow(category: str, name: str, source: _Slice, target: _Slice, at: int, number: int) -> list[dict[str, Any]]:
    """An arrow from a slice to another at a time.  Perfetto looks for slices around the times of its two events."""
    if source.is_plain:
        begins, ends = source.ended, target.event("t", category, name, at)
    else:
        begins, ends = source.began, {**target.event("f", category, name, at), "bp": "e"}
    return [{**source.event("s", category, name, begins), "id": number}, {**ends, "id": number}]


def _message_arrows(slices: Sequence[_Slice], number: int) -> Iterator[dict[str, Any]]:
    """An arrow from each node that sends a message to the node that takes it: the first to the first, and so on.

    Arrows end in the last moment of a wait, which has a slice of its own: Perfetto turns one around that ends in a slice
    older than the one it begins in.
    """
    sent: dict[str, list[_Slice]] = defaultdict(list)
    for slice in slices:
        if slice.op == "_SendMany":
            sent[slice.node.node_name.removeprefix("_send/")].append(slice)
    taken: dict[str, int] = defaultdict(int)
    for slice in (slice for slice in slices if slice.op == "_RecvMany"):
        arrival = slice.ended - 1
        yield {**slice.event("X", "Message", "arrives", arrival), "dur": 1}
        for key in slice.inputs:
            at, taken[key] = taken[key], taken[key] + 1
            if at < len(sent[key]):
                number += 1
                yield from _arrow("Message", key, sent[key][at], slice, arrival, number)


def _queue_arrows(slices: Sequence[_Slice], number: int) -> Iterator[dict[str, Any]]:
    """An arrow from the node that put elements into a queue to each wait for the queue that they ended."""
    filled: dict[str, list[_Slice]] = defaultdict(list)
    for slice in sorted(slices, key=lambda s: s.ended):
        if slice.inputs and not slice.is_plain and not slice.waits and slice.op.startswith("QueueEnqueue"):
            filled[slice.inputs[0]].append(slice)
    for slice in slices:
        if slice.waits and slice.inputs and slice.op.startswith("QueueDequeue"):
            ends = filled[slice.inputs[0]]
            position = bisect_right(ends, slice.ended, key=lambda s: s.ended)
            if position and ends[position - 1].ended > slice.began:
                number += 1
                yield from _arrow("Queue", slice.inputs[0], ends[position - 1], slice, slice.ended - 1, number)


def _counters(slices: Sequence[_Slice]) -> Iterator[dict[str, Any]]:
    """The memory in use after nodes, by task and allocator."""
    for slice in slices:
        for memory in (one for one in slice.node.memory if one.allocator_bytes_in_use):
            event = slice.event("C", "Memory", f"{task_name(slice.device)} {memory.allocator_name}", slice.ended)
            yield {**event, "pid": 0, "tid": 0, "args": {"bytes": memory.allocator_bytes_in_use}}
