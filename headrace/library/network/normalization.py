"""Moments and normalisation (tf.nn)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.scope import name_scope

# Below this the cuDNN kernels of TF1 refuse to run; kept so that results agree.
_MIN_EPSILON = 1.001e-5


def _keep(keep_dims: bool | None, keepdims: bool | None) -> bool:
    return bool(either("keepdims", keepdims, "keep_dims", keep_dims))


@learned
def moments(
    x: Any, axes: Any, shift: Any = None, name: str | None = None, keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Mean and variance over ``axes``: ``mean, variance = tf.nn.moments(x, [0])``.  ``shift`` is no longer used.

    Args:
      x: A tensor of floats.
      axes: An axis, or a list of them.
      shift: Accepted for TensorFlow's sake; it changes nothing.
      name: A name for the op.
      keep_dims: Another name of `keepdims`; give one of them.
      keepdims: Whether the axes stay, with size 1.

    Returns:
      Two tensors of the type of `x`, without `axes`: mean and variance.

    >>> mean, variance = tf.nn.moments(tf.constant([1.0, 3.0]), [0])
    >>> tf.Session().run([mean, variance])
    [np.float32(2.0), np.float32(1.0)]
    """
    keep = _keep(keep_dims, keepdims)
    with name_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x, name="x")
        half = x.dtype in (dtypes.float16, dtypes.bfloat16)
        y = raw_ops.Cast(x, DstT=dtypes.float32) if half else x
        mean = raw_ops.Mean(y, axes, keep_dims=True, name="mean")
        # The variance does not change with the mean to first order, so its gradient need not pass through it.
        deviation = raw_ops.SquaredDifference(y, raw_ops.StopGradient(mean))
        variance = raw_ops.Mean(deviation, axes, keep_dims=True, name="variance")
        if not keep:
            mean, variance = _squeeze(mean, axes), _squeeze(variance, axes)
        if half:
            mean, variance = raw_ops.Cast(mean, DstT=x.dtype), raw_ops.Cast(variance, DstT=x.dtype)
        return mean, variance


def _squeeze(tensor: Tensor, axes: Any) -> Tensor:
    return raw_ops.Squeeze(tensor, squeeze_dims=[int(a) for a in np.atleast_1d(axes)])


