"""Broadcasting: to a shape, and the shape that two shapes give together."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, broadcast_shape
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor


@learned
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Repeats dimensions of size one to fill ``shape``.

    Args:
      input: A tensor.
      shape: The shape of the result, as a list or an integer tensor; ``input`` must broadcast to it.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input``.

    >>> tf.Session().run(tf.broadcast_to([1, 2], [2, 2]))
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    return raw_ops.BroadcastTo(input, shape, name=name)


def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """The static shape of an element-wise op on the two.

    Args:
      shape_x, shape_y: TensorShapes; their sizes may be unknown.

    Returns:
      A TensorShape.

    >>> tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])).as_list()
    [2, 3]
    """
    return broadcast_shape(shape_x, shape_y)


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape of an element-wise op on tensors of two shapes, which are tensors themselves.

    Args:
      shape_x, shape_y: 1-D tensors of int32 or int64.

    Returns:
      A 1-D tensor of the same type.

    >>> tf.Session().run(tf.broadcast_dynamic_shape([2, 1], [3]))
    array([2, 3], dtype=int32)
    """
    return raw_ops.BroadcastArgs(convert_to_tensor(shape_x, name="shape_x"), convert_to_tensor(shape_y, name="shape_y"))
