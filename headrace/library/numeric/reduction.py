"""TF1's reductions: reduce_sum and its kin, argmax, cumsum, top_k."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from headrace.core import dtypes
from headrace.eager.entry import learned
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.argument import deprecated, either
from headrace.library.factory import called
from headrace.library.numeric.math import cast
from headrace.library.scope import name_scope


def reduction_axes(x: Tensor, axis: Any) -> Any:
    """The axes to reduce: those given, or all."""
    if axis is not None:
        return axis
    if x.shape.ndims is not None:
        if context.executing_eagerly():
            return list(range(x.shape.ndims))
        return constant(np.arange(x.shape.ndims, dtype=np.int32))
    return raw_ops.Range(
        constant(0, name="range/start"), raw_ops.Rank(x), constant(1, name="range/delta"), name="range"
    )


def _reduce(name: str, op_type: str, text: str, of: str, example: str) -> Callable[..., Any]:
    """A reduction that is one op.  For the help text: ``of`` says what elements the tensor has, ``example`` is one that runs."""
    told = f"""{text}

Args:
  input_tensor: A tensor of {of}.
  axis: The dimension to reduce, or a list of them; negative ones count from the end.  None for all.
  keepdims: Whether reduced dimensions stay, with size one.
  name: A name for the op.
  reduction_indices, keep_dims: The deprecated names of ``axis`` and ``keepdims``.

Returns:
  A tensor of the type of ``input_tensor``, without the reduced dimensions.

{example}
"""

    @called(name, told)
    def reduction(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:
        axis = either("axis", axis, "reduction_indices", reduction_indices)
        keepdims = either("keepdims", keepdims, "keep_dims", keep_dims)
        return _reduction(op_type, input_tensor, axis, bool(keepdims), name)

    return learned(reduction)


def _reduction(op_type: str, input_tensor: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    op = getattr(raw_ops, op_type)
    if axis is None:
        x = convert_to_tensor(input_tensor, name=f"{name or op_type}/input")
        result: Tensor = op(x, reduction_axes(x, None), keep_dims=keepdims, name=name)
        if not keepdims:
            result.set_shape(())
        return result
    if isinstance(axis, np.ndarray) and axis.shape == (0,) or isinstance(axis, (list, tuple)) and not axis:
        axis = np.zeros(0, np.int32)
    return op(input_tensor, axis, keep_dims=keepdims, name=name)


reduce_sum = _reduce(
    "reduce_sum",
    "Sum",
    "The sum over the given axes, or over all.",
    "numbers",
    """>>> x = tf.constant([[1, 2], [3, 4]])
>>> tf.Session().run([tf.reduce_sum(x), tf.reduce_sum(x, axis=1, keepdims=True)])
[np.int32(10), array([[3], [7]], dtype=int32)]""",
)
reduce_mean = _reduce(
    "reduce_mean",
    "Mean",
    "The mean over the given axes, or over all.",
    "numbers",
    """>>> x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
>>> tf.Session().run([tf.reduce_mean(x), tf.reduce_mean(x, axis=0)])
[np.float32(3.0), array([2., 4.], dtype=float32)]""",
)
reduce_prod = _reduce(
    "reduce_prod",
    "Prod",
    "The product over the given axes, or over all.",
    "numbers",
    """>>> tf.Session().run(tf.reduce_prod([[1, 5], [7, 2]], axis=1))
array([ 5, 14], dtype=int32)""",
)
reduce_max = _reduce(
    "reduce_max",
    "Max",
    "The largest element over the given axes, or over all.",
    "real numbers",
    """>>> tf.Session().run(tf.reduce_max([[1, 5], [7, 2]], axis=1))
array([5, 7], dtype=int32)""",
)
reduce_min = _reduce(
    "reduce_min",
    "Min",
    "The smallest element over the given axes, or over all.",
    "real numbers",
    """>>> tf.Session().run(tf.reduce_min([[1, 5], [7, 2]], axis=1))
