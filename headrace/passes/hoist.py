"""Hoist: what is the same in every iteration -> computed once, before the loop.

    While(...; body: h -> MatMul(h, %w') + Mul(%a, %b))
    ->
    %t = _TransposeCopy(%w)   %c = Mul(%a, %b)   While(...; body: h -> MatMul(h, %t) + %c)

Only arithmetic that cannot fail is moved, since the loop may not run at all.  On the CPU a fixed matrix that is multiplied
transposed is transposed once: a product with few rows reads it twice as fast in its own order (passes/share_transpose.py).
"""

from __future__ import annotations

from headrace.core.shape import TensorShape
from headrace.passes.loop import Loop, loops
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

PRODUCT = Ops("MatMul")
SMALLEST = 1 << 12  # elements of a matrix worth transposing
SAFE = Ops(
    "Abs", "Add", "AddV2", "BatchMatMulV2", "BiasAdd", "Cos", "Elu", "Exp", "ExpandDims", "Identity", "Log", "MatMul",
    "Maximum", "Mean", "Minimum", "Mul", "Neg", "RealDiv", "Reciprocal", "Relu", "Relu6", "Rsqrt", "Selu", "Sigmoid", "Sin",
    "Softmax", "Softplus", "Sqrt", "Square", "Squeeze", "Sub", "Sum", "Tanh", "Transpose", "ZerosLike", "OnesLike",
)  # fmt: skip


def hoist(graph: StepGraph) -> StepGraph:
    """Rewrites every loop of the graph, arithmetic first: its result may be a matrix to transpose."""
    changed = False
    for loop in loops(graph):
        moved = False
        for node in list(loop.body.nodes):
            if _is_fixed(loop, node):
                _move(loop, node)
                moved = True
        turned: dict[tuple[Value, str], Value] = {}
        for node in loop.body.nodes:
            if _wants_transpose(loop, node):
                _transpose(loop, node, turned)
        if moved or turned:
            loop.commit()
            changed = True
    if changed:
        graph.sort()
    return graph


def _is_fixed(loop: Loop, node: Node) -> bool:
    """Whether all inputs are constants or captured, some captured.  Looks at the loop as it is: earlier moves count."""
    if node not in SAFE or len(node.outputs) != 1:
        return False
    if node.control_inputs or any(v.op.control_inputs for v in node.inputs):  # a constant may wait for a write, too
        return False
    sources = [loop.source(v) for v in node.inputs if not v.op.op_def.traits.constant]
    values = [*node.outputs, *(v for v in node.inputs if not v.op.op_def.traits.constant)]
    return bool(sources) and None not in sources and all(v.dtype.is_floating for v in values)


def _move(loop: Loop, node: Node) -> None:
    outer = [loop.source(v) or _copied(loop, v.op) for v in node.inputs]
    moved = loop.before(node, node.type, outer, [(v.dtype, v.shape) for v in node.outputs], **node.attrs)
    inner = loop.capture(moved)
    loop.body.replace({node.outputs[0]: inner}, {node: inner.op})


def _copied(loop: Loop, constant: Node) -> Value:
    outputs = [(v.dtype, v.shape) for v in constant.outputs]
    return loop.before(constant, "Const", [], outputs, **constant.attrs)


def _wants_transpose(loop: Loop, node: Node) -> bool:
    if node not in PRODUCT or not node.attrs["transpose_b"] or "device:CPU" not in node.device:
        return False
    size = node.inputs[1].shape.num_elements()
    return (
        node.attrs["T"].is_floating
        and size is not None
        and size >= SMALLEST
        and loop.source(node.inputs[1]) is not None
    )


def _transpose(loop: Loop, node: Node, turned: dict[tuple[Value, str], Value]) -> None:
    matrix = loop.source(node.inputs[1])
    assert matrix is not None
    key = matrix, node.device
    if key not in turned:
        rows, columns = matrix.shape.tuple  # type: ignore[misc]
        base = matrix.dtype.base_dtype
        turned[key] = loop.before(node, "_TransposeCopy", [matrix], [(base, TensorShape([columns, rows]))], T=base)
    node.inputs = [node.inputs[0], loop.capture(turned[key])]
    node.attrs = {**node.attrs, "transpose_b": False}
