"""Columns made of categorical ones: crossed, weighted, and as counts (indicator_column)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headrace.core import dtypes
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.library.feature_column.categorical import HashedCategoricalColumn
from headrace.library.feature_column.column import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    Features,
    IdWeightPair,
    as_sparse_ids,
    check_categorical,
    says_where,
)
from headrace.library.numeric.math import cast
from headrace.library.numeric.reduction import reduce_sum
from headrace.library.sparse.cross import sparse_cross_hashed
from headrace.library.sparse.tensor import sparse_merge, sparse_slice, sparse_tensor_to_dense
from headrace.library.tensor.creation import one_hot
from headrace.library.text.parsing import VarLenFeature


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """See ``crossed_column``."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    def _leaves(self) -> Iterator[str | CategoricalColumn]:
        """What is crossed, with crosses inside taken apart."""
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                yield from key._leaves()
            else:
                yield key

    @property
    def name(self) -> str:
        names = [leaf.name if isinstance(leaf, FeatureColumn) else leaf for leaf in self._leaves()]
        return "_X_".join(sorted(names))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        for key in self.keys:
            spec.update(
                key.parse_example_spec if isinstance(key, FeatureColumn) else {key: VarLenFeature(dtypes.string)}
            )
        return spec

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transform_feature(self, features: Features) -> SparseTensor:
        tensors = []
        for leaf in self._leaves():
            if isinstance(leaf, str):
                tensors.append(features.get(leaf))
                continue
            ids, weights = leaf.get_sparse_tensors(features)
            if weights is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates weight_tensor. "
                    f"Given column: {leaf.name}"
                )
            tensors.append(ids)
        return sparse_cross_hashed(tensors, self.hash_bucket_size, self.hash_key)


@says_where
def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """Every combination of one category of each key, by hash.

    A key is a feature's name, or a categorical column other than ``categorical_column_with_hash_bucket``.

    Args:
      keys: Two or more keys.
      hash_bucket_size: The number of categories.
      hash_key: A number that makes another hash; None for the usual one.

    Returns:
      A categorical column.

    >>> pair = tf.feature_column.crossed_column(['color', 'size'], hash_bucket_size=100)
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will "
                f"increase probability of collision. Instead, use the feature name as a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


@dataclass(frozen=True)
class WeightedCategoricalColumn(CategoricalColumn):
    """See ``weighted_categorical_column``."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: Any

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(
                f"Parse config {spec[self.weight_feature_key]} already exists for {self.weight_feature_key}."
            )
        spec[self.weight_feature_key] = VarLenFeature(self.dtype)
        return spec

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform_feature(self, features: Features) -> tuple[SparseTensor, SparseTensor]:
        weights = convert_to_tensor_or_sparse_tensor(features.get(self.weight_feature_key))
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype!r}, but got {weights.dtype!r}.")
        weights = as_sparse_ids(weights, 0.0)
        if not weights.dtype.is_floating:
            weights = SparseTensor(weights.indices, cast(weights.values, dtypes.float32), weights.dense_shape)
        return self.categorical_column.get_sparse_tensors(features).id_tensor, weights

    def get_sparse_tensors(self, features: Features) -> IdWeightPair:
        return IdWeightPair(*features.get(self))


@says_where
def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: Any = dtypes.float32
) -> WeightedCategoricalColumn:
    """The categories of a column, each with a weight from another feature of the same layout.

    Args:
      categorical_column: A categorical column.
      weight_feature_key: The name of the feature with the weights.
      dtype: The type of the weights, a type of numbers.

    Returns:
      A categorical column.

    >>> word = tf.feature_column.categorical_column_with_identity('word', 100)
    >>> weighted = tf.feature_column.weighted_categorical_column(word, 'importance')
    """
    element_type = dtypes.as_dtype(dtype)
    if not (element_type.is_integer or element_type.is_floating):
        raise ValueError(f"dtype {element_type!r} is not convertible to float.")
    check_categorical(categorical_column)
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, element_type)


@dataclass(frozen=True)
class IndicatorColumn(DenseColumn):
    """See ``indicator_column``."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (1, self.categorical_column.num_buckets)

    def transform_feature(self, features: Features) -> Tensor:
        ids, weights = self.categorical_column.get_sparse_tensors(features)
        depth = self.categorical_column.num_buckets
        if weights is None:
            rows = sparse_tensor_to_dense(ids, default_value=-1)
            return reduce_sum(one_hot(rows, depth, 1.0, 0.0), axis=[-2])
        merged = sparse_merge(ids, weights, depth)
        valid = sparse_slice(merged, [0, 0], merged.dense_shape)  # without the ids -1
        return sparse_tensor_to_dense(SparseTensor(valid.indices, valid.values, merged.dense_shape))

    def get_dense_tensor(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        return features.get(self)


@says_where
def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """How often each category is in a row, or the sum of its weights.

    Args:
      categorical_column: A categorical column.

    Returns:
      A dense column.

    >>> color = tf.feature_column.categorical_column_with_identity("color", 3)
    >>> row = tf.feature_column.input_layer({"color": [[0, 2, 2]]}, [tf.feature_column.indicator_column(color)])
    >>> tf.Session().run(row)
    array([[1., 0., 2.]], dtype=float32)
    """
    check_categorical(categorical_column)
    return IndicatorColumn(categorical_column)
