"""Keeping tensors within bounds: by value, by norm, by the norm of all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices, convert_to_tensor_or_indexed_slices
from headrace.library.numeric.math import cast
from headrace.library.numeric.reduction import reduce_sum
from headrace.library.scope import name_scope


@learned
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Elements below the lower bound become it, elements above the upper bound become it.

    Args:
      t: A tensor of real numbers, or IndexedSlices.
      clip_value_min, clip_value_max: The bounds: scalars, or tensors that broadcast to the shape of ``t``.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``t``; IndexedSlices for IndexedSlices.

    >>> tf.Session().run(tf.clip_by_value([-5, 3, 8], 0, 5))
    array([0, 3, 5], dtype=int32)
    """
    with name_scope(name, "clip_by_value", [_values(t), clip_value_min, clip_value_max]) as scope:
        values = convert_to_tensor(_values(t), name="t")
        low = raw_ops.Minimum(values, clip_value_max)
        values.shape.merge_with(low.shape)  # bounds may not make the tensor larger
        result = raw_ops.Maximum(low, clip_value_min, name=scope)
        values.shape.merge_with(result.shape)
        return IndexedSlices(result, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else result


@learned
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """The tensor scaled down, if its norm over ``axes`` is larger, to the norm ``clip_norm``.

    Args:
      t: A tensor of floating-point numbers, or IndexedSlices.
      clip_norm: The largest norm, a positive scalar.
      axes: The dimensions that belong to one norm; None for all.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``t``; IndexedSlices for IndexedSlices.

    >>> tf.Session().run(tf.clip_by_norm([3.0, 4.0], 1.0))
    array([0.6, 0.8], dtype=float32)
    """
    with name_scope(name, "clip_by_norm", [_values(t), clip_norm]) as scope:
        values: Any = convert_to_tensor(_values(t), name="t")
        squared = reduce_sum(values * values, axes, True)
        positive = raw_ops.Greater(squared, 0)
        safe = raw_ops.Select(positive, squared, raw_ops.OnesLike(squared))
        length = raw_ops.Select(positive, raw_ops.Sqrt(safe), squared)
        scaled = values * clip_norm
        values.shape.merge_with(scaled.shape)
        clipped = raw_ops.Identity(scaled / raw_ops.Maximum(length, clip_norm), name=scope)
        return IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else clipped


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """The tensor scaled down, if its norm over its size is larger, to the average norm ``clip_norm``.

    Args:
      t: A tensor of floating-point numbers.
      clip_norm: The largest average norm, a positive scalar.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``t``.

    >>> tf.Session().run(tf.clip_by_average_norm([3.0, 4.0], 0.5))
    array([0.6, 0.8], dtype=float32)
    """
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        x: Any = convert_to_tensor(t, name="t")
        size = cast(raw_ops.Size(x), x.dtype.base_dtype)
        inverse = raw_ops.Rsqrt(reduce_sum(x * x)) * size
        smallest = raw_ops.Minimum(inverse, constant(1.0, x.dtype.base_dtype) / clip_norm)
        return raw_ops.Identity(x * clip_norm * smallest, name=scope)


@learned
def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The norm of all tensors taken as one vector; None entries are left out.

    Args:
      t_list: A list of tensors, IndexedSlices and None.
      name: A name for the op.

    Returns:
      A scalar.

    >>> tf.Session().run(tf.global_norm([[3.0], [4.0], None]))
    np.float32(5.0)
    """
    _check_list(t_list)
    with name_scope(name, "global_norm", [_values(t) for t in t_list if t is not None]):
        tensors = [convert_to_tensor_or_indexed_slices(t, name=f"t_{i}") for i, t in enumerate(t_list) if t is not None]
        halves = [raw_ops.L2Loss(_values(t)) for t in tensors]
        total = reduce_sum(raw_ops.Pack(halves, name="stack"))
        two = constant(2.0, halves[0].dtype.base_dtype)
        return raw_ops.Sqrt(raw_ops.Mul(total, two, name="mul"), name="global_norm")


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """All tensors scaled by one factor so that their common norm is at most ``clip_norm``; also gives the norm.

    A norm that is infinite or not a number makes every result not a number, so that it does not go unnoticed.

    Args:
      t_list: A list of tensors, IndexedSlices and None, such as gradients.
      clip_norm: The largest norm, a positive scalar.
      use_norm: The norm, where it is known already; None to compute it.
      name: A name for the op.

    Returns:
      A pair: the list of what was scaled, with None where ``t_list`` has it, and the norm before that.

    >>> clipped, norm = tf.clip_by_global_norm([[3.0], [4.0], None], 1.0)
    >>> tf.Session().run([*clipped[:2], norm])
    [array([0.6], dtype=float32), array([0.8], dtype=float32), np.float32(5.0)]
    """
    _check_list(t_list)
    length: Any = global_norm(t_list, name) if use_norm is None else convert_to_tensor(use_norm)
    with name_scope(name, "clip_by_global_norm", [*(_values(t) for t in t_list if t is not None), clip_norm]) as scope:
        inverse = 1.0 / length
        least = raw_ops.Minimum(inverse, constant(1.0, length.dtype.base_dtype) / clip_norm)
        scale = clip_norm * least
        scale = scale + (length - length)
        clipped: list[Any] = []
        for i, value in enumerate(t_list):
            t = None if value is None else convert_to_tensor_or_indexed_slices(value, name=f"t_{i}")
            if t is None:
                clipped.append(None)
                continue
            scaled = _values(t) * scale
            tensor = raw_ops.Identity(scaled, name=f"{scope}_{i}")
            clipped.append(IndexedSlices(tensor, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else tensor)
        return clipped, length


def _values(t: Any) -> Any:
    return t.values if isinstance(t, IndexedSlices) else t


def _check_list(t_list: Any) -> None:
    if isinstance(t_list, (str, bytes, np.ndarray, Tensor)) or not isinstance(t_list, Sequence):
        raise TypeError("t_list should be a sequence")
