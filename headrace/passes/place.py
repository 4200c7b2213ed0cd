"""Place: gives every node a device, honouring what the user asked for (white paper 3.2.1 and 4.3).

Nodes tied by colocation (``colocate_with``, or a handle and the ops that take it) form groups by union-find and share a device.
A node that asks for no device goes to the default device, a host-only op to the host's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.device import DeviceSpec
from headrace.core.dtypes import string
from headrace.core.errors import InvalidArgumentError
from headrace.core.source import user_source
from headrace.passes.arrays import named_inputs
from headrace.passes.read import ref_positions
from headrace.passes.step_graph import Node, StepGraph, Value

HasKernel = Callable[[Node, str], bool]


def place(graph: StepGraph, devices: Sequence[str], has_kernel: HasKernel, soft: bool = False) -> StepGraph:
    """``devices`` are full names, best first, at least one CPU; ``has_kernel(node, device type)`` asks the registry."""
    specs = [_spec(d) for d in devices]
    host = next(d for d, s in zip(devices, specs, strict=True) if s.device_type == "CPU")
    groups = _groups(graph)
    anywhere = DeviceSpec.from_string("")
    for members in groups:
        wish = anywhere
        for node in members:
            if node.device:
                wish = _merge(wish, node)
        elsewhere = [n for n in members if not runs_on_host(n)]
        chosen = next((
            d for d, s in zip(devices, specs, strict=True)
            if (wish is anywhere or _matches(wish, s)) and all(has_kernel(n, s.device_type or "CPU") for n in elsewhere)
        ), host if soft else "")  # fmt: skip
        if not chosen:
            _fail(members, wish, devices, has_kernel)
        for node in members:
            node.device = host
        for node in elsewhere:
            node.device = chosen
    return graph


def _groups(graph: StepGraph) -> list[list[Node]]:
    parent: dict[Node, Node] = {n: n for n in graph.nodes}

    def find(node: Node) -> Node:
        while parent[node] is not node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    by_name = {n.name: n for n in graph.nodes}
    leaders: dict[str, Node] = {}
    for node in graph.nodes:
        for p in ref_positions(node):
            parent[find(node)] = find(node.inputs[p].op)
        for group in node.colocation:  # its members share a device even if the node it is named after was pruned
            leader = leaders.setdefault(group, by_name.get(group.removeprefix("loc:@"), node))
            parent[find(node)] = find(leader)
    groups: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        groups.setdefault(find(node), []).append(node)
    return list(groups.values())


def _spec(device: str) -> DeviceSpec:
    """The parts of a name.  A server of this process alone is the job "local" in TF1, "localhost" in TF2."""
    spec = DeviceSpec.from_string(device)
    return spec.replace(job="localhost") if spec.job == "local" else spec


def _merge(wish: DeviceSpec, node: Node) -> DeviceSpec:
    mine = _spec(node.device)
    for field in ("job", "replica", "task", "device_type", "device_index"):
        a, b = getattr(wish, field), getattr(mine, field)
        if a is not None and b is not None and a != b:
            raise InvalidArgumentError(
                None, node.origin,
                f"Cannot colocate {node.name} (made at {node.source}): it asks for {node.device}, but nodes it is "
                f"colocated with ask for {wish.to_string()}",
            )  # fmt: skip
    return wish.make_merged_spec(mine)


def _matches(wish: DeviceSpec, full: DeviceSpec) -> bool:
    for field in ("job", "replica", "task", "device_type", "device_index"):
        want, have = getattr(wish, field), getattr(full, field)
        if want is not None and want != have:
            return False
    return True


def runs_on_host(node: Node) -> bool:
    """Whether the node runs on the host whatever device it is given: by its trait, or because strings live there."""
    if node.op_def.traits.host:
        return True
    return any(v.dtype.base_dtype is string for v in (*_values(node), *node.outputs))


def _values(node: Node) -> list[Value]:
    """The inputs that must be on the node's device: all but those whose values kernels take on the host."""
    if not any(arg.host for arg in node.op_def.signature.inputs):
        return node.inputs
    return [value for arg, value in named_inputs(node) if not arg.host]


def _can_run(node: Node, device_type: str, has_kernel: HasKernel) -> bool:
    return runs_on_host(node) or has_kernel(node, device_type)


def _fail(members: list[Node], wish: DeviceSpec, devices: Sequence[str], has_kernel: HasKernel) -> None:
    node = next((n for n in members if n.device), members[0])
    reason = "no such device is registered in this process"
    for n in members:
        if not any(_can_run(n, DeviceSpec.from_string(d).device_type or "CPU", has_kernel) for d in devices):
            types = {k: v.name for k, v in n.attrs.items() if hasattr(v, "as_numpy_dtype")}
            node, reason = n, f"op {n.type} has no kernel for types {types}"
            break
    raise InvalidArgumentError(
        None, node.origin,
        f"Cannot assign a device for operation {node.name} (made at {node.source}): it was explicitly assigned to "
        f"{wish.to_string() or 'no device'} but {reason}. Available devices: [ {', '.join(devices)} ]. "
        f"Use allow_soft_placement=True in ConfigProto to fall back on the CPU. (run at {user_source(2)})",
    )  # fmt: skip
