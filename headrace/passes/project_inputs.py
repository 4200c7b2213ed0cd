"""Project inputs: a product of the row that each iteration reads -> one product of all rows before the loop.

    %xs = unstack(%x)   While(...; body: i, h -> MatMul(Concat(read(%xs, i), h), %w) + %b)
    ->
    %ps = unstack(MatMul(%x, %w[:n]) + %b)   While(...; body: i, h -> _AddProduct(read(%ps, i), h, %w[n:]))

and backwards, where the gradient of each row is written to an array:

    _Repeat(...; body: g, i -> array[i] = split(MatMul(g, %w'))[0])   stack(array)
    ->
    _Repeat(...; body: g, i -> array[i] = g)                          MatMul(stack(array), %w[:n]')

Recurrent networks have this form.  What does not depend on the state is done for all steps by one product that is faster
than many with few rows, and each iteration has less to do.  Only loops that count are rewritten (they read every row).  The value
is the same up to rounding.
"""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import int32, resource, variant
from headrace.core.shape import TensorShape
from headrace.graph.infer import constant_value
from headrace.passes.loop import Loop, loops, users_of
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

PRODUCT, BIAS, JOIN, SPLIT = Ops("MatMul"), Ops("BiasAdd"), Ops("ConcatV2"), Ops("SplitV")
COMPARISON, BOTH = Ops("Less", "Greater", "LessEqual", "GreaterEqual"), Ops("LogicalAnd")
ARRAY, FILL, READ = Ops("TensorArrayV3"), Ops("TensorArrayScatterV3"), Ops("TensorArrayReadV3")
# The gradient of an array that was read: a sum of arrays with one element each, stacked at the end.
NOTHING, ELEMENT, SUM, STACKED = Ops("_ZerosVariant"), Ops("_ArrayOf"), Ops("_AddVariants"), Ops("_ArrayStacked")
ROWS = 64  # with more rows in each iteration its products are fast as they are
_SCALAR = TensorShape([])


def project_inputs(graph: StepGraph) -> StepGraph:
    """Rewrites every loop of the graph, forwards and backwards."""
    changed = False
    for loop in loops(graph):
        if _counts(loop):
            rewritten = [_project(loop, node) for node in list(loop.body.nodes) if node in PRODUCT]
            rewritten += [_stack_gradient(loop, j) for j in range(loop.count)]
            rewritten += [_narrow(loop, node) for node in list(loop.body.nodes) if node in SPLIT]
            if any(rewritten):
                loop.commit()
                changed = True
    if changed:
        graph.sweep()
        graph.sort()
    return graph


def _counts(loop: Loop) -> bool:
    """Whether the loop runs until a counter reaches a bound, so that no other value can stop it earlier."""
    if loop.cond is None:
        return True
    stack = [v.op for v in loop.cond.fetches]
    while stack:
        node = stack.pop()
        if node in BOTH:
            stack.extend(v.op for v in node.inputs)
        elif node not in COMPARISON or not all(v.shape.ndims == 0 and v.dtype.is_integer for v in node.inputs):
            return False
    return True


# ---- forwards


