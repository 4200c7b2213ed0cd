"""How encoded examples hold what a ready-made model needs: its features, its labels, its weights."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.library.feature_column.column import FeatureColumn
from headrace.library.feature_column.layer import make_parse_example_spec
from headrace.library.feature_column.numeric import numeric_column
from headrace.library.text.parsing import FixedLenFeature


def classifier_parse_example_spec(
    feature_columns: Any, label_key: str, label_dtype: Any = dtypes.int64, label_default: Any = None,
    weight_column: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """What ``tf.parse_example`` takes for a classifier: its columns, and one label for each example.

    Args:
      feature_columns: The feature columns of the model.
      label_key: The name of the label in the examples; no column may have it.
      label_dtype: The type of the label: tf.int64 or tf.string.
      label_default: The label of examples that have none; None for an error.
      weight_column: The name of a feature, or a numeric column, with weights of examples; None for none.

    Returns:
      A dictionary.

    >>> spec = tf.estimator.classifier_parse_example_spec([tf.feature_column.numeric_column('x')], label_key='kind')
    >>> sorted(spec)
    ['kind', 'x']
    """
    label = FixedLenFeature((1,), label_dtype, label_default)
    return _with_label(feature_columns, label_key, label, weight_column)


def regressor_parse_example_spec(
    feature_columns: Any, label_key: str, label_dtype: Any = dtypes.float32, label_default: Any = None,
    label_dimension: int = 1, weight_column: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """What ``tf.parse_example`` takes for a regressor: its columns, and ``label_dimension`` numbers for each example.

    Args:
      feature_columns: The feature columns of the model.
      label_key: The name of the label in the examples; no column may have it.
      label_dtype: The type of the label.
      label_default: The label of examples that have none; None for an error.
      label_dimension: How many numbers a label has.
      weight_column: The name of a feature, or a numeric column, with weights of examples; None for none.

    Returns:
      A dictionary.

    >>> spec = tf.estimator.regressor_parse_example_spec([tf.feature_column.numeric_column('x')], label_key='price')
    >>> spec['price'].shape
    (1,)
    """
    label = FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _with_label(feature_columns, label_key, label, weight_column)


def _with_label(feature_columns: Any, label_key: str, label: FixedLenFeature, weight_column: Any) -> dict[str, Any]:
    spec = make_parse_example_spec(feature_columns)
    if label_key in spec:
        raise ValueError(
            f"label should not be used as feature. label_key: {label_key}, features: {sorted(spec)} {at()}"
        )
    spec[label_key] = label
    if weight_column is None:
        return spec
    column = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(column, FeatureColumn):
        raise TypeError(f"weight_column must be a name or a numeric column, got {weight_column!r} {at()}")
    for key, weight in make_parse_example_spec([column]).items():
        if key in spec:
            raise ValueError(f"weight should not be used as feature or label. weight_column: {key} {at()}")
        spec[key] = weight
    return spec
