"""Feature columns of contrib.learn that are numbers: as ``tf.feature_column`` has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.library.feature_column.numeric import numeric_column

SINGLE = "features"
"""What features that are one tensor, and columns without a name, are called."""


def real_valued_column(
    column_name: str, dimension: int | None = 1, default_value: Any = None, dtype: Any = dtypes.float32,
    normalizer: Callable[[Any], Any] | None = None,
) -> Any:  # fmt: skip
    """A column of ``dimension`` numbers; the name "" is that of features that are one tensor.

    Args:
      column_name: The name of the feature.
      dimension: How many numbers an example has; it must be given.
      default_value: What stands in for a feature that an Example lacks; None if there must be one.
      dtype: The type of the feature.
      normalizer: A function of the feature that is applied first; None for none.

    Returns:
      A feature column, as `tf.feature_column.numeric_column` gives it.

    >>> tf.contrib.layers.real_valued_column("age").key
    'age'
    """
    if dimension is None:
        raise ValueError(
            f"real_valued_column(dimension=None) is not supported: say how many numbers an example has {at()}"
        )
    return numeric_column(column_name or SINGLE, [dimension], default_value, dtype, normalizer)


def infer_real_valued_columns_from_input(features: Any) -> list[Any]:
    """A column for the features, arrays or tensors whose first dimension counts examples; for each one of a dictionary.

    Args:
      features: A vector or a matrix of numbers, or a dictionary of them.

    Returns:
      A list of feature columns.

    >>> columns = tf.contrib.learn.infer_real_valued_columns_from_input(np.zeros([10, 3]))
    >>> columns[0].shape
    (3,)
    """
    named = features if isinstance(features, Mapping) else {SINGLE: features}
    return [_column(name, value) for name, value in sorted(named.items())]


def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[Any]:
    """The columns for the features that an input function returns.

    Args:
      input_fn: A function without arguments that returns features, or features and labels.

    Returns:
      A list of feature columns.

    >>> columns = tf.contrib.learn.infer_real_valued_columns_from_input_fn(lambda: (tf.zeros([10, 3]), tf.zeros([10])))
    >>> columns[0].shape
    (3,)
    """
    with Graph().as_default():
        result = input_fn()
        return infer_real_valued_columns_from_input(result[0] if isinstance(result, tuple) else result)


def _column(name: str, value: Any) -> Any:
    array = value if hasattr(value, "dtype") and hasattr(value, "shape") else np.asarray(value)
    shape = list(array.shape.as_list() if hasattr(array.shape, "as_list") else array.shape)
    dtype = dtypes.as_dtype(array.dtype)
    if not (dtype.is_floating or dtype.is_integer):
        raise ValueError(f"on integer or non floating types are not supported: {name!r} has dtype {dtype.name} {at()}")
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] is None):
        raise ValueError(f"features must be vectors or matrices with a known width: {name!r} has shape {shape} {at()}")
    return numeric_column(name, shape[1:] or [1], dtype=dtype)
