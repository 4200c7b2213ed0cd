"""Small values as numpy arrays: which nodes of a step on the CPU compute with arrays instead of tensors.

Adding sixteen numbers takes torch 2.5 microseconds and numpy 0.8, and so for most kernels up to some thousand elements.  So
an op may have a kernel on arrays beside its kernel on tensors (``OpDef.on_arrays``), and where the shapes are known and small,
nodes between which arrays can be handed on run it.  An array and a tensor share memory, but turning one into the other costs
about as much as is saved by one node: nodes that save less than that stay with tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from headrace.core.dtypes import DType, resource, string
from headrace.core.registry import ArrayKernel
from headrace.graph.infer import group_inputs
from headrace.passes.step_graph import Node, Value

TO_ARRAY, TO_TENSOR = 3.5, 2.0  # microseconds, between calls that are not in the cache
ROUNDS = 8
_AS_THEY_ARE = (string, resource)  # dtypes whose values kernels on tensors and on arrays get alike


def on_arrays(
    order: Sequence[Node], escaping: Collection[Value], native: Collection[DType], on_cpu: Callable[[Node], bool]
) -> dict[Node, ArrayKernel]:
    """The nodes that run on arrays, with what they run.  ``escaping`` values must be tensors, whoever made them."""
    chosen = {n: k for n in order if (k := _kernel(n, native)) is not None and on_cpu(n)}
    if not chosen:
        return {}
    sources: dict[Value, Value] = {}
    users: dict[Value, list[Node]] = {}
    for node in order:
        if node.op_def.traits.identity:
            sources[node.outputs[0]] = sources.get(node.inputs[0], node.inputs[0])
            continue
        for value in tensor_inputs(node):
            users.setdefault(sources.get(value, value), []).append(node)
    taken = {sources.get(v, v) for v in escaping}

    def cost(value: Value, changed: Node | None) -> float:
        """What turning the value costs while ``changed`` is on tensors."""
        if is_free(value.op) or value.dtype.base_dtype not in native:  # strings are arrays anyway
            return 0.0
        found = [n for n in users.get(value, ()) if n is not changed]
        if value.op in chosen and value.op is not changed:
            wanted = value in taken or any(n not in chosen for n in found) or changed in users.get(value, ())
            return TO_TENSOR if wanted else 0.0
        return TO_ARRAY if any(n in chosen for n in found) else 0.0

    for _ in range(ROUNDS):
        before = len(chosen)
        for node in [n for n in order if n in chosen]:
            around = {sources.get(v, v) for v in tensor_inputs(node)} | set(node.outputs)
            now = sum(cost(v, None) for v in around)
            then = sum(cost(v, node) for v in around)
            if chosen[node].saves + then < now:
                del chosen[node]
        if len(chosen) == before:
            break
    return chosen


def is_free(node: Node) -> bool:
    """Whether the node's value is there as an array and as a tensor: a constant, a variable's value where it lies."""
    return node.op_def.traits.reads_buffer or node.op_def.traits.constant


def tensor_inputs(node: Node) -> list[Value]:
    """The inputs that the node needs as it computes: as tensors, or as arrays.  Values read on the host are good as either."""
    if node.op_def.takes_arrays:
        return []
    found: list[Value] = []
    grouped = group_inputs(node.op_def, node.inputs, node.attrs)
    for arg, given in zip(node.op_def.signature.inputs, grouped, strict=True):
        if not arg.host and not arg.ref:
            found += given if arg.is_list else [given]
    return found


def _kernel(node: Node, native: Collection[DType]) -> ArrayKernel | None:
    kernel = node.op_def.find_array_kernel(node.attrs)
    if kernel is None:
        return None
    for value in (*node.inputs, *node.outputs):
        if value.dtype.base_dtype not in native and not (kernel.strings and value.dtype.base_dtype in _AS_THEY_ARE):
            return None
        if value.shape.is_fully_defined():
            if (value.shape.num_elements() or 0) > kernel.most:
                return None
        elif value.op is not node:
            return None
    return kernel
