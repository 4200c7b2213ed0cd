"""Sets along the last dimension: their sizes, unions, intersections and differences."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, convert_to_tensor_or_sparse_tensor


def set_size(a: SparseTensor, validate_indices: bool = True) -> Tensor:
    """How many distinct values each row of a sparse tensor has.

    Args:
      a: A SparseTensor of integers or strings whose last dimension holds the sets.
      validate_indices: Whether the order of the indices is checked.

    Returns:
      A tensor of int32 with the shape of ``a`` less its last dimension.

    >>> a = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [5, 5, 7], [2, 2])
    >>> tf.Session().run(tf.sets.set_size(a))
    array([1, 1], dtype=int32)
    """
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    return raw_ops.SetSize(a.indices, a.values, a.dense_shape, validate_indices)


def _combined(a: Any, b: Any, operation: str, validate_indices: bool) -> SparseTensor:
    a, b = (convert_to_tensor_or_sparse_tensor(x, name=n) for x, n in ((a, "a"), (b, "b")))
    if a.dtype.base_dtype != b.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):  # there is no op for this order
        a, b = b, a
        operation = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
    if isinstance(a, SparseTensor):
        parts = raw_ops.SparseToSparseSetOperation(
            a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, operation, validate_indices
        )
    elif isinstance(b, SparseTensor):
        parts = raw_ops.DenseToSparseSetOperation(a, b.indices, b.values, b.dense_shape, operation, validate_indices)
    else:
        parts = raw_ops.DenseToDenseSetOperation(a, b, operation, validate_indices)
    return SparseTensor(*parts)


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The values in both, row by row, as a sparse tensor.

    Args:
      a, b: Tensors or SparseTensors of one type, integers or strings; the last dimension holds the sets, the others are
        alike.
      validate_indices: Whether the order of sparse indices is checked.

    Returns:
      A SparseTensor with the values of each set in rising order.

    >>> found = tf.sets.set_intersection(tf.constant([[1, 2, 3]]), tf.constant([[3, 5, 1]]))
    >>> tf.Session().run(found).values
    array([1, 3], dtype=int32)
    """
    return _combined(a, b, "intersection", validate_indices)


def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The values of ``a`` that are not in ``b``, row by row; of ``b`` that are not in ``a`` without ``aminusb``.

    Args:
      a, b: Tensors or SparseTensors of one type, integers or strings; the last dimension holds the sets, the others are
        alike.
      aminusb: Whether to give what is in ``a`` only; False for what is in ``b`` only.
      validate_indices: Whether the order of sparse indices is checked.

    Returns:
      A SparseTensor with the values of each set in rising order.

    >>> left = tf.sets.set_difference(tf.constant([[1, 2, 3]]), tf.constant([[3, 5, 1]]))
    >>> tf.Session().run(left).values
    array([2], dtype=int32)
    """
    return _combined(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The values in either, row by row.

    Args:
      a, b: Tensors or SparseTensors of one type, integers or strings; the last dimension holds the sets, the others are
        alike.
      validate_indices: Whether the order of sparse indices is checked.

    Returns:
      A SparseTensor with the values of each set in rising order.

    >>> either = tf.sets.set_union(tf.constant([[1, 2, 3]]), tf.constant([[3, 5, 1]]))
    >>> tf.Session().run(either).values
    array([1, 2, 3, 5], dtype=int32)
    """
    return _combined(a, b, "union", validate_indices)
