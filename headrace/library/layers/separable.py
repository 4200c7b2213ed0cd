"""Separable convolution layers (each channel by itself, then a mix of the channels), and their functions."""

from __future__ import annotations

from typing import Any

from headrace.graph.operation import Tensor
from headrace.library.layers.convolutional import Conv
from headrace.library.layers.function import layer_function
from headrace.library.layers.named import ZEROS, get_initializer, get_regularizer
from headrace.library.network.activation import bias_add
from headrace.library.network.spatial import separable_conv2d as nn_separable_conv2d
from headrace.library.tensor import array


class SeparableConv(Conv):
    """Kernels [*kernel_size, channels, depth_multiplier] and [1..., channels * depth_multiplier, filters]."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str = "channels_last", dilation_rate: Any = 1, depth_multiplier: int = 1, activation: Any = None,
        use_bias: bool = True, depthwise_initializer: Any = None, pointwise_initializer: Any = None,
        bias_initializer: Any = ZEROS, depthwise_regularizer: Any = None, pointwise_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, depthwise_constraint: Any = None,
        pointwise_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True, name: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer, bias_constraint=bias_constraint,
            activity_regularizer=activity_regularizer, trainable=trainable, name=name, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = get_initializer(depthwise_initializer)
        self.pointwise_initializer = get_initializer(pointwise_initializer)
        self.depthwise_regularizer = get_regularizer(depthwise_regularizer)
        self.pointwise_regularizer = get_regularizer(pointwise_regularizer)
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        dtype = self._float_dtype()
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", shape=(*self.kernel_size, channels, self.depth_multiplier),
            initializer=self.depthwise_initializer, regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint, trainable=True, dtype=dtype,
        )  # fmt: skip
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel", shape=(*[1] * self.rank, self.depth_multiplier * channels, self.filters),
            initializer=self.pointwise_initializer, regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint, trainable=True, dtype=dtype,
        )  # fmt: skip
        self._add_bias_weight()
        self.built = True


class SeparableConv1D(SeparableConv, rank=1):
    """A separable convolution along one axis."""

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        padding = self.padding.upper()
        if self.padding == "causal":
            inputs, padding = self._pad_causally(inputs), "VALID"
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
    """A separable convolution over images."""

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        first = self.data_format == "channels_first"
        strides = [1, 1, *self.strides] if first else [1, *self.strides, 1]
        outputs = nn_separable_conv2d(
            inputs, self.depthwise_kernel, self.pointwise_kernel, strides, self.padding.upper(),
            rate=self.dilation_rate, data_format=self._layout,
        )  # fmt: skip
        return self._finish(outputs)


separable_conv1d = layer_function(
    "separable_conv1d", SeparableConv1D, "A separable convolution along one axis of [batch, length, channels]."
)
separable_conv2d = layer_function(
    "separable_conv2d", SeparableConv2D, "A separable convolution over images [batch, height, width, channels]."
)
