"""Columns of categories: ids as they are, by a vocabulary, by hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph.structures import SparseTensor
from headrace.library.control.assertion import assert_less, assert_non_negative
from headrace.library.control.dependency import with_dependencies
from headrace.library.control.host import as_string
from headrace.library.feature_column.column import (
    CategoricalColumn,
    Features,
    as_sparse_ids,
    check_key,
    check_words,
    says_where,
)
from headrace.library.numeric.math import cast, greater_equal, less, logical_or
from headrace.library.scope import init_scope
from headrace.library.system.file import GFile, exists
from headrace.library.tensor import array
from headrace.library.tensor.creation import fill
from headrace.library.tensor.indexing import where
from headrace.library.text.parsing import VarLenFeature
from headrace.library.text.string import string_to_hash_bucket_fast
from headrace.library.text.vocabulary import index_table_from_file, index_table_from_tensor


@dataclass(frozen=True)
class IdentityCategoricalColumn(CategoricalColumn):
    """See ``categorical_column_with_identity``."""

    key: str
    number_buckets: int
    default_value: int | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(dtypes.int64)}

    @property
    def num_buckets(self) -> int:
        return self.number_buckets

    def transform_feature(self, features: Features) -> SparseTensor:
        sparse = as_sparse_ids(features.get(self.key))
        if not sparse.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {sparse.dtype!r}")
        ids = cast(sparse.values, dtypes.int64, name="values")
        limit = cast(self.num_buckets, dtypes.int64, name="num_buckets")
        if self.default_value is None:
            message = f"Ids of column {self.key} must be in [0, {self.num_buckets}), or give it a default_value."
            below = assert_less(ids, limit, message=message, name="assert_less_than_num_buckets")
            above = assert_non_negative(ids, message=message, name="assert_greater_or_equal_0")
            ids = with_dependencies([below, above], ids)
        else:
            outside = logical_or(less(ids, cast(0, dtypes.int64)), greater_equal(ids, limit), name="out_of_range")
            default = fill(array.shape(ids), cast(self.default_value, dtypes.int64), name="default_values")
            ids = where(outside, default, ids)
        return SparseTensor(sparse.indices, ids, sparse.dense_shape)


@says_where
def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Integers that are ids already; those outside [0, num_buckets) become ``default_value``, or are an error without one.

    In a dense feature -1 stands for no value.

    Args:
      key: The name of the feature.
      num_buckets: The number of categories.
      default_value: What an id outside becomes; None for an error.

    Returns:
      A categorical column.

    >>> kind = tf.feature_column.categorical_column_with_identity('kind', num_buckets=10, default_value=0)
    """
    check_key(key)
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def _check_compatible(key: str, dtype: Any, sparse: SparseTensor) -> None:
    if dtype.is_integer != sparse.dtype.is_integer:
        raise ValueError(
            f"Column dtype and SparseTensors dtype must be compatible. key: {key}, column dtype: {dtype!r}, "
            f"tensor dtype: {sparse.dtype!r}"
        )
    check_words(sparse.dtype, f"column_name: {key} input_tensor")


def _words(key: str, dtype: Any, features: Features) -> SparseTensor:
    """The feature as strings or int64."""
    sparse = as_sparse_ids(features.get(key))
    check_words(sparse.dtype, f"column_name: {key} input_tensor")
    _check_compatible(key, dtype, sparse)
    if not sparse.dtype.is_integer or sparse.dtype == dtypes.int64:
        return sparse
    return SparseTensor(sparse.indices, cast(sparse.values, dtypes.int64), sparse.dense_shape)


class _WordsColumn(CategoricalColumn):
    """A column of words, or of numbers that stand for themselves: any number of them in a row."""

    key: str
    dtype: Any

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}


