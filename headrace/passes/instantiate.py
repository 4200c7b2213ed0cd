"""Instantiate: the bodies that functional nodes hold, each instantiated like a step of its own and cut to what this step uses.

    %c:2 = If(%p, %x, %y; then, else)   fetch %c:0      ->      %c = If(%p, %x; then', else')   with bodies that give one value

A loop keeps the variables that its condition or a used result depends on.  Other values are not computed, so a stash that only a
gradient needs costs nothing in a step without it.  Integer and bool scalars are marked to be passed as plain numbers on
the host, where conditions are decided.  A constant that a body uses is put into it, where it can be folded.

A body that is `Detached` is instantiated whole, and looked at by no other pass: it is planned by itself where the node runs.

A function that calls itself is instantiated once for the results that are used; the calls inside it share that body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.graph.body import Detached, FuncGraph
from headrace.passes.bodies import bodies_of
from headrace.passes.step_graph import Node, StepGraph, Value

Build = Callable[
    ..., StepGraph
]  # (inputs, outputs, operations that must run, inputs that are constants, late ones) -> body


class Recursion:
    """The functions that call themselves, as far as one step has instantiated them."""

    def __init__(self) -> None:
        self.under_way: dict[FuncGraph, set[int]] = {}  # the results that the calls so far use
        self.bodies: dict[FuncGraph, StepGraph] = {}  # of those under way
        self.done: dict[tuple[FuncGraph, tuple[int, ...]], StepGraph] = {}


def instantiate(graph: StepGraph, build: Build, recursion: Recursion) -> StepGraph:
    """Replaces the bodies that nodes hold; ``build(inputs, outputs)`` instantiates one."""
    used = set(graph.fetches)
    waited = set(graph.targets) | {
        n for n in graph.nodes if n.op_def.traits.primitive == "next"
    }  # used by an earlier node
    effects: set[Node] | None = None
    for node in reversed(graph.nodes):
        if node not in waited and used.isdisjoint(node.outputs):
            continue
        if any(isinstance(a, FuncGraph) for a in node.attrs.values()):
            if effects is None:
                effects = graph.after_effects()
            _cut(node, used, node in waited, build, recursion, effects)
        elif any(isinstance(a, Detached) for a in node.attrs.values()):
            node.attrs = {name: _detached(a, build) for name, a in node.attrs.items()}
        used.update(node.inputs)
        waited.update(node.control_inputs)
    if effects is not None:
        graph.sweep()
    return graph


def _detached(attr: Any, build: Build) -> Any:
    if not isinstance(attr, Detached) or not isinstance(attr.body, FuncGraph):
        return attr
    return Detached(build(attr.body.inputs, attr.body.outputs, attr.body.control_outputs))


def is_instantiated(node: Node) -> bool:
    return any(isinstance(a, StepGraph) for a in node.attrs.values())


def drop_inputs(graph: StepGraph) -> StepGraph:
    """Drops the captured values that no body of a holder uses after it was rewritten, and what computes only these.

    The holder still waits for one that comes after effects: a body waited for those when it was instantiated.
    """
    effects: set[Node] | None = None
    for node in graph.nodes:
        bodies = bodies_of(node)
        if not bodies:
            continue
        first = 0 if "cond" in node.attrs else 1
        variables = len(node.attrs["T"]) if "body" in node.attrs else 0
        keep = sorted({*range(variables), *_needed(bodies)})
        if len(keep) < len(node.inputs) - first:
            effects = graph.after_effects() if effects is None else effects
            inputs = node.inputs
            _keep_inputs(node, bodies, keep, first, variables)
            _wait_for_effects(node, inputs, effects)
            mark_numbers_of(node)
    if effects is not None:
        graph.sweep()
    return graph


def _cut(node: Node, used: set[Value], whole: bool, build: Build, recursion: Recursion, effects: set[Node]) -> None:
    """``whole``: a node waits for this one, and so for all its inputs: effects before those that are not used still run."""
    node.attrs = dict(node.attrs)
    results = int("cond" in node.attrs)
    indices = [i for i, v in enumerate(node.outputs[results:]) if v in used or (whole and i < node.attrs["visible"])]
    inputs = node.inputs
    if "f" in node.attrs:
        _instantiate_call(node, set(indices), build, recursion)
    elif "then_branch" in node.attrs:
        _cut_if(node, indices, build, effects)
    else:
        _cut_loop(node, indices, build, effects)
    if whole:
        _wait_for_effects(node, inputs, effects)


def _wait_for_effects(node: Node, before: Sequence[Value], effects: set[Node]) -> None:
    """The node waits for those of the inputs it had before that it has lost and that come after effects."""
    lost = [v.op for v in before if v not in node.inputs and v.op in effects]
    node.control_inputs = list(dict.fromkeys([*node.control_inputs, *lost]))


def _cut_if(node: Node, indices: list[int], build: Build, effects: set[Node]) -> None:
    attrs = node.attrs
    branches = [attrs["then_branch"], attrs["else_branch"]]
    constants = constants_among(node.inputs[1:], 0)
    late = _late_inputs(node.inputs[1:], effects)
    bodies = [build(b.inputs, [b.outputs[i] for i in indices], constants=constants, late=late) for b in branches]
    keep = _needed(bodies)
    node.outputs = _renumbered([node.outputs[i] for i in indices])
    _keep_inputs(node, bodies, keep, 1, 0)
    attrs["then_branch"], attrs["else_branch"] = bodies
    attrs["Tout"] = tuple(v.dtype for v in node.outputs)
    attrs["output_shapes"] = tuple(v.shape for v in node.outputs)
    mark_numbers_of(node)


def _cut_loop(node: Node, indices: list[int], build: Build, effects: set[Node]) -> None:
    attrs = node.attrs
    body: FuncGraph = attrs["body"]
    count = len(body.args)
    first_in, first_out = (0, 1) if "cond" in attrs else (1, 0)
    constants = constants_among(node.inputs[first_in:], count)
    late = _late_in_loop(body, _late_inputs(node.inputs[first_in:], effects))
    bodies: list[StepGraph] = []
    live = set(indices)
    if "cond" in attrs:
        cond = build(attrs["cond"].inputs, attrs["cond"].outputs, constants=constants, late=late)
        bodies.append(cond)
        live |= {i for i in _needed([cond]) if i < count}
    while True:
        instantiated = build(body.inputs, [body.outputs[i] for i in sorted(live)], constants=constants, late=late)
        more = {i for i in _needed([instantiated]) if i < count} - live
        if not more:
            break
        live |= more
    bodies.append(instantiated)
    keep = sorted(live) + [i for i in _needed(bodies) if i >= count]
    node.outputs = _renumbered([*node.outputs[:first_out], *(node.outputs[first_out + i] for i in sorted(live))])
    _keep_inputs(node, bodies, keep, first_in, len(live))
    variables = node.outputs[first_out:]
    attrs["T"] = tuple(v.dtype for v in variables)
    attrs["output_shapes"] = tuple(v.shape for v in variables)
    if "cond" in attrs:
        attrs["cond"] = bodies[0]
    attrs["body"] = instantiated
    mark_numbers(node)


def _late_inputs(values: Sequence[Value], effects: set[Node]) -> set[int]:
    return {i for i, v in enumerate(values) if v.op in effects}


def _late_in_loop(body: FuncGraph, late: set[int]) -> set[int]:
    """The arguments of a loop's body that come after effects: before the loop, or in the iteration before."""
    if not late and not any(op.op_def.traits.has_effect for op in body._nodes):
        return late
    while True:
        after = {body.inputs[i].op for i in late}
        for op in body._nodes:
            before = (*(t.op for t in op.inputs), *op._control_inputs)
            if op.op_def.traits.has_effect or not after.isdisjoint(before):
                after.add(op)
        more = late | {i for i, t in enumerate(body.outputs[: len(body.args)]) if t.op in after}
        if more == late:
            return late
        late = more