def _project(loop: Loop, product: Node) -> bool:
    """Moves the part of a product that multiplies rows read from an array out of the loop; whether there was one."""
    kernel = loop.source(product.inputs[1])
    straight = not product.attrs["transpose_a"] and not product.attrs["transpose_b"]
    if kernel is None or not straight or not product.attrs["T"].is_floating or product.control_inputs:
        return False
    parts = _parts(product.inputs[0])
    at = next((i for i, part in enumerate(parts) if _rows_behind(loop, part) is not None), None)
    widths = [(part.shape.tuple or (None, None))[-1] for part in parts]
    columns = (kernel.shape.tuple or (None, None))[-1]
    if at is None or len(parts) > 2 or None in widths or columns is None:
        return False
    rows, read = _rows_behind(loop, parts[at]), parts[at].op
    assert rows is not None
    if {read.device, product.inputs[0].op.device} != {product.device}:
        return False
    if (rows.shape.tuple or (0, 0))[1] not in range(1, ROWS + 1):
        return False
    start = sum(widths[:at])  # type: ignore[arg-type]
    base = product.attrs["T"]
    factors = [rows, _rows_of(loop, product, kernel, start, widths[at])]
    projected = loop.before(product, "BatchMatMulV2", factors, T=base, adj_x=False, adj_y=False)
    replaced = product.outputs[0]
    users = users_of(loop.body)
    add = users[replaced][0] if len(users[replaced]) == 1 else None
    if add is not None and add in BIAS and add.attrs["data_format"] == "NHWC" and not add.control_inputs:
        bias = loop.source(add.inputs[1])
        if bias is not None and add.device == product.device:
            projected = loop.before(add, "BiasAdd", [projected, bias], T=base, data_format="NHWC")
            replaced = add.outputs[0]
    value = _read_row(loop, read, projected)
    if len(parts) == 2:
        other = 1 - at
        rest = loop.capture(_rows_of(loop, product, kernel, 0 if other == 0 else widths[0], widths[other]))
        value = loop.inside(product, "_AddProduct", [value, parts[other], rest], T=base)
    loop.body.replace({replaced: value}, {})
    return True


def _parts(value: Value) -> list[Value]:
    """The parts that a matrix is concatenated from along its columns; the matrix itself if it is not."""
    node = value.op
    if node not in JOIN or node.control_inputs or value.shape.ndims != 2:
        return [value]
    axis = constant_value(node.inputs[-1])
    return node.inputs[:-1] if axis is not None and int(axis) in (1, -1) else [value]


def _rows_behind(loop: Loop, value: Value) -> Value | None:
    """The tensor whose rows are read, if ``value`` is read from an array that was filled with them before the loop."""
    read = value.op
    if read not in READ or read.control_inputs:
        return None
    array_flow = loop.source(read.inputs[2])
    fill = array_flow.op if array_flow is not None else None
    if fill is None or fill not in FILL or fill.inputs[2].shape.ndims != 3 or fill.control_inputs:
        return None
    array = fill.inputs[3].op
    return fill.inputs[2] if array in ARRAY and array is fill.inputs[0].op else None


def _rows_of(loop: Loop, product: Node, matrix: Value, start: Any, count: Any) -> Value:
    """Some rows of a matrix of the outer graph, for a product."""
    dims: Any = matrix.shape.tuple
    if start == 0 and count == dims[0]:
        return matrix
    begin, size = loop.constant(product, [start, 0]), loop.constant(product, [count, dims[1]])
    shape = TensorShape([count, dims[1]])
    base = matrix.dtype.base_dtype
    return loop.before(product, "Slice", [matrix, begin, size], [(base, shape)], T=base, Index=int32)


def _read_row(loop: Loop, read: Node, rows: Value) -> Value:
    """Reads from an array filled with ``rows`` what ``read`` reads from its array."""
    array_flow = loop.source(read.inputs[2])
    assert array_flow is not None
    fill = array_flow.op
    array = fill.inputs[3].op
    element = TensorShape(rows.shape.tuple[1:] if rows.shape.tuple else None)
    base = rows.dtype.base_dtype
    attrs = {**array.attrs, "element_shape": element, "dtype": base}
    outputs = [(resource, TensorShape([2])), (variant, _SCALAR)]
    handle = loop.before(read, "TensorArrayV3", array.inputs, outputs, **attrs)
    inputs = [handle, fill.inputs[1], rows, handle.op.outputs[1]]
    filled = loop.before(read, "TensorArrayScatterV3", inputs, [(variant, _SCALAR)], T=base)
    inputs = [loop.capture(handle), read.inputs[1], loop.capture(filled)]
    return loop.inside(read, "TensorArrayReadV3", inputs, [(base, element)], dtype=base, element_shape=element)


