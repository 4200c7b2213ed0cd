"""What the nodes of traced steps took, in time and memory, from the ``step_stats`` of their RunMetadata."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.config import RunMetadata
from headrace.core.device import type_of
from headrace.core.source import at
from headrace.library.testing.profiler.node_proto import GraphNodeProto

_LABEL = re.compile(r".* = (\w+)\(")
_STAGE = re.compile(r".* = \w+ .*\(made at .*\)")  # a wait, which computes nothing


@dataclass
class Usage:
    """One node in one step or several."""

    op_type: str = ""
    runs: int = 0
    accelerator: int = 0  # microseconds
    cpu: int = 0
    requested: int = 0  # bytes
    peak: int = 0
    residual: int = 0
    output: int = 0
    devices: list[str] = field(default_factory=list)
    spans: list[tuple[str, int, int]] = field(default_factory=list)  # device, beginning, microseconds

    def add(self, other: Usage) -> None:
        """Adds what the node took in another step."""
        for name in ("runs", "accelerator", "cpu", "requested", "peak", "residual", "output"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.op_type = self.op_type or other.op_type
        self.devices += [device for device in other.devices if device not in self.devices]

    def fill(self, line: GraphNodeProto, steps: int) -> None:
        """Sets the numbers of a line to the mean of so many steps."""
        line.run_count, line.devices = self.runs, list(self.devices)
        line.accelerator_exec_micros = self.accelerator // steps
        line.cpu_exec_micros = self.cpu // steps
        line.exec_micros = line.accelerator_exec_micros + line.cpu_exec_micros
        line.requested_bytes, line.peak_bytes = self.requested // steps, self.peak // steps
        line.residual_bytes, line.output_bytes = self.residual // steps, self.output // steps


Usages = dict[str, Usage]


def usage_of(run_meta: Any, caller: str, needed: bool = True) -> Usages:
    """What each node took in the step of a RunMetadata, by its name.  ``needed``: a step without a trace is an error."""
    if not isinstance(run_meta, RunMetadata):
        raise TypeError(f"{caller}: run_meta must be a tf.RunMetadata, got {run_meta!r} {at()}")
    stats = run_meta.step_stats
    if stats is None or not stats.dev_stats:
        if not needed:
            return {}
        raise ValueError(
            f"{caller}: run_meta must be a tf.RunMetadata of a traced run, got {run_meta!r}: pass it to Session.run with "
            f"options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) {at()}"
        )
    found: Usages = {}
    for device in stats.dev_stats:
        for node in device.node_stats:
            if not _STAGE.fullmatch(node.timeline_label):
                found.setdefault(node.node_name, Usage()).add(_of_node(node, device.device))
                found[node.node_name].spans.append((device.device, node.all_start_micros, node.all_end_rel_micros))
    return found


def _of_node(node: Any, device: str) -> Usage:
    label = _LABEL.match(node.timeline_label)
    usage = Usage(label.group(1) if label else "", runs=1, devices=[device])
    if type_of(device) == "CPU":
        usage.cpu = node.all_end_rel_micros
    else:
        usage.accelerator = node.all_end_rel_micros
    for memory in node.memory:
        usage.requested += memory.total_bytes
        usage.peak += memory.peak_bytes
        usage.residual += memory.live_bytes
    for output in node.output:
        usage.output += output.tensor_description.allocation_description.requested_bytes
    return usage


def mean_usage(steps: Sequence[Mapping[str, Usage]]) -> Usages:
    """What each node took in all of these steps together."""
    found: Usages = {}
    for step in steps:
        for name, usage in step.items():
            found.setdefault(name, Usage()).add(usage)
    return found
