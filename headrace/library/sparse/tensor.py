"""TF1's functions on sparse tensors that move entries about: order, shape, joining, choosing, densifying."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.infer import constant_value, constant_value_as_shape
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, SparseTensorValue
from headrace.library.argument import either
from headrace.library.control.assertion import assert_equal, assert_less_equal
from headrace.library.control.dependency import identity, with_dependencies
from headrace.library.numeric.math import add, cast, maximum, minimum, not_equal
from headrace.library.numeric.reduction import reduce_max
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather, gather_nd, where


def as_sparse(value: Any) -> SparseTensor:
    """A SparseTensor as it is, a SparseTensorValue as a constant one; TypeError for anything else."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor. Received: {value!r}")
    return value


# ---- from and to dense tensors


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements that are not zero.

    Args:
      tensor: A dense tensor.
      name: A name for the op.

    Returns:
      A `SparseTensor` of the type and shape of `tensor`.

    >>> tf.Session().run(tf.sparse.from_dense([0, 3, 0, 4])).indices.tolist()
    [[1], [3]]
    """
    with name_scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        indices = where(not_equal(tensor, creation.zeros_like(tensor)))
        return SparseTensor(indices, gather_nd(tensor, indices), array.shape(tensor, out_type=dtypes.int64))


def sparse_to_dense(
    sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any = 0, validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A dense tensor with ``sparse_values`` at the index tuples ``sparse_indices`` and ``default_value`` elsewhere.

    ``validate_indices`` refuses indices that repeat or are not in row-major order.

    Args:
      sparse_indices: [entries, rank], int32 or int64; also [entries] for a vector, or a scalar for one entry of it.
      output_shape: The shape of the result, a vector of the type of `sparse_indices`.
      sparse_values: A value for each entry, or a scalar for all of them.
      default_value: A scalar of the type of `sparse_values`.
      validate_indices: Whether to check the indices.
      name: A name for the op.

    Returns:
      A dense tensor of `output_shape`, of the type of `sparse_values`.

    >>> tf.Session().run(tf.sparse_to_dense([1, 3], [5], 7)).tolist()
    [0, 7, 0, 7, 0]
    """
    return raw_ops.SparseToDense(
        sparse_indices, output_shape, sparse_values, default_value, validate_indices, name=name
    )


def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The dense tensor, with ``default_value`` (zero, or the empty string) where there is no entry.

    Args:
      sp_input: A `SparseTensor`.
      default_value: A scalar of the type of `sp_input`; None for zero, or the empty string.
      validate_indices: Whether to refuse indices that repeat or are not in row-major order.
      name: A name for the op.

    Returns:
      A dense tensor of the type and shape of `sp_input`.

    >>> tf.Session().run(tf.sparse_tensor_to_dense(tf.SparseTensor([[1]], [7], [3]))).tolist()
    [0, 7, 0]
    """
    sp_input = as_sparse(sp_input)
    if default_value is None:
        default_value = creation.zeros([], dtype=sp_input.dtype)
    return raw_ops.SparseToDense(
        sp_input.indices, sp_input.dense_shape, sp_input.values, default_value, validate_indices, name=name
    )


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """True at ``[..., id]`` for each id among the values: ``[[0, 3], [1]]`` -> two rows of ``vocab_size`` booleans.

    Args:
      sp_input: A `SparseTensor` of int32 or int64 ids, of rank 2 or more.
      vocab_size: How many ids there are, an integer; ids lie in ``[0, vocab_size)``.
      name: A name for the op.

    Returns:
      A dense bool tensor: `sp_input`'s shape with `vocab_size` for its last size.

    >>> ids = tf.SparseTensor([[0, 0], [0, 1]], [0, 3], [1, 2])
    >>> tf.Session().run(tf.sparse_to_indicator(ids, 4)).tolist()
    [[True, False, False, True]]
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input]) as scope:
        count = array.shape(sp_input.indices)[0]
        present = creation.fill(array.expand_dims(count, 0), True)
        marked = SparseTensor(sp_input.indices, present, sp_input.dense_shape)
        merged = sparse_merge(sp_input, marked, vocab_size, scope)
        return sparse_tensor_to_dense(merged, default_value=False, validate_indices=False, name=scope)