array([1, 2], dtype=int32)""",
)
reduce_all = _reduce(
    "reduce_all",
    "All",
    "Whether all elements over the given axes are True.",
    "bool",
    """>>> tf.Session().run(tf.reduce_all([[True, False], [True, True]], axis=1))
array([False,  True])""",
)
reduce_any = _reduce(
    "reduce_any",
    "Any",
    "Whether any element over the given axes is True.",
    "bool",
    """>>> tf.Session().run(tf.reduce_any([[True, False], [False, False]], axis=1))
array([ True, False])""",
)


@learned
def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """``log(sum(exp(x)))`` over the given axes, without overflow.

    Args:
      input_tensor: A tensor of floating-point numbers.
      axis: The dimension to reduce, or a list of them; negative ones count from the end.  None for all.
      keepdims: Whether reduced dimensions stay, with size one.
      name: A name for the op.
      reduction_indices, keep_dims: The deprecated names of ``axis`` and ``keepdims``.

    Returns:
      A tensor of the type of ``input_tensor``.

    >>> tf.Session().run(tf.reduce_logsumexp([1000.0, 1000.0]))
    np.float32(1000.693...)
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = bool(either("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "ReduceLogSumExp", [input_tensor]) as scope:
        x = convert_to_tensor(input_tensor, name="input_tensor")
        highest = reduce_max(x, axis, True)
        finite = raw_ops.SelectV2(raw_ops.IsFinite(highest), highest, 0, T=x.dtype.base_dtype)
        shift = raw_ops.StopGradient(finite)
        result: Tensor = raw_ops.Log(reduce_sum(raw_ops.Exp(raw_ops.Sub(x, shift)), axis, keep))
        if not keep:
            shift = raw_ops.Reshape(shift, raw_ops.Shape(result))
        return raw_ops.AddV2(result, shift, name=scope)


@learned
def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squares over the given axes.

    Args:
      input_tensor: A tensor of floating-point or complex numbers.
      axis: The dimension to reduce, or a list of them; negative ones count from the end.  None for all.
      keepdims: Whether reduced dimensions stay, with size one.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input_tensor``.

    >>> tf.Session().run(tf.math.reduce_euclidean_norm([3.0, 4.0]))
    np.float32(5.0)
    """
    return _reduction("EuclideanNorm", input_tensor, axis, bool(keepdims), name)


@learned
def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The mean squared distance from the mean over the given axes.

    Args:
      input_tensor: A tensor of floating-point or complex numbers.
      axis: The dimension to reduce, or a list of them; negative ones count from the end.  None for all.
      keepdims: Whether reduced dimensions stay, with size one.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input_tensor``; of real numbers if that is complex.

    >>> tf.Session().run(tf.math.reduce_variance([1.0, 2.0, 3.0, 4.0]))
    np.float32(1.25)
    """
    with name_scope(name or "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        means = reduce_mean(x, axis, True)
        if means.dtype.base_dtype.is_integer:
            raise TypeError(f"Input must be either real or complex, got {means.dtype.base_dtype.name}")
        distance = raw_ops.Sub(x, means, name="sub")
        if distance.dtype.base_dtype.is_complex:
            part = distance.dtype.base_dtype.real_dtype
            squared = raw_ops.Real(raw_ops.Mul(distance, raw_ops.Conj(distance)), Tout=part)
        else:
            squared = raw_ops.Square(distance)
        return reduce_mean(squared, axis, keepdims)


@learned
def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The standard deviation over the given axes.

    Args:
      input_tensor: A tensor of floating-point or complex numbers.
      axis: The dimension to reduce, or a list of them; negative ones count from the end.  None for all.
      keepdims: Whether reduced dimensions stay, with size one.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input_tensor``; of real numbers if that is complex.

    >>> tf.Session().run(tf.math.reduce_std([1.0, 3.0]))
    np.float32(1.0)
    """
    with name_scope(name or "reduce_std"):
        return raw_ops.Sqrt(reduce_variance(input_tensor, axis, keepdims))


@learned
def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Tensor:
    """How many elements over the given axes are not zero (strings: not empty).

    Args:
      input_tensor: A tensor of numbers, bools or strings.
      axis: The dimension to reduce, or a list of them; negative ones count from the end.  None for all.
      keepdims: Whether reduced dimensions stay, with size one.
      dtype: The type of the result.
      name: A name for the op.
      reduction_indices, keep_dims: The deprecated names of ``axis`` and ``keepdims``.
      input: The later name of ``input_tensor``.

    Returns:
      A tensor of ``dtype``.

    >>> tf.Session().run(tf.count_nonzero([[0, 1], [2, 3]], axis=1))
    array([1, 2])
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = bool(either("keepdims", keepdims, "keep_dims", keep_dims))
    values = either("input", input, "input_tensor", input_tensor)
    with name_scope(name, "count_nonzero", [values]):
        x = convert_to_tensor(values, name="input")
        nothing = "" if x.dtype.base_dtype == dtypes.string else np.zeros((), x.dtype.as_numpy_dtype)
        zero = constant(nothing, dtype=x.dtype.base_dtype, name="zeros")
        hits = cast(raw_ops.NotEqual(x, zero), dtypes.int64)
        return cast(reduce_sum(hits, axis, keep), dtypes.as_dtype(dtype))


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The fraction of elements that are zero, as float32.

    Args:
      value: A tensor of numbers.
      name: A name for the op.

    Returns:
      A scalar of float32.

    >>> tf.Session().run(tf.math.zero_fraction([0, 1, 0, 5]))
    np.float32(0.5)
    """
    with name_scope(name, "zero_fraction", [value]):
        x = convert_to_tensor(value, name="value")
        size = cast(raw_ops.Size(x, out_type=dtypes.int64), dtypes.float32)
        zeros = raw_ops.Sub(size, count_nonzero(x, dtype=dtypes.float32))
        with name_scope("counts_to_fraction"):
            share = raw_ops.RealDiv(zeros, size, name="truediv")
        return raw_ops.Identity(share, name="fraction")


# ---- places


@learned
def argmax(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """The index of the largest element along an axis (0 unless given), the first one where several are equal.

    Args:
      input: A tensor of real numbers or bools.
      axis: The dimension to search along; negative counts from the end.  None for 0.
      name: A name for the op.
      dimension: The deprecated name of ``axis``.
      output_type: The type of the result: int32 or int64.

    Returns:
      A tensor of ``output_type``, without ``axis``.

    >>> tf.Session().run(tf.argmax([[1, 9, 3], [4, 5, 6]], axis=1))
    array([1, 2])
    """
    axis = either("axis", axis, "dimension", dimension)
    return raw_ops.ArgMax(input, 0 if axis is None else axis, output_type=output_type, name=name)


@learned
def argmin(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """The index of the smallest element along an axis (0 unless given), the first one where several are equal.

    Args:
      input: A tensor of real numbers or bools.
      axis: The dimension to search along; negative counts from the end.  None for 0.
      name: A name for the op.
      dimension: The deprecated name of ``axis``.
      output_type: The type of the result: int32 or int64.

    Returns:
      A tensor of ``output_type``, without ``axis``.

    >>> tf.Session().run(tf.argmin([[1, 9, 3], [7, 5, 6]], axis=1))
    array([0, 1])
    """
    axis = either("axis", axis, "dimension", dimension)
    return raw_ops.ArgMin(input, 0 if axis is None else axis, output_type=output_type, name=name)


@deprecated("tf.argmax")
@learned
def arg_max(input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Tensor:
    """``argmax`` under its oldest name.

    Args:
      input: A tensor of real numbers or bools.
      dimension: The dimension to search along; negative counts from the end.
      output_type: The type of the result: int32 or int64.
      name: A name for the op.

    Returns:
      A tensor of ``output_type``, without ``dimension``.

    >>> tf.Session().run(tf.arg_max([[1, 9, 3], [4, 5, 6]], 1))
    array([1, 2])
    """
    return argmax(input, dimension, name=name, output_type=output_type)


@deprecated("tf.argmin")
@learned
def arg_min(input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Tensor:
    """``argmin`` under its oldest name.

    Args:
      input: A tensor of real numbers or bools.
      dimension: The dimension to search along; negative counts from the end.
      output_type: The type of the result: int32 or int64.
      name: A name for the op.

    Returns:
      A tensor of ``output_type``, without ``dimension``.

    >>> tf.Session().run(tf.arg_min([[1, 9, 3], [7, 5, 6]], 1))
    array([0, 1])
    """
    return argmin(input, dimension, name=name, output_type=output_type)


class TopKV2(NamedTuple):
    """What ``top_k`` gives."""

    values: Tensor
    indices: Tensor


@learned
def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopKV2:
    """The ``k`` largest elements of the last dimension and their indices; of equal ones the first come first.

    Args:
      input: A tensor of real numbers of rank 1 or more.
      k: How many elements; at most as many as the last dimension has.
      sorted: Whether the largest come first; they do in any case.
      name: A name for the op.

    Returns:
      A named tuple (values, indices): the elements, and their indices as int32.

    >>> values, indices = tf.math.top_k([10, 40, 20, 30], k=2)
    >>> tf.Session().run([values, indices])
    [array([40, 30], dtype=int32), array([1, 3], dtype=int32)]
    """
    values, indices = raw_ops.TopKV2(input, k, sorted=sorted, name=name)
    return TopKV2(values, indices)


@learned
def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether each row's target is among its ``k`` largest predictions.

    Args:
      predictions: A tensor of float32 of shape ``[batch, classes]``.
      targets: The right class of each row, int32 or int64.
      k: How many of the largest predictions count, a scalar.
      name: A name for the op.

    Returns:
      A tensor of bool of shape ``[batch]``.

    >>> tf.Session().run(tf.math.in_top_k([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]], [2, 2], 2))
    array([ True, False])
    """
    with name_scope(name, "in_top_k"):
        return raw_ops.InTopKV2(predictions, targets, k)


# ---- running


@learned
def cumsum(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Running sums along an axis: ``cumsum([a, b, c])`` is ``[a, a + b, a + b + c]``.

    Args:
      x: A tensor of numbers.
      axis: The dimension to go along; negative counts from the end.
      exclusive: Whether each sum leaves its own element out: ``[0, a, a + b]``.
      reverse: Whether to begin at the end: ``[a + b + c, b + c, c]``.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``.

    >>> tf.Session().run(tf.cumsum([1, 2, 3]))
    array([1, 3, 6], dtype=int32)
    """
    with name_scope(name, "Cumsum", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw_ops.Cumsum(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


@learned
def cumprod(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Running products along an axis.

    Args:
      x: A tensor of numbers.
      axis: The dimension to go along; negative counts from the end.
      exclusive: Whether each product leaves its own element out: ``[1, a, a * b]``.
      reverse: Whether to begin at the end: ``[a * b * c, b * c, c]``.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``.

    >>> tf.Session().run(tf.cumprod([2, 3, 4], exclusive=True))
    array([1, 2, 6], dtype=int32)
    """
    with name_scope(name, "Cumprod", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw_ops.Cumprod(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running ``log(sum(exp(x)))`` along an axis.

    Args:
      x: A tensor of floating-point numbers.
      axis: The dimension to go along; negative counts from the end.
      exclusive: Whether each result leaves its own element out.
      reverse: Whether to begin at the end.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``.

    >>> tf.Session().run(tf.math.cumulative_logsumexp([0.0, 0.0]))
    array([0.       , 0.693...], dtype=float32)
    """
    with name_scope(name, "CumulativeLogsumexp", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw_ops.CumulativeLogsumexp(x, axis, exclusive=exclusive, reverse=reverse, name=scope)