# ---- backwards


def _stack_gradient(loop: Loop, j: int) -> bool:
    """A variable that gathers the gradients of rows, each a product with a fixed matrix: gathers the other factor instead."""
    body = loop.body
    users = users_of(body)
    add, feed = body.fetches[j].op, body.feeds[j]
    if add not in SUM or add.inputs[0] is not feed or users[feed] != [add]:
        return False
    one = add.inputs[1].op
    if one not in ELEMENT or users[one.outputs[0]] != [add] or users[one.inputs[1]] != [one]:
        return False
    initial, result = loop.initial(j).op, loop.result(j)
    outer = users_of(loop.graph).get(result, [])
    if initial not in NOTHING or len(outer) != 1 or outer[0] is None or outer[0] not in STACKED:
        return False
    match = _product_behind(loop, one.inputs[1])
    if match is None:
        return False
    product, start, count = match
    shape = constant_value(outer[0].inputs[2])
    kernel = loop.source(product.inputs[1])
    if shape is None or len(shape) != 3 or shape[1] > ROWS or kernel is None:
        return False
    if len({n.device for n in (product, one.inputs[1].op, one, outer[0])}) > 1:
        return False
    factor = product.inputs[0]
    one.inputs = [one.inputs[0], factor]
    one.attrs = {**one.attrs, "T": factor.dtype.base_dtype}
    columns = (kernel.shape.tuple or (None, None))[1]
    dims = loop.constant(product, [int(shape[0]), int(shape[1]), columns])
    base = factor.dtype.base_dtype
    gradient = outer[0]
    stacked = loop.after(
        product, "_ArrayStacked", [result, gradient.inputs[1], dims],
        [(base, TensorShape([int(shape[0]), int(shape[1]), columns]))], dtype=base,
    )  # fmt: skip
    rows = _rows_of(loop, product, kernel, start, count)
    whole = loop.after(product, "BatchMatMulV2", [stacked, rows], T=base, adj_x=False, adj_y=True)
    loop.replace_result(gradient.outputs[0], whole)
    return True


def _product_behind(loop: Loop, value: Value) -> tuple[Node, int, int] | None:
    """The product with a transposed fixed matrix that ``value`` is, or is columns of; and the rows of the matrix they are."""
    node = value.op
    start, width = 0, (value.shape.tuple or (None, None))[-1]
    if node in SPLIT:
        sizes, axis = constant_value(node.inputs[1]), constant_value(node.inputs[2])
        if sizes is None or axis is None or int(axis) not in (1, -1) or value.shape.ndims != 2 or (sizes < 0).any():
            return None
        start, width = int(sizes[: value.value_index].sum()), int(sizes[value.value_index])
        node = node.inputs[0].op
    if node not in PRODUCT or node.attrs["transpose_a"] or not node.attrs["transpose_b"] or width is None:
        return None
    kernel = loop.source(node.inputs[1])
    if kernel is None or not kernel.shape.is_fully_defined() or not node.attrs["T"].is_floating or node.control_inputs:
        return None
    return node, start, width


def _narrow(loop: Loop, split: Node) -> bool:
    """Narrows a product to the columns that are used."""
    users = users_of(loop.body)
    used = [v for v in split.outputs if users.get(v)]
    if len(used) != 1 or users[split.inputs[0]] != [split] or split.control_inputs:
        return False
    match = _product_behind(loop, used[0])
    if match is None:
        return False
    product, start, count = match
    kernel = loop.source(product.inputs[1])
    assert kernel is not None
    if split.device != product.device:
        return False
    rows = loop.capture(_rows_of(loop, product, kernel, start, count))
    value = loop.inside(product, "MatMul", [product.inputs[0], rows], [(used[0].dtype, used[0].shape)], **product.attrs)
    loop.body.replace({used[0]: value}, {})
    return True
