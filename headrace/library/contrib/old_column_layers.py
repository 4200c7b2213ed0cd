"""contrib.layers' functions of feature columns: the input of a network, a linear model, sequences, parsing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from headrace.core.source import at
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.contrib.old_column import SparseColumn
from headrace.library.feature_column.column import CategoricalColumn, FeatureColumn, Features, sorted_columns
from headrace.library.feature_column.layer import as_matrix, dense_columns, make_parse_example_spec, weighted_sum
from headrace.library.network.activation import bias_add
from headrace.library.numeric.math import add_n
from headrace.library.sparse.tensor import sparse_reshape
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.tensor import array
from headrace.library.text.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    parse_example,
    parse_single_sequence_example,
)  # fmt: skip


def _collections(names: Any) -> list[Any]:
    return list(dict.fromkeys([*(names or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]))


def _named_weights(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Tables of embeddings are called as they were."""
    return getter(name.removesuffix("embedding_weights") + "weights" if name.endswith("/embedding_weights") else name,
                  *args, **kwargs)  # fmt: skip


@contextmanager
def _opened(scope: Any, default: str) -> Iterator[Any]:
    with variable_scope(scope, default, custom_getter=_named_weights) as opened:
        yield opened


def input_from_feature_columns(
    columns_to_tensors: Mapping[str, Any], feature_columns: Any, weight_collections: Any = None, trainable: bool = True,
    scope: Any = None, cols_to_outs: dict[Any, Any] | None = None,
) -> Tensor:  # fmt: skip
    """The columns' values side by side, in the order of their names: a row for each example.

    Args:
      columns_to_tensors: A dictionary from names of features to tensors.
      feature_columns: Columns of numbers: real-valued, embedding, one-hot, bucketized ones.
      weight_collections: Further collections for the variables; None for none.
      trainable: Whether the variables are trained.
      scope: The variable scope, or its name; None for `input_from_feature_columns`.
      cols_to_outs: A dictionary to fill with the matrix of each column; None for none.

    Returns:
      A float32 tensor, [examples, numbers].

    >>> color = tf.contrib.layers.one_hot_column(tf.contrib.layers.sparse_column_with_keys("color", ["red", "green"]))
    >>> age = tf.contrib.layers.real_valued_column("age")
    >>> features = {"age": [[20.0], [30.0]], "color": [["green"], ["red"]]}
    >>> net = tf.contrib.layers.input_from_feature_columns(features, [age, color])
    >>> with tf.Session() as session:
    ...     session.run(tf.tables_initializer())
    ...     print(session.run(net))
    [[20.  0.  1.]
     [30.  1.  0.]]
    """
    columns = dense_columns(feature_columns)
    cache, outputs = Features(columns_to_tensors), []
    with _opened(scope, "input_from_feature_columns"):
        for column in columns:
            with variable_scope(column.var_scope_name, reuse=None):
                output = as_matrix(column, cache, _collections(weight_collections), trainable)
            outputs.append(output)
            if cols_to_outs is not None:
                cols_to_outs[column] = output
        return array.concat(outputs, 1)


def weighted_sum_from_feature_columns(
    columns_to_tensors: Mapping[str, Any], feature_columns: Any, num_outputs: int, weight_collections: Any = None,
    trainable: bool = True, scope: Any = None,
) -> tuple[Tensor, dict[Any, list[Any]], Any]:  # fmt: skip
    """A linear model of the columns: their values times weights, and a bias, all 0 at first.

    Args:
      columns_to_tensors: A dictionary from names of features to tensors.
      feature_columns: Columns of any kind.
      num_outputs: How many numbers each example has.
      weight_collections: Further collections for the variables; None for none.
      trainable: Whether the variables are trained.
      scope: The variable scope, or its name; None for `weighted_sum_from_feature_columns`.

    Returns:
      A tuple: a tensor [examples, num_outputs], a dictionary from columns to their variables, and the bias.

    >>> words = tf.contrib.layers.sparse_column_with_integerized_feature("word", 10)
    >>> logits, weights, bias = tf.contrib.layers.weighted_sum_from_feature_columns({"word": [[1], [2]]}, [words], 3)
    >>> logits.shape.as_list(), [v.op.name for v in tf.trainable_variables()]
    ([2, 3], ['weighted_sum_from_feature_columns/word/weights', 'weighted_sum_from_feature_columns/bias_weight'])
    """
    cache, sums, variables = Features(columns_to_tensors), [], {}
    collections = _collections(weight_collections)
    with variable_scope(scope, "weighted_sum_from_feature_columns"):
        for column in sorted_columns(feature_columns):
            combiner = column.combiner if isinstance(column, SparseColumn) else "sum"
            with variable_scope(column.name):
                total, weights = weighted_sum(column, cache, num_outputs, combiner, collections, trainable)
            sums.append(total)
            variables[column] = [weights]
        bias = get_variable(
            "bias_weight", [num_outputs], initializer=Zeros(), trainable=trainable, collections=collections
        )
        return bias_add(add_n(sums), bias, name="weighted_sum"), variables, bias


