"""Where bodies read variables: inside if they write them, else outside.

    v/read = Identity(v)   While(v/read, v; body: r, v -> AssignAdd(v, 1), f(r))
    ->
    While(v; body: v -> r = Identity(v), AssignAdd(v, 1), f(r))

A variable used as a tensor stands for its one shared read, ``v/read``, which a body captures like any other value.  That is
right, and fast, as long as nothing in the body changes the variable.  Where something does, the body reads for itself: each user
of the value gets a read that waits for the writes the user waits for.  Gradients then stash what each iteration saw.

A resource variable is read where it is used, so a loop's body reads it itself.  Where the loop does not write it, one read
outside serves all iterations, and gradients need not stash it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.graph import raw_ops
from headrace.graph.body import FuncGraph
from headrace.graph.operation import Operation, Tensor


def read_inside(bodies: Sequence[FuncGraph]) -> None:
    """Replaces what ``bodies`` captured of variables that one of them writes.  They belong to one node, not yet made."""
    reads = [(body, outer) for body in bodies for outer in body.captures if _shared_read(outer) is not None]
    if not reads:
        return
    written = _written(bodies, set())
    for body, outer in reads:
        handle = _shared_read(outer)
        if handle in written:
            _read_in(body, outer, handle)


def read_outside(bodies: Sequence[FuncGraph], inputs: Sequence[Tensor]) -> None:
    """Moves reads of resource variables that no body writes out of a loop, not yet made, into the default graph.

    A read there waits for all that the loop waits for: its ``inputs`` and what its bodies capture.
    """
    reads = [(body, op) for body in bodies for op in body._nodes if op.type == "ReadVariableOp"]
    if not reads:
        return
    written = _written(bodies, set())
    sources = [*inputs, *(t for body in bodies for t in body.captures)]
    waits = [op for op in dict.fromkeys(t.op for t in sources) if op.inputs or op._control_inputs]
    values: dict[Tensor, Tensor] = {}
    moved: set[Operation] = set()
    for body, op in reads:
        handle = op.inputs[0]
        outer = next((t for t, inner in body.captures.items() if inner is handle), None)
        ordered = op._control_inputs or any(op in waiting for waiting in body.outer_controls.values())
        if outer is None or ordered or _source(handle) in written:
            continue
        if outer not in values:
            values[outer] = raw_ops.ReadVariableOp(outer, dtype=outer.dtype.base_dtype)
            values[outer].op._device = op.device
            values[outer].op._control_inputs.extend(w for w in waits if w not in values[outer].op._control_inputs)
        _use_instead(body, op._outputs[0], body.capture(values[outer]))
        body._remove(op)
        moved.add(op)
        handle._consumers.remove(op)
        if not handle._consumers:
            del body.captures[outer]
    for body in bodies if moved else ():  # nothing need wait for them any more: the loop does
        for op in body._nodes:
            op._control_inputs[:] = [c for c in op._control_inputs if c not in moved]
        body.control_outputs = [c for c in body.control_outputs if c not in moved]


def _use_instead(body: FuncGraph, old: Tensor, new: Tensor) -> None:
    for op in list(old._consumers):
        _replace_input(op, old, new)
    old._consumers.clear()
    body.outputs[:] = [new if t is old else t for t in body.outputs]


def _replace_input(op: Operation, old: Tensor, new: Tensor) -> None:
    op.inputs = tuple(new if t is old else t for t in op.inputs)
    new._consumers.append(op)
    for nested in held_bodies(op):
        nested.captures = {new if t is old else t: inner for t, inner in nested.captures.items()}


def held_bodies(op: Operation) -> list[FuncGraph]:
    """The branches, condition and body, or function that a node holds."""
    return [a for a in op.attrs.values() if isinstance(a, FuncGraph)]


def _shared_read(tensor: Tensor) -> Tensor | None:
    """The variable that the tensor is the shared read of, through the bodies around it."""
    read = _source(tensor)
    op = read.op
    if op.type != "Identity" or op._control_inputs or "_place" in op.attrs or not op.inputs[0].dtype._is_ref_dtype:
        return None
    handle = _source(op.inputs[0])
    return handle if handle.op.op_def.traits.handle else None


def _source(tensor: Tensor) -> Tensor:
    """What a body's argument is a captured copy of, in the outermost graph that has it."""
    graph = tensor.op.graph
    while isinstance(graph, FuncGraph) and tensor.op.type == "_Arg":
        outer = next((t for t, inner in graph.captures.items() if inner is tensor), None)
        if outer is None:
            break
        tensor, graph = outer, outer.op.graph
    return tensor


def source_of(ref: Tensor) -> Tensor:
    """The variable's own output behind a reference, whatever the reference went through."""
    while True:
        ref = _source(ref)
        if not ref.op.inputs:
            return ref
        ref = ref.op.inputs[0]


def _written(bodies: Sequence[FuncGraph], seen: set[FuncGraph]) -> set[Tensor]:
    """The variables that some node of the bodies, or of bodies in them, changes."""
    handles: set[Tensor] = set()
    for body in bodies:
        if body in seen:
            continue
        seen.add(body)
        for op in body._nodes:
            handles |= _written_by(op, seen)
    return handles


def _written_by(op: Operation, seen: set[FuncGraph]) -> set[Tensor]:
    inner = held_bodies(op)
    if "f" in op.attrs and inner:  # a call, which passes handles as arguments
        passed = dict(zip(inner[0].inputs, op.inputs, strict=False))
        return {_source(passed.get(handle, handle)) for handle in _written(inner, set(seen))}
    if inner:
        return _written(inner, seen)
    return {_source(t) for t in _handles(op)} if op.op_def.traits.writes else set()


def _handles(op: Operation) -> Iterator[Tensor]:
    for ref in op.inputs:
        if ref.dtype._is_ref_dtype:
            while ref.op.inputs and ref.dtype._is_ref_dtype:
                ref = ref.op.inputs[0]
            yield ref


def _read_in(body: FuncGraph, outer: Tensor, handle: Tensor) -> None:
    """Gives each user of the captured read one that waits for the writes that the user waits for."""
    old = body.captures.pop(outer)
    inside = body.capture(handle)
    waits = _writes_before(body, handle)
    reads: dict[tuple[Operation, ...], Tensor] = {}

    def read_after(writes: tuple[Operation, ...]) -> Tensor:
        if writes not in reads:
            with body.as_default(), body.plain_scopes():
                new: Tensor = raw_ops.Identity(inside, name="read")
            new.op._id = old.op._id  # as early in the order as what it replaces
            new.op._device = old.op.device
            new.op._control_inputs.extend(writes)
            reads[writes] = new
        return reads[writes]

    for op in list(old._consumers):
        _replace_input(op, old, read_after(waits.get(op, ())))
    old._consumers.clear()
    body.outputs[:] = [read_after(()) if t is old else t for t in body.outputs]


def _writes_before(body: FuncGraph, handle: Tensor) -> dict[Operation, tuple[Operation, ...]]:
    """For the nodes that wait for writes of the variable: those writes."""
    writes: dict[Operation, int] = {}
    masks: dict[Operation, int] = {}
    for op in body._nodes:
        mask = 0
        for before in (*(t.op for t in op.inputs), *op._control_inputs):
            mask |= masks.get(before, 0) | writes.get(before, 0)
        if mask:
            masks[op] = mask
        if handle in _written_by(op, set()):
            writes[op] = 1 << len(writes)
    return {op: tuple(w for w, bit in writes.items() if mask & bit) for op, mask in masks.items()}
