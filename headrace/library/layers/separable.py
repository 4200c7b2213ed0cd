"""Separable convolution layers (each channel by itself, then a mix of the channels), and the depthwise half alone."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape
from headrace.graph.operation import Tensor
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.convolutional import DILATION_ARG, FORMAT_ARG, OUTPUT_ARGS, WINDOW_ARGS, Conv
from headrace.library.network.activation import bias_add
from headrace.library.network.spatial import depthwise_conv2d
from headrace.library.network.spatial import separable_conv2d as nn_separable_conv2d
from headrace.library.tensor import array

_MULTIPLIER_ARG = "depth_multiplier: How many outputs each channel has before they are mixed."
_ARGS = f"""{WINDOW_ARGS}
      {FORMAT_ARG}
      {DILATION_ARG}
      {_MULTIPLIER_ARG}
      {OUTPUT_ARGS}
      depthwise_initializer, pointwise_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      depthwise_regularizer, pointwise_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      depthwise_constraint, pointwise_constraint, bias_constraint: Functions that an optimizer applies to a weight after each
        update, or None.
      **kwargs: What every layer takes, such as ``name``."""


class SeparableConv(Conv):
    """Kernels [*kernel_size, channels, depth_multiplier] and [1..., channels * depth_multiplier, filters]."""

    _WEIGHTS = ("depthwise", "pointwise", "bias")

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", data_format: str | None = None,
        dilation_rate: Any = 1, depth_multiplier: int = 1, activation: Any = None, use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform", pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros", depthwise_regularizer: Any = None, pointwise_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, depthwise_constraint: Any = None,
        pointwise_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer, bias_constraint=bias_constraint,
            activity_regularizer=activity_regularizer, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        weight.keep_arguments(self, "depthwise", depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        weight.keep_arguments(self, "pointwise", pointwise_initializer, pointwise_regularizer, pointwise_constraint)
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        channels, dtype = self._channels(input_shape), self._float_dtype()
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = weight.make(self, "depthwise", shape, dtype, suffix="_kernel")
        mixed = (*[1] * self.rank, self.depth_multiplier * channels, self.filters)
        self.pointwise_kernel = weight.make(self, "pointwise", mixed, dtype, suffix="_kernel")
        self._add_bias_weight(self.filters)
        self.built = True

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "depth_multiplier": self.depth_multiplier}


class SeparableConv1D(SeparableConv, rank=1):
    __doc__ = f"""A separable convolution along one axis of [batch, steps, channels].

    Args:
      {_ARGS}

    >>> tf.keras.layers.SeparableConv1D(4, 3)(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 6, 4]
    """

    def call(self, inputs: Any) -> Tensor:
        inputs, padding = self._padded(inputs)
        first = self.data_format == "channels_first"
        axis, layout = (2, "NCHW") if first else (1, "NHWC")
        strides = [1, 1, *self.strides * 2] if first else [1, *self.strides * 2, 1]
        outputs = nn_separable_conv2d(
            array.expand_dims(inputs, axis), array.expand_dims(self.depthwise_kernel, 0),
            array.expand_dims(self.pointwise_kernel, 0), strides, padding, rate=[1, *self.dilation_rate],
            data_format=layout,
        )  # fmt: skip
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=layout)
        outputs = array.squeeze(outputs, [axis])
        return self.activation(outputs) if self.activation is not None else outputs


class SeparableConv2D(SeparableConv, rank=2):
    __doc__ = f"""A separable convolution over images [batch, height, width, channels].

    Args:
      {_ARGS}

    >>> tf.keras.layers.SeparableConv2D(16, 3)(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 6, 6, 16]
    """

    def call(self, inputs: Any) -> Tensor:
        first = self.data_format == "channels_first"
        strides = [1, 1, *self.strides] if first else [1, *self.strides, 1]
        outputs = nn_separable_conv2d(
            inputs, self.depthwise_kernel, self.pointwise_kernel, strides, self.padding.upper(),
            rate=self.dilation_rate, data_format=self._layout,
        )  # fmt: skip
        return self._finish(outputs)


class DepthwiseConv2D(Conv, rank=2):
    __doc__ = f"""A convolution of each channel of images by itself: [batch, height, width, channels * depth_multiplier].

    Args:
      {WINDOW_ARGS.partition("channels.")[2].strip()}
      {_MULTIPLIER_ARG}
      {FORMAT_ARG}
      {OUTPUT_ARGS}
      depthwise_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      depthwise_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      depthwise_constraint, bias_constraint: Functions that an optimizer applies to a weight after each update, or None.
      **kwargs: What every layer takes, such as ``name``, and ``dilation_rate``.

    >>> tf.keras.layers.DepthwiseConv2D(3, depth_multiplier=2)(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 6, 6, 6]
    """

    _WEIGHTS = ("depthwise", "bias")

    def __init__(
        self, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid", depth_multiplier: int = 1,
        data_format: str | None = None, activation: Any = None, use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        depthwise_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            None, kernel_size, strides, padding, data_format, activation=activation, use_bias=use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer, bias_constraint=bias_constraint,
            activity_regularizer=activity_regularizer, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        weight.keep_arguments(self, "depthwise", depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        self.depthwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = weight.make(self, "depthwise", shape, self._float_dtype(), suffix="_kernel")
        self._add_bias_weight(channels * self.depth_multiplier)
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        first = self.data_format == "channels_first"
        strides = [1, 1, *self.strides] if first else [1, *self.strides, 1]
        outputs = depthwise_conv2d(
            inputs, self.depthwise_kernel, strides, self.padding.upper(), rate=self.dilation_rate,
            data_format=self._layout,
        )  # fmt: skip
        return self._finish(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        channels = self._channels(input_shape) * self.depth_multiplier
        return self._spatial_shape(input_shape, self._output_lengths(input_shape), channels)

    def get_config(self) -> dict[str, Any]:
        own = super().get_config()
        del own["filters"]
        return {**own, "depth_multiplier": self.depth_multiplier}
