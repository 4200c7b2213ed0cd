"""The layer of feature columns: the numbers that dense columns make of named features, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.library.backend.session import track_variable
from headrace.library.feature_column.column import Features
from headrace.library.feature_column.layer import as_matrix, check_batch_sizes, dense_columns
from headrace.library.keras.column_config import deserialize_column, serialize_column
from headrace.library.layers.base_layer import Layer
from headrace.library.scope import name_scope
from headrace.library.state.variable_scope import pure_variable_scope
from headrace.library.tensor import array


class DenseFeatures(Layer):
    """The numbers that dense columns make of a dictionary of features: a row for each example.

    Args:
      feature_columns: Dense columns of `tf.feature_column`; they are put in the order of their names.
      trainable: Whether training changes the variables of the columns.
      name: A name for the layer.
      **kwargs: What every layer takes, such as ``dtype``.

    >>> price = tf.feature_column.numeric_column("price")
    >>> kind = tf.feature_column.indicator_column(tf.feature_column.categorical_column_with_identity("kind", 2))
    >>> layer = tf.keras.layers.DenseFeatures([price, kind])
    >>> tf.Session().run(layer({"price": [[1.5], [2.0]], "kind": [[1], [0]]}))
    array([[0. , 1. , 1.5],
           [1. , 0. , 2. ]], dtype=float32)
    """

    def __init__(self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._feature_columns = dense_columns(feature_columns)
        self._variables_of_columns: dict[str, Any] = {}  # by their whole names

    def call(self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None) -> Any:  # type: ignore[override]
        if not isinstance(features, Mapping):
            raise ValueError(f"We expected a dictionary of features here. Instead we got: {features} {at()}")
        cache, outputs = Features(features), []
        for column in self._feature_columns:
            with (
                pure_variable_scope(self.name),
                pure_variable_scope(column.name, custom_getter=self._own_variable_of_column),
                name_scope(column.name),
            ):
                output = as_matrix(column, cache, None, self.trainable)
            outputs.append(output)
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = output
        check_batch_sizes(outputs, self._feature_columns)
        return array.concat(outputs, 1)

    def _own_variable_of_column(self, getter: Callable[..., Any], name: str, **options: Any) -> Any:
        """The variable that a column asks for: made at the first call, and the same ever after."""
        if name not in self._variables_of_columns:
            variable = getter(name, **{**options, "use_resource": True})
            self._variables_of_columns[name] = variable
            track_variable(variable)
        return self._variables_of_columns[name]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shapes = list(input_shape.values()) if isinstance(input_shape, Mapping) else [input_shape]
        width = sum(math.prod(column.variable_shape) for column in self._feature_columns)
        return TensorShape([as_shape(shapes[0])[0], width])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "feature_columns": [serialize_column(c) for c in self._feature_columns]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """A layer from ``get_config``'s data; names of functions are looked up in ``custom_objects``."""
        columns = [deserialize_column(one, custom_objects) for one in config["feature_columns"]]
        return cls(**{**config, "feature_columns": columns})
