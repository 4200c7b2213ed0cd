"""TF1's arithmetic on sparse tensors: products with dense ones, sums, reductions, softmax; and ``*`` and ``/``.

The operators are installed on SparseTensor when this module is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices, SparseTensor, SparseTensorValue
from headrace.library.argument import either
from headrace.library.factory import called
from headrace.library.scope import name_scope
from headrace.library.sparse.tensor import as_sparse
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather, setdiff1d

# ---- products and sums


def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix and a dense one, either side conjugated and transposed on request.

    ``tf.sparse_tensor_dense_matmul(adjacency, features)``

    Args:
      sp_a: A `SparseTensor` of rank 2, or a dense matrix if `b` is the sparse one.
      b: A dense matrix, or a `SparseTensor` of rank 2 if `sp_a` is the dense one, of the same type.
      adjoint_a: Whether to transpose and conjugate `sp_a` first.
      adjoint_b: Whether to transpose and conjugate `b` first.
      name: A name for the op.

    Returns:
      A dense matrix of the type of `b`.

    >>> sparse = tf.SparseTensor([[0, 1]], [2.0], [2, 2])
    >>> tf.Session().run(tf.sparse_tensor_dense_matmul(sparse, [[1.0], [3.0]])).tolist()
    [[6.0], [0.0]]
    """
    if isinstance(b, (SparseTensor, SparseTensorValue)):
        if isinstance(sp_a, (SparseTensor, SparseTensorValue)):
            raise TypeError("sparse_tensor_dense_matmul takes one sparse and one dense matrix, got two sparse ones")
        # A B = (B^H A^H)^H: the op wants the sparse operand first.
        product = sparse_tensor_dense_matmul(b, sp_a, adjoint_a=not adjoint_b, adjoint_b=not adjoint_a)
        return array.transpose(product, conjugate=product.dtype.is_complex)
    sp_a = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sp_a.indices, sp_a.values, b]):
        b = convert_to_tensor(b, name="b")
        return raw_ops.SparseTensorDenseMatMul(sp_a.indices, sp_a.values, sp_a.dense_shape, b, adjoint_a, adjoint_b)


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two tensors of which at least one is sparse; sparse if both are.

    Of two sparse ones, sums smaller in size than ``threshold`` are left out.

    Args:
      a: A `SparseTensor` or a dense tensor of numbers.
      b: A `SparseTensor` or a dense tensor of the type and shape of `a`; one of the two is sparse.
      threshold: The size below which a sum of two sparse entries is left out; None or 0 keeps all.
      thresh: Another name of `threshold`; give one of them.

    Returns:
      A `SparseTensor` if both are sparse, otherwise a dense tensor.

    >>> a = tf.SparseTensor([[0]], [1.0], [3])
    >>> tf.Session().run(tf.sparse_add(a, [1.0, 2.0, 3.0])).tolist()
    [2.0, 2.0, 3.0]
    """
    threshold = either("threshold", threshold, "thresh", thresh)
    if not any(isinstance(t, (SparseTensor, SparseTensorValue)) for t in (a, b)):
        raise TypeError(
            f"At least one input should be SparseTensor; do you mean to use tf.add()? Received: {a!r}, {b!r}"
        )
    a, b = (SparseTensor.from_value(t) if isinstance(t, SparseTensorValue) else t for t in (a, b))
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        limit = convert_to_tensor(0 if threshold is None else threshold, a.dtype.real_dtype, name="threshold")
        parts = raw_ops.SparseAdd(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, limit)
        a.shape.assert_is_compatible_with(b.shape)
        static = a.shape.merge_with(b.shape)
        shape = static.as_list() if static.is_fully_defined() else parts.sum_shape
        return SparseTensor(parts.sum_indices, parts.sum_values, shape)
    if isinstance(b, SparseTensor):
        a, b = b, a
    return raw_ops.SparseTensorDenseAdd(a.indices, a.values, a.dense_shape, b)


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger of two sparse tensors at each entry of either; missing entries are zero.

    Args:
      sp_a: A `SparseTensor` of real numbers, in row-major order.
      sp_b: A `SparseTensor` of the type and shape of `sp_a`.
      name: A name for the op.

    Returns:
      A `SparseTensor` with an entry wherever one of the two has one.

    >>> a, b = tf.SparseTensor([[0]], [1.0], [3]), tf.SparseTensor([[2]], [-1.0], [3])
    >>> tf.Session().run(tf.sparse_maximum(a, b)).values.tolist()
    [1.0, 0.0]
    """
    return _extreme(raw_ops.SparseSparseMaximum, "SparseSparseMaximum", sp_a, sp_b, name)


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller of two sparse tensors at each entry of either; missing entries are zero.

    Args:
      sp_a: A `SparseTensor` of real numbers, in row-major order.
      sp_b: A `SparseTensor` of the type and shape of `sp_a`.
      name: A name for the op.

    Returns:
      A `SparseTensor` with an entry wherever one of the two has one.

    >>> a, b = tf.SparseTensor([[0]], [1.0], [3]), tf.SparseTensor([[2]], [-1.0], [3])
    >>> tf.Session().run(tf.sparse_minimum(a, b)).values.tolist()
    [0.0, -1.0]
    """
    return _extreme(raw_ops.SparseSparseMinimum, "SparseSparseMinimum", sp_a, sp_b, name)


def _extreme(op: Callable[..., Any], default: str, a: SparseTensor, b: SparseTensor, name: str | None) -> SparseTensor:
    with name_scope(name, default, [a.indices, a.values, b.indices, b.values]) as scope:
        indices, values = op(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, name=scope)
    return SparseTensor(indices, values, a.dense_shape)


def sparse_softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Softmax over the entries of each row (the last dimension); what is missing counts as minus infinity.

    Args:
      sp_input: A `SparseTensor` of floats, of rank 2 or more, in row-major order.
      name: A name for the op.

    Returns:
      A `SparseTensor` with the same indices; the entries of each row add up to 1.

    >>> logits = tf.SparseTensor([[0, 0], [0, 2]], [1.0, 1.0], [1, 3])
    >>> tf.Session().run(tf.sparse_softmax(logits)).values.tolist()
    [0.5, 0.5]
    """
    with name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]):
        values = raw_ops.SparseSoftmax(sp_input.indices, sp_input.values, sp_input.dense_shape)
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


