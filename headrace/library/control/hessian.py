"""hessians: the second derivatives of a sum with respect to each x, one gradient of a gradient for each element."""

from __future__ import annotations

from typing import Any

from headrace.autodiff.gradients import gradients
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.higher_order import map_fn


def hessians(
    ys: Any, xs: Any, name: str = "hessians", colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:  # fmt: skip
    """For each x of shape S the tensor of shape S + S of d2(sum ys)/dx dx; a loop where S is not known.

    Args:
      ys: A tensor, or a list of them, which are summed.
      xs: A tensor or variable, or a list of them.
      name: A name for the results.
      colocate_gradients_with_ops: Whether each gradient is on the device of the op that it belongs to.
      gate_gradients: Whether the gradients of an op wait for each other.
      aggregation_method: One of ``tf.AggregationMethod``, or None; all give the same result.

    Returns:
      A list with one tensor for each x.

    >>> x = tf.constant([1.0, 2.0])
    >>> tf.Session().run(tf.hessians(tf.reduce_sum(x ** 3), x))
    [array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)]
    """
    xs_list = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    matrices = []
    for x, first in zip(xs_list, gradients(ys, xs_list, **options), strict=True):
        if first is None:
            raise ValueError(f"hessians: the ys do not depend on {x!r}")
        dims = convert_to_tensor(x).shape
        size = dims.num_elements()
        if size is None:
            matrices.append(_by_loop(convert_to_tensor(first), x, name, options))
            continue
        flat = raw_ops.Reshape(convert_to_tensor(first), [size])
        rows = []
        for i in range(size):
            element = raw_ops.StridedSlice(flat, [i], [i + 1], [1], shrink_axis_mask=1)
            row = gradients(element, x, **options)[0]
            rows.append(raw_ops.ZerosLike(convert_to_tensor(x)) if row is None else convert_to_tensor(row))
        shape = dims.as_list()
        matrices.append(raw_ops.Reshape(raw_ops.Pack(rows, axis=0), shape + shape, name=name))
    return matrices


def _by_loop(first: Tensor, x: Any, name: str, options: dict[str, Any]) -> Any:
    """The rows are products of the matrix with unit vectors: the product is built once, and copied into the loop."""
    graph = context.get_default_graph()
    flat = raw_ops.Reshape(first, [-1])
    vector = raw_ops.ZerosLike(flat)
    begun = len(graph._nodes)
    product = gradients(flat, x, [vector], **options)[0]
    shape = raw_ops.Shape(convert_to_tensor(x))
    twice = raw_ops.ConcatV2([shape, shape], 0)
    dims = convert_to_tensor(x).shape
    if product is None:
        result = raw_ops.Fill(twice, raw_ops.Cast(0.0, DstT=flat.dtype), name=name)
    else:
        product = convert_to_tensor(product)
        moving = _depend_on(vector, graph._nodes[begun:])
        count = raw_ops.Size(flat)

        def row(i: Tensor) -> Tensor:
            one, zero = (raw_ops.Cast(number, DstT=flat.dtype) for number in (1.0, 0.0))
            return _copy(moving, vector, raw_ops.OneHot(i, count, one, zero), product)

        result = raw_ops.Reshape(map_fn(row, raw_ops.Range(0, count, 1), dtype=flat.dtype), twice, name=name)
    result.set_shape(dims.concatenate(dims))
    return result


def _depend_on(tensor: Tensor, ops: list[Operation]) -> list[Operation]:
    """Those of the ops, in the order in which they were made, that the tensor leads to."""
    reached, found = {tensor}, []
    for op in ops:
        if any(t in reached for t in op.inputs):
            reached.update(op._outputs)
            found.append(op)
    return found


def _copy(ops: list[Operation], old: Tensor, new: Tensor, result: Tensor) -> Tensor:
    """The result of the ops if ``old`` were ``new``, computed in the default graph."""
    graph = context.get_default_graph()
    values = {old: new}
    for op in ops:
        inputs = [values.get(t, t) for t in op.inputs]
        copy = graph.create_op(op.op_def, inputs, [t.dtype for t in op._outputs], name=op.name, attrs=dict(op.attrs))
        values.update(zip(op._outputs, copy._outputs, strict=True))
    return values.get(result, result)
