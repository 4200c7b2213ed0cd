"""Timeline: the trace of a step (``RunMetadata.step_stats``) in the format that ``chrome://tracing`` and Perfetto show."""

from __future__ import annotations

import json
import re
from typing import Any

from headrace.core import errors

_LABEL = re.compile(r"(.*) = (.*)\((.*)\)")
_OP_TIMES = ("schedule", "gpu", "all")


class Timeline:
    """The nodes of one step by time and device.

    ``tf.profiler.Timeline(run_metadata.step_stats).generate_chrome_trace_format()`` gives the contents of a file to look at.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        if step_stats is None:
            raise ValueError(
                "step_stats is None: run the step with options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) and "
                "run_metadata=tf.RunMetadata()"
            )
        self._step_stats = step_stats
        self._graph = graph

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:  # fmt: skip
        """The trace as JSON; ``show_dataflow`` draws arrows from a tensor to the nodes that take it.

        The time of a node is that of its kernels too, so ``op_time`` makes no difference.
        """
        if op_time not in _OP_TIMES:
            raise ValueError(f"op_time must be one of {', '.join(_OP_TIMES)}, got {op_time!r}")
        if show_memory:
            raise errors.UnimplementedError(None, None, "traces do not tell when memory was freed: show_memory=True")
        events = [_process("Allocators", 0)]
        placed = []  # each node with its process and its lane
        for i, stats in enumerate(self._step_stats.dev_stats):
            pid = 1 + 2 * i
            events += [_process(f"{stats.device} Compute", pid), _process(f"{stats.device} Tensors", pid + 1)]
            placed += [(node, pid, lane) for node, lane in zip(stats.node_stats, _lanes(stats), strict=True)]
        made = _made(placed) if show_dataflow else {}
        for node, pid, lane in placed:
            events.append(_span(node, pid, lane))
            events += _arrows(node, pid, lane, made, len(events))
        return json.dumps({"traceEvents": events}, separators=(",", ":"))


def _made(placed: list[tuple[Any, int, int]]) -> dict[str, tuple[int, int, int]]:
    """Each tensor: when it was there, and the process and the lane of its node."""
    made = {}
    for node, pid, lane in placed:
        for index in range(len(node.output)):
            made[f"{node.node_name}:{index}" if index else node.node_name] = (_end(node), pid, lane)
    return made


def _end(node: Any) -> int:
    return int(node.all_start_micros + node.all_end_rel_micros)


def _lanes(stats: Any) -> list[int]:
    """A lane for each node of a device, such that those in one lane do not overlap."""
    ends = [0]
    lanes = []
    for node in stats.node_stats:
        lane = next((i for i, end in enumerate(ends) if node.all_start_micros > end), len(ends))
        ends[lane : lane + 1] = [_end(node)]
        lanes.append(lane)
    return lanes


def _parsed(label: str) -> tuple[str, list[str]]:
    """The op and the inputs in a node's label."""
    match = _LABEL.match(label)
    if match is None:
        return "unknown", []
    _, op, inputs = match.groups()
    return op, inputs.split(", ") if inputs else []


def _process(name: str, pid: int) -> dict[str, Any]:
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def _event(phase: str, category: str, name: str, pid: int, lane: int, time: int) -> dict[str, Any]:
    return {"ph": phase, "cat": category, "name": name, "pid": pid, "tid": lane, "ts": time}


def _span(node: Any, pid: int, lane: int) -> dict[str, Any]:
    op, inputs = _parsed(node.timeline_label)
    args = {"name": node.node_name, "op": op, **{f"input{i}": name for i, name in enumerate(inputs)}}
    event = _event("X", "Op", op, pid, lane, node.all_start_micros)
    return {**event, "dur": node.all_end_rel_micros, "args": args}


def _arrows(node: Any, pid: int, lane: int, made: dict[str, tuple[int, int, int]], number: int) -> list[dict[str, Any]]:
    """Arrows from the inputs that were made on another device or lane; their numbers begin with ``number``."""
    events: list[dict[str, Any]] = []
    for name in _parsed(node.timeline_label)[1]:
        time, from_pid, from_lane = made.get(name, (0, pid, lane))
        if (from_pid, from_lane) != (pid, lane):
            arrow = {"id": number + len(events)}
            events.append({**_event("s", "DataFlow", name, from_pid, from_lane, time), **arrow})
            events.append({**_event("t", "DataFlow", name, pid, lane, node.all_start_micros), **arrow})
    return events
