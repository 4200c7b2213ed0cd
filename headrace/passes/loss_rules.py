"""Rules of ``simplify`` for the logistic loss and its gradient: one node each for what the client's graph spells out.

``sigmoid_cross_entropy_with_logits`` is ten nodes in a graph of TensorFlow 1, and differentiating them gives eleven.
"""

from __future__ import annotations

import numpy as np

from headrace.core.registry import REGISTRY
from headrace.passes.match import Ops
from headrace.passes.rule import Answer, Change, Facts, Rule, collect, constant, uniform
from headrace.passes.step_graph import Node, Value

LOSS_RULES: list[Rule] = []
rule = collect(LOSS_RULES)

AT_LEAST, SELECT, ZEROS, NEGATIVE = Ops("GreaterEqual"), Ops("Select"), Ops("ZerosLike"), Ops("Neg")
SUM, DIFFERENCE, PRODUCT, QUOTIENT = Ops("Add", "AddV2"), Ops("Sub"), Ops("Mul"), Ops("RealDiv")
EXP, LOG1P = Ops("Exp"), Ops("Log1p")


@rule("Add", "AddV2", rounds=True)
def _logistic_loss(node: Node, facts: Facts) -> Answer:
    """where(x >= 0, x, 0) - x * z + log1p(exp(where(x >= 0, -x, x))) -> one node"""
    linear, logarithm = node.inputs
    if linear.op not in DIFFERENCE or logarithm.op not in LOG1P:
        return None
    exponential = logarithm.op.inputs[0]
    clipped, product = linear.op.inputs
    if clipped.op not in SELECT or product.op not in PRODUCT:
        return None
    positive, x, zero = clipped.op.inputs
    logits, labels = product.op.inputs
    if logits is not x or not _is_zero(zero) or not _is_sign(positive, x) or not _is_decay(exponential, positive, x):
        return None
    if not _same_shape(x, labels):
        return None
    inner = exponential.op.inputs[0].op
    if not _plain(node, linear.op, logarithm.op, exponential.op, clipped.op, product.op, positive.op, inner):
        return None
    return Change("_LogisticLoss", [x, labels], {"T": x.dtype.base_dtype})


@rule("AddN", rounds=True)
def _gradient_of_logistic_loss(node: Node, facts: Facts) -> Answer:
    """where(x >= 0, g, 0) + where(x >= 0, 0, h) - where(x >= 0, h, 0), of which h is g * e / (1 + e) -> g * sigmoid(x)

    Here e is exp(where(x >= 0, -x, x)), as in the loss.
    """
    for minus in node.inputs:
        if minus.op not in NEGATIVE or minus.op.inputs[0].op not in SELECT:
            continue
        chosen = minus.op.inputs[0].op
        positive, part, zero = chosen.inputs
        if not _is_zero(zero) or positive.op not in AT_LEAST:
            continue
        x = positive.op.inputs[0]
        grad = _weighted(part, positive, x)
        if grad is None or not _is_sign(positive, x) or not _same_shape(x, grad):
            continue
        choices = [v for v in node.inputs if v.op in SELECT and v.op.inputs[0] is positive]
        above = next((v for v in choices if _same(v.op.inputs[1], grad) and _is_zero(v.op.inputs[2])), None)
        below = next((v for v in choices if v.op.inputs[2] is part and _is_zero(v.op.inputs[1])), None)
        if above is None or below is None or not _plain(node, minus.op, chosen, above.op, below.op, positive.op):
            continue
        attrs = {"T": grad.dtype.base_dtype}
        whole = Node(
            f"{node.name}/times_sigmoid", REGISTRY.get("_TimesSigmoid"), [above.op.inputs[1], x], attrs, node.order,
            device=node.device, source=node.source,
        )  # fmt: skip
        whole.add_outputs([(x.dtype.base_dtype, x.shape)])
        left = [v for v in node.inputs if v not in (minus, above, below) and v.op not in ZEROS]
        terms = [whole.outputs[0], *left]
        return Change("AddN", terms, {**node.attrs, "N": len(terms)}, [whole])
    return None


def _weighted(part: Value, positive: Value, x: Value) -> Value | None:
    """The ``g`` of g / (1 + e) * e."""
    if part.op not in PRODUCT:
        return None
    quotient, exponential = part.op.inputs
    if quotient.op not in QUOTIENT or not _is_decay(exponential, positive, x):
        return None
    grad, divisor = quotient.op.inputs
    if divisor.op not in SUM or divisor.op.inputs[0] is not exponential or uniform(divisor.op.inputs[1]) != 1:
        return None
    return grad


def _is_sign(positive: Value, x: Value) -> bool:
    """Whether the value is x >= 0."""
    return positive.op in AT_LEAST and positive.op.inputs[0] is x and _is_zero(positive.op.inputs[1])


def _is_decay(exponential: Value, positive: Value, x: Value) -> bool:
    """Whether the value is exp(where(x >= 0, -x, x))."""
    if exponential.op not in EXP or exponential.op.inputs[0].op not in SELECT:
        return False
    condition, negative, other = exponential.op.inputs[0].op.inputs
    return condition is positive and other is x and negative.op in NEGATIVE and negative.op.inputs[0] is x


def _is_zero(value: Value) -> bool:
    return value.op in ZEROS or uniform(value) == 0


def _same(value: Value, other: Value) -> bool:
    """Whether two values are one, or equal constants."""
    if value is other:
        return True
    a, b = constant(value), constant(other)
    return a is not None and b is not None and np.array_equal(a, b)


def _same_shape(value: Value, other: Value) -> bool:
    """Whether the values have one known shape.  Fed shapes are known when a step is made for them."""
    return value.shape.is_fully_defined() and value.shape.tuple == other.shape.tuple


def _plain(node: Node, *inner: Node) -> bool:
    """Whether none of the nodes inside waits for another or is asked to be elsewhere."""
    return not any(n.control_inputs or n.device != node.device for n in inner)
