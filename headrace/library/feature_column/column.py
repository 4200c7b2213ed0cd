"""What a feature column is, and the features of one call, each converted and transformed once.

Knows nothing of particular columns.  A column is a frozen value: equal columns transform a feature once.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor, located
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.library.control.assertion import assert_positive
from headrace.library.control.control_flow import cond
from headrace.library.numeric.math import cast, equal, not_equal
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.sparse.tensor import sparse_reshape
from headrace.library.tensor import array
from headrace.library.tensor.indexing import gather_nd, where


class FeatureColumn(abc.ABC):
    """A feature, or several, and what is made of it.  Immutable and hashable."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Unique among the columns of one call; also the variable scope's name."""

    @property
    def var_scope_name(self) -> str:
        """The scope its variables are in."""
        return self.name

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of encoded examples that it reads."""

    @abc.abstractmethod
    def transform_feature(self, features: Features) -> Any:
        """Its tensor, made once in a call."""


class IdWeightPair(NamedTuple):
    """The ids of each row, and a weight for each of them (None: all 1)."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class CategoricalColumn(FeatureColumn):
    """Ids from 0 to ``num_buckets``, any number of them in a row."""

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """How many different ids there are."""

    def get_sparse_tensors(self, features: Features) -> IdWeightPair:
        return IdWeightPair(features.get(self), None)


class DenseColumn(FeatureColumn):
    """Numbers, the same count in each row."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of one row."""

    @abc.abstractmethod
    def get_dense_tensor(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        """The rows; makes the column's variables, if it has any, in the current scope."""


class Features:
    """The features of one call: converted to matrices, and transformed by columns, once each."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = dict(features)
        self._transformed: dict[Any, Any] = {}

    def get(self, key: str | FeatureColumn) -> Any:
        """The tensor of a feature's name or of a column."""
        if key not in self._transformed:
            if isinstance(key, FeatureColumn):
                self._transformed[key] = key.transform_feature(self)
            else:
                self._transformed[key] = self._raw(key)
        return self._transformed[key]

    def _raw(self, key: str) -> Any:
        if key not in self._features:
            raise ValueError(f"Feature {key} is not in features dictionary. It has: {sorted(map(str, self._features))}")
        feature = convert_to_tensor_or_sparse_tensor(self._features[key])
        rank = feature.shape.ndims
        if rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {feature}")
        if rank is None:
            return _at_least_matrix(key, feature)
        return feature if rank > 1 else _column(feature)


def _column(feature: Any) -> Any:
    """A vector as a matrix of one column."""
    if isinstance(feature, SparseTensor):
        return sparse_reshape(feature, [array.shape(feature)[0], 1])
    return array.expand_dims(feature, -1)


def _at_least_matrix(key: str, feature: Any) -> Any:
    """A vector as a matrix of one column, for a feature whose rank is known only when the graph runs."""
    rank = array.rank(feature)
    message = f"Feature (key: {key}) cannot have rank 0. Given: {feature}"
    with control_dependencies([assert_positive(rank, message=message)]):
        return cond(equal(1, rank), lambda: _column(feature), lambda: feature)


def as_sparse_ids(value: Any, ignore_value: Any = None) -> SparseTensor:
    """A dense tensor as a sparse one without the elements that mean "nothing": "" or -1."""
    value = convert_to_tensor_or_sparse_tensor(value)
    if isinstance(value, SparseTensor):
        return value
    with name_scope(None, "to_sparse_input", [value]):
        if ignore_value is None:
            ignore_value = "" if value.dtype == dtypes.string else -1
        if value.dtype == dtypes.string:
            nothing = convert_to_tensor(ignore_value, dtypes.string, name="ignore_value")
        else:
            nothing = cast(ignore_value, value.dtype, name="ignore_value")
        indices = where(not_equal(value, nothing), name="indices")
        dense_shape = array.shape(value, out_type=dtypes.int64, name="dense_shape")
        return SparseTensor(indices, gather_nd(value, indices, name="values"), dense_shape)


# ---- checks

P = ParamSpec("P")
R = TypeVar("R")


def says_where(wrapped: Callable[P, R]) -> Callable[P, R]:
    """The errors of a public function end with the user's line."""

    @functools.wraps(wrapped)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return wrapped(*args, **kwargs)
        except (TypeError, ValueError) as e:
            told = located(e, at())
            if told is e:
                raise
            raise told from e

    return call


def check_key(key: Any) -> None:
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def check_words(dtype: Any, prefix: str) -> None:
    """Categories are strings or integers."""
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype!r}.")


def check_categorical(column: Any) -> None:
    if not isinstance(column, CategoricalColumn):
        raise ValueError(f"Unsupported input type. Input must be a CategoricalColumn. Given: {column}")


def sorted_columns(feature_columns: Any) -> list[FeatureColumn]:
    """The columns of a call in the order of their names; no two may share one."""
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    if not isinstance(feature_columns, Iterable):
        raise TypeError(f"Expected feature_columns to be iterable, found {type(feature_columns).__name__}.")
    columns = list(feature_columns)
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"Items of feature_columns must be a _FeatureColumn. Given (type {type(column)}): {column}."
            )
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    named: dict[str, FeatureColumn] = {}
    for column in columns:
        if column.name in named:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {named[column.name]}. This usually means "
                "that these columns refer to same base feature. Either one must be discarded or a duplicated but "
                "renamed item must be inserted in features dict."
            )
        named[column.name] = column
    return sorted(columns, key=lambda c: c.name)


def check_features(features: Any) -> None:
    if not isinstance(features, Mapping):
        raise TypeError(f"features must be a dictionary of names and tensors, got {type(features).__name__}")
    for key in features:
        if isinstance(key, FeatureColumn):
            raise ValueError(f"features must have the names of features as keys, got the column {key}")