# ---- order and shape


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The entries of ``sp_input`` in row-major order, as most sparse functions expect them.

    Args:
      sp_input: A `SparseTensor` whose entries may be in any order.
      name: A name for the op.

    Returns:
      A `SparseTensor` with the same entries and shape.

    >>> tf.Session().run(tf.sparse_reorder(tf.SparseTensor([[2], [0]], [5, 6], [3]))).values.tolist()
    [6, 5]
    """
    sp_input = as_sparse(sp_input)
    indices, values = raw_ops.SparseReorder(sp_input.indices, sp_input.values, sp_input.dense_shape, name=name)
    if sp_input.shape.is_fully_defined():
        dense_shape = sp_input.shape.as_list()
        return SparseTensor(indices, values, dense_shape)
    return SparseTensor(indices, values, identity(sp_input.dense_shape))


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """Another dense shape for the same entries; one size may be -1.

    Args:
      sp_input: A `SparseTensor`.
      shape: The new dense shape, a vector of integers with as many elements in all; one may be -1, for the rest.
      name: A name for the op.

    Returns:
      A `SparseTensor` with the same values.

    >>> tf.Session().run(tf.sparse_reshape(tf.SparseTensor([[1, 2]], [7], [2, 3]), [-1])).indices.tolist()
    [[5]]
    """
    sp_input = as_sparse(sp_input)
    shape = cast(shape, dtypes.int64)
    with name_scope(name, "SparseReshape", [sp_input]) as scope:
        indices, dense_shape = raw_ops.SparseReshape(sp_input.indices, sp_input.dense_shape, shape, name=scope)
        _check_element_count(sp_input, shape)
        static = constant_value_as_shape(dense_shape)
        if static.is_fully_defined():
            dense_shape = constant(static.as_list(), dtypes.int64)
        return SparseTensor(indices, identity(sp_input.values), dense_shape)


def _check_element_count(sp_input: SparseTensor, shape: Tensor) -> None:
    """Refuses a reshape that can never work."""
    before, after = sp_input.shape, constant_value(shape)
    if not before.is_fully_defined() or after is None:
        return
    if int((after == -1).sum()) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {after.tolist()}")
    if (after == -1).any():
        return
    count, elements = math.prod(after.tolist()), before.num_elements()
    if count != elements:
        raise ValueError(
            f"Cannot reshape a tensor with {elements} elements to shape {after.tolist()} ({count} elements)."
        )


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Dimension ``i`` of the result is dimension ``perm[i]``; reversed by default.

    Args:
      sp_input: A `SparseTensor`.
      perm: The order of the dimensions, a vector of integers; None reverses them.
      name: A name for the op.

    Returns:
      A `SparseTensor` in row-major order.

    >>> tf.Session().run(tf.sparse_transpose(tf.SparseTensor([[1, 2]], [7], [2, 3]))).indices.tolist()
    [[2, 1]]
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseTranspose", [sp_input]):
        if perm is None:
            rank = sp_input.shape.ndims
            perm = np.arange(rank)[::-1].copy() if rank is not None else _reversed_axes(sp_input)
        static_perm = perm if isinstance(perm, np.ndarray) else constant_value(convert_to_tensor(perm))
        indices = array.transpose(gather(array.transpose(sp_input.indices), perm))
        if static_perm is not None and sp_input.shape.is_fully_defined():
            sizes = sp_input.shape.as_list()
            dense_shape: Any = [sizes[p] for p in static_perm]
        else:
            dense_shape = gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp_input.values, dense_shape))


def _reversed_axes(sp_input: SparseTensor) -> Tensor:
    rank = array.rank(sp_input)
    return raw_ops.Sub(rank - 1, creation.range(0, rank, 1))


def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """A dimension of size 1 put in before ``axis`` (the last one by default).

    Args:
      sp_input: A `SparseTensor`.
      axis: Where the new dimension is in the result; negative ones count from the end, None is -1.
      name: A name for the op.

    Returns:
      A `SparseTensor` of one more dimension.

    >>> tf.Session().run(tf.sparse.expand_dims(tf.SparseTensor([[1]], [7], [3]), 0)).indices.tolist()
    [[0, 1]]
    """
    sp_input = as_sparse(sp_input)
    rank: Any = sp_input.dense_shape.shape[0].value
    if rank is None:
        rank = array.shape(sp_input.dense_shape)[0]
    axis = -1 if axis is None else axis
    with name_scope(name, "expand_dims", [sp_input]):
        if isinstance(axis, int) and isinstance(rank, int):
            if not -rank - 1 <= axis <= rank:
                raise ValueError(f"axis {axis} out of range for a sparse tensor of rank {rank}")
            axis = axis + rank + 1 if axis < 0 else axis
        else:
            axis = raw_ops.SelectV2(convert_to_tensor(axis) >= 0, axis, axis + rank + 1)
        count = array.shape(sp_input.indices)[0]
        column = creation.zeros(array.stack([count, 1]), dtype=dtypes.int64)
        before = raw_ops.Slice(sp_input.indices, [0, 0], array.stack([-1, axis]))
        after = raw_ops.Slice(sp_input.indices, array.stack([0, axis]), [-1, -1])
        shape_before = raw_ops.Slice(sp_input.dense_shape, [0], array.stack([axis]))
        shape_after = raw_ops.Slice(sp_input.dense_shape, array.stack([axis]), [-1])
        dense_shape = array.concat([shape_before, np.array([1], np.int64), shape_after], 0)
        return SparseTensor(array.concat([before, column, after], 1), sp_input.values, dense_shape)


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The entries of ``sp_input`` in a larger dense shape, or, by default, in the smallest one that holds them all.

    Args:
      sp_input: A `SparseTensor`.
      new_shape: A vector of integers, none below those of the shape there is; None for the smallest shape.

    Returns:
      A `SparseTensor` with the same entries.

    >>> tf.Session().run(tf.sparse_reset_shape(tf.SparseTensor([[1]], [7], [9]))).dense_shape.tolist()
    [2]
    """
    sp_input = as_sparse(sp_input)
    indices, values = identity(sp_input.indices), identity(sp_input.values)
    old = identity(sp_input.dense_shape)
    if new_shape is None:
        largest = reduce_max(indices, axis=0)
        return SparseTensor(indices, values, maximum(np.int64(0), add(largest, creation.ones_like(old))))
    shape = convert_to_tensor(new_shape)
    shape.shape.assert_has_rank(1)
    shape = cast(shape, dtypes.int64)
    shape.shape[0].assert_is_compatible_with(old.shape[0])
    static_shape = constant_value(shape)
    if static_shape is not None and sp_input.shape.is_fully_defined():
        if not np.all(np.array(sp_input.shape.as_list()) <= static_shape):
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape. Found new_shape "
                f"({static_shape.tolist()}), sp_input.shape ({sp_input.shape.as_list()})."
            )
        return SparseTensor(indices, values, static_shape)
    shape = with_dependencies([assert_equal(array.shape(old), array.shape(shape))], shape)
    shape = with_dependencies([assert_less_equal(old, shape)], shape)
    return SparseTensor(indices, values, shape)


