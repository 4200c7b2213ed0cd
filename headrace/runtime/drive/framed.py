"""Steps with primitives of control flow: each node is a small program, and the framed flow decides which runs next."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core import errors
from headrace.core.dtypes import int32
from headrace.passes.pipeline import Context, Stage, run_stage
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.resources.stepping.interrupt import Shield
from headrace.resources.stepping.step import Step
from headrace.runtime.code.codegen import Binder, Program, generate, generate_begin
from headrace.runtime.code.failure import blame, raisable
from headrace.runtime.code.number import number, tensor_of
from headrace.runtime.drive.frame import DEAD, FlowNode, FramedFlow, Ready
from headrace.runtime.drive.waits import Waits
from headrace.runtime.host.gate import Gate
from headrace.runtime.host.hooks import HookedPlace
from headrace.runtime.host.pool import Lanes, Pool


def needs_frames(graph: StepGraph) -> bool:
    return any(n.op_def.traits.primitive for n in graph.nodes)


@dataclass(slots=True)
class FramedPlan:
    """A step ready to be run node by node."""

    nodes: list[Node]
    flow: list[FlowNode]
    programs: list[Program | None]
    feeds: dict[int, int]  # node -> position among the fed values
    fetches: list[Value]
    positions: dict[Node, int]
    gate: Gate | None
    lanes: dict[int, str]  # nodes on other devices than the first, with their devices

    @property
    def waits(self) -> bool:
        """Whether nodes may wait."""
        return any(n.op_def.traits.waits for n in self.nodes)

    def run(self, fed: Sequence[Any], step: Step, pool: Pool, guard: Shield | None = None) -> tuple[Any, ...]:
        """Runs the step to its end.  ``guard`` keeps Ctrl-C back, except from kernels.

        Nodes that wait hold up only what needs them, so that iterations overlap; each further device has a thread.
        """
        flow = FramedFlow(self.flow)
        fetched: dict[tuple[int, int], Any] = {}
        fetch_positions = {self.positions[v.op] for v in self.fetches}
        queue = deque(flow.start())
        ready = None
        with Waits(step, pool) as waits, Lanes(pool, set(self.lanes.values())) as lanes:
            try:
                while queue or waits:
                    if queue:
                        ready = queue.popleft()
                        if self._begin(ready, fed, waits, lanes):
                            continue
                        outputs = (
                            guard.through(self._run_node, ready, fed)
                            if guard is not None
                            else self._run_node(ready, fed)
                        )
                    else:
                        ready, outputs = waits.next()
                    if ready.node in fetch_positions and self._is_outermost(ready, flow):
                        fetched.update(((ready.node, i), value) for i, value in enumerate(outputs))
                    if step.error is not None or step.until is not None:
                        step.stop_if_over(f"in {self._where(ready)}")
                    queue.extend(flow.done(ready, outputs))
            except KeyboardInterrupt:
                if ready is None:
                    raise
                raise KeyboardInterrupt(f"interrupted in {self._where(ready)}") from None
        return tuple(self._fetched(v, fetched) for v in self.fetches)

    def _begin(self, ready: Ready, fed: Sequence[Any], waits: Waits, lanes: Lanes) -> bool:
        """Begins a node that waits, or one of another device; False if the node is to be run here."""
        node, program = self.nodes[ready.node], self.programs[ready.node]
        if program is None:
            return False
        if node.op_def.traits.waits:
            waits.begin(ready, node, program, ready.inputs)
            return True
        device = self.lanes.get(ready.node)
        if device is None:
            return False

        def run() -> Sequence[Any]:
            with waits.step.entered():
                return self._run_node(ready, fed)

        waits.call(ready, node, program, run, lanes[device])
        return True

    def _where(self, ready: Ready) -> str:
        """The node, and the iteration of the loop it is in, with the lines that made them."""
        node, tag = self.nodes[ready.node], ready.tag
        at = f"{node.name} made at {node.source}"
        if not tag.frame.name:
            return at
        loop = next(n for n in self.nodes if n.attrs.get("frame_name") == tag.frame.name)
        return f"iteration {tag.index} of the loop made at {loop.source}, at {at}"

    def _is_outermost(self, ready: Ready, flow: FramedFlow) -> bool:
        frame = ready.tag.frame
        if self.flow[ready.node].primitive == "exit" and frame.parent is not None:
            frame = frame.parent.frame
        return frame is flow.root

    def _fetched(self, value: Value, fetched: dict[tuple[int, int], Any]) -> Any:
        got = fetched.get((self.positions[value.op], value.value_index), DEAD)
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
        primitive = self.flow[ready.node].primitive
        if primitive == "merge":
            return [ready.inputs[0], _index(ready.chosen)]
        try:
            if self.gate is None:
                values: Sequence[Any] = program.call(*ready.inputs)  # type: ignore[union-attr]
            else:
                with self.gate:
                    values = program.call(*ready.inputs)  # type: ignore[union-attr]
        except Exception as e:
            raise raisable(e, program)  # type: ignore[arg-type]  # noqa: B904 - it has its cause
        if primitive == "switch":
            data, pred = values
            return [DEAD, data] if self._decided(pred, ready, program) else [data, DEAD]
        return values[:1] if primitive in ("enter", "exit", "next") else values

    def _decided(self, pred: Any, ready: Ready, program: Program | None) -> bool:
        try:
            return bool(number(pred))
        except ValueError as e:
            node = self.nodes[ready.node]
            values = {program.names.get(node.inputs[1], ""): pred} if program is not None else {}
            raise blame(node, e, program, values) from None  # type: ignore[arg-type]


def _index(position: int) -> Any:
    return tensor_of(position, int32, "cpu")


def make_framed(graph: StepGraph, binder: Binder, gate: Gate | None = None) -> FramedPlan:
    """``graph`` after all passes."""
    nodes = run_stage(Stage.FRAMES, graph, Context()).nodes
    fed = {v.op: i for i, v in enumerate(graph.feeds)}
    primitives = {n for n in nodes if n.op_def.traits.primitive}
    used_raw = {v.op for n in primitives for v in n.inputs} | {v.op for v in graph.fetches}
    free = {
        n for n in nodes
        if n.op_def.traits.handle or (n.op_def.traits.constant and n not in used_raw and not n.control_inputs)
    }  # fmt: skip
    running = [n for n in nodes if n not in free]
    positions = {n: i for i, n in enumerate(running)}
    _refuse_mixed_frames(running, free)
    places: dict[Value, Any] = {}
    flow, programs = [], []
    for node in running:
        inputs = [v for v in node.inputs if v.op not in free]
        flow.append(_flow_node(node, inputs, positions, free))
        programs.append(None if node in fed else _program(node, inputs, binder, places))
    return FramedPlan(
        running, flow, programs, {positions[n]: i for n, i in fed.items()}, graph.fetches, positions, gate,
        _lanes(running),
    )  # fmt: skip


def _lanes(nodes: Sequence[Node]) -> dict[int, str]:
    """The nodes that are on another device than the first, with the device of each."""
    first = next((n.device for n in nodes), "")
    lanes = {}
    for i, node in enumerate(nodes):
        traits = node.op_def.traits
        if node.device not in ("", first) and not (traits.waits or traits.primitive or traits.feed):
            lanes[i] = node.device
    return lanes


def _refuse_mixed_frames(nodes: Sequence[Node], free: set[Node]) -> None:
    """A node's inputs must all be of one frame: values get into a loop by Enter only."""
    gives: dict[Node, tuple[str, ...]] = {}
    for node in nodes:
        frames = {p: gives[p] for p in node.predecessors() if p not in free and p in gives}
        if len(set(frames.values())) > 1:
            listed = ", ".join(f"{p.name} in frame '{'/'.join(path)}'" for p, path in frames.items())
            raise errors.InvalidArgumentError(
                None, node.origin,
                f"{node.name} ({node.type}, made at {node.source}) has inputs from different frames: {listed}. A value gets into "
                "a loop through Enter, and out of it through Exit.",
            )  # fmt: skip
        path = next(iter(frames.values()), ())
        primitive = node.op_def.traits.primitive
        gives[node] = (
            (*path, node.attrs["frame_name"]) if primitive == "enter" else path[:-1] if primitive == "exit" else path
        )