def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, name: str | None = None, keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Mean and variance over ``axes`` with each element counted as often as its weight says.

    Args:
      x: A tensor of floats.
      axes: An axis, or a list of them.
      frequency_weights: A tensor of weights, 0 or more, that broadcasts to the shape of `x`.
      name: A name for the op.
      keep_dims: Another name of `keepdims`; give one of them.
      keepdims: Whether the axes stay, with size 1.

    Returns:
      Two tensors of the type of `x`, without `axes`: mean and variance.

    >>> mean, variance = tf.nn.weighted_moments([1.0, 3.0], [0], [3.0, 1.0])
    >>> tf.Session().run([mean, variance])
    [np.float32(1.5), np.float32(0.75)]
    """
    keep = _keep(keep_dims, keepdims)
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        dtype = x.dtype.base_dtype
        half = dtype in (dtypes.float16, dtypes.bfloat16)
        if half:
            x = raw_ops.Cast(x, DstT=dtypes.float32)
        if weights.dtype != x.dtype:
            weights = raw_ops.Cast(weights, DstT=x.dtype)
        total = raw_ops.Sum(raw_ops.Mul(weights, x, name="mul"), axes, keep_dims=True, name="weighted_input_sum")
        # Weights count as broadcast to the shape of x.
        spread = raw_ops.AddV2(weights, raw_ops.ZerosLike(x, name="zeros_like"), name="add")
        count = raw_ops.Sum(spread, axes, keep_dims=True, name="sum_of_weights")
        mean = raw_ops.DivNoNan(total, count, name="div_no_nan")
        distance = raw_ops.Mul(weights, raw_ops.SquaredDifference(x, mean), name="mul")
        squares = raw_ops.Sum(distance, axes, keep_dims=True, name="weighted_distsq")
        variance = raw_ops.DivNoNan(squares, count, name="div_no_nan")
        if not keep:
            mean, variance = _squeeze(mean, axes), _squeeze(variance, axes)
        if half:
            mean, variance = raw_ops.Cast(mean, DstT=dtype), raw_ops.Cast(variance, DstT=dtype)
        return mean, variance


def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keep_dims: bool | None = None, name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """(count, sum, sum of squares, shift) over ``axes``, from which ``normalize_moments`` gets mean and variance.

    Args:
      x: A tensor of numbers.
      axes: An axis, or a list of them.
      shift: A number near the mean, subtracted first for accuracy; None for none.
      keep_dims: Another name of `keepdims`; give one of them.
      name: A name for the op.
      keepdims: Whether the axes stay, with size 1.

    Returns:
      Four tensors of the type of `x`: a scalar, two without `axes`, and `shift`, which may be None.

    >>> count, total, squares, shift = tf.nn.sufficient_statistics(tf.constant([1.0, 3.0]), [0])
    >>> tf.Session().run([count, total, squares])
    [np.float32(2.0), np.float32(4.0), np.float32(10.0)]
    """
    keep = _keep(keep_dims, keepdims)
    axes = sorted({int(a) for a in np.atleast_1d(axes)})
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        count = _count(x, axes)
        if shift is not None:
            shift = convert_to_tensor(shift, name="shift", dtype=x.dtype)
            values, squares = raw_ops.Sub(x, shift), raw_ops.SquaredDifference(x, shift)
        else:
            values, squares = x, raw_ops.Square(x)
        total = raw_ops.Sum(values, axes, keep_dims=keep, name="mean_ss")
        return count, total, raw_ops.Sum(squares, axes, keep_dims=keep, name="var_ss"), shift


def _count(x: Tensor, axes: list[int]) -> Tensor:
    """How many elements are reduced, in x's dtype."""
    dims = x.shape.tuple
    static_sizes = [] if dims is None else [d for d in (dims[a] for a in axes) if d is not None]
    if len(static_sizes) == len(axes):
        return constant(math.prod(static_sizes), dtype=x.dtype)
    sizes = raw_ops.Cast(raw_ops.Shape(x), DstT=x.dtype)
    return raw_ops.Prod(raw_ops.GatherV2(sizes, axes, 0), [0], name="count")


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from ``sufficient_statistics``.

    Args:
      counts: How many elements were summed, a scalar.
      mean_ss: The sum of the elements, each minus `shift`.
      variance_ss: The sum of the squares of the elements, each minus `shift`.
      shift: What was subtracted from each element; None for nothing.
      name: A name for the op.

    Returns:
      Two tensors of the shape of `mean_ss`: mean and variance.

    >>> mean, variance = tf.nn.normalize_moments(2.0, 4.0, 10.0, None)
    >>> tf.Session().run([mean, variance])
    [np.float32(2.0), np.float32(1.0)]
    """
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = raw_ops.Reciprocal(counts, name="divisor")
        if shift is not None:
            shifted = raw_ops.Mul(mean_ss, divisor, name="shifted_mean")
            mean = raw_ops.AddV2(shifted, shift, name="mean")
        else:
            shifted = mean = raw_ops.Mul(mean_ss, divisor, name="mean")
        variance = raw_ops.Sub(raw_ops.Mul(variance_ss, divisor), raw_ops.Square(shifted), name="variance")
        return mean, variance


@learned
def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any, name: str | None = None
) -> Tensor:
    """``scale * (x - mean) / sqrt(variance + variance_epsilon) + offset``; offset and scale may be None.

    Args:
      x: A tensor of floats.
      mean: A tensor that broadcasts to the shape of `x`.
      variance: A tensor that broadcasts to the shape of `x`.
      offset: What is added at the end; None for nothing.
      scale: What the normalized tensor is multiplied by; None for nothing.
      variance_epsilon: A small number that keeps the divisor away from 0.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `x`.

    >>> y = tf.nn.batch_normalization([1.0, 3.0], 2.0, 1.0, offset=10.0, scale=2.0, variance_epsilon=0.0)
    >>> tf.Session().run(y).tolist()
    [8.0, 12.0]
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x = convert_to_tensor(x, name="x")
        mean, variance = convert_to_tensor(mean), convert_to_tensor(variance)
        inverse = raw_ops.Rsqrt(raw_ops.AddV2(variance, variance_epsilon, name="add"))
        if scale is not None:
            inverse = raw_ops.Mul(inverse, scale, name="mul")
        scaled = raw_ops.Mul(x, _like(inverse, x), name="mul")
        shift = raw_ops.Mul(mean, inverse, name="mul")
        shift = raw_ops.Neg(shift) if offset is None else raw_ops.Sub(offset, shift, name="sub")
        return raw_ops.AddV2(scaled, _like(shift, x), name="add_1")


def _like(tensor: Tensor, x: Tensor) -> Tensor:
    return tensor if tensor.dtype == x.dtype else raw_ops.Cast(tensor, DstT=x.dtype)


def batch_norm_with_global_normalization(
    t: Any = None, m: Any = None, v: Any = None, beta: Any = None, gamma: Any = None, variance_epsilon: Any = None,
    scale_after_normalization: Any = None, name: str | None = None, input: Any = None, mean: Any = None,
    variance: Any = None,
) -> Tensor:  # fmt: skip
    """``batch_normalization`` with TF1's first argument names; ``gamma`` counts only if asked to.

    Args:
      t: A tensor of floats.
      m: The mean, which broadcasts to the shape of `t`.
      v: The variance, which broadcasts to the shape of `t`.
      beta: What is added at the end; None for nothing.
      gamma: What the normalized tensor is multiplied by, if `scale_after_normalization`.
      variance_epsilon: A small number that keeps the divisor away from 0.
      scale_after_normalization: Whether `gamma` counts.
      name: A name for the op.
      input: Another name of `t`; give one of them.
      mean: Another name of `m`; give one of them.
      variance: Another name of `v`; give one of them.

    Returns:
      A tensor of the type and shape of `t`.

    >>> y = tf.nn.batch_norm_with_global_normalization([1.0, 3.0], 2.0, 1.0, 10.0, 2.0, 0.0, True)
    >>> tf.Session().run(y).tolist()
    [8.0, 12.0]
    """
    return batch_normalization(
        either("input", input, "t", t), either("mean", mean, "m", m), either("variance", variance, "v", v), beta,
        gamma if scale_after_normalization else None, variance_epsilon, name,
    )  # fmt: skip


