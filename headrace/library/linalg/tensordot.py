"""``tf.tensordot``: sums of products over pairs of axes, as one product of matrices."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from headrace.core import dtypes
from headrace.core.source import at
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.scope import name_scope

Axes: TypeAlias = "list[int] | Tensor"


@learned
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over axes of ``a`` paired with axes of ``b``; an integer n means the last n, the first n.

    ``axes`` may be a tensor of shape [2, n], and ranks may be known only when it runs.

    Args:
      a: A tensor of numbers.
      b: A tensor of the type of `a`.
      axes: An integer n, or two lists of as many axes: those of `a`, and those of `b` they are paired with.
      name: A name for the op.

    Returns:
      A tensor with the other axes of `a`, then those of `b`.

    >>> tf.Session().run(tf.tensordot([[1, 2], [3, 4]], [10, 1], axes=1)).tolist()
    [12, 34]
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        x = convert_to_tensor(a, name="a")
        y = convert_to_tensor(b, name="b")
        x_axes, y_axes = _paired_axes(x, axes)
        left, free_left = _as_matrix(x, x_axes, last=True)
        right, free_right = _as_matrix(y, y_axes, last=False)
        product: Tensor = raw_ops.MatMul(left, right)
        dims = None if free_left.dims is None or free_right.dims is None else free_left.dims + free_right.dims
        if dims is not None and None not in dims:
            if product.shape.tuple == tuple(dims):
                return product
            return raw_ops.Reshape(product, np.array(dims, np.int32), name=scope)
        shape = raw_ops.ConcatV2([_as_tensor(free_left), _as_tensor(free_right)], 0)
        result: Tensor = raw_ops.Reshape(product, shape, name=scope)
        if dims is not None:
            result.set_shape(dims)
        return result


class _Free(NamedTuple):
    """The dimensions of a tensor that are not summed over: as known, and as a tensor if some are not."""

    dims: list[int | None] | None
    tensor: Tensor | None


def _as_tensor(free: _Free) -> Tensor:
    return free.tensor if free.tensor is not None else constant(np.array(free.dims, np.int32))


# ---- which axes


def _paired_axes(x: Tensor, axes: Any) -> tuple[Axes, Axes]:
    if isinstance(axes, (int, np.integer)):
        return _counted_axes(x, int(axes))
    if isinstance(axes, Tensor):
        return _known(axes[0]), _known(axes[1])
    if not hasattr(axes, "__len__") or len(axes) != 2:
        raise ValueError(f"'axes' must be an integer or have length 2, got {axes!r} {at()}")
    left, right = (_known(a) if isinstance(a, Tensor) else _listed(a) for a in axes)
    if isinstance(left, list) and isinstance(right, list) and len(left) != len(right):
        raise ValueError(f"Different number of contraction axes 'a' and 'b', {len(left)} != {len(right)}. {at()}")
    return left, right


def _counted_axes(x: Tensor, count: int) -> tuple[Axes, Axes]:
    """The last axes of the first argument and the first axes of the second."""
    if count < 0:
        raise ValueError(f"'axes' must be at least 0, got {count} {at()}")
    rank = x.shape.ndims
    if rank is None:
        last = raw_ops.Rank(x)
        return raw_ops.Range(last - count, last, 1), list(range(count))
    if count > rank:
        raise ValueError(f"'axes' must not be larger than the number of dimensions of tensor {x}, got {count} {at()}")
    return list(range(rank - count, rank)), list(range(count))


def _listed(axes: Any) -> list[int]:
    return [int(axis) for axis in ([axes] if isinstance(axes, (int, np.integer)) else axes)]


def _known(axes: Tensor) -> Axes:
    """Axes as a list, if their values are static."""
    value = constant_value(axes)
    return axes if value is None else np.asarray(value).reshape(-1).tolist()


# ---- tensors as matrices


def _as_matrix(x: Tensor, axes: Axes, last: bool) -> tuple[Tensor, _Free]:
    """The tensor as a matrix, with the summed axes as columns (``last``) or rows."""
    if isinstance(axes, Tensor) or x.shape.ndims is None:
        return _late_matrix(x, convert_to_tensor(axes, dtypes.int32), last)
    dims = x.shape.tuple
    assert dims is not None
    rank = len(dims)
    if any(not -rank <= a < rank for a in axes):
        raise ValueError(f"tensordot axes {axes} are out of range for a tensor of rank {rank} {at()}")
    summed = [a % rank for a in axes]
    free = [i for i in range(rank) if i not in summed]
    order = free + summed if last else summed + free
    if order != list(range(rank)):
        x = raw_ops.Transpose(x, np.array(order, np.int32), name="transpose")
    return _static_matrix(x, [dims[i] for i in free], [dims[i] for i in summed], last)


def _static_matrix(
    x: Tensor, free_dims: list[int | None], summed_dims: list[int | None], last: bool
) -> tuple[Tensor, _Free]:
    """A tensor whose free and summed axes are together already, as a matrix."""
    tensor, rank = None, len(free_dims) + len(summed_dims)
    if None in free_dims:
        first = 0 if last else len(summed_dims)
        tensor = raw_ops.StridedSlice(raw_ops.Shape(x), [first], [first + len(free_dims)], [1])
    free = _Free(free_dims, tensor)
    if len(free_dims) == 1 and len(summed_dims) == 1:
        return x, free
    rows_of, columns_of = (free_dims, summed_dims) if last else (summed_dims, free_dims)
    if None not in rows_of:
        rows, columns = _product(rows_of), -1 if None in columns_of else _product(columns_of)
    elif None not in columns_of:
        rows, columns = -1, _product(columns_of)
    else:
        count = len(rows_of)
        shape = raw_ops.Shape(x)
        sizes = raw_ops.StridedSlice(shape, [0], [count], [1]), raw_ops.StridedSlice(shape, [count], [rank], [1])
        whole = raw_ops.Pack([raw_ops.Prod(sizes[0], 0), raw_ops.Prod(sizes[1], 0)])
        return raw_ops.Reshape(x, whole), free
    return raw_ops.Reshape(x, np.array([rows, columns], np.int32)), free


def _late_matrix(x: Tensor, axes: Tensor, last: bool) -> tuple[Tensor, _Free]:
    """The tensor as a matrix where its rank or the axes are known only when it runs."""
    shape, rank = raw_ops.Shape(x), raw_ops.Rank(x)
    summed = raw_ops.FloorMod(axes, rank)
    free = raw_ops.ListDiff(raw_ops.Range(0, rank, 1), summed)[0]
    free_dims = raw_ops.GatherV2(shape, free, 0)
    rows, columns = (free, summed) if last else (summed, free)
    sizes = [raw_ops.Prod(raw_ops.GatherV2(shape, which, 0), 0) for which in (rows, columns)]
    transposed = raw_ops.Transpose(x, raw_ops.ConcatV2([rows, columns], 0))
    return raw_ops.Reshape(transposed, raw_ops.Pack(sizes)), _Free(None, free_dims)


def _product(dims: list[int | None]) -> int:
    return int(np.prod([d for d in dims if d is not None], dtype=np.int64))
