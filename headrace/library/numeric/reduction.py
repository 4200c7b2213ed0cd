"""TF1's reductions: reduce_sum and its kin, argmax, cumsum, bincount, top_k."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from headrace.core import dtypes
from headrace.eager.entry import learned
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.infer import constant_value
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


def _reduce(name: str, op_type: str, text: str) -> Callable[..., Any]:
    @called(name, text)
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
    """The sum over the given axes, or over all.

    >>> x = tf.constant([[1, 2], [3, 4]])
    >>> tf.Session().run([tf.reduce_sum(x), tf.reduce_sum(x, axis=1, keepdims=True)])
    [np.int32(10), array([[3], [7]], dtype=int32)]
    """,
)
reduce_mean = _reduce(
    "reduce_mean",
    "Mean",
    """The mean over the given axes, or over all.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
    >>> tf.Session().run([tf.reduce_mean(x), tf.reduce_mean(x, axis=0)])
    [np.float32(3.0), array([2., 4.], dtype=float32)]
    """,
)
reduce_prod = _reduce("reduce_prod", "Prod", "The product over the given axes, or over all.")
reduce_max = _reduce(
    "reduce_max",
    "Max",
    """The largest element over the given axes, or over all.

    >>> tf.Session().run(tf.reduce_max([[1, 5], [7, 2]], axis=1))
    array([5, 7], dtype=int32)
    """,
)
reduce_min = _reduce("reduce_min", "Min", "The smallest element over the given axes, or over all.")
reduce_all = _reduce("reduce_all", "All", "Whether all elements over the given axes are True.")
reduce_any = _reduce("reduce_any", "Any", "Whether any element over the given axes is True.")


@learned
def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """``log(sum(exp(x)))`` over the given axes, without overflow."""
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
    """The square root of the sum of squares over the given axes."""
    return _reduction("EuclideanNorm", input_tensor, axis, bool(keepdims), name)


@learned
def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The mean squared distance from the mean over the given axes."""
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
    """The standard deviation over the given axes."""
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
    """How many elements over the given axes are not zero (strings: not empty)."""
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
    """The fraction of elements that are zero, as float32."""
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
    """The index of the smallest element along an axis (0 unless given), the first one where several are equal."""
    axis = either("axis", axis, "dimension", dimension)
    return raw_ops.ArgMin(input, 0 if axis is None else axis, output_type=output_type, name=name)


@deprecated("tf.argmax")
@learned
def arg_max(input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Tensor:
    """``argmax`` under its oldest name."""
    return argmax(input, dimension, name=name, output_type=output_type)


@deprecated("tf.argmin")
@learned
def arg_min(input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Tensor:
    """``argmin`` under its oldest name."""
    return argmin(input, dimension, name=name, output_type=output_type)


class TopKV2(NamedTuple):
    """What ``top_k`` gives."""

    values: Tensor
    indices: Tensor


@learned
def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopKV2:
    """The ``k`` largest elements of the last dimension and their indices; of equal ones the first come first."""
    values, indices = raw_ops.TopKV2(input, k, sorted=sorted, name=name)
    return TopKV2(values, indices)


@learned
def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether each row's target is among its ``k`` largest predictions."""
    with name_scope(name, "in_top_k"):
        return raw_ops.InTopKV2(predictions, targets, k)


# ---- running


@learned
def cumsum(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Running sums along an axis: ``cumsum([a, b, c])`` is ``[a, a + b, a + b + c]``."""
    with name_scope(name, "Cumsum", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw_ops.Cumsum(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


@learned
def cumprod(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Running products along an axis."""
    with name_scope(name, "Cumprod", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw_ops.Cumprod(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running ``log(sum(exp(x)))`` along an axis."""
    with name_scope(name, "CumulativeLogsumexp", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw_ops.CumulativeLogsumexp(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


# ---- counts


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = dtypes.int32
) -> Tensor:
    """How often each value 0, 1, 2 ... occurs in an integer tensor, or the sum of weights of those places."""
    with name_scope(None, "bincount"):
        values = convert_to_tensor(arr, dtypes.int32, name="arr")
        some = raw_ops.Greater(raw_ops.Size(values), 0)
        size = cast(some, dtypes.int32) * (reduce_max(values) + 1)
        if minlength is not None:
            size = raw_ops.Maximum(convert_to_tensor(minlength, dtypes.int32, name="minlength"), size)
        if maxlength is not None:
            size = raw_ops.Minimum(convert_to_tensor(maxlength, dtypes.int32, name="maxlength"), size)
        if weights is None:
            weights = constant(np.zeros(0, dtypes.as_dtype(dtype).as_numpy_dtype), dtypes.as_dtype(dtype))
        else:
            weights = convert_to_tensor(weights, name="weights")
        return raw_ops.Bincount(values, size, weights)


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """How many values fall into each of ``nbins`` equal parts of the range; the outer parts take what lies outside."""
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return raw_ops.HistogramFixedWidth(values, value_range, nbins, dtype=dtype, name=scope)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Which of ``nbins`` equal parts of the range each value falls into; the outer parts take what lies outside."""
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        x: Any = convert_to_tensor(values, name="values")
        bounds: Any = convert_to_tensor(value_range, x.dtype.base_dtype, name="value_range")
        low, high = bounds[0], bounds[1]
        count = cast(nbins, x.dtype.base_dtype)
        place = raw_ops.Floor(count * ((x - low) / (high - low)))
        return cast(raw_ops.ClipByValue(place, 0.0, count - 1), dtypes.as_dtype(dtype))


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """A matrix that counts, for each label (row), how often each class (column) was predicted."""
    element_type = dtypes.as_dtype(dtype)
    with name_scope(name, "confusion_matrix", (predictions, labels, num_classes, weights)):
        truth = cast(_vector(labels, "labels"), dtypes.int64)
        guess = cast(_vector(predictions, "predictions"), dtypes.int64)
        if num_classes is None:
            size = raw_ops.Maximum(reduce_max(guess), reduce_max(truth)) + 1
        else:
            size = cast(num_classes, dtypes.int64)
        static_size = constant_value(size)
        shape = raw_ops.Pack([size, size]) if static_size is None else constant([int(static_size)] * 2, dtypes.int64)
        indices = raw_ops.Pack([truth, guess], axis=1)
        values = cast(constant(1) if weights is None else weights, element_type)
        if values.shape.ndims == 0:
            values = raw_ops.Fill(raw_ops.Shape(guess), values)
        return raw_ops.ScatterNd(indices, values, shape)


def _vector(value: Any, name: str) -> Tensor:
    """Classes as a vector: a trailing dimension of one is dropped."""
    tensor = convert_to_tensor(value, name=name)
    dims = tensor.shape.tuple
    if dims is not None and len(dims) == 2 and dims[-1] == 1:
        tensor = raw_ops.Squeeze(tensor, [-1])
    return tensor
