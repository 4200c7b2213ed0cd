"""Columns put to use: one dense matrix (input_layer), one weighted sum (linear_model), and how to parse their features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.feature_column.column import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    Features,
    check_features,
    says_where,
    sorted_columns,
)
from headrace.library.linalg.matrix import matmul
from headrace.library.network.activation import bias_add
from headrace.library.network.embedding_sparse import safe_embedding_lookup_sparse
from headrace.library.numeric.math import add_n
from headrace.library.scope import name_scope
from headrace.library.sparse.tensor import sparse_reshape
from headrace.library.state.initializers import Zeros
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable_scope import (
    get_variable,
    get_variable_scope,
    pure_variable_scope,
    unique_scope,
    variable_scope,
)
from headrace.library.tensor import array


@says_where
def input_layer(
    features: Mapping[str, Any], feature_columns: Any, weight_collections: Any = None, trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None, cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:  # fmt: skip
    """The columns' values side by side, in the order of their names: a row for each example.

    >>> price = tf.feature_column.numeric_column("price")
    >>> kind = tf.feature_column.indicator_column(tf.feature_column.categorical_column_with_identity("kind", 2))
    >>> features = {"price": [[1.5], [2.0]], "kind": [[1], [0]]}
    >>> tf.Session().run(tf.feature_column.input_layer(features, [price, kind]))
    array([[0. , 1. , 1.5],
           [1. , 0. , 2. ]], dtype=float32)

    ``cols_to_vars`` and ``cols_to_output_tensors``, if given, receive each column's variables and matrix.

    Args:
      features: A dictionary from names to tensors.
      feature_columns: Dense columns.
      weight_collections: Further collections for the variables; None for none.
      trainable: Whether the variables are trained.
      cols_to_vars: A dictionary to fill with the variables of each column; None for none.
      cols_to_output_tensors: A dictionary to fill with the matrix of each column; None for none.

    Returns:
      A float32 tensor, [examples, numbers].
    """
    columns = dense_columns(feature_columns)
    check_features(features)
    collections = _collections(weight_collections)
    graph = context.get_default_graph()
    with variable_scope(None, default_name="input_layer"):
        cache, outputs = Features(features), []
        for column in columns:
            with variable_scope(None, default_name=column.var_scope_name):
                output = as_matrix(column, cache, collections, trainable)
                outputs.append(output)
                if cols_to_vars is not None:
                    cols_to_vars[column] = graph.get_collection(
                        GraphKeys.GLOBAL_VARIABLES, scope=get_variable_scope().name + "/"
                    )
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = output
        check_batch_sizes(outputs, columns)
        return array.concat(outputs, 1)


def _collections(names: Any) -> list[Any]:
    collections = list(names or [])
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES):
        if key not in collections:
            collections.append(key)
    return collections


def dense_columns(feature_columns: Any) -> list[DenseColumn]:
    """The columns of a call in the order of their names; ValueError for one that has no numbers."""
    columns: list[DenseColumn] = []
    for column in sorted_columns(feature_columns):
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
        columns.append(column)
    return columns


def as_matrix(column: DenseColumn, features: Features, collections: Any, trainable: bool) -> Tensor:
    """The numbers of a column: a row for each example."""
    dense = column.get_dense_tensor(features, collections, trainable)
    rows = array.shape(dense)[0]
    return array.reshape(dense, (rows, math.prod(column.variable_shape)))


def check_batch_sizes(outputs: Sequence[Tensor], columns: Sequence[FeatureColumn]) -> None:
    """Raises ValueError unless all matrices have as many rows."""
    first: tuple[int, FeatureColumn] | None = None
    for output, column in zip(outputs, columns, strict=True):
        size = output.shape[0].value
        if size is None:
            continue
        if first is None:
            first = (size, column)
        elif size != first[0]:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. "
                f"Batch size of columns ({first[1].name}, {column.name}): ({first[0]}, {size})"
            )


@says_where
def linear_model(
    features: Mapping[str, Any], feature_columns: Any, units: int = 1, sparse_combiner: str = "sum",
    weight_collections: Any = None, trainable: bool = True, cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:  # fmt: skip
    """A bias and, for each column, its values times weights: ``units`` numbers for each example, all 0 at first.

    >>> kind = tf.feature_column.categorical_column_with_identity("kind", 10)
    >>> scores = tf.feature_column.linear_model({"kind": [[1, 4], [0, -1]]}, [kind], units=3)
    >>> scores.shape.as_list(), [v.name for v in tf.global_variables()]
    ([2, 3], ['linear_model/kind/weights:0', 'linear_model/bias_weights:0'])

    A categorical column's weights are combined by ``sparse_combiner``: "sum", "mean" or "sqrtn".

    Args:
      features: A dictionary from names to tensors.
      feature_columns: Dense or categorical columns.
      units: How many numbers each example has.
      sparse_combiner: How the weights of one row of categories are combined.
      weight_collections: Further collections for the variables; None for none.
      trainable: Whether the variables are trained.
      cols_to_vars: A dictionary to fill with the variables of each column, and of "bias"; None for none.

    Returns:
      A float32 tensor, [examples, units].
    """
    columns = sorted_columns(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(
                f"Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. Given: {column}"
            )
    check_features(features)
    collections = _collections(weight_collections)
    with variable_scope(None, default_name="linear_model") as scope:
        pass
    names = [_unique(column.name) for column in columns]
    variables: dict[Any, Any] = {}
    with name_scope(scope.name.split("/")[-1]), variable_scope(scope):
        cache, sums = Features(features), []
        for column, name in zip(columns, names, strict=True):
            with variable_scope(name):
                total, weights = weighted_sum(column, cache, units, sparse_combiner, collections, trainable)
                sums.append(total)
                variables[column] = _listed(weights)
        check_batch_sizes(sums, columns)
        total = add_n(sums, name="weighted_sum_no_bias")
        bias = get_variable(
            "bias_weights", [units], dtypes.float32, Zeros(), trainable=trainable, collections=collections
        )
        variables["bias"] = _listed(bias)
        if cols_to_vars is not None:
            cols_to_vars.update(variables)
        return bias_add(total, bias, name="weighted_sum")


def _unique(name: str) -> str:
    """The scope of a column's weights counts up in the scope of the model, as layers do: ``x``, ``x_1``."""
    chosen = unique_scope(name)
    with pure_variable_scope(chosen):
        return chosen