# ---- reductions


def _axes(sp_input: SparseTensor, axis: Any) -> Any:
    if axis is not None:
        return axis
    rank = sp_input.shape.ndims
    if rank is not None:
        return constant(np.arange(rank, dtype=np.int32))
    return creation.range(0, array.rank(sp_input))


def _reduction(name: str, op_type: str, summary: str, sparse: bool, example: str) -> Callable[..., Any]:
    text = f"""{summary}

Args:
  sp_input: A `tf.SparseTensor` of real numbers.
  axis: An axis, or a list of them; None for all.
  keepdims: Whether the axes stay, with size 1.
  reduction_axes: Another name of `axis`; give one of them.
  keep_dims: Another name of `keepdims`; give one of them.

Returns:
  A {"`tf.SparseTensor`" if sparse else "dense tensor"} of the type of `sp_input`, without the axes.

>>> matrix = tf.SparseTensor([[0, 0], [0, 2]], [1, 5], [2, 3])
>>> tf.Session().run(tf.{name}(matrix, axis=1)){".values" if sparse else ""}.tolist()
{example}
"""

    @called(name, text)
    def reduction(
        sp_input: Any, axis: Any = None, keepdims: bool | None = None, reduction_axes: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:  # fmt: skip
        keepdims = either("keepdims", keepdims, "keep_dims", keep_dims)
        axis = either("axis", axis, "reduction_axes", reduction_axes)
        sp_input = as_sparse(sp_input)
        reduced = getattr(raw_ops, op_type)(
            sp_input.indices, sp_input.values, sp_input.dense_shape, _axes(sp_input, axis), bool(keepdims)
        )
        return SparseTensor(*reduced) if sparse else reduced

    return reduction


sparse_reduce_sum = _reduction(
    "sparse_reduce_sum", "SparseReduceSum", "The sum over ``axis`` (all by default) as a dense tensor.", False, "[6, 0]"
)
sparse_reduce_max = _reduction(
    "sparse_reduce_max", "SparseReduceMax",
    "The largest entry along ``axis`` (all by default) as a dense tensor; 0 where there are none.", False, "[5, 0]",
)  # fmt: skip
sparse_reduce_sum_sparse = _reduction(
    "sparse_reduce_sum_sparse", "SparseReduceSumSparse", "The sum over ``axis`` as a sparse tensor.", True, "[6]"
)
sparse_reduce_max_sparse = _reduction(
    "sparse_reduce_max_sparse", "SparseReduceMaxSparse", "The largest entry along ``axis`` as a sparse tensor.", True,
    "[5]",
)  # fmt: skip

# ---- slices


def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """The slices without the rows ``mask_indices``.

    Args:
      a: A `tf.IndexedSlices`.
      mask_indices: The indices of the rows to leave out, a vector of the type of `a.indices`.
      name: A name for the op.

    Returns:
      A `tf.IndexedSlices` of the other rows.

    >>> slices = tf.IndexedSlices(tf.constant([1.0, 2.0, 3.0]), tf.constant([4, 5, 6]))
    >>> tf.Session().run(tf.sparse_mask(slices, [5]).values).tolist()
    [1.0, 3.0]
    """
    with name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        indices, places = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, places, name=scope), indices, a.dense_shape)


# ---- operators


def _operator(symbol: str, op_type: str) -> Callable[..., Any]:
    def operator_method(sp_x: SparseTensor, y: Any) -> SparseTensor:
        with name_scope(None, symbol, [sp_x.indices, sp_x.values, y]) as scope:
            dense = convert_to_tensor(y, sp_x.dtype.base_dtype, name="y")
            values = getattr(raw_ops, op_type)(sp_x.indices, sp_x.values, sp_x.dense_shape, dense, name=scope)
            return SparseTensor(sp_x.indices, values, sp_x.dense_shape)

    operator_method.__name__ = operator_method.__qualname__ = f"__{symbol}__"
    return operator_method


def _true_division(sp_x: SparseTensor, y: Any) -> SparseTensor:
    """Integers become floats first, as dense division does it."""
    with name_scope(None, "truediv", [sp_x.indices, sp_x.values, y]) as scope:
        dense = convert_to_tensor(y, sp_x.dtype.base_dtype, name="y")
        values = sp_x.values
        if values.dtype.is_integer:
            wide = dtypes.float32 if values.dtype.size <= 2 else dtypes.float64
            values, dense = raw_ops.Cast(values, DstT=wide), raw_ops.Cast(dense, DstT=wide)
        quotients = raw_ops.SparseDenseCwiseDiv(sp_x.indices, values, sp_x.dense_shape, dense, name=scope)
        return SparseTensor(sp_x.indices, quotients, sp_x.dense_shape)


_multiply = _operator("mul", "SparseDenseCwiseMul")
for _name, _function in (
    ("__mul__", _multiply), ("__rmul__", _multiply), ("__div__", _operator("div", "SparseDenseCwiseDiv")),
    ("__truediv__", _true_division),
):  # fmt: skip
    setattr(SparseTensor, _name, _function)
