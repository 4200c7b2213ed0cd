"""Activation functions as layers, with arguments of their own."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.layers import activations
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.spec import InputSpec
from headrace.library.network.activation import leaky_relu, relu
from headrace.library.numeric import math


class _Elementwise(Layer):
    """A function of each element."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)


class LeakyReLU(_Elementwise):
    """``x`` above zero, ``alpha * x`` below.

    Args:
      alpha: The slope below zero.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.Session().run(tf.keras.layers.LeakyReLU(0.5)(tf.constant([-2.0, 3.0]))).tolist()
    [-1.0, 3.0]
    """

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return leaky_relu(inputs, alpha=self.alpha)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alpha": self.alpha}


class PReLU(_Elementwise):
    """``x`` above zero, ``alpha * x`` below, with slopes that are learned.

    Args:
      alpha_initializer: What makes the first slopes: an initializer, or its name.
      alpha_regularizer: A function of the slopes that gives a loss, or None.
      alpha_constraint: A function that an optimizer applies to the slopes after each update, or None.
      shared_axes: The axes along which the slope is the same, such as [1, 2] for one per channel of images; None for none.
      **kwargs: What every layer takes, such as ``name``.

    >>> layer = tf.keras.layers.PReLU(shared_axes=[1, 2])
    >>> y = layer(tf.zeros([1, 8, 8, 3]))
    >>> layer.alpha.shape.as_list()
    [1, 1, 3]
    """

    def __init__(
        self, alpha_initializer: Any = "zeros", alpha_regularizer: Any = None, alpha_constraint: Any = None,
        shared_axes: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        weight.keep_arguments(self, "alpha", alpha_initializer, alpha_regularizer, alpha_constraint)
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes and list(shared_axes)
        self.alpha: Any = None

    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape)
        dims: list[Any] = shape.as_list()[1:]
        for axis in self.shared_axes or ():
            dims[axis - 1] = 1
        if None in dims:
            raise ValueError(
                f"PReLU needs the sizes of the axes along which slopes differ. Received inputs of shape {shape} {at()}"
            )
        self.alpha = weight.make(self, "alpha", dims)
        own = {i: d for i, d in enumerate(shape.as_list()) if i > 0 and i not in (self.shared_axes or ())}
        self.input_spec = InputSpec(ndim=shape.ndims, axes=own)
        self.built = True

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return relu(inputs) - self.alpha * relu(-inputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **weight.config(self, "alpha"), "shared_axes": self.shared_axes}


class ELU(_Elementwise):
    """``x`` above zero, ``alpha * (exp(x) - 1)`` below.

    Args:
      alpha: What the result tends to for small ``x``, negated.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.Session().run(tf.keras.layers.ELU(2.0)(tf.constant([-100.0, 3.0]))).tolist()
    [-2.0, 3.0]
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return activations.elu(inputs, self.alpha)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alpha": self.alpha}


class ThresholdedReLU(_Elementwise):
    """``x`` above a threshold, zero below.

    Args:
      theta: The threshold.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.Session().run(tf.keras.layers.ThresholdedReLU(1.5)(tf.constant([1.0, 3.0]))).tolist()
    [0.0, 3.0]
    """

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = float(theta)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return inputs * math.cast(math.greater(inputs, self.theta), inputs.dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "theta": self.theta}


class Softmax(_Elementwise):
    """Positive numbers that sum to one along an axis.

    Args:
      axis: The axis.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.Session().run(tf.keras.layers.Softmax()(tf.zeros([1, 4]))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return activations.softmax(inputs, axis=self.axis)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axis": self.axis}


class ReLU(_Elementwise):
    """``x`` between a threshold and a largest value; below the threshold a line.

    Args:
      max_value: The largest value of the result; None for no bound.
      negative_slope: The slope below the threshold: ``negative_slope * (x - threshold)``.
      threshold: Where the lower part ends.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.Session().run(tf.keras.layers.ReLU(6.0, 0.5)(tf.constant([-4.0, 2.0, 9.0]))).tolist()
    [-2.0, 2.0, 6.0]
    """

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0, threshold: float = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        for name, value in (("max_value", max_value), ("negative_slope", negative_slope)):
            if value is not None and value < 0.0:
                raise ValueError(f"{name} of Relu layer cannot be negative value: {value}")
        self.max_value = None if max_value is None else float(max_value)
        self.negative_slope = float(negative_slope)
        self.threshold = float(threshold)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)

    def get_config(self) -> dict[str, Any]:
        own = {"max_value": self.max_value, "negative_slope": self.negative_slope, "threshold": self.threshold}
        return {**super().get_config(), **own}