def mark_numbers_of(node: Node) -> None:
    """Says which inputs and outputs of an instantiated conditional or loop, and of its bodies, are plain numbers."""
    if "body" in node.attrs:
        mark_numbers(node)
        return
    resident = [on_host(v.dtype, v.shape) for v in node.outputs]
    for body in bodies_of(node):
        body.host_feeds = [on_host(v.dtype, v.shape) for v in node.inputs[1:]]
        body.host_fetches = resident
    node.attrs["host_inputs"] = {0} | {i for i, v in enumerate(node.inputs) if on_host(v.dtype, v.shape)}
    node.attrs["host_outputs"] = {i for i, h in enumerate(resident) if h}


def mark_numbers(loop: Node) -> None:
    """Says which inputs and outputs of an instantiated loop, and of its bodies, are plain numbers."""
    attrs = loop.attrs
    first_in, first_out = (0, 1) if "cond" in attrs else (1, 0)
    numbers = [on_host(v.dtype, v.shape) for v in loop.outputs[first_out:]]
    numbers_in = numbers + [on_host(v.dtype, v.shape) for v in loop.inputs[first_in + len(numbers) :]]
    attrs["body"].host_feeds = numbers_in
    attrs["body"].host_fetches = numbers
    if "cond" in attrs:
        attrs["cond"].host_feeds = numbers_in
        attrs["cond"].host_fetches = [True]
    attrs["host_inputs"] = {first_in + i for i, h in enumerate(numbers_in) if h}
    attrs["host_outputs"] = set(range(first_out)) | {first_out + i for i, h in enumerate(numbers) if h}


