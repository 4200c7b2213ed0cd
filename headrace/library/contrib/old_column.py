"""contrib.layers' feature columns, from before `tf.feature_column`: the same columns, made by other functions.

Hashes, vocabularies and names of variables are those of `tf.feature_column`, but for tables of embeddings, which are called
"weights" and begin with a deviation of one by the square root of the number of categories.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.library.feature_column import categorical, crossed, embedding, numeric
from headrace.library.feature_column.column import CategoricalColumn, Features, IdWeightPair
from headrace.library.state.initializers import TruncatedNormal


@dataclass(frozen=True)
class SparseColumn(CategoricalColumn):
    """A categorical column, with how its weights are combined in a linear model."""

    column: CategoricalColumn
    combiner: str

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        return self.column.num_buckets

    @property
    def length(self) -> int:
        """The number of categories."""
        return self.column.num_buckets

    def transform_feature(self, features: Features) -> Any:
        return self.column.transform_feature(features)

    def get_sparse_tensors(self, features: Features) -> IdWeightPair:
        return self.column.get_sparse_tensors(features)


def _sparse_column(column: CategoricalColumn, combiner: str) -> SparseColumn:
    if combiner not in ("sum", "mean", "sqrtn"):
        raise ValueError(f"combiner must be 'sum', 'mean' or 'sqrtn', got {combiner!r} {at()}")
    return SparseColumn(column, combiner)


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = dtypes.int64
) -> SparseColumn:
    """A column of categories that are numbers from 0 to ``bucket_size - 1``.

    Args:
      column_name: The name of the feature.
      bucket_size: The number of categories.
      combiner: How the weights of one row are combined in a linear model: "sum", "mean" or "sqrtn".
      dtype: The type of the feature, an integer.

    Returns:
      A feature column.

    >>> tf.contrib.layers.sparse_column_with_integerized_feature("kind", 10).length
    10
    """
    if not dtypes.as_dtype(dtype).is_integer:
        raise ValueError(f"dtype must be an integer. dtype is {dtype!r}, column_name is {column_name!r} {at()}")
    return _sparse_column(categorical.categorical_column_with_identity(column_name, bucket_size), combiner)


def sparse_column_with_hash_bucket(
    column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: Any = dtypes.string, hash_keys: Any = None
) -> SparseColumn:
    """A column of words or integers, whose hash is the category.

    Args:
      column_name: The name of the feature.
      hash_bucket_size: The number of categories.
      combiner: How the weights of one row are combined in a linear model: "sum", "mean" or "sqrtn".
      dtype: The type of the feature: `tf.string` or an integer.
      hash_keys: Several hashes of each word; must be None.

    Returns:
      A feature column.

    >>> tf.contrib.layers.sparse_column_with_hash_bucket("word", 100).name
    'word'
    """
    if hash_keys is not None:
        raise NotImplementedError(
            f"sparse_column_with_hash_bucket(hash_keys={hash_keys!r}) is not supported: make a column for each hash {at()}"
        )
    column = categorical.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)
    return _sparse_column(column, combiner)


def sparse_column_with_keys(
    column_name: str, keys: Sequence[Any], default_value: int = -1, combiner: str = "sum", dtype: Any = dtypes.string
) -> SparseColumn:
    """A column of words or integers of a list; the place in the list is the category.

    Args:
      column_name: The name of the feature.
      keys: The words.
      default_value: The category of other words; -1 leaves them out.
      combiner: How the weights of one row are combined in a linear model: "sum", "mean" or "sqrtn".
      dtype: The type of the feature: `tf.string` or an integer.

    Returns:
      A feature column.

    >>> tf.contrib.layers.sparse_column_with_keys("color", ["red", "green"]).length
    2
    """
    column = categorical.categorical_column_with_vocabulary_list(column_name, keys, dtype, default_value)
    return _sparse_column(column, combiner)


def sparse_column_with_vocabulary_file(
    column_name: str, vocabulary_file: Any, num_oov_buckets: int = 0, vocab_size: int | None = None,
    default_value: int = -1, combiner: str = "sum", dtype: Any = dtypes.string,
) -> SparseColumn:  # fmt: skip
    """A column of the words of a file; the number of the line is the category.

    Args:
      column_name: The name of the feature.
      vocabulary_file: The path of the file, one word in each line.
      num_oov_buckets: How many categories other words share, by hash.
      vocab_size: How many lines count; it must be given.
      default_value: The category of other words; -1 leaves them out.
      combiner: How the weights of one row are combined in a linear model: "sum", "mean" or "sqrtn".
      dtype: The type of the feature: `tf.string` or an integer.

    Returns:
      A feature column.

    Example: ``tf.contrib.layers.sparse_column_with_vocabulary_file("word", "words.txt", vocab_size=1000)``
    """
    if vocab_size is None:
        raise ValueError(f"vocab_size should be defined. column_name: {column_name} {at()}")
    other = default_value if not num_oov_buckets else None
    column = categorical.categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets, other, dtype
    )
    return _sparse_column(column, combiner)


def weighted_sparse_column(
    sparse_id_column: SparseColumn, weight_column_name: str, dtype: Any = dtypes.float32
) -> SparseColumn:
    """A column whose categories have weights of their own, in another feature.

    Args:
      sparse_id_column: The column of the categories.
      weight_column_name: The name of the feature with the weights.
      dtype: Their type.

    Returns:
      A feature column.

    >>> words = tf.contrib.layers.sparse_column_with_hash_bucket("word", 100)
    >>> tf.contrib.layers.weighted_sparse_column(words, "weight").name
    'word_weighted_by_weight'
    """
    _check_sparse(sparse_id_column)
    column = crossed.weighted_categorical_column(sparse_id_column.column, weight_column_name, dtype)
    return _sparse_column(column, sparse_id_column.combiner)


def crossed_column(
    columns: Any, hash_bucket_size: int, combiner: str = "sum", ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None, hash_key: int | None = None,
) -> SparseColumn:  # fmt: skip
    """Every combination of one category of each column, by hash.

    Args:
      columns: Sparse, bucketized or crossed columns.
      hash_bucket_size: The number of categories.
      combiner: How the weights of one row are combined in a linear model: "sum", "mean" or "sqrtn".
      ckpt_to_load_from: A checkpoint with first values; must be None.
      tensor_name_in_ckpt: The name there; must be None.
      hash_key: A number that makes another hash; None for the usual one.

    Returns:
      A feature column.

    >>> kind = tf.contrib.layers.sparse_column_with_hash_bucket("kind", 100)
    >>> color = tf.contrib.layers.sparse_column_with_keys("color", ["red", "green"])
    >>> tf.contrib.layers.crossed_column([kind, color], 1000).name
    'color_X_kind'
    """
    if ckpt_to_load_from is not None or tensor_name_in_ckpt is not None:
        raise NotImplementedError(f"crossed_column loads no checkpoints: use tf.train.init_from_checkpoint {at()}")
    keys = []
    for column in columns:
        own = column.column if isinstance(column, SparseColumn) else column
        keys.append(own if isinstance(own, (numeric.BucketizedColumn, crossed.CrossedColumn)) else _key(own))
    return _sparse_column(crossed.crossed_column(keys, hash_bucket_size, hash_key), combiner)


def _key(column: Any) -> str:
    key = getattr(column, "key", None)
    if not isinstance(key, str):
        raise TypeError(f"columns must be sparse, bucketized or crossed columns, got {column!r} {at()}")
    return key


def _check_sparse(column: Any) -> None:
    if not isinstance(column, CategoricalColumn):
        raise TypeError(f"expected a sparse column, such as sparse_column_with_keys makes, got {column!r} {at()}")


def _of(column: Any) -> Any:
    """The column of `tf.feature_column` behind a sparse column."""
    _check_sparse(column)
    return column.column if isinstance(column, SparseColumn) else column


def one_hot_column(sparse_id_column: SparseColumn) -> Any:
    """A vector with a one for each category of a row.

    Args:
      sparse_id_column: The column of the categories.

    Returns:
      A feature column.

    >>> color = tf.contrib.layers.sparse_column_with_keys("color", ["red", "green"])
    >>> tf.contrib.layers.one_hot_column(color).variable_shape
    (1, 2)
    """
    return crossed.indicator_column(_of(sparse_id_column))


def bucketized_column(source_column: Any, boundaries: Any) -> Any:
    """Numbers by the interval they are in.

    Args:
      source_column: A column of `real_valued_column`.
      boundaries: The borders of the intervals, rising.

    Returns:
      A feature column.

    >>> tf.contrib.layers.bucketized_column(tf.contrib.layers.real_valued_column("age"), [18, 65]).num_buckets
    3
    """
    return numeric.bucketized_column(source_column, boundaries)


def _table(categories: int, initializer: Any) -> Any:
    return TruncatedNormal(0.0, 1 / math.sqrt(categories)) if initializer is None else initializer


def embedding_column(
    sparse_id_column: SparseColumn, dimension: int, combiner: str = "mean", initializer: Any = None,
    ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None, max_norm: Any = None, trainable: bool = True,
) -> Any:  # fmt: skip
    """A learned vector for each category; those of one row are combined.

    Args:
      sparse_id_column: The column of the categories.
      dimension: The length of a vector.
      combiner: How the vectors of one row are combined: "mean", "sqrtn" or "sum".
      initializer: An initializer for the table; None for a truncated normal one.
      ckpt_to_load_from: A checkpoint with the first values; only with `tensor_name_in_ckpt`.
      tensor_name_in_ckpt: The name of the table there.
      max_norm: The greatest length of a vector; None for no limit.
      trainable: Whether the table is trained.

    Returns:
      A feature column.

    >>> words = tf.contrib.layers.sparse_column_with_hash_bucket("word", 100)
    >>> tf.contrib.layers.embedding_column(words, 8).variable_shape
    (8,)
    """
    column = _of(sparse_id_column)
    return embedding.embedding_column(
        column, dimension, combiner, _table(column.num_buckets, initializer), ckpt_to_load_from, tensor_name_in_ckpt,
        max_norm, trainable,
    )  # fmt: skip


def shared_embedding_columns(
    sparse_id_columns: Sequence[SparseColumn], dimension: int, combiner: str = "mean", initializer: Any = None,
    shared_embedding_name: str | None = None, ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None,
    max_norm: Any = None, trainable: bool = True,
) -> list[Any]:  # fmt: skip
    """Columns of learned vectors that share one table.

    Args:
      sparse_id_columns: Columns with the same categories.
      dimension: The length of a vector.
      combiner: How the vectors of one row are combined: "mean", "sqrtn" or "sum".
      initializer: An initializer for the table; None for a truncated normal one.
      shared_embedding_name: The name of the table; None for one made of the columns' names.
      ckpt_to_load_from: A checkpoint with the first values; only with `tensor_name_in_ckpt`.
      tensor_name_in_ckpt: The name of the table there.
      max_norm: The greatest length of a vector; None for no limit.
      trainable: Whether the table is trained.

    Returns:
      A list of feature columns.

    >>> pair = [tf.contrib.layers.sparse_column_with_hash_bucket(name, 100) for name in ("query", "title")]
    >>> len(tf.contrib.layers.shared_embedding_columns(pair, 8))
    2
    """
    columns = [_of(column) for column in sparse_id_columns]
    if not columns:
        raise ValueError(f"sparse_id_columns must have at least one column {at()}")
    made: list[Any] = embedding.shared_embedding_columns(
        columns, dimension, combiner, _table(columns[0].num_buckets, initializer), shared_embedding_name,
        ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable,
    )  # fmt: skip
    return made
