"""embedding_lookup: rows of a table, or of a table split into shards (tf.nn)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric.clip import clip_by_norm
from headrace.library.scope import colocate_with, name_scope
from headrace.library.state.partitioned_variable import PartitionedVariable


def embedding_lookup(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None, validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:  # fmt: skip
    """The rows of ``params`` named by ``ids``, whatever the shape of ``ids``.

    ``params`` may be a list of shards (or a partitioned variable): with "mod" row ``i`` is row ``i // n`` of shard
    ``i % n``; with "div" shards hold consecutive rows, the first ones one more if need be.  Rows longer than
    ``max_norm`` are scaled down to it.

    Args:
      params: A tensor or variable [rows, ...], a list of its shards, or a partitioned variable.
      ids: A tensor of int32 or int64.
      partition_strategy: How several shards hold the rows: 'mod' or 'div'.
      name: A name for the op.
      validate_indices: Accepted for TensorFlow's sake; it changes nothing.
      max_norm: The largest Euclidean norm of a row; None for no limit.

    Returns:
      A tensor of the type of `params`: the shape of `ids`, then that of a row.

    >>> table = tf.constant([[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]])
    >>> tf.Session().run(tf.nn.embedding_lookup(table, [2, 0]))
    array([[2. , 2.1],
           [0. , 0.1]], dtype=float32)
    """
    shards = _shards(params)
    with name_scope(name, "embedding_lookup", [*shards, ids]) as scope:
        shards = [p if hasattr(p, "op") else convert_to_tensor(p) for p in shards]  # arrays and lists
        if len(shards) == 1:
            with colocate_with(shards[0]):
                rows = _clip(_gather(shards[0], ids, scope), ids, max_norm)
            return raw_ops.Identity(rows)
        ids = convert_to_tensor(ids, name="ids")
        return _clip(_lookup_sharded(shards, ids, partition_strategy, scope), ids, max_norm)


def _shards(params: Any) -> list[Any]:
    if params is None:
        raise ValueError("params must be specified")
    several = isinstance(params, (list, PartitionedVariable))  # a tuple is a tensor, as in TF1
    shards = list(params) if several else [params]
    if not shards:
        raise ValueError("Need at least one param")
    return shards


def _gather(params: Any, ids: Any, name: str | None = None) -> Tensor:
    if getattr(params, "_is_resource", False):
        return params.sparse_read(ids, name=name)
    return raw_ops.GatherV2(params, ids, 0, name=name)


def _clip(rows: Tensor, ids: Any, max_norm: Any) -> Tensor:
    """Scales each row, all axes after those of ``ids``, down to the norm."""
    if max_norm is None:
        return rows
    rank = rows.shape.ndims
    outer = convert_to_tensor(ids).shape.ndims
    axes = [-1] if rank is None or outer is None else list(range(outer, rank))
    return clip_by_norm(rows, max_norm, axes)


def _lookup_sharded(shards: Sequence[Any], ids: Tensor, strategy: str, scope: str) -> Tensor:
    count = len(shards)
    flat = raw_ops.Reshape(ids, [-1])
    places = raw_ops.Range(0, raw_ops.Size(flat), 1, name="range")
    if strategy == "mod":
        shard = raw_ops.FloorMod(flat, count, name="mod")
        row = raw_ops.FloorDiv(flat, count, name="floordiv")
    elif strategy == "div":
        shard, row = _consecutive(shards, flat)
    else:
        raise ValueError(f"Unrecognized partition strategy: {strategy}; accepted: 'mod', 'div'")
    shard = raw_ops.Cast(shard, DstT=dtypes.int32) if shard.dtype != dtypes.int32 else shard
    rows = raw_ops.DynamicPartition(row, shard, count)
    back = raw_ops.DynamicPartition(places, shard, count)
    parts = []
    for params, ids_of_shard in zip(shards, rows, strict=True):
        with colocate_with(params):
            parts.append(_gather(params, ids_of_shard))
    merged = raw_ops.ParallelDynamicStitch(back, parts, name=scope)
    inner = _row_shape(shards)
    if ids.shape.ndims == 1:
        result = merged
    else:
        sizes = inner if None not in inner else raw_ops.StridedSlice(raw_ops.Shape(merged), [1], [0], [1], end_mask=1)
        result = raw_ops.Reshape(merged, raw_ops.ConcatV2([raw_ops.Shape(ids), sizes], 0, name="concat"))
    result.set_shape(ids.shape.concatenate(inner))
    return result


def _row_shape(shards: Sequence[Any]) -> Any:
    """What is known of the shape of one row."""
    shape = shards[0].shape[1:] if hasattr(shards[0], "shape") else convert_to_tensor(shards[0]).shape[1:]
    for params in shards[1:]:
        shape = shape.merge_with(params.shape[1:])
    return [None] if shape.tuple is None else list(shape.tuple)


def _consecutive(shards: Sequence[Any], flat: Tensor) -> tuple[Tensor, Tensor]:
    """(shard, row) when shards hold consecutive ids; the first ``total % count`` shards hold one more."""
    count = len(shards)
    sizes = [_rows(p) for p in shards]
    if None not in sizes:
        total = convert_to_tensor(sum(n for n in sizes if n is not None), dtype=flat.dtype)
    else:
        lengths = [raw_ops.StridedSlice(raw_ops.Shape(p), [0], [1], [1], shrink_axis_mask=1) for p in shards]
        total = raw_ops.Sum(raw_ops.Pack(lengths), [0])
        total = raw_ops.Cast(total, DstT=flat.dtype) if total.dtype != flat.dtype else total
    small = raw_ops.FloorDiv(total, count, name="floordiv")
    extras = raw_ops.FloorMod(total, count, name="mod")
    large = raw_ops.AddV2(small, 1, name="add")
    beyond = raw_ops.Sub(flat, extras, name="sub")
    by_large = raw_ops.FloorDiv(flat, large, name="floordiv")
    shard = raw_ops.Maximum(by_large, raw_ops.FloorDiv(beyond, small, name="floordiv"))
    early = raw_ops.Less(shard, extras)
    row = raw_ops.Select(early, raw_ops.FloorMod(flat, large, name="mod"), raw_ops.FloorMod(beyond, small, name="mod"))
    return shard, row


def _rows(params: Any) -> int | None:
    shape = params.shape if hasattr(params, "shape") else convert_to_tensor(params).shape
    return shape.tuple[0] if shape.tuple else None
