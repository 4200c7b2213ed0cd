"""How often values occur: bincount, histograms, the confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.numeric.math import cast
from headrace.library.numeric.reduction import reduce_max
from headrace.library.scope import name_scope


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = dtypes.int32
) -> Tensor:
    """How often each value 0, 1, 2 ... occurs in an integer tensor, or the sum of weights of those places.

    Args:
      arr: A tensor of int32, none negative.
      weights: What each element counts, a tensor of the shape of ``arr``; None for 1.
      minlength: The least number of counts, filled up with zeros; None for no limit.
      maxlength: The largest number of counts; larger values are left out.  None for no limit.
      dtype: The type of the counts where there are no weights.

    Returns:
      A 1-D tensor of ``dtype``, or of the type of ``weights``.

    >>> tf.Session().run(tf.bincount([1, 1, 3]))
    array([0, 2, 0, 1], dtype=int32)
    """
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
    """How many values fall into each of ``nbins`` equal parts of the range; the outer parts take what lies outside.

    Args:
      values: A tensor of int32, int64, float32 or float64.
      value_range: The bounds: two numbers of the type of ``values``.
      nbins: The number of parts.
      dtype: The type of the counts: int32 or int64.
      name: A name for the op.

    Returns:
      A 1-D tensor of ``dtype`` with ``nbins`` counts.

    >>> tf.Session().run(tf.histogram_fixed_width([-1.0, 0.5, 1.5, 9.0], [0.0, 4.0], nbins=4))
    array([2, 1, 0, 1], dtype=int32)
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return raw_ops.HistogramFixedWidth(values, value_range, nbins, dtype=dtype, name=scope)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Which of ``nbins`` equal parts of the range each value falls into; the outer parts take what lies outside.

    Args:
      values: A tensor of floating-point numbers.
      value_range: The bounds: two numbers.
      nbins: The number of parts.
      dtype: The type of the result: int32 or int64.
      name: A name for the op.

    Returns:
      A tensor of ``dtype`` of the shape of ``values``.

    >>> tf.Session().run(tf.histogram_fixed_width_bins([-1.0, 0.5, 1.5, 9.0], [0.0, 4.0], nbins=4))
    array([0, 0, 1, 3], dtype=int32)
    """
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
    """A matrix that counts, for each label (row), how often each class (column) was predicted.

    Args:
      labels: The right classes: a 1-D tensor of whole numbers.
      predictions: The predicted classes, of the shape of ``labels``.
      num_classes: The number of rows and columns; None for one more than the largest class.
      dtype: The type of the counts.
      name: A name for the op.
      weights: What each prediction counts, a scalar or one for each; None for 1.

    Returns:
      A tensor of ``dtype`` and shape ``[num_classes, num_classes]``.

    >>> tf.Session().run(tf.confusion_matrix([0, 1, 1], [0, 1, 0]))
    array([[1, 0],
           [1, 1]], dtype=int32)
    """
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