def _listed(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def weighted_sum(
    column: FeatureColumn, features: Features, units: int, combiner: str, collections: Any, trainable: bool
) -> tuple[Tensor, Any]:
    """A column's values times weights, which are made in the scope that is open; and the weights."""

    def weights(rows: int) -> Any:
        return get_variable(
            "weights", [rows, units], dtypes.float32, Zeros(), trainable=trainable, collections=collections
        )

    if isinstance(column, CategoricalColumn):
        table = weights(column.num_buckets)
        ids, id_weights = column.get_sparse_tensors(features)
        rows = array.shape(ids)[0]
        ids = sparse_reshape(ids, [rows, -1])
        if id_weights is not None:
            id_weights = SparseTensor(ids.indices, id_weights.values, ids.dense_shape)
        total = safe_embedding_lookup_sparse(table, ids, id_weights, combiner=combiner, name="weighted_sum")
        return total, table
    assert isinstance(column, DenseColumn)
    matrix = as_matrix(column, features, collections, trainable)
    table = weights(math.prod(column.variable_shape))
    return matmul(matrix, table, name="weighted_sum"), table


@says_where
def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """What ``tf.parse_example`` takes to read the columns' features from encoded examples.

    Args:
      feature_columns: Feature columns.

    Returns:
      A dictionary from names to `tf.FixedLenFeature` and `tf.VarLenFeature`.

    >>> tf.feature_column.make_parse_example_spec([tf.feature_column.numeric_column("price")])["price"].shape
    (1,)
    """
    spec: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be _FeatureColumn instances. Given: {column}")
        for key, feature in column.parse_example_spec.items():
            if key in spec and feature != spec[key]:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {feature} and {spec[key]}"
                )
            spec[key] = feature
    return spec
