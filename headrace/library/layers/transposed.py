"""Transposed convolution layers (a convolution's gradient used as a layer: upsampling)."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers.convolutional import FORMAT_ARG, OUTPUT_ARGS, WINDOW_ARGS, Conv
from headrace.library.layers.data_format import numbers, spatial_axes
from headrace.library.network.convolution import conv2d_transpose as nn_conv2d_transpose
from headrace.library.network.convolution import conv3d_transpose as nn_conv3d_transpose
from headrace.library.network.spatial import atrous_conv2d_transpose
from headrace.library.tensor import array

_PADDING_ARG = (
    "output_padding: What is added to the lengths of the output, a number or one for each axis; None to find them out."
)
_WEIGHT_ARGS = """kernel_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      kernel_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, bias_constraint: Functions that an optimizer applies to a weight after each update, or None.
      **kwargs: What every layer takes, such as ``name``."""


def _length(length: Any, size: int, padding: str, stride: int, more: int | None, dilation: int) -> Any:
    """What an axis of this length (an integer or a tensor) grows to; None if unknown."""
    if length is None:
        return None
    size = size + (size - 1) * (dilation - 1)
    if more is None:
        grown = length * stride
        return grown + (size - stride) if padding == "valid" and size > stride else grown
    edge = size // 2 if padding == "same" else 0
    return (length - 1) * stride + size - 2 * edge + more


class ConvTranspose(Conv):
    """A transposed convolution: kernel [*kernel_size, filters, channels]."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", output_padding: Any = None,
        data_format: str | None = None, activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros", kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        dilation_rate = kwargs.pop("dilation_rate", 1)
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, **kwargs,
        )  # fmt: skip
        self.output_padding = None if output_padding is None else numbers(output_padding, self.rank, "output_padding")
        if any(more >= s for more, s in zip(self.output_padding or (), self.strides, strict=False)):
            raise ValueError(f"Stride {self.strides} must be greater than output padding {self.output_padding} {at()}")

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return *self.kernel_size, self.filters, channels

    def _grown(self, lengths: list[Any]) -> list[Any]:
        more = self.output_padding or (None,) * self.rank
        windows = zip(lengths, self.kernel_size, self.strides, more, self.dilation_rate, strict=True)
        return [_length(n, k, self.padding, s, m, d) for n, k, s, m, d in windows]

    def call(self, inputs: Any) -> Tensor:
        inputs = convert_to_tensor(inputs)
        shape: Any = array.shape(inputs)
        static = inputs.shape.as_list()
        first = self.data_format == "channels_first"
        axes = spatial_axes(self.data_format, self.rank)
        batch = shape[0] if static[0] is None else static[0]
        lengths = self._grown([shape[a] if static[a] is None else static[a] for a in axes])
        sizes = array.stack([batch, self.filters, *lengths] if first else [batch, *lengths, self.filters])
        if max(self.dilation_rate) > 1:
            outputs = self._dilated(inputs, sizes)
        else:
            transpose = nn_conv2d_transpose if self.rank == 2 else nn_conv3d_transpose
            strides = [1, 1, *self.strides] if first else [1, *self.strides, 1]
            outputs = transpose(
                inputs, self.kernel, sizes, strides, padding=self.padding.upper(), data_format=self._layout
            )
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return self._finish(outputs)

    def _dilated(self, inputs: Tensor, sizes: Tensor) -> Tensor:
        if self.rank != 2 or self.data_format == "channels_first" or len(set(self.dilation_rate)) > 1:
            raise ValueError(
                f"{type(self).__name__} takes a dilation_rate above 1 over images with channels last and for both axes alike. "
                f"Received: dilation_rate={self.dilation_rate}, data_format={self.data_format} {at()}"
            )
        return atrous_conv2d_transpose(inputs, self.kernel, sizes, self.dilation_rate[0], self.padding.upper())

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return self._spatial_shape(input_shape, self._grown(self._input_lengths(input_shape)))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "output_padding": self.output_padding}


class Conv2DTranspose(ConvTranspose, rank=2):
    __doc__ = f"""A transposed convolution over images: with strides 2 it doubles their height and width.

    Args:
      {WINDOW_ARGS}
      {_PADDING_ARG}
      {FORMAT_ARG}
      dilation_rate: The distance of the window's elements, one number for both axes; above 1 only without strides.
      {OUTPUT_ARGS}
      {_WEIGHT_ARGS}

    >>> tf.keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same")(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 16, 16, 4]
    """

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid", output_padding: Any = None,
        data_format: str | None = None, dilation_rate: Any = (1, 1), activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros", kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, output_padding, data_format, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, dilation_rate=dilation_rate, **kwargs,
        )  # fmt: skip


class Conv3DTranspose(ConvTranspose, rank=3):
    __doc__ = f"""A transposed convolution over volumes.

    Args:
      {WINDOW_ARGS}
      {_PADDING_ARG}
      {FORMAT_ARG}
      {OUTPUT_ARGS}
      {_WEIGHT_ARGS}

    >>> tf.keras.layers.Conv3DTranspose(4, 2, strides=2)(tf.zeros([1, 4, 4, 4, 3])).shape.as_list()
    [1, 8, 8, 8, 4]
    """

    def get_config(self) -> dict[str, Any]:
        own = super().get_config()
        del own["dilation_rate"]
        return own
