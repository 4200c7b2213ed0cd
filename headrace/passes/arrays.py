"""Small values as numpy arrays: which nodes of a step on the CPU compute with arrays instead of tensors.

Adding sixteen numbers takes torch 2.5 microseconds and numpy 0.8, and other kernels differ as much.  So an op may have a kernel
on arrays beside its kernel on tensors (``OpDef.array_kernel``).  Nodes that can hand arrays to each other run it.

The pass counts.  A node on arrays saves one unit, about two microseconds.  A value that one node makes and another takes in the
other form costs a conversion: one unit to a tensor, two to an array.  The memory is shared, so the size does not matter.  Nodes
that cost more than they save stay with tensors.  Then groups of connected nodes are judged in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from headrace.core.dtypes import DType
from headrace.core.registry import ArrayKernel
from headrace.core.shape import TensorShape
from headrace.core.signature import Arg
from headrace.graph.infer import group_inputs
from headrace.passes.step_graph import Node, Value, behind_identities

SAVED, TO_TENSOR, TO_ARRAY = 1, 1, 2  # units
MOST = 32767  # elements of each value: of more, torch computes parts on several threads, and the work counts
ROUNDS = 8


def on_arrays(
    order: Sequence[Node], escaping: Collection[Value], native: Collection[DType], on_cpu: Callable[[Node], bool],
    free: Collection[Value] = (), again: Mapping[Value, Value] = MappingProxyType({}),
) -> dict[Node, ArrayKernel]:  # fmt: skip
    """The nodes that run on arrays, with what they run.

    ``escaping`` values must be tensors, whoever made them.  ``free`` ones come in the form in which they are wanted.
    ``again``: of a loop's variables, what each is in the next iteration, and so its form.
    """
    fits: dict[Value, bool] = {}
    chosen = {n: k for n in order if (k := _kernel(n, native, fits)) is not None and on_cpu(n)}
    if not chosen:
        return {}
    sources = {v: made for v, result in again.items() if not _is_given(made := behind_identities(result), free)}
    users: dict[Value, list[Node]] = {}
    around: dict[Node, set[Value]] = {}  # of the chosen nodes: what each takes and makes, apart from what is free
    for node in order:
        inputs = [sources.get(value, value) for value in tensor_inputs(node)]
        if node in chosen:
            around[node] = {v for v in (*inputs, *node.outputs) if not _is_given(v, free)}
        if node.op_def.traits.identity:
            sources[node.outputs[0]] = sources.get(node.inputs[0], node.inputs[0])
            continue
        for value in inputs:
            if value in users:
                users[value].append(node)
            else:
                users[value] = [node]
    taken = {sources.get(v, v) for v in escaping}

    def cost(values: Collection[Value], changed: Node | None = None) -> int:
        """What converting these values costs while ``changed`` is on tensors."""
        units = 0
        for value in values:
            takers = users.get(value, ())
            if value.op in chosen and value.op is not changed:
                if value in taken or changed in takers or not chosen.keys() >= set(takers):
                    units += TO_TENSOR
            elif any(n in chosen and n is not changed for n in takers):
                units += TO_ARRAY
        return units

    for _ in range(ROUNDS):
        before = len(chosen)
        for node in list(chosen):
            now = cost(around[node])
            if now > SAVED and SAVED + cost(around[node], node) < now:
                del chosen[node]
        if len(chosen) == before:
            break
    for group in _groups({n: around[n] for n in chosen}):
        if cost(set().union(*(around[n] for n in group))) > SAVED * len(group):
            for node in group:
                del chosen[node]
    return chosen


def _groups(around: Mapping[Node, Collection[Value]]) -> list[list[Node]]:
    """The nodes, sorted into groups.  Nodes that take or make the same value are in one group."""
    near: dict[Value, list[Node]] = {}
    for node, values in around.items():
        for value in values:
            near.setdefault(value, []).append(node)
    groups: list[list[Node]] = []
    seen: set[Node] = set()
    for first in around:
        if first in seen:
            continue
        seen.add(first)
        group = [first]
        for node in group:
            found = {n for value in around[node] for n in near.pop(value, ())} - seen
            seen |= found
            group += found
        groups.append(group)
    return groups


def _is_given(value: Value, free: Collection[Value]) -> bool:
    """Whether the value comes in the form in which it is wanted."""
    return value in free or is_free(value.op)


def is_free(node: Node) -> bool:
    """Whether the node's value is there as an array and as a tensor: a constant, a variable's value where it is stored.

    What a body or a stash hands on comes in the form in which it was made, mostly the one that is wanted.
    """
    traits = node.op_def.traits
    return traits.reads_buffer or traits.constant or traits.takes_arrays


def tensor_inputs(node: Node) -> list[Value]:
    """The inputs that must have the form the node computes with: tensors or arrays.  Values read on the host may have either."""
    if node.op_def.traits.takes_arrays:
        return []
    if node.op_def.takes_tensors:
        return node.inputs
    return [value for arg, value in named_inputs(node) if not arg.host and not arg.ref]


def named_inputs(node: Node) -> list[tuple[Arg, Value]]:
    """Each input with its argument in the signature."""
    grouped = group_inputs(node.op_def, node.inputs, node.attrs)
    pairs = zip(node.op_def.signature.inputs, grouped, strict=True)
    return [(arg, value) for arg, values in pairs for value in (values if arg.is_list else [values])]


def is_small(shape: TensorShape) -> bool:
    """Whether values of the shape may be arrays: it is known, and neither large nor empty.

    Torch and numpy differ most in what a function returns for an empty value.
    """
    return 0 < (shape.num_elements() or 0) <= MOST


def _kernel(node: Node, native: Collection[DType], fits: dict[Value, bool]) -> ArrayKernel | None:
    """What the node can run on arrays.  ``fits`` notes of values whether they may be arrays."""
    kernel = node.op_def.find_array_kernel(node.attrs)
    if kernel is None:
        return None
    if node.op_def.takes_tensors and not kernel.large:
        inputs = node.inputs
    else:
        inputs = [
            v for arg, v in named_inputs(node) if not arg.host and (arg.name != kernel.large or not is_free(v.op))
        ]
    for value in (*inputs, *node.outputs):
        if value not in fits:
            fits[value] = value.dtype.base_dtype in native and is_small(value.shape)
        if not fits[value]:
            return None
    if kernel.fits is not None and not kernel.fits([v.shape.tuple or () for v in inputs], node.attrs):
        return None
    return kernel