def fused_batch_norm(
    x: Any, scale: Any, offset: Any, mean: Any = None, variance: Any = None, epsilon: float = 0.001,
    data_format: str = "NHWC", is_training: bool = True, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(y, mean, variance) in one kernel: of the batch while training, from the given mean and variance otherwise.

    The variance returned while training is the unbiased one, as TF1's moving averages expect.

    Args:
      x: A tensor of rank 4 in the layout `data_format`, float16, bfloat16 or float32.
      scale: A float32 vector with an element for each channel.
      offset: A float32 vector with an element for each channel.
      mean: The mean of each channel, if not `is_training`; otherwise None.
      variance: The variance of each channel, if not `is_training`; otherwise None.
      epsilon: A small number that keeps the divisor away from 0; less than 1.001e-5 counts as that.
      data_format: "NHWC" or "NCHW".
      is_training: Whether mean and variance are those of the batch.
      name: A name for the op.

    Returns:
      Three tensors: y of the type and shape of `x`, and mean and variance of each channel.

    >>> y, mean, variance = tf.nn.fused_batch_norm(tf.reshape([1.0, 3.0], [1, 1, 2, 1]), [1.0], [0.0])
    >>> tf.Session().run([mean, variance])
    [array([2.], dtype=float32), array([2.], dtype=float32)]
    """
    if not is_training and (mean is None or variance is None):
        raise ValueError("Both 'mean' and 'variance' must be provided when is_training is False.")
    if is_training and not (mean is None and variance is None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, dtypes.float32, name="scale")
    offset = convert_to_tensor(offset, dtypes.float32, name="offset")
    if mean is None:
        mean, variance = constant([], dtypes.float32), constant([], dtypes.float32)
    results = raw_ops.FusedBatchNormV3(
        x, scale, offset, mean, variance, epsilon=max(epsilon, _MIN_EPSILON), data_format=data_format,
        is_training=is_training, name=name,
    )  # fmt: skip
    return results[0], results[1], results[2]


@learned
def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5, name: str | None = None
) -> Tensor:
    """``input / (bias + alpha * sum of squares of the channels within depth_radius) ** beta``.

    Args:
      input: A tensor [batch, height, width, channels] of float16, bfloat16 or float32.
      depth_radius: How many channels on each side count.
      bias: What is added to the sum.
      alpha: The factor of the sum.
      beta: The exponent of the divisor.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `input`.

    >>> tf.Session().run(tf.nn.lrn(tf.reshape([3.0, 4.0], [1, 1, 1, 2]), bias=0.0)).flatten().round(3)
    array([0.6, 0.8], dtype=float32)
    """
    return raw_ops.LRN(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)


lrn = local_response_normalization


@learned
def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Tensor:
    """``x / sqrt(max(sum(x ** 2, axis), epsilon))``; over all axes when none is given.

    Args:
      x: A tensor of floats.
      axis: An axis, or a list of them; None for all.
      epsilon: The least sum of squares to divide by.
      name: A name for the op.
      dim: Another name of `axis`; give one of them.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.nn.l2_normalize([3.0, 4.0])).round(3)
    array([0.6, 0.8], dtype=float32)
    """
    axis = either("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if axis is None:
            rank = x.shape.ndims
            axis = raw_ops.Range(0, raw_ops.Rank(x), 1, name="range") if rank is None else list(range(rank))
        total = raw_ops.Sum(raw_ops.Square(x), axis, keep_dims=True)
        return raw_ops.Mul(x, raw_ops.Rsqrt(raw_ops.Maximum(total, epsilon)), name=scope)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """How much of ``value`` is zero: a measure of sparsity for summaries.

    Args:
      value: A tensor of numbers.
      name: A name for the op.

    Returns:
      A float32 scalar from 0 to 1; NaN if `value` is empty.

    >>> tf.Session().run(tf.nn.zero_fraction([0, 0, 5, 0]))
    np.float32(0.75)
    """
    with name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        zero = constant(0, dtype=value.dtype, name="zero")
        flat = raw_ops.Reshape(raw_ops.NotEqual(value, zero), [-1])
        nonzero = raw_ops.Sum(raw_ops.Cast(flat, DstT=dtypes.int64), [0], name="nonzero_count")
        size = raw_ops.Cast(raw_ops.Size(value), DstT=dtypes.int64)
        zeros = raw_ops.Cast(raw_ops.Sub(size, nonzero, name="sub"), DstT=dtypes.float32)
        return raw_ops.RealDiv(zeros, raw_ops.Cast(size, DstT=dtypes.float32), name="fraction")
