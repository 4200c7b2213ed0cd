"""Columns of numbers: as they are (numeric_column) and in buckets (bucketized_column)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.feature_column.column import (
    CategoricalColumn,
    DenseColumn,
    Features,
    IdWeightPair,
    check_key,
    says_where,
)
from headrace.library.numeric.math import cast
from headrace.library.numeric.search import bucketize
from headrace.library.tensor import array, creation
from headrace.library.text.parsing import FixedLenFeature


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """See ``numeric_column``."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: Any
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return self.shape

    def transform_feature(self, features: Features) -> Any:
        feature = features.get(self.key)
        if isinstance(feature, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. "
                f"key: {self.key}"
            )
        if feature.dtype == dtypes.string:
            raise ValueError(f"numeric_column takes numbers, got strings. key: {self.key}, feature: {feature}")
        if self.normalizer_fn is not None:
            feature = self.normalizer_fn(feature)
        return cast(feature, dtypes.float32)

    def get_dense_tensor(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        return features.get(self)


@says_where
def numeric_column(
    key: str, shape: Any = (1,), default_value: Any = None, dtype: Any = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:  # fmt: skip
    """Numbers as they are, ``shape`` of them in a row, changed by ``normalizer_fn``.

    Args:
      key: The name of the feature.
      shape: The shape of one example's numbers.
      default_value: What examples have that lack the feature, a number or a list; None for an error.
      dtype: The type of the feature, a type of numbers.
      normalizer_fn: A function from a tensor to a tensor; None for none.

    Returns:
      A dense column.

    >>> age = tf.feature_column.numeric_column("age", normalizer_fn=lambda x: x / 10.0)
    >>> tf.Session().run(tf.feature_column.input_layer({"age": [[25.0], [40.0]]}, [age]))
    array([[2.5],
           [4. ]], dtype=float32)
    """
    check_key(key)
    sizes = _sizes(shape, key)
    element_type = dtypes.as_dtype(dtype)
    if not (element_type.is_integer or element_type.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {element_type!r}, key: {key}")
    default = _default(default_value, sizes, element_type, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return NumericColumn(key, sizes, default, element_type, normalizer_fn)


def _sizes(shape: Any, key: str) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    for size in sizes:
        if not isinstance(size, Integral):
            raise TypeError(f"shape dimensions must be integer. shape: {sizes}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {sizes}, key: {key}")
    return tuple(int(size) for size in sizes)


def _default(value: Any, shape: tuple[int, ...], dtype: Any, key: str) -> Any:
    """One number for every element, or an array of the column's shape, as nested tuples."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and not dtype.is_floating):
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {value}, dtype: {dtype!r}, key: {key}"
        )
    if array.ndim == 0:
        return _nested(np.full(shape, array).tolist())
    if array.shape != shape:
        raise ValueError(
            f"The shape of default_value must be equal to given shape. default_value: {value}, shape: {shape}, key: {key}"
        )
    return _nested(array.tolist())


def _nested(value: Any) -> Any:
    return tuple(_nested(v) for v in value) if isinstance(value, list) else value


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """See ``bucketized_column``.  Dense: a one for each element's bucket; categorical: each element has its own ids."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (*self.source_column.shape, self._buckets)

    @property
    def num_buckets(self) -> int:
        return self._buckets * self.source_column.shape[0]

    @property
    def _buckets(self) -> int:
        return len(self.boundaries) + 1

    def transform_feature(self, features: Features) -> Any:
        return bucketize(features.get(self.source_column), self.boundaries)

    def get_dense_tensor(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        return creation.one_hot(cast(features.get(self), dtypes.int64), self._buckets, 1.0, 0.0)

    def get_sparse_tensors(self, features: Features) -> IdWeightPair:
        buckets: Tensor = features.get(self)
        rows, width = array.shape(buckets)[0], self.source_column.shape[0]
        row = array.reshape(array.tile(array.expand_dims(creation.range(0, rows), 1), [1, width]), (-1,))
        place = array.tile(creation.range(0, width), [rows])
        ids = cast(array.reshape(buckets, (-1,)) + self._buckets * place, dtypes.int64)
        indices = cast(array.transpose(array.stack((row, place))), dtypes.int64)
        shape = cast(array.stack([rows, width]), dtypes.int64)
        return IdWeightPair(SparseTensor(indices, ids, shape), None)


@says_where
def bucketized_column(source_column: NumericColumn, boundaries: Any) -> BucketizedColumn:
    """The bucket that a number is in: below the first boundary, from one to below the next, from the last on.

    Args:
      source_column: A numeric column of one dimension.
      boundaries: Increasing numbers, a list.

    Returns:
      A column that is dense and categorical.

    >>> age = tf.feature_column.bucketized_column(tf.feature_column.numeric_column("age"), [18, 65])
    >>> tf.Session().run(tf.feature_column.input_layer({"age": [[18.0], [7.0]]}, [age]))
    array([[0., 1., 0.],
           [1., 0., 0.]], dtype=float32)
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not isinstance(boundaries, (list, tuple)):
        raise ValueError(f"boundaries must be a sorted list. Given: {boundaries}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if any(a >= b for a, b in zip(boundaries, boundaries[1:], strict=False)):
        raise ValueError(f"boundaries must be a sorted list. Given: {boundaries}")
    return BucketizedColumn(source_column, tuple(boundaries))
