"""hessians: the second derivatives of a sum with respect to each x, one gradient of a gradient per element."""

from __future__ import annotations

from typing import Any

from headrace.autodiff.gradients import gradients
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor


def hessians(
    ys: Any, xs: Any, name: str = "hessians", colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:  # fmt: skip
    """For each x of shape S the tensor of shape S + S of d2(sum ys)/dx dx.  The number of elements must be known.

    x = tf.constant([1.0, 2.0])
    tf.hessians(tf.reduce_sum(x ** 3), x)      # [[[6, 0], [0, 12]]]
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
            raise ValueError(f"hessians needs an x of known shape, {x!r} has shape {dims}")
        flat = raw_ops.Reshape(convert_to_tensor(first), [size])
        rows = []
        for i in range(size):
            element = raw_ops.StridedSlice(flat, [i], [i + 1], [1], shrink_axis_mask=1)
            row = gradients(element, x, **options)[0]
            rows.append(raw_ops.ZerosLike(convert_to_tensor(x)) if row is None else convert_to_tensor(row))
        shape = dims.as_list()
        matrices.append(raw_ops.Reshape(raw_ops.Pack(rows, axis=0), shape + shape, name=name))
    return matrices
