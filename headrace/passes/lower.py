"""Lower: conditionals and loops that hold their bodies -> the primitives, with the bodies' nodes in the step's own graph.

    %y = If(%p, %x; then, else)      ->      %f, %t = Switch(%x, %p)   ...then of %t...   ...else of %f...   %y = Merge(%e, %d)

    %n, %y = While(%x; cond, body)   ->      %m = Merge(Enter(%x), %next)   %f, %t = Switch(%m, LoopCond(cond of %m))
                                             %next = NextIteration(body of %t)   %y = Exit(%f)

This is the form in which a loop can be cut between devices.  A node of a body that has no inputs waits for the branch or the
iteration.  Iterations overlap.  Those of a loop that changes variables use the variables in turn: an iteration starts when the
one before has used them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.bodies import bodies_of
from headrace.passes.choose_device import runs_on_host
from headrace.passes.instantiate import is_instantiated
from headrace.passes.read import ref_positions
from headrace.passes.schedule import order_reads, root, schedule
from headrace.passes.specialise import body_may_wait
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.passes.trim import written_handles

_SCALAR = TensorShape([])


def lower(graph: StepGraph) -> StepGraph:
    """Lowers what must be lowered in ``graph``, after all other passes; its bodies are instantiated."""
    if not any(
        n.op_def.traits.primitive for n in graph.nodes
    ):  # an edge into the frame of a primitive would be an error
        order_reads(schedule(graph.nodes))
    while True:
        node = next(
            (n for n in graph.nodes if is_instantiated(n) and "f" not in n.attrs), None
        )  # recursion stays a call
        if node is None:
            break
        lowered = _Lowered(node)
        values = lowered.lower_if() if "then_branch" in node.attrs else lowered.lower_loop()
        waited = node in graph.targets or any(node in n.control_inputs for n in graph.nodes)
        done = lowered.finished(values) if waited else node
        graph.nodes = [n for n in graph.nodes if n is not node] + lowered.nodes
        graph.replace(dict(zip(node.outputs, values, strict=True)), {node: done})
    graph.sort()
    return graph


def must_lower(graph: StepGraph) -> bool:
    """Whether a loop is better run as primitives: its iterations can wait side by side, or its body spans devices."""
    for node in graph.nodes:
        bodies = bodies_of(node)
        if not bodies:
            continue
        if any(map(must_lower, bodies)):
            return True
        if "body" not in node.attrs:
            continue
        if "cond" in node.attrs and node.attrs["parallel_iterations"] > 1 and body_may_wait(node):
            return True
        if len({device for body in bodies for device in _devices(body)}) > 1:
            return True
    return False


def _devices(body: StepGraph) -> set[str]:
    """The devices that a body's computations are on; what costs nothing or runs on the host anyway does not count."""
    devices = set()
    for node in body.nodes:
        free = node.op_def.traits.constant or node.op_def.traits.handle or node.op_def.traits.feed
        if not free and not runs_on_host(node) and not bodies_of(node):
            devices.add(node.device)
        for inner in bodies_of(node):
            devices |= _devices(inner)
    return devices


def _users_of_written(body: StepGraph) -> list[Node]:
    """The nodes that read or write state which the body changes: those of one iteration run before those of the next."""
    written = written_handles(body)
    return [
        n for n in body.nodes if any(root(n.inputs[p]) in written for p in ref_positions(n)) or _changes_resource(n)
    ]


def _changes_resource(node: Node) -> bool:
    """Whether a node that cannot wait changes what a handle stands for: a stack, an array."""
    traits = node.op_def.traits
    return traits.has_effect and not traits.waits and any(v.dtype == dtypes.resource for v in node.inputs)


