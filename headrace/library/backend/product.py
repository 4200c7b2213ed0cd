"""Products of tensors: dot and batch_dot."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.linalg.matrix import matmul
from headrace.library.linalg.tensordot import tensordot
from headrace.library.sparse.math import sparse_tensor_dense_matmul
from headrace.library.tensor import array


def dot(x: Any, y: Any) -> Tensor:
    """The matrix product; of tensors of more axes over the last axis of one and the last but one of the other.

    Args:
      x: A tensor or variable, or a sparse matrix.
      y: A tensor or variable.

    Returns:
      A tensor.

    >>> tf.keras.backend.dot(tf.zeros([2, 3]), tf.zeros([4, 3, 5])).shape.as_list()
    [2, 4, 5]
    """
    if isinstance(x, SparseTensor):
        return sparse_tensor_dense_matmul(x, y)
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = x.shape.ndims, y.shape.ndims
    if None not in ranks and max(ranks) > 2:
        return tensordot(x, y, [[ranks[0] - 1], [max(ranks[1] - 2, 0)]])
    return matmul(x, y)


def batch_dot(x: Any, y: Any, axes: Any = None) -> Tensor:
    """The product of each element of a batch with the same element of another.

    Args:
      x: A tensor or variable of rank 2 or more.
      y: A tensor or variable of rank 2 or more.
      axes: The axis of each to sum over, as a pair or as one number for both; None for the last of `x` and the last but
        one of `y` (the last, if `y` is a matrix).

    Returns:
      A tensor with the other axes of `x`, then those of `y`; with a last axis of size 1 if no others are left.

    >>> tf.keras.backend.batch_dot(tf.zeros([32, 20, 3]), tf.zeros([32, 3, 5])).shape.as_list()
    [32, 20, 5]
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    x_rank, y_rank = x.shape.ndims, y.shape.ndims
    if x_rank is None or y_rank is None or x_rank < 2 or y_rank < 2:
        raise ValueError(f"Cannot do batch_dot on inputs with shapes {x.shape} and {y.shape}: rank 2 or more {at()}")
    a, b = _axes(axes, x_rank, y_rank)
    if not x.shape[:1].is_compatible_with(y.shape[:1]):
        raise ValueError(f"Cannot do batch_dot on inputs with different batch sizes: {x.shape} and {y.shape} {at()}")
    if not x.shape[a : a + 1].is_compatible_with(y.shape[b : b + 1]):
        raise ValueError(f"Cannot do batch_dot on inputs with shapes {x.shape} and {y.shape} with axes={[a, b]} {at()}")
    left = [i for i in range(1, x_rank) if i != a]
    right = [i for i in range(1, y_rank) if i != b]
    rows = _as_matrices(array.transpose(x, [0, *left, a]) if a != x_rank - 1 else x)
    columns = _as_matrices(array.transpose(y, [0, *right, b]) if b != y_rank - 1 else y)
    product = matmul(rows, columns, transpose_b=True)
    dims = [x.shape.as_list()[i] for i in (0, *left)] + [y.shape.as_list()[i] for i in right]
    dims = dims if len(dims) > 1 else [*dims, 1]
    if dims.count(None) <= 1:
        return array.reshape(product, [-1 if d is None else d for d in dims])
    of_x: Any = array.shape(x)
    of_y: Any = array.shape(y)
    sizes = [of_x[i] for i in (0, *left)] + [of_y[i] for i in right]
    result = array.reshape(product, array.stack(sizes if len(sizes) > 1 else [*sizes, 1]))
    result.set_shape(dims)
    return result


def _axes(axes: Any, x_rank: int, y_rank: int) -> tuple[int, int]:
    if axes is None:
        axes = [x_rank - 1, y_rank - 1 if y_rank == 2 else y_rank - 2]
    axes = [axes, axes] if isinstance(axes, int) else list(axes)
    if any(isinstance(axis, (list, tuple)) for axis in axes) or len(axes) != 2:
        raise ValueError(
            f"Multiple target dimensions are not supported. Expected: None, int, (int, int), Provided: {axes}"
        )
    a, b = axes[0] % x_rank, axes[1] % y_rank
    if 0 in (a, b):
        raise ValueError(
            "Cannot perform batch_dot over axis 0. If your inputs are not batched, add a dummy batch dimension to your "
            "inputs using K.expand_dims(x, 0)"
        )
    return a, b


def _as_matrices(x: Tensor) -> Tensor:
    """[batch, all axes in between, the last one]."""
    dims = x.shape.as_list()
    if len(dims) == 3:
        return x
    if len(dims) == 2:
        return array.expand_dims(x, 1)
    sizes: Any = array.shape(x)
    return array.reshape(x, array.stack([sizes[0], -1, sizes[len(dims) - 1]]))
