"""Columns of learned vectors: one table for a column, or one for several."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.core import dtypes
from headrace.graph import context
from headrace.graph.operation import Tensor
from headrace.library.feature_column.column import (
    CategoricalColumn,
    DenseColumn,
    Features,
    check_categorical,
    says_where,
)
from headrace.library.feature_column.crossed import WeightedCategoricalColumn
from headrace.library.network.embedding_sparse import safe_embedding_lookup_sparse
from headrace.library.state.initializers import TruncatedNormal
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable_scope import get_variable


@dataclass(frozen=True)
class EmbeddingColumn(DenseColumn):
    """See ``embedding_column``."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: Any
    tensor_name_in_ckpt: Any
    max_norm: Any
    trainable: bool

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    def transform_feature(self, features: Features) -> Any:
        return self.categorical_column.get_sparse_tensors(features)

    def get_dense_tensor(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        ids, weights = self.categorical_column.get_sparse_tensors(features)
        table = self._table(weight_collections, trainable)
        return safe_embedding_lookup_sparse(
            table, ids, weights, combiner=self.combiner, name=f"{self.name}_weights", max_norm=self.max_norm
        )

    def _table(self, weight_collections: Any, trainable: bool) -> Any:
        return get_variable(
            "embedding_weights", shape=(self.categorical_column.num_buckets, self.dimension), dtype=dtypes.float32,
            initializer=self.initializer, trainable=self.trainable and trainable, collections=weight_collections,
        )  # fmt: skip


@dataclass(frozen=True)
class SharedEmbeddingColumn(EmbeddingColumn):
    """See ``shared_embedding_columns``.  The graph's collection of that name holds the table once it is made."""

    shared_embedding_collection_name: str

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def var_scope_name(self) -> str:
        return self.shared_embedding_collection_name

    def _table(self, weight_collections: Any, trainable: bool) -> Any:
        label = self.shared_embedding_collection_name
        shape = (self.categorical_column.num_buckets, self.dimension)
        shared = context.get_default_graph().get_collection_ref(label)
        if not shared:
            table = super()._table(weight_collections, trainable)
            shared.append(table)
            return table
        if len(shared) > 1:
            raise ValueError(
                f"Collection {shared} can only contain one variable. Suggested fix A: Choose a unique name for this "
                "collection. Suggested fix B: Do not add any variables to this collection. The feature_column library "
                f"already adds a variable under the hood. (collection {label!r})"
            )
        table = shared[0]
        if tuple(table.shape.as_list()) != shape:
            raise ValueError(
                f"Shared embedding collection {label} contains variable {table.name} of unexpected shape {table.shape}. "
                f"Expected shape is {shape}. Suggested fix A: Choose a unique name for this collection. Suggested fix B: "
                "Do not add any variables to this collection. The feature_column library already adds a variable "
                "under the hood."
            )
        return list(table) if isinstance(table, PartitionedVariable) else table


@says_where
def embedding_column(
    categorical_column: CategoricalColumn, dimension: int, combiner: str = "mean", initializer: Any = None,
    ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None, max_norm: Any = None, trainable: bool = True,
) -> EmbeddingColumn:  # fmt: skip
    """A learned vector for each category; those of one row are combined: "mean", "sqrtn" or "sum".

    >>> word = tf.feature_column.categorical_column_with_identity("word", 100)
    >>> vectors = tf.feature_column.embedding_column(word, 8)
    >>> tf.feature_column.input_layer({"word": [[3, 5], [7, -1]]}, [vectors]).shape.as_list()
    [2, 8]

    A row without categories is zeros.  ``max_norm`` limits each vector's length; the first values are a truncated
    normal distribution's with deviation ``1 / sqrt(dimension)`` unless ``initializer`` says otherwise.

    Args:
      categorical_column: A categorical column.
      dimension: The length of a vector.
      combiner: How the vectors of one row are combined: "mean", "sqrtn" or "sum".
      initializer: An initializer for the table; None for the one below.
      ckpt_to_load_from: A checkpoint with the first values; only with `tensor_name_in_ckpt`.
      tensor_name_in_ckpt: The name of the table there.
      max_norm: The greatest length of a vector, to which longer ones are shortened; None for no limit.
      trainable: Whether the table is trained.

    Returns:
      A dense column.
    """
    _check_table(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    check_categorical(categorical_column)
    if initializer is not None and not callable(initializer):
        raise ValueError(
            f"initializer must be callable if specified. Embedding of column_name: {categorical_column.name}"
        )
    return EmbeddingColumn(
        categorical_column, dimension, combiner, _initializer(initializer, dimension), ckpt_to_load_from,
        tensor_name_in_ckpt, max_norm, trainable,
    )  # fmt: skip


def _initializer(initializer: Any, dimension: int) -> Any:
    return TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(dimension)) if initializer is None else initializer


def _check_table(dimension: Any, checkpoint: Any, tensor_name: Any) -> None:
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (checkpoint is None) != (tensor_name is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if checkpoint is not None:
        raise NotImplementedError(
            f"ckpt_to_load_from={checkpoint!r}: a column does not read checkpoints; give the values as an initializer"
        )


@says_where
def shared_embedding_columns(
    categorical_columns: Any, dimension: int, combiner: str = "mean", initializer: Any = None,
    shared_embedding_collection_name: str | None = None, ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None, max_norm: Any = None, trainable: bool = True,
) -> list[SharedEmbeddingColumn]:  # fmt: skip
    """``embedding_column`` for several columns of the same type and size, with one table for all of them.

    Args:
      categorical_columns: A list of categorical columns.
      dimension: The length of a vector.
      combiner: How the vectors of one row are combined: "mean", "sqrtn" or "sum".
      initializer: An initializer for the table; None for a truncated normal distribution.
      shared_embedding_collection_name: A name for the table; None for one made of the columns' names.
      ckpt_to_load_from: A checkpoint with the first values; only with `tensor_name_in_ckpt`.
      tensor_name_in_ckpt: The name of the table there.
      max_norm: The greatest length of a vector, to which longer ones are shortened; None for no limit.
      trainable: Whether the table is trained.

    Returns:
      A list with a dense column for each.

    >>> words = [tf.feature_column.categorical_column_with_identity(key, 100) for key in ('first', 'second')]
    >>> len(tf.feature_column.shared_embedding_columns(words, dimension=8))
    2
    """
    _check_table(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified.")
    if isinstance(categorical_columns, CategoricalColumn) or not isinstance(categorical_columns, Iterable):
        raise TypeError(f"categorical_columns must be a list of categorical columns. Given: {categorical_columns}")
    columns = list(categorical_columns)
    if not columns:
        raise ValueError("categorical_columns must not be empty.")
    for column in columns:
        check_categorical(column)
        _check_alike(columns[0], column)
    label = shared_embedding_collection_name
    if not label:
        label = "_".join(sorted(column.name for column in columns)) + "_shared_embedding"
    start = _initializer(initializer, dimension)
    return [
        SharedEmbeddingColumn(
            column, dimension, combiner, start, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, label
        )
        for column in columns
    ]


def _check_alike(first: CategoricalColumn, column: CategoricalColumn) -> None:
    classes = [type(c.categorical_column if isinstance(c, WeightedCategoricalColumn) else c) for c in (first, column)]
    if classes[0] is not classes[1]:
        raise ValueError(
            "To use shared_embedding_column, all categorical_columns must have the same type, or be "
            f"weighted_categorical_column or sequence column of the same type. Given column: {first} of type: {classes[0]} "
            f"does not match given column: {column} of type: {classes[1]}"
        )
    if first.num_buckets != column.num_buckets:
        raise ValueError(
            "To use shared_embedding_column, all categorical_columns must have the same number of buckets. Given "
            f"column: {first} with buckets: {first.num_buckets} does not match column: {column} with buckets: "
            f"{column.num_buckets}"
        )