def sequence_input_from_feature_columns(
    columns_to_tensors: Mapping[str, Any], feature_columns: Any, weight_collections: Any = None, trainable: bool = True,
    scope: Any = None,
) -> Tensor:  # fmt: skip
    """The columns' values side by side for each step of a sequence.

    Args:
      columns_to_tensors: A dictionary from names of features to tensors: dense ones [examples, steps, numbers], and sparse
        ones of categories [examples, steps].
      feature_columns: Columns of numbers: real-valued, embedding, one-hot ones.
      weight_collections: Further collections for the variables; None for none.
      trainable: Whether the variables are trained.
      scope: The variable scope, or its name; None for `sequence_input_from_feature_columns`.

    Returns:
      A float32 tensor, [examples, steps, numbers].

    >>> price = tf.contrib.layers.real_valued_column("price")
    >>> net = tf.contrib.layers.sequence_input_from_feature_columns({"price": tf.zeros([2, 5, 1])}, [price])
    >>> net.shape.as_list()
    [2, 5, 1]
    """
    outputs = []
    with _opened(scope, "sequence_input_from_feature_columns"):
        for column in dense_columns(feature_columns):
            flat, lead, known = {}, None, None
            for key in column.parse_example_spec:
                if key not in columns_to_tensors:
                    raise ValueError(f"there is no feature {key!r}; there are {sorted(columns_to_tensors)} {at()}")
                flat[key], lead, known = _steps(columns_to_tensors[key])
            with variable_scope(column.var_scope_name, reuse=None):
                rows = as_matrix(column, Features(flat), _collections(weight_collections), trainable)
            width = math.prod(column.variable_shape)
            output = array.reshape(rows, array.concat([lead, [width]], 0))
            output.set_shape([*known, width])  # type: ignore[misc]
            outputs.append(output)
        return array.concat(outputs, 2)


def _steps(feature: Any) -> tuple[Any, Any, Any]:
    """A feature with a row for each step of each example, and how many there are of both."""
    if isinstance(feature, SparseTensor):
        lead = feature.dense_shape[:2]
        return sparse_reshape(feature, array.stack([lead[0] * lead[1], -1])), lead, [None, None]
    lead = array.shape(feature, out_type="int64")[:2]
    known = feature.shape.as_list() if feature.shape.ndims else [None, None]
    rest = array.shape(feature, out_type="int64")[2:]
    return array.reshape(feature, array.concat([[lead[0] * lead[1]], rest], 0)), lead, known[:2]


def create_feature_spec_for_parsing(feature_columns: Any) -> dict[str, Any]:
    """What `tf.parse_example` takes to read the columns' features.

    Args:
      feature_columns: Feature columns.

    Returns:
      A dictionary from names to `tf.FixedLenFeature` and `tf.VarLenFeature`.

    >>> sorted(tf.contrib.layers.create_feature_spec_for_parsing([tf.contrib.layers.real_valued_column("age")]))
    ['age']
    """
    return make_parse_example_spec(feature_columns)


def parse_feature_columns_from_examples(
    serialized: Any, feature_columns: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """The columns' features, read from encoded examples.

    Args:
      serialized: A vector of strings, a `tf.train.Example` each.
      feature_columns: Feature columns.
      name: A name for the op.
      example_names: A vector of names for errors; None for none.

    Returns:
      A dictionary from names of features to tensors.

    >>> age = tf.contrib.layers.real_valued_column("age")
    >>> sorted(tf.contrib.layers.parse_feature_columns_from_examples(tf.constant([""]), [age]))
    ['age']
    """
    check_feature_columns(feature_columns)
    return dict(parse_example(serialized, make_parse_example_spec(feature_columns), name, example_names))


def parse_feature_columns_from_sequence_examples(
    serialized: Any, context_feature_columns: Any, sequence_feature_columns: Any, name: str | None = None,
    example_name: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """The columns' features, read from an encoded sequence.

    Args:
      serialized: A string, a `tf.train.SequenceExample`.
      context_feature_columns: Columns of features of the whole sequence; None for none.
      sequence_feature_columns: Columns of features of each step; None for none.
      name: A name for the op.
      example_name: A name for errors; None for none.

    Returns:
      A pair of dictionaries from names of features to tensors.

    Example: ``context, steps = parse_feature_columns_from_sequence_examples(serialized, [age], [words])``
    """
    context = make_parse_example_spec(context_feature_columns or [])
    steps = {
        key: FixedLenSequenceFeature(spec.shape, spec.dtype) if isinstance(spec, FixedLenFeature) else spec
        for key, spec in make_parse_example_spec(sequence_feature_columns or []).items()
    }
    return parse_single_sequence_example(serialized, context, steps, example_name, name)


def check_feature_columns(feature_columns: Any) -> None:
    """Raises ValueError unless these are feature columns whose names differ.

    Args:
      feature_columns: A list of feature columns.

    >>> tf.contrib.layers.check_feature_columns([tf.contrib.layers.real_valued_column("age")])
    """
    seen: set[str] = set()
    for column in feature_columns:
        if not isinstance(column, (FeatureColumn, CategoricalColumn)):
            raise ValueError(f"Items of feature_columns must be feature columns, got {column!r} {at()}")
        if column.name in seen:
            raise ValueError(f"Duplicate feature column found for column {column.name!r} {at()}")
        seen.add(column.name)
