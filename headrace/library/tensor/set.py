"""Sets along the last dimension: their sizes, unions, intersections and differences."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, convert_to_tensor_or_sparse_tensor


def set_size(a: SparseTensor, validate_indices: bool = True) -> Tensor:
    """How many distinct values each row of a sparse tensor has."""
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

    >>> found = tf.sets.set_intersection(tf.constant([[1, 2, 3]]), tf.constant([[3, 5, 1]]))
    >>> tf.Session().run(found).values
    array([1, 3], dtype=int32)
    """
    return _combined(a, b, "intersection", validate_indices)


def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The values of ``a`` that are not in ``b``, row by row; of ``b`` that are not in ``a`` without ``aminusb``."""
    return _combined(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The values in either, row by row."""
    return _combined(a, b, "union", validate_indices)
