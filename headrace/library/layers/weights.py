"""The variables of a layer: how they are made, listed, read and set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.library.backend.config import floatx
from headrace.library.backend.session import batch_get_value, batch_set_value, track_variable
from headrace.library.layers import constraints, initializers, regularizers
from headrace.library.layers.tracking import Tracked, unique
from headrace.library.scope import name_scope
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization, trainable_value

_ACCEPTED = ("autocast", "caching_device", "collections", "experimental_autocast", "getter")


class Weighted(Tracked):
    """An object with variables, its own and those of the layers in its attributes."""

    name: str
    built: bool
    trainable: bool
    _dtype: str | None
    add_loss: Callable[..., None]

    def add_weight(
        self, name: str | None = None, shape: Any = None, dtype: Any = None, initializer: Any = None,
        regularizer: Any = None, trainable: bool | None = None, constraint: Any = None, partitioner: Any = None,
        use_resource: bool | None = None, synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """A new variable of the layer.

        Args:
          name: Its name, below the layer's; None for "Variable".
          shape: Its shape; None for a scalar.
          dtype: Its dtype; None for the layer's, or else `tf.keras.backend.floatx`.
          initializer: What makes its first value, or the name of such; None for "glorot_uniform" (zeros if no floats).
          regularizer: A function of the variable whose result is a loss of the layer, or the name of such.
          trainable: Whether training changes it; None for yes, unless `synchronization` is ON_READ.
          constraint: A function of the new value that gives what is stored after an update.
          partitioner: What cuts it in pieces, for layers of `tf.layers`.
          use_resource: Whether it is a resource variable; None for yes.
          synchronization: A `tf.VariableSynchronization`.
          aggregation: A `tf.VariableAggregation`.
          **kwargs: `getter` makes the variable in place of `tf.Variable`; `collections` lists where to add it;
            `caching_device` says where to read it.

        Returns:
          A variable.

        >>> layer = tf.keras.layers.Layer()
        >>> scale = layer.add_weight("scale", shape=[3], initializer="ones")
        >>> [w is scale for w in layer.weights]
        [True]
        """
        for key in kwargs:
            if key not in _ACCEPTED:
                raise TypeError("Unknown keyword argument:", key)
        element_type = dtypes.as_dtype(dtype or self._dtype or floatx())
        if self._dtype is None:
            self._dtype = element_type.base_dtype.name
        trainable = trainable_value(synchronization, trainable)
        initializer = self._checked_initializer(initializer, element_type, name, "getter" in kwargs)
        make = kwargs.get("getter", make_variable)
        optional = {key: kwargs[key] for key in ("collections", "caching_device") if key in kwargs}
        variable = make(
            name=name, shape=TensorShape(() if shape is None else shape), dtype=element_type, initializer=initializer,
            trainable=trainable, constraint=constraints.get(constraint), partitioner=partitioner,
            use_resource=use_resource, synchronization=synchronization, aggregation=aggregation, **optional,
        )  # fmt: skip
        parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
        regularizer = regularizers.get(regularizer)
        for part in parts:
            track_variable(part)
            (self._trainable_weights if trainable else self._non_trainable_weights).append(part)
            if regularizer is not None:
                self.add_loss(partial(_regularized, part, regularizer, part.name.split(":")[0]))
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """The older name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def _checked_initializer(self, initializer: Any, dtype: DType, name: str | None, has_getter: bool) -> Any:
        if initializer is not None or has_getter:
            return initializers.get(initializer)
        if dtype.is_floating:
            return initializers.get("glorot_uniform")
        if dtype.is_integer or dtype.is_bool:
            return initializers.get("zeros")
        raise ValueError(
            f"An initializer for variable {name} of type {dtype.base_dtype} is required for layer {self.name}. {at()}"
        )

    # ---- lists of variables

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that training changes, in the order in which they were made; none if the layer is frozen."""
        if not self.trainable:
            return []
        contained = [v for v in self._held_variables() if v.trainable]
        return unique([*self._trainable_weights, *contained, *self._gathered("trainable_weights")])

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that training leaves alone; all of them if the layer is frozen."""
        if self.trainable:
            contained = [v for v in self._held_variables() if not v.trainable]
            return unique([*self._non_trainable_weights, *contained, *self._gathered("non_trainable_weights")])
        own = [*self._trainable_weights, *self._non_trainable_weights, *self._held_variables()]
        return unique([*own, *self._gathered("weights")])

    def _gathered(self, field: str) -> list[Any]:
        return [variable for layer in self._sub_layers() for variable in getattr(layer, field)]

    @property
    def weights(self) -> list[Any]:
        """All variables: those that training changes, then the others."""
        return unique([*self.trainable_weights, *self.non_trainable_weights])

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that training changes."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The variables that training leaves alone."""
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """All variables."""
        return self.weights

    def count_params(self) -> int:
        """How many numbers the variables hold.

        Returns:
          An int.

        >>> layer = tf.keras.layers.Layer()
        >>> layer.build([None, 2])
        >>> layer.count_params()
        0
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You can build it manually "
                f"via: `{self.name}.build(batch_input_shape)`."
            )
        return sum(int(np.prod(v.shape.as_list())) for v in self.weights)

    # ---- values

    def get_weights(self) -> list[Any]:
        """The values of the variables.

        Returns:
          A list of arrays, in the order of `weights`.

        >>> layer = tf.keras.layers.Layer()
        >>> scale = layer.add_weight("scale", shape=[2], initializer="ones")
        >>> layer.get_weights()
        [array([1., 1.], dtype=float32)]
        """
        return batch_get_value(self.weights)

    def set_weights(self, weights: list[Any]) -> None:
        """Sets the values of the variables.

        Args:
          weights: Arrays, in the order of the property `weights`.

        >>> layer = tf.keras.layers.Layer()
        >>> scale = layer.add_weight("scale", shape=[2])
        >>> layer.set_weights([[3.0, 4.0]])
        >>> layer.get_weights()
        [array([3., 4.], dtype=float32)]
        """
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of length {len(weights)}, but '
                f"the layer was expecting {len(variables)} weights. Provided weights: {str(weights)[:50]}... {at()}"
            )
        for variable, value in zip(variables, weights, strict=True):
            if not variable.shape.is_compatible_with(np.shape(value)):
                raise ValueError(
                    f"Layer weight shape {variable.shape} not compatible with provided weight shape {np.shape(value)} "
                    f"(variable {variable.name})"
                )
        batch_set_value(list(zip(variables, weights, strict=True)))


def make_variable(
    name: str | None, shape: Any, dtype: Any, initializer: Any, trainable: bool | None = None, use_resource: Any = None,
    partitioner: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """A variable under the current name scope, a resource variable unless asked otherwise."""
    if initializer is not None and not callable(initializer):
        value, dtype = initializer, None
    else:
        value = partial(initializer() if isinstance(initializer, type) else initializer, shape, dtype=dtype)
    return Variable(
        initial_value=value, name=name, trainable=trainable, dtype=dtype, shape=shape if shape.rank else None,
        use_resource=True if use_resource is None else use_resource, **options,
    )  # fmt: skip


def _regularized(variable: Any, regularizer: Any, name: str) -> Any:
    with name_scope(f"{name}/Regularizer"):
        return regularizer(variable)