class _Lowered:
    """The nodes that replace one node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.nodes: list[Node] = []
        self.loose: set[Value] = set()  # available in every iteration, whether or not the loop goes on

    def make(
        self, op: str, inputs: Sequence[Value], outputs: Sequence[tuple[Any, TensorShape]], controls: Sequence[Node] = (),
        **attrs: Any,
    ) -> Node:  # fmt: skip
        owner = self.node
        node = Node(
            f"{owner.name}/_{op}_{len(self.nodes)}", REGISTRY.get(op), list(inputs), attrs, owner.order,
            list(controls), owner.device, owner.source, owner.origin,
        )  # fmt: skip
        node.add_outputs(outputs)
        self.nodes.append(node)
        return node

    def same(self, op: str, value: Value, controls: Sequence[Node] = (), **attrs: Any) -> Value:
        """A node that passes a value on."""
        base = value.dtype.base_dtype
        return self.make(op, [value], [(base, value.shape)], controls, T=base, **attrs).outputs[0]

    def anchored(self, value: Value, controls: Sequence[Node]) -> Value:
        """The value.  A constant becomes one that waits, so that it belongs to a frame or a branch."""
        return self.same("Identity", value, controls) if self.is_free(value) else value

    def waiting(self, value: Value, controls: Sequence[Node]) -> Value:
        """The value after the controls have run: every user of it waits for them."""
        return self.same("Identity", value, controls) if controls else self.anchored(value, controls)

    def is_free(self, value: Value) -> bool:
        return value.op.op_def.traits.constant or value in self.loose

    def switch(self, value: Value, pred: Value, controls: Sequence[Node] = ()) -> Node:
        output = (value.dtype.base_dtype, value.shape)
        return self.make("Switch", [value, pred], [output, output], controls, T=value.dtype.base_dtype)

    def merge(self, values: Sequence[Value], shape: TensorShape) -> Value:
        base = values[0].dtype.base_dtype
        outputs = [(base, shape), (dtypes.int32, _SCALAR)]
        return self.make("Merge", values, outputs, T=base, N=len(values)).outputs[0]

    def constant(self, value: int) -> Value:
        dtype = dtypes.int32
        return self.make("Const", [], [(dtype, _SCALAR)], (), value=np.array(value, np.int32), dtype=dtype).outputs[0]

    def finished(self, values: Sequence[Value]) -> Node:
        """A node that runs when all of the node's results are there: what waited for the node waits for this one."""
        ends = list(dict.fromkeys(v.op for v in values))
        if len(ends) < 2:
            return ends[0] if ends else self.nodes[-1]
        return self.make("NoOp", [], [], ends)

    def inline(self, body: StepGraph, arguments: Sequence[Value], pivot: Node) -> list[Value]:
        """Adds the body's nodes, applied to ``arguments``.  A node that nothing else ties to the pivot waits for it."""
        values = dict(zip(body.feeds, arguments, strict=True))
        fed = {v.op for v in body.feeds}
        order_reads(schedule(body.nodes))
        for node in body.nodes:
            if node in fed:
                continue
            node.inputs = [values.get(v, v) for v in node.inputs]
            node.control_inputs = list(dict.fromkeys(pivot if c in fed else c for c in node.control_inputs))
            free = node.op_def.traits.handle or node.op_def.traits.constant
            tied = any(not (v.op.op_def.traits.handle or self.is_free(v)) for v in node.inputs)
            if not free and (not tied or is_instantiated(node)):
                node.control_inputs.append(pivot)
            self.nodes.append(node)
        return [values.get(v, v) for v in body.fetches]

    def lower_if(self) -> list[Value]:
        node = self.node
        waits = node.control_inputs
        pred = self.waiting(node.inputs[0], waits)
        sides = self.switch(pred, pred, waits)
        pivots = [self.same("Identity", side).op for side in sides.outputs]
        switched = [
            (root(v), root(v)) if v.dtype._is_ref_dtype else tuple(self.switch(self.anchored(v, waits), pred).outputs)
            for v in node.inputs[1:]
        ]
        results = []
        for side, name in ((0, "else_branch"), (1, "then_branch")):
            outputs = self.inline(node.attrs[name], [g[side] for g in switched], pivots[side])
            results.append([self.anchored(v, [pivots[side]]) for v in outputs])
        return [self.merge(pair, out.shape) for *pair, out in zip(*results, node.outputs, strict=True)]

    def lower_loop(self) -> list[Value]:
        node = self.node
        attrs = node.attrs
        waits = node.control_inputs
        counted = "cond" not in attrs
        first, count = (1 if counted else 0), len(attrs["T"])
        shapes = [_SCALAR, *attrs["output_shapes"]]
        frame = {"frame_name": node.name, "parallel_iterations": attrs.get("parallel_iterations", 10)}

        def enter(value: Value, constant: bool) -> Value:
            return self.same("Enter", self.waiting(value, waits), (), is_constant=constant, **frame)

        initial = [self.constant(0), *node.inputs[first : first + count]]
        merges = [self.merge([e, e], s) for e, s in zip([enter(v, False) for v in initial], shapes, strict=True)]
        captured = [root(v) if v.dtype._is_ref_dtype else enter(v, True) for v in node.inputs[first + count :]]
        self.loose = {v for v in captured if not v.dtype._is_ref_dtype}
        start = merges[0].op
        if counted:
            less = [merges[0], enter(node.inputs[0], True)]
            pred = self.make("Less", less, [(dtypes.bool, _SCALAR)], T=dtypes.int32).outputs[0]
        else:
            pred = self.anchored(self.inline(attrs["cond"], [*merges[1:], *captured], start)[0], [start])
        go_on = self.make("LoopCond", [pred], [(dtypes.bool, _SCALAR)]).outputs[0]
        switches = [self.switch(m, go_on) for m in merges]
        pivot = self.same("Identity", switches[0].outputs[1]).op
        in_turn = _users_of_written(attrs["body"])
        following = self.inline(attrs["body"], [*(s.outputs[1] for s in switches[1:]), *captured], pivot)
        one = [pivot.outputs[0], self.constant(1)]
        for user in in_turn:
            user.control_inputs = list(dict.fromkeys([*user.control_inputs, pivot]))
        added = self.make("AddV2", one, [(dtypes.int32, _SCALAR)], in_turn, T=dtypes.int32).outputs[0]
        for merge, value in zip(merges, [added, *following], strict=True):
            merge.op.inputs = [merge.op.inputs[0], self.same("NextIteration", self.anchored(value, [pivot]))]
        exits = [self.same("Exit", s.outputs[0]) for s in switches]
        return exits[1:] if counted else exits
