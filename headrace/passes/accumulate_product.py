"""Accumulate product: a matrix product that only feeds an update of state -> one in-place multiply-accumulate.

    %g = MatMul(%x, %d)   %u = ApplyGradientDescent(%w, %lr, %g)      ->      %u = _ApplyProduct(%w, %lr, %x, %d)

The gradient is never stored: no buffer is written and read again.  The value is the same up to rounding.  The pass is for
variables so large that memory traffic decides the speed.
"""

from __future__ import annotations

import math

from headrace.core.registry import REGISTRY
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph

PRODUCT, DESCENT = Ops("MatMul"), Ops("ApplyGradientDescent")
GRADIENT_AT = {"ApplyGradientDescent": 2, "ApplyMomentum": 3}  # among the inputs of an update
WITH_PRODUCT = {"ApplyGradientDescent": "_ApplyProduct", "ApplyMomentum": "_ApplyMomentumProduct"}

# Elements of the variable: below this number, saving a call is worth more than saving a buffer.
SMALLEST = 1 << 15
SMALLEST_ON_GPU = 1 << 20


def accumulate_product(graph: StepGraph) -> StepGraph:
    """Rewrites products that have one use, for variables large enough to matter."""
    updates = [n for n in graph.nodes if _gradient_position(n) is not None]
    if not updates:
        return graph
    users = graph.users()
    fetched = set(graph.fetches)
    changed = False
    for node in updates:
        position = GRADIENT_AT[node.type]
        product = node.inputs[position].op
        size = node.inputs[0].shape.num_elements()
        if product not in PRODUCT or size is None or size < _smallest(node) or product.control_inputs:
            continue
        if len(users[product.outputs[0]]) != 1 or product.outputs[0] in fetched or product in graph.targets:
            continue
        if product.device != node.device or not product.attrs["T"].is_floating:
            continue
        _rewrite(node, product, position)
        changed = True
    if changed:
        graph.sweep()
    return graph


def _smallest(update: Node) -> float:
    if "device:CPU" in update.device:
        return SMALLEST
    # On a GPU a compiler adds the decay and the update of a momentum in one kernel; taking the product out of it costs more.
    return SMALLEST_ON_GPU if update in DESCENT else math.inf


def _gradient_position(node: Node) -> int | None:
    if node.attrs.get("use_nesterov"):  # needs the gradient itself as well
        return None
    return GRADIENT_AT.get(node.type)


def _rewrite(node: Node, product: Node, position: int) -> None:
    """Changes the update in place, so that everything that waits for it still does."""
    node.inputs = [*node.inputs[:position], *product.inputs, *node.inputs[position + 1 :]]
    node.attrs = {
        "T": node.attrs["T"],
        "use_locking": node.attrs["use_locking"],
        "transpose_a": product.attrs["transpose_a"],
        "transpose_b": product.attrs["transpose_b"],
    }
    node.op_def = REGISTRY.get(WITH_PRODUCT[node.type])
