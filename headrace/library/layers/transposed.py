"""Transposed convolution layers (a convolution's gradient used as a layer: upsampling), and their functions."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers.convolutional import Conv
from headrace.library.layers.function import layer_function
from headrace.library.layers.named import ZEROS
from headrace.library.network.convolution import conv2d_transpose as nn_conv2d_transpose
from headrace.library.network.convolution import conv3d_transpose as nn_conv3d_transpose
from headrace.library.tensor import array


def _length(length: Any, size: int, padding: str, stride: int) -> Any:
    """What an axis of this length (an integer or a tensor) grows to; None if unknown."""
    if length is None:
        return None
    grown = length * stride
    return grown + (size - stride) if padding == "valid" and size > stride else grown


class ConvTranspose(Conv):
    """A transposed convolution: kernel [*kernel_size, filters, channels]."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str = "channels_last", activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = None, bias_initializer: Any = ZEROS, kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, trainable: bool = True, name: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, trainable, name, **kwargs,
        )  # fmt: skip

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return *self.kernel_size, self.filters, channels

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        inputs = convert_to_tensor(inputs)
        shape: Any = array.shape(inputs)
        static = inputs.shape.as_list()
        first = self.data_format == "channels_first"
        axes = range(2, self.rank + 2) if first else range(1, self.rank + 1)
        batch = shape[0] if static[0] is None else static[0]
        lengths = [
            _length(shape[a] if static[a] is None else static[a], k, self.padding, s)
            for a, k, s in zip(axes, self.kernel_size, self.strides, strict=True)
        ]
        sizes = [batch, self.filters, *lengths] if first else [batch, *lengths, self.filters]
        transpose = nn_conv2d_transpose if self.rank == 2 else nn_conv3d_transpose
        strides = [1, 1, *self.strides] if first else [1, *self.strides, 1]
        outputs = transpose(
            inputs, self.kernel, array.stack(sizes), strides, padding=self.padding.upper(), data_format=self._layout
        )
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return self._finish(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        windows = zip(self._input_lengths(input_shape), self.kernel_size, self.strides, strict=True)
        return self._spatial_shape(input_shape, [_length(n, k, self.padding, s) for n, k, s in windows])


class Conv2DTranspose(ConvTranspose, rank=2):
    """A transposed convolution over images: with strides 2 it doubles their height and width."""


class Conv3DTranspose(ConvTranspose, rank=3):
    """A transposed convolution over volumes."""


conv2d_transpose = layer_function(
    "conv2d_transpose", Conv2DTranspose, "A transposed convolution over images [batch, height, width, channels]."
)
conv3d_transpose = layer_function(
    "conv3d_transpose",
    Conv3DTranspose,
    "A transposed convolution over volumes [batch, depth, height, width, channels].",
)