@dataclass(frozen=True)
class VocabularyListCategoricalColumn(_WordsColumn):
    """See ``categorical_column_with_vocabulary_list``."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: Any
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def transform_feature(self, features: Features) -> SparseTensor:
        sparse = _words(self.key, self.dtype, features)
        words = np.array(self.vocabulary_list, np.int64) if self.dtype.is_integer else list(self.vocabulary_list)
        with init_scope():  # tables_initializer() cannot reach into a branch or loop
            table = index_table_from_tensor(
                words, self.num_oov_buckets, self.default_value,
                dtype=dtypes.int64 if self.dtype.is_integer else self.dtype, name=f"{self.key}_lookup",
            )  # fmt: skip
        return table.lookup(sparse)


@says_where
def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> VocabularyListCategoricalColumn:
    """Words, or integers, by their places in a list; others become ``default_value`` or one of the buckets after the list.

    ``-1`` counts nowhere.  In a dense feature "" (or -1) stands for no value.  Run ``tf.tables_initializer()`` first.

    Args:
      key: The name of the feature.
      vocabulary_list: The words or integers, each once.
      dtype: tf.string or an integer type; None for that of the list.
      default_value: The place of what is not in the list; -1 for nowhere.
      num_oov_buckets: How many places after the list are for what is not in it, chosen by hash; not with `default_value`.

    Returns:
      A categorical column.

    >>> color = tf.feature_column.categorical_column_with_vocabulary_list('color', ['red', 'green', 'blue'])
    """
    check_key(key)
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    vocabulary_dtype = dtypes.as_dtype(np.array(vocabulary_list).dtype)
    _check_buckets(key, num_oov_buckets, default_value if default_value != -1 else None)
    check_words(vocabulary_dtype, f"column_name: {key} vocabulary")
    element_type = vocabulary_dtype if dtype is None else dtypes.as_dtype(dtype)
    check_words(element_type, f"column_name: {key}")
    if element_type.is_integer != vocabulary_dtype.is_integer:
        raise ValueError(
            f"dtype {element_type!r} and vocabulary dtype {vocabulary_dtype!r} do not match, column_name: {key}"
        )
    return VocabularyListCategoricalColumn(key, tuple(vocabulary_list), element_type, default_value, num_oov_buckets)


def _check_buckets(key: str, num_oov_buckets: int | None, default_value: int | None) -> None:
    if not num_oov_buckets:
        return
    if default_value is not None:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


@dataclass(frozen=True)
class VocabularyFileCategoricalColumn(_WordsColumn):
    """See ``categorical_column_with_vocabulary_file``."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: Any
    default_value: int

    @property
    def num_buckets(self) -> int:
        return self.vocabulary_size + self.num_oov_buckets

    def transform_feature(self, features: Features) -> SparseTensor:
        words = _words(self.key, self.dtype, features)
        with init_scope():
            table = index_table_from_file(
                self.vocabulary_file, self.num_oov_buckets, self.vocabulary_size, self.default_value,
                key_dtype=dtypes.int64 if self.dtype.is_integer else self.dtype, name=f"{self.key}_lookup",
            )  # fmt: skip
        return table.lookup(words)


@says_where
def categorical_column_with_vocabulary_file(
    key: str, vocabulary_file: str, vocabulary_size: int | None = None, num_oov_buckets: int = 0,
    default_value: int | None = None, dtype: Any = dtypes.string,
) -> VocabularyFileCategoricalColumn:  # fmt: skip
    """Words by their lines in a file, of which the first ``vocabulary_size`` count (None: all).

    Args:
      key: The name of the feature.
      vocabulary_file: The path of the file, a word in each line.
      vocabulary_size: How many lines count; None for all.
      num_oov_buckets: How many places after the file's are for other words, chosen by hash; not with `default_value`.
      default_value: The place of other words; None for nowhere.
      dtype: tf.string or an integer type.

    Returns:
      A categorical column.

    Example: ``tf.feature_column.categorical_column_with_vocabulary_file("word", "words.txt", vocabulary_size=10000)``
    """
    check_key(key)
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist. Given: {vocabulary_file}")
        with GFile(vocabulary_file, "rb") as file:
            vocabulary_size = sum(1 for _ in file)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}. Given: {vocabulary_size}")
    _check_buckets(key, num_oov_buckets, default_value)
    element_type = dtypes.as_dtype(dtype)
    check_words(element_type, f"column_name: {key}")
    default = -1 if default_value is None else default_value
    return VocabularyFileCategoricalColumn(
        key, vocabulary_file, vocabulary_size, num_oov_buckets or 0, element_type, default
    )


@dataclass(frozen=True)
class HashedCategoricalColumn(_WordsColumn):
    """See ``categorical_column_with_hash_bucket``."""

    key: str
    hash_bucket_size: int
    dtype: Any

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transform_feature(self, features: Features) -> SparseTensor:
        sparse = _words(self.key, self.dtype, features)
        words = sparse.values if sparse.dtype == dtypes.string else as_string(sparse.values)
        ids = string_to_hash_bucket_fast(words, self.hash_bucket_size, name="lookup")
        return SparseTensor(sparse.indices, ids, sparse.dense_shape)


@says_where
def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> HashedCategoricalColumn:
    """Words, or integers as text, by a hash that is the same everywhere; different ones may share an id.

    Args:
      key: The name of the feature.
      hash_bucket_size: The number of categories.
      dtype: tf.string or an integer type.

    Returns:
      A categorical column.

    >>> word = tf.feature_column.categorical_column_with_hash_bucket('word', hash_bucket_size=1000)
    """
    check_key(key)
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    element_type = dtypes.as_dtype(dtype)
    check_words(element_type, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, element_type)
