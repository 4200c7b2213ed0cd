"""Dropout (tf.nn.dropout)."""

from __future__ import annotations

import numbers
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.numeric.random import get_seed
from headrace.library.scope import name_scope


def dropout(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: int | None = None, name: str | None = None,
    rate: Any = None,
) -> Tensor:  # fmt: skip
    """Sets each element to zero with probability ``rate = 1 - keep_prob`` and scales the others up to keep the mean.

    Give one of the two; ``noise_shape`` broadcasts the choice: ``[batch, 1, 1, channels]`` drops whole channels.

    Args:
      x: A tensor of floats.
      keep_prob: The probability to keep an element, above 0 and at most 1.
      noise_shape: The shape of the choice, which broadcasts to that of `x`; None for that of `x`.
      seed: A seed for the choice; None takes it from `tf.set_random_seed`, or draws one.
      name: A name for the op.
      rate: The probability to drop an element, at least 0 and below 1.

    Returns:
      A tensor of the type and shape of `x`; `x` itself if nothing is dropped.

    >>> x = tf.ones([1000])
    >>> kept = tf.Session().run(tf.nn.dropout(x, rate=0.5, seed=1))
    >>> sorted(set(kept.tolist()))
    [0.0, 2.0]
    """
    if keep_prob is not None:
        if rate is not None:
            raise ValueError("Cannot specify both 'rate' and 'keep_prob'.")
        rate = _complement(keep_prob)
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    return _dropout(x, rate, noise_shape, seed, name, keep_prob)


def _complement(keep_prob: Any) -> Any:
    if isinstance(keep_prob, numbers.Real):
        return 1.0 - keep_prob
    try:
        return 1 - convert_to_tensor(keep_prob, preferred_dtype=dtypes.float32)
    except (TypeError, ValueError) as e:
        raise ValueError(f"keep_prob must be a floating point number or Tensor (got {keep_prob!r}): {e}") from None


def _dropout(
    x: Any, rate: Any, noise_shape: Any, seed: int | None, name: str | None, keep_prob: Any = None
) -> Tensor:  # fmt: skip
    """``keep_prob`` is ``1 - rate`` where that was given: a tiny one is lost when the rate is rounded."""
    with name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                f"x has to be a floating point tensor since it's going to be scaled, got {x.dtype.name} {at()}"
            )
        if isinstance(rate, numbers.Real) and not 0 <= float(rate) < 1:
            raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g} {at()}")
        rate = convert_to_tensor(rate, dtype=x.dtype, name="rate")
        rate.shape.assert_has_rank(0)
        static_rate = constant_value(rate)
        if static_rate is not None and static_rate == 0:
            return x
        if static_rate is not None and static_rate == 1:  # after rounding
            return raw_ops.ZerosLike(x)  # type: ignore[no-any-return]
        keep_scale = 1 / (convert_to_tensor(keep_prob, dtype=x.dtype) if isinstance(keep_prob, Tensor) else 1 - rate)
        noise = _uniform(_noise_shape(x, noise_shape), x.dtype, seed)
        # Values of [rate, 1) keep the element, so a rate of zero keeps all.
        keep = raw_ops.Cast(raw_ops.GreaterEqual(noise, rate), DstT=x.dtype)
        scaled = raw_ops.Mul(raw_ops.Mul(x, keep_scale, name="mul"), keep, name="mul")
        scaled.set_shape(x.shape)
        return scaled


def _uniform(shape: Any, dtype: DType, seed: int | None) -> Tensor:
    """Values of [0, 1)."""
    with name_scope("random_uniform"):
        first, second = get_seed(seed)
        return raw_ops.RandomUniform(shape, dtype, seed=first or 0, seed2=second or 0)


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """The shape of the random tensor; ``None`` entries stand for the input's sizes."""
    if noise_shape is None:
        return raw_ops.Shape(x)
    if isinstance(noise_shape, Tensor):
        return noise_shape
    sizes = list(getattr(noise_shape, "tuple", noise_shape))
    dims = x.shape.tuple
    if dims is None or len(dims) != len(sizes):
        return noise_shape
    filled = [d if n is None else n for n, d in zip(sizes, dims, strict=True)]
    if None not in filled:
        return filled
    shape = raw_ops.Shape(x)
    parts = [
        raw_ops.StridedSlice(shape, [i], [i + 1], [1], shrink_axis_mask=1) if n is None else n
        for i, n in enumerate(filled)
    ]
    return raw_ops.Pack(parts)
