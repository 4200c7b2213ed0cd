"""Steps that use the primitives of control flow: every node a small program, run in the order the framed flow decides."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from headrace.core import errors
from headrace.core.dtypes import int32
from headrace.passes.schedule import protect_reads
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.resources import deadline
from headrace.runtime.codegen import Binder, Program, generate
from headrace.runtime.failure import explain
from headrace.runtime.frame import DEAD, FlowNode, FramedFlow, Ready
from headrace.runtime.number import tensor_of


def needs_frames(graph: StepGraph) -> bool:
    return any(n.op_def.traits.flow for n in graph.nodes)


@dataclass(slots=True)
class FramedPlan:
    """A step ready to be run node by node."""

    nodes: list[Node]
    flow: list[FlowNode]
    programs: list[Program | None]
    feeds: dict[int, int]  # node -> position among the fed values
    fetches: list[Value]
    positions: dict[Node, int]
    blocking: set[int]

    def run(self, fed: Sequence[Any]) -> tuple[Any, ...]:
        """Runs the step to its end.  Nodes that may block run on threads of their own, so that iterations overlap."""
        flow = FramedFlow(self.flow)
        found: dict[tuple[int, int], Any] = {}
        wanted = {self.positions[v.op] for v in self.fetches}
        queue = deque(flow.start())
        pending: dict[Future[Sequence[Any]], Ready] = {}
        with ThreadPoolExecutor(thread_name_prefix="headrace-framed") if self.blocking else nullcontext() as pool:
            while queue or pending:
                if queue:
                    ready = queue.popleft()
                    if pool is not None and ready.node in self.blocking:
                        pending[pool.submit(self._run_node, ready, fed)] = ready
                        continue
                    outputs = self._run_node(ready, fed)
                else:
                    finished = next(iter(wait(pending, return_when=FIRST_COMPLETED).done))
                    ready = pending.pop(finished)
                    outputs = finished.result()
                if ready.node in wanted and self._is_outermost(ready, flow):
                    found.update(((ready.node, i), value) for i, value in enumerate(outputs))
                self._check_time(ready)
                queue.extend(flow.done(ready, outputs))
        return tuple(self._fetched(v, found) for v in self.fetches)

    def _check_time(self, ready: Ready) -> None:
        until = deadline.current.at
        if until is not None and deadline.expired(until):
            node = self.nodes[ready.node]
            raise errors.DeadlineExceededError(
                None, node.origin, f"the step ran out of time in {ready.tag}, at {node.name} made at {node.source}"
            )

    def _is_outermost(self, ready: Ready, flow: FramedFlow) -> bool:
        frame = ready.tag.frame
        if self.flow[ready.node].kind == "exit" and frame.parent is not None:
            frame = frame.parent.frame
        return frame is flow.root

    def _fetched(self, value: Value, found: dict[tuple[int, int], Any]) -> Any:
        got = found.get((self.positions[value.op], value.value_index), DEAD)
        if got is DEAD:
            raise errors.InvalidArgumentError(
                None, value.op.origin,
                f"{value.name} (made at {value.op.source}) has no value in this step: it is on a branch that was not taken, or "
                "inside a loop",
            )  # fmt: skip
        return got

    def _run_node(self, ready: Ready, fed: Sequence[Any]) -> Sequence[Any]:
        position = self.feeds.get(ready.node)
        if position is not None:
            return [fed[position]]
        program = self.programs[ready.node]
        kind = self.flow[ready.node].kind
        if kind == "merge":
            return [ready.inputs[0], _index(ready.chosen)]
        try:
            values: Sequence[Any] = program.function(*ready.inputs)  # type: ignore[union-attr]
        except Exception as e:
            raise explain(e, program) from e  # type: ignore[arg-type]
        if kind == "switch":
            data, pred = values
            return [DEAD, data] if pred else [data, DEAD]
        return values[:1] if kind in ("enter", "exit", "next") else values


def _index(position: int) -> Any:
    return tensor_of(position, int32, "cpu")


def make_framed(graph: StepGraph, binder: Binder) -> FramedPlan:
    """``graph`` after all passes."""
    nodes = graph.nodes
    protect_reads(nodes, {v for n in nodes for v in n.outputs})
    fed = {v.op: i for i, v in enumerate(graph.feeds)}
    primitives = {n for n in nodes if n.op_def.traits.flow}
    used_raw = {v.op for n in primitives for v in n.inputs} | {v.op for v in graph.fetches}
    free = {
        n for n in nodes
        if n.op_def.traits.handle or (n.op_def.name == "Const" and n not in used_raw and not n.control_inputs)
    }  # fmt: skip
    running = [n for n in nodes if n not in free]
    positions = {n: i for i, n in enumerate(running)}
    _check_frames(running, free)
    places: dict[Value, Any] = {}
    flow, programs = [], []
    for node in running:
        inputs = [v for v in node.inputs if v.op not in free]
        flow.append(_flow_node(node, inputs, positions, free))
        programs.append(None if node in fed else _program(node, inputs, binder, places))
    blocking = {i for i, n in enumerate(running) if n.op_def.traits.blocking}
    return FramedPlan(
        running, flow, programs, {positions[n]: i for n, i in fed.items()}, graph.fetches, positions, blocking
    )


def _check_frames(nodes: Sequence[Node], free: set[Node]) -> None:
    """A node's inputs must all be of one frame: values get into a loop by Enter only."""
    gives: dict[Node, tuple[str, ...]] = {}
    for node in nodes:
        known = {p: gives[p] for p in node.predecessors() if p not in free and p in gives}
        if len(set(known.values())) > 1:
            listed = ", ".join(f"{p.name} in frame '{'/'.join(path)}'" for p, path in known.items())
            raise errors.InvalidArgumentError(
                None, node.origin,
                f"{node.name} ({node.type}, made at {node.source}) has inputs from different frames: {listed}. A value gets into "
                "a loop through Enter, and out of it through Exit.",
            )  # fmt: skip
        path = next(iter(known.values()), ())
        kind = node.op_def.traits.flow
        gives[node] = (*path, node.attrs["frame_name"]) if kind == "enter" else path[:-1] if kind == "exit" else path


def _flow_node(node: Node, inputs: Sequence[Value], positions: dict[Node, int], free: set[Node]) -> FlowNode:
    return FlowNode(
        kind=node.op_def.traits.flow or "plain",
        inputs=tuple((positions[v.op], v.value_index) for v in inputs),
        controls=tuple(positions[c] for c in dict.fromkeys(node.control_inputs) if c not in free),
        outputs=len(node.outputs),
        frame=node.attrs.get("frame_name", ""),
        constant=node.attrs.get("is_constant", False),
        parallel=node.attrs.get("parallel_iterations", 10) if node.op_def.traits.flow == "enter" else 10,
    )


def _program(node: Node, inputs: Sequence[Value], binder: Binder, places: dict[Value, Any]) -> Program:
    """A plain node's program gives its outputs; a primitive's gives its inputs."""
    inside = list(dict.fromkeys(v.op for v in node.inputs if v not in inputs))
    kind = node.op_def.traits.flow
    primitive = bool(kind) and kind != "plain"
    host = binder.torch_device("")
    for value in inputs:
        places.setdefault(value, host)
    nodes = inside if primitive else [*inside, node]
    return generate(nodes, inputs, node.inputs if primitive else node.outputs, binder, node.name, places)
