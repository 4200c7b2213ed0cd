"""What a recorder noted of a step, as messages: StepStats and CostGraphDef (``RunMetadata.step_stats``, ``cost_graph``)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from headrace.core.proto import protos
from headrace.core.shape import TensorShape
from headrace.passes.match import Ops
from headrace.passes.step_graph import Value
from headrace.runtime.code.failure import client_name
from headrace.runtime.drive.plans import StepPlan
from headrace.runtime.host.recorder import Entry, Recorder
from headrace.runtime.session.partition_graph import producer, step_nodes

RECV = Ops("_RecvMany")


def step_stats(recorder: Recorder, host: str) -> Any:
    """For each device its nodes, in the order in which they began.  ``host``: the device of nodes without one.

    What takes messages has their keys for inputs: the node that sends one is named ``_send/`` and its key.
    """
    stats = protos().StepStats()
    by_device: dict[str, Any] = {}
    for entry in sorted(recorder.entries, key=lambda e: (e.began, -e.ended)):
        device = entry.node.device or host
        if device not in by_device:
            by_device[device] = stats.dev_stats.add(device=device)
        by_device[device].thread_names[entry.thread] = recorder.threads[entry.thread]
        _fill(by_device[device].node_stats.add(), entry, recorder.offset, device)
    return stats


def _fill(stats: Any, entry: Entry, offset: int, device: str) -> None:
    node, nanos = entry.node, entry.ended - entry.began
    names = [client_name(value).removesuffix(":0") for value in node.inputs]
    stats.node_name, inputs = node.name, node.attrs["keys"] if node in RECV else names
    stats.timeline_label = f"{node.name} = {node.type}({', '.join(inputs)})"
    if entry.stage:
        stats.node_name = f"{node.name}/{entry.stage.partition(' ')[0]}"
        stats.timeline_label = f"{stats.node_name} = {entry.stage}"
    stats.scheduled_nanos = stats.all_start_nanos = entry.began + offset
    stats.op_end_rel_nanos = stats.all_end_rel_nanos = nanos
    stats.scheduled_micros = stats.all_start_micros = stats.all_start_nanos // 1000
    stats.op_end_rel_micros = stats.all_end_rel_micros = -(-nanos // 1000)  # TensorBoard shows no time where it is 0
    stats.thread_id = entry.thread
    allocator = device.rpartition("/device:")[2]
    if entry.allocated:
        size = entry.allocated
        stats.memory.add(allocator_name=allocator, total_bytes=size, peak_bytes=size, live_bytes=size)
    if entry.in_use is not None:
        name, count = entry.in_use
        stats.memory.add(allocator_name=name, allocator_bytes_in_use=count)
    if entry.stage:
        return
    known = len(entry.outputs) == len(node.outputs)
    for slot, value in enumerate(node.outputs):
        shape, size = (entry.outputs[slot] if known else None) or (value.shape, 0)
        description = stats.output.add(slot=slot).tensor_description
        description.dtype = value.dtype.base_dtype.as_datatype_enum
        description.shape.CopyFrom(TensorShape(shape).as_proto())
        if size:
            description.allocation_description.requested_bytes = size
            description.allocation_description.allocator_name = allocator


def cost_graph(plan: StepPlan, recorder: Recorder, host: str) -> Any:
    """What each node of a step cost: microseconds, and bytes of its outputs where their shapes are static."""
    nanos: Counter[str] = Counter()
    for entry in recorder.entries:
        if not entry.stage:
            nanos[entry.node.name] += entry.ended - entry.began
    nodes = step_nodes(plan)
    numbers = {name: number for number, name in enumerate(nodes)}
    final = {value.op.name for value in plan.fetches} | {node.name for node in plan.graph.targets}
    message = protos().CostGraphDef()
    for name, node in nodes.items():
        cost = message.node.add(name=name, device=node.device or host, id=numbers[name], is_final=name in final)
        cost.compute_cost = nanos[name] // 1000
        cost.control_input.extend(numbers[before.name] for before in node.control_inputs)
        for maker, index in (producer(value, nodes) for value in node.inputs):
            cost.input_info.add(preceding_node=numbers[maker], preceding_port=index)
        for value in node.outputs:
            _describe(cost.output_info.add(alias_input_port=-1), value)
    return message


def _describe(info: Any, value: Value) -> None:
    dtype, count = value.dtype.base_dtype, value.shape.num_elements()
    info.dtype = dtype.as_datatype_enum
    info.shape.CopyFrom(value.shape.as_proto())
    if count is not None and dtype.size > 0:
        info.size = count * dtype.size