def _flow_node(node: Node, inputs: Sequence[Value], positions: dict[Node, int], free: set[Node]) -> FlowNode:
    return FlowNode(
        primitive=node.op_def.traits.primitive or "plain",
        inputs=tuple((positions[v.op], v.value_index) for v in inputs),
        controls=tuple(positions[c] for c in dict.fromkeys(node.control_inputs) if c not in free),
        outputs=len(node.outputs),
        frame=node.attrs.get("frame_name", ""),
        constant=node.attrs.get("is_constant", False),
        parallel=node.attrs.get("parallel_iterations", 10) if node.op_def.traits.primitive == "enter" else 10,
    )


def _program(node: Node, inputs: Sequence[Value], binder: Binder, places: dict[Value, Any]) -> Program:
    """A plain node's program gives its outputs; a primitive's gives its inputs."""
    inside = list(dict.fromkeys(v.op for v in node.inputs if v not in inputs))
    primitive = node.op_def.traits.primitive
    hands_on = bool(primitive) and primitive != "plain"
    host = binder.torch_device("")
    for value in inputs:
        places.setdefault(value, host)
    nodes = inside if hands_on else [*inside, node]
    if node.op_def.traits.asynchronous:
        return generate_begin(nodes, inputs, node.outputs, binder, node.name, places)
    if not hands_on:
        return generate(nodes, inputs, node.outputs, binder, node.name, places)
    # What primitives hand on is not in the memory of a device with hooks: a Merge may get it from several places.
    hooked = any(isinstance(places.get(v), HookedPlace) for v in node.inputs)
    result_places = [host] * len(node.inputs) if hooked else None
    return generate(nodes, inputs, node.inputs, binder, node.name, places, result_places)