# ---- joining, splitting, choosing


def sparse_concat(
    axis: Any, sp_inputs: Any, name: str | None = None, expand_nonconcat_dim: bool = False, concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """Joins sparse tensors along ``axis``; with ``expand_nonconcat_dims`` the other dimensions grow to the largest.

    Args:
      axis: The dimension to join along, an integer; negative ones count from the end.
      sp_inputs: A list of `SparseTensor`s of one type and rank.
      name: A name for the op.
      expand_nonconcat_dim: Another name of `expand_nonconcat_dims`.
      concat_dim: Another name of `axis`; give one of them, with ``axis=None``.
      expand_nonconcat_dims: Whether the other dimensions may differ; None for no.

    Returns:
      A `SparseTensor`.

    >>> a, b = tf.SparseTensor([[0, 1]], [1], [1, 2]), tf.SparseTensor([[0, 0]], [2], [1, 1])
    >>> tf.Session().run(tf.sparse_concat(1, [a, b])).indices.tolist()
    [[0, 1], [0, 2]]
    """
    if expand_nonconcat_dims is None:
        expand_nonconcat_dims = expand_nonconcat_dim
    axis = either("axis", axis, "concat_dim", concat_dim)
    if not isinstance(sp_inputs, list):
        raise TypeError(f"Inputs must be a list of SparseTensors. Received: {sp_inputs!r}")
    inputs = [as_sparse(sp) for sp in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [sp.dense_shape for sp in inputs]
    if expand_nonconcat_dims:
        largest = reduce_max(array.concat([array.reshape(s, [1, -1]) for s in shapes], 0), 0)
        shapes = [
            array.concat([largest[:axis], s[-1:] if axis == -1 else s[axis : axis + 1],
                          largest[axis + 1 :] if axis != -1 else convert_to_tensor([], dtypes.int64)], 0)
            for s in shapes
        ]  # fmt: skip
    indices, values, dense_shape = raw_ops.SparseConcat(
        [sp.indices for sp in inputs], [sp.values for sp in inputs], shapes, axis, name=name
    )
    return SparseTensor(indices, values, _concat_shape(inputs, axis, bool(expand_nonconcat_dims), dense_shape))


def _concat_shape(inputs: Sequence[SparseTensor], axis: int, expand: bool, computed: Tensor) -> Any:
    """The dense shape where it is known before running, else the computed one."""
    if not all(sp.shape.is_fully_defined() for sp in inputs):
        return computed
    sizes: list[list[Any]] = [sp.shape.as_list() for sp in inputs]
    if not expand and any(
        a != b for s in sizes for d, (a, b) in enumerate(zip(s, sizes[0], strict=True)) if d != axis % len(s)
    ):
        return computed
    shape = [max(s[d] for s in sizes) for d in range(len(sizes[0]))]
    shape[axis] = sum(s[axis] for s in sizes)
    return constant(shape, dtypes.int64)


class KeywordRequired:
    """Marks that what follows must be given by name."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


def sparse_split(
    keyword_required: Any = KeywordRequired(),  # noqa: B008 - TF1's signature
    sp_input: Any = None, num_split: int | None = None, axis: Any = None, name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:  # fmt: skip
    """``num_split`` parts along ``axis``; the first ones are larger if the size is not a multiple.

    Args:
      keyword_required: Stands for "by name only": give all arguments by name, and this one not at all.
      sp_input: A `SparseTensor`.
      num_split: How many parts, an integer.
      axis: The dimension to split, an integer.
      name: A name for the op.
      split_dim: Another name of `axis`; give one of them.

    Returns:
      A list of `num_split` `SparseTensor`s.

    >>> whole = tf.SparseTensor([[0, 0], [0, 2]], [1, 2], [1, 3])
    >>> [part.values.tolist() for part in tf.Session().run(tf.sparse_split(sp_input=whole, num_split=2, axis=1))]
    [[1], [2]]
    """
    if not isinstance(keyword_required, KeywordRequired):
        raise ValueError("Keyword arguments are required for this function.")
    for label, value in (("sp_input", sp_input), ("num_split", num_split)):
        if value is None:
            raise ValueError(f"{label} is required")
    axis = either("axis", axis, "split_dim", split_dim)
    if axis is None:
        raise ValueError("axis is required")
    sp_input = as_sparse(sp_input)
    indices, values, shapes = raw_ops.SparseSplit(
        axis, sp_input.indices, sp_input.values, sp_input.dense_shape, num_split, name=name
    )
    return [SparseTensor(i, v, s) for i, v, s in zip(indices, values, shapes, strict=True)]


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The box of ``size`` elements from ``start``; less where the tensor ends.

    Args:
      sp_input: A `SparseTensor`.
      start: Where the box begins, an integer for each dimension.
      size: How many elements it has, an integer for each dimension.
      name: A name for the op.

    Returns:
      A `SparseTensor` whose indices count from `start`.

    >>> whole = tf.SparseTensor([[0, 0], [0, 2]], [1, 2], [1, 3])
    >>> tf.Session().run(tf.sparse_slice(whole, [0, 1], [1, 2])).indices.tolist()
    [[0, 1]]
    """
    sp_input = as_sparse(sp_input)
    start, size = convert_to_tensor(start, dtypes.int64), convert_to_tensor(size, dtypes.int64)
    with name_scope(name, "SparseSlice", [sp_input]) as scope:
        parts = raw_ops.SparseSlice(sp_input.indices, sp_input.values, sp_input.dense_shape, start, size, name=scope)
        return SparseTensor(*parts)


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The entries for which the boolean vector ``to_retain`` is true.

    Args:
      sp_input: A `SparseTensor`.
      to_retain: A bool vector with an element for each entry.

    Returns:
      A `SparseTensor` of the same shape with fewer entries.

    >>> whole = tf.SparseTensor([[0], [2]], [1, 2], [3])
    >>> tf.Session().run(tf.sparse_retain(whole, [False, True])).values.tolist()
    [2]
    """
    sp_input = as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    mask_shape = to_retain.shape
    mask_shape.assert_has_rank(1)
    mask_shape[0].merge_with(sp_input.values.shape[0])
    chosen = array.reshape(where(to_retain), [-1])
    indices, values = gather(sp_input.indices, chosen), gather(sp_input.values, chosen)
    return SparseTensor(indices, values, identity(sp_input.dense_shape))


def sparse_merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """Ids and values of the same entries -> one sparse tensor with the ids as its last dimension(s).

    Args:
      sp_ids: A `SparseTensor` of int32 or int64 ids, or a list of them.
      sp_values: A `SparseTensor` with the same indices: the value of each id.
      vocab_size: How many ids there are, an integer; for a list of `sp_ids`, a list of them.
      name: A name for the op.
      already_sorted: Whether the ids of each row rise already, so that the entries need no sorting.

    Returns:
      A `SparseTensor` of the type of `sp_values`: the last dimension of `sp_ids` is replaced by the ids.

    >>> ids = tf.SparseTensor([[0, 0], [0, 1]], [3, 1], [1, 2])
    >>> values = tf.SparseTensor([[0, 0], [0, 1]], [0.3, 0.1], [1, 2])
    >>> tf.Session().run(tf.sparse_merge(ids, values, 5)).indices.tolist()
    [[0, 1], [0, 3]]
    """
    several = not isinstance(sp_ids, (SparseTensor, SparseTensorValue))
    ids, sizes = (list(sp_ids), vocab_size) if several else ([sp_ids], [vocab_size])
    if not isinstance(sizes, Iterable) or isinstance(sizes, Tensor):
        raise TypeError(f"vocab_size has to be a list of Tensors or Python ints. Found {type(sizes)}")
    sizes = list(sizes)
    for size in sizes:
        if not isinstance(size, (Tensor, Integral)):
            raise TypeError(f"vocab_size has to be a Tensor or Python int, or a list of those. Found {type(size)}")
    if len(ids) != len(sizes):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with name_scope(name, "SparseMerge", [*ids, sp_values]):
        ids = [as_sparse(i) for i in ids]
        sp_values = as_sparse(sp_values)
        columns = [
            array.expand_dims(i.values if i.dtype == dtypes.int64 else cast(i.values, dtypes.int64), axis=1)
            for i in ids
        ]
        sizes = [cast(s, dtypes.int64) for s in sizes]
        indices = array.concat([ids[0].indices[:, :-1], *columns], 1)
        shape = array.concat([ids[0].dense_shape[:-1], array.stack(sizes)], 0)
        merged = SparseTensor(indices, sp_values.values, shape)
        if already_sorted:
            return merged
        ordered = sparse_reorder(merged)
        return SparseTensor(ordered.indices, ordered.values, shape)


def sparse_fill_empty_rows(sp_input: Any, default_value: Any, name: str | None = None) -> tuple[SparseTensor, Tensor]:
    """Gives each row without entries one entry, ``default_value`` in column 0; also says which rows those were.

    Args:
      sp_input: A `SparseTensor` of rank 2.
      default_value: A scalar of the type of `sp_input`.
      name: A name for the op.

    Returns:
      A `SparseTensor` of the same shape, in row-major order, and a bool vector with an element for each row.

    >>> filled, empty = tf.sparse_fill_empty_rows(tf.SparseTensor([[1, 0]], [7], [2, 2]), -1)
    >>> tf.Session().run([filled.values, empty])
    [array([-1,  7], dtype=int32), array([ True, False])]
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sp_input]):
        default_value = convert_to_tensor(default_value, sp_input.values.dtype)
        filled = raw_ops.SparseFillEmptyRows(sp_input.indices, sp_input.values, sp_input.dense_shape, default_value)
        sparse = SparseTensor(filled.output_indices, filled.output_values, sp_input.dense_shape)
        return sparse, filled.empty_row_indicator


def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """Ones on the main diagonal.

    Args:
      num_rows: How many rows, an integer.
      num_columns: How many columns; None for as many as rows.
      dtype: The type of the ones.
      name: A name for the op.

    Returns:
      A `SparseTensor` [num_rows, num_columns].

    >>> tf.Session().run(tf.sparse.eye(2)).indices.tolist()
    [[0, 0], [1, 1]]
    """
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = cast(num_rows, dtypes.int64)
        columns = rows if num_columns is None else cast(num_columns, dtypes.int64)
        count = minimum(rows, columns)
        diagonal = creation.range(count, dtype=dtypes.int64)
        return SparseTensor(
            array.stack([diagonal, diagonal], axis=1), creation.ones(array.expand_dims(count, 0), dtype=dtype),
            array.stack([rows, columns]),
        )  # fmt: skip
