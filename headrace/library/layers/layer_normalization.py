"""The layer normalization layer."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.base_layer import Layer
from headrace.library.network import normalization
from headrace.library.tensor import array


class LayerNormalization(Layer):
    """Each sample by itself to mean ``beta`` and deviation ``gamma`` along some axes (Ba et al., 2016).

    Args:
      axis: The axis or axes along which the mean is taken, usually the features'.
      epsilon: A small number added to the variance.
      center: Whether ``beta`` is added.
      scale: Whether ``gamma`` multiplies.
      beta_initializer, gamma_initializer: What makes the first values: an initializer, or its name.
      beta_regularizer, gamma_regularizer: Functions of a weight that give a loss, or None.
      beta_constraint, gamma_constraint: Functions that an optimizer applies to a weight after each update, or None.
      trainable: Whether an optimizer changes its variables.
      name: A name for the layer.
      **kwargs: What every layer takes, such as ``dtype``.

    >>> layer = tf.keras.layers.LayerNormalization()
    >>> y = layer(tf.constant([[1.0, 3.0], [10.0, 30.0]]))
    >>> with tf.Session() as session:
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(y).round(2).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    def __init__(
        self, axis: Any = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
        beta_initializer: Any = "zeros", gamma_initializer: Any = "ones", beta_regularizer: Any = None,
        gamma_regularizer: Any = None, beta_constraint: Any = None, gamma_constraint: Any = None, trainable: bool = True,
        name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, trainable=trainable, **kwargs)
        if not isinstance(axis, (int, list, tuple)):
            raise ValueError(
                f"Expected an int or a list/tuple of ints for the argument 'axis', but received instead: {axis!r}"
            )
        self.axis: Any = axis if isinstance(axis, int) else list(axis)
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        weight.keep_arguments(self, "beta", beta_initializer, beta_regularizer, beta_constraint)
        weight.keep_arguments(self, "gamma", gamma_initializer, gamma_regularizer, gamma_constraint)
        self.supports_masking = True
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape)
        if shape.ndims is None:
            raise ValueError(f"Input shape {shape} has undefined rank. {at()}")
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        self.axis = [a + shape.ndims if a < 0 else a for a in axes]
        if any(not 0 <= a < shape.ndims for a in self.axis) or len(set(self.axis)) != len(self.axis):
            raise ValueError(f"Invalid axis: {axes} for inputs of rank {shape.ndims} {at()}")
        sizes = [shape.as_list()[a] for a in self.axis]
        if None in sizes:
            raise ValueError(f"Input has undefined `axis` dimension. Input shape: {shape}, axis: {self.axis} {at()}")
        if self.scale:
            self.gamma = weight.make(self, "gamma", sizes)
        if self.center:
            self.beta = weight.make(self, "beta", sizes)
        self.built = True

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        inputs = convert_to_tensor(inputs)
        rank = len(inputs.shape)
        sizes = [inputs.shape.as_list()[i] if i in self.axis else 1 for i in range(rank)]

        def fit(value: Any) -> Any:
            if value is None or self.axis == [rank - 1]:
                return value
            return array.reshape(value, sizes)

        mean, variance = normalization.moments(inputs, self.axis, keepdims=True)
        outputs = normalization.batch_normalization(
            inputs, mean, variance, fit(self.beta), fit(self.gamma), self.epsilon
        )
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(), "axis": self.axis, "epsilon": self.epsilon, "center": self.center, "scale": self.scale,
            **weight.config(self, "beta", "gamma"),
        }  # fmt: skip