def _instantiate_call(node: Node, indices: set[int], build: Build, recursion: Recursion) -> None:
    """A recursive call: all inputs stay; the outputs are those that the function's body gives."""
    f: FuncGraph = node.attrs["f"]
    if f in recursion.under_way:
        recursion.under_way[f] |= indices
        outputs = sorted(recursion.under_way[f])
        body = recursion.bodies[f]
    else:
        body, outputs = _instantiate_function(f, indices, build, recursion)
    values = [node.outputs[i] if i < len(node.outputs) else None for i in outputs]
    node.outputs = _renumbered(
        [
            Value(node, 0, f.outputs[i].dtype, f.outputs[i]._shape) if v is None else v
            for i, v in zip(outputs, values, strict=True)
        ]
    )
    attrs = node.attrs
    attrs["f"] = body
    attrs["Tout"] = tuple(v.dtype for v in node.outputs)
    attrs["output_shapes"] = tuple(v.shape for v in node.outputs)
    attrs["host_inputs"] = {i for i, t in enumerate(f.inputs) if on_host(t.dtype, t._shape)}
    attrs["host_outputs"] = {k for k, i in enumerate(outputs) if on_host(f.outputs[i].dtype, f.outputs[i]._shape)}


def _instantiate_function(
    f: FuncGraph, indices: set[int], build: Build, recursion: Recursion
) -> tuple[StepGraph, list[int]]:
    """The body of a recursive function for the results that are wanted here or by the calls inside it."""
    done = recursion.done.get((f, tuple(sorted(indices))))
    if done is not None:
        return done, list(done.results or ())
    recursion.under_way[f] = set(indices)
    before = dict(recursion.done)
    while True:
        outputs = sorted(recursion.under_way[f])
        body = recursion.bodies[f] = StepGraph([], [], [], [])
        built = build(f.inputs, [f.outputs[i] for i in outputs], f.control_outputs)
        if sorted(recursion.under_way[f]) == outputs:
            break
        recursion.done = dict(before)  # what was instantiated meanwhile calls a body that is not wanted any more
    body.nodes, body.feeds, body.fetches, body.targets = built.nodes, built.feeds, built.fetches, built.targets
    body.host_feeds = [on_host(t.dtype, t._shape) for t in f.inputs]
    body.host_fetches = [on_host(f.outputs[i].dtype, f.outputs[i]._shape) for i in outputs]
    body.results = tuple(outputs)
    del recursion.under_way[f], recursion.bodies[f]
    recursion.done[f, tuple(sorted(indices))] = recursion.done[f, tuple(outputs)] = body
    return body, outputs


def on_host(dtype: DType, shape: TensorShape) -> bool:
    """Whether the value is a counter or a condition: these are kept on the host, where control flow is decided."""
    return shape.ndims == 0 and dtype in (dtypes.int32, dtypes.int64, dtypes.bool)


def constants_among(values: Sequence[Value], first: int) -> dict[int, Node]:
    """The constants among the arguments of a body, by position.  Arguments before ``first`` change, so they do not count."""
    return {
        i: v.op for i, v in enumerate(values) if i >= first and v.op.op_def.traits.constant and not v.op.control_inputs
    }  # fmt: skip


def put_constants(graph: StepGraph, constants: Mapping[int, Node]) -> StepGraph:
    """The body with copies of constants where it uses the feeds at these positions; the arrays themselves are shared."""
    if not constants:
        return graph
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    for i, outer in constants.items():
        feed = graph.feeds[i].op
        name = f"_captured/{feed.name}"
        constant = Node(name, outer.op_def, [], outer.attrs, feed.order, device=outer.device, source=outer.source)
        constant.add_outputs([(outer.outputs[0].dtype, outer.outputs[0].shape)])
        values[graph.feeds[i]], nodes[feed] = constant.outputs[0], constant
    used = {v for n in graph.nodes for v in n.inputs} | set(graph.fetches)
    waited = {c for n in graph.nodes for c in n.control_inputs}
    used_constants = [n for v, n in zip(values, nodes.values(), strict=True) if v in used or v.op in waited]
    graph.nodes = [*used_constants, *graph.nodes]
    graph.replace(values, nodes)
    return graph


def _needed(bodies: Sequence[StepGraph]) -> list[int]:
    """Positions of the feeds that some body uses."""
    positions: set[int] = set()
    for body in bodies:
        used = {v for n in body.nodes for v in n.inputs} | set(body.fetches)
        waited = {c for n in body.nodes for c in n.control_inputs}
        positions.update(i for i, v in enumerate(body.feeds) if v in used or v.op in waited)
    return sorted(positions)


def _keep_inputs(node: Node, bodies: Sequence[StepGraph], keep: list[int], first: int, variables: int) -> None:
    inputs = node.inputs[first:]
    node.inputs = [*node.inputs[:first], *(inputs[i] for i in keep)]
    for body in bodies:
        dropped = {v.op for i, v in enumerate(body.feeds) if i not in set(keep)}
        body.feeds = [body.feeds[i] for i in keep]
        body.nodes = [n for n in body.nodes if n not in dropped]
    captured: list[Any] = node.inputs[first + variables :]
    refs = [v for v in captured if v.dtype._is_ref_dtype]
    node.attrs["Tref"] = tuple(v.dtype.base_dtype for v in refs)
    node.attrs["Tin"] = tuple(v.dtype.base_dtype for v in captured[: len(captured) - len(refs)])


def _renumbered(values: list[Value]) -> list[Value]:
    for i, value in enumerate(values):
        value.value_index = i
    return values
