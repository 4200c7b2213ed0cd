"""What a recorder noted of a step, as the message StepStats (``RunMetadata.step_stats``)."""

from __future__ import annotations

from typing import Any

from headrace.core.proto import protos
from headrace.passes.step_graph import Value
from headrace.runtime.failure import client_name
from headrace.runtime.recorder import Entry, Recorder


def step_stats(recorder: Recorder, host: str) -> Any:
    """For each device its nodes, in the order in which they began.  ``host``: the device of nodes without one."""
    stats = protos().StepStats()
    by_device: dict[str, Any] = {}
    for entry in sorted(recorder.entries, key=lambda e: e.began):
        device = entry.node.device or host
        if device not in by_device:
            by_device[device] = stats.dev_stats.add(device=device)
        _fill(by_device[device].node_stats.add(), entry, recorder.offset)
    return stats


def _fill(stats: Any, entry: Entry, offset: int) -> None:
    node, nanos = entry.node, entry.ended - entry.began
    stats.node_name = node.name
    stats.timeline_label = f"{node.name} = {node.type}({', '.join(map(_label_name, node.inputs))})"
    stats.scheduled_nanos = stats.all_start_nanos = entry.began + offset
    stats.op_end_rel_nanos = stats.all_end_rel_nanos = nanos
    stats.scheduled_micros = stats.all_start_micros = stats.all_start_nanos // 1000
    stats.op_end_rel_micros = stats.all_end_rel_micros = nanos // 1000
    stats.thread_id = entry.thread & 0xFFFFFFFF
    for slot, value in enumerate(node.outputs):
        description = stats.output.add(slot=slot).tensor_description
        description.dtype = value.dtype.base_dtype.as_datatype_enum
        description.shape.CopyFrom(value.shape.as_proto())


def _label_name(value: Value) -> str:
    """The name of a tensor in labels: the first output has that of its node."""
    return client_name(value).removesuffix(":0")
