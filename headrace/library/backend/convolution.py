"""Convolutions, pooling and biases, under Keras's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.backend.product import batch_dot
from headrace.library.backend.shaping import checked_format, temporal_padding
from headrace.library.network import activation, spatial
from headrace.library.network import convolution as tf_convolution
from headrace.library.tensor import array

_LAYOUTS = {
    ("channels_last", 1): "NWC", ("channels_first", 1): "NCW", ("channels_last", 2): "NHWC",
    ("channels_first", 2): "NCHW", ("channels_last", 3): "NDHWC", ("channels_first", 3): "NCDHW",
}  # fmt: skip


def _padding(padding: str) -> str:
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding: {padding!r}; expected same or valid")
    return padding.upper()


def _convolved(x: Any, kernel: Any, strides: Any, padding: str, data_format: Any, dilation_rate: Any, rank: int) -> Any:
    layout = _LAYOUTS[checked_format(data_format), rank]
    return spatial.convolution(
        x, kernel, _padding(padding), strides=strides, dilation_rate=dilation_rate, data_format=layout
    )


def conv1d(
    x: Any, kernel: Any, strides: int = 1, padding: str = "valid", data_format: str | None = None,
    dilation_rate: int = 1,
) -> Tensor:  # fmt: skip
    """A convolution along one axis.

    Args:
      x: A tensor [batch, steps, channels].
      kernel: A tensor [width, channels, filters].
      strides: The step of the window.
      padding: "valid", "same", or "causal": a result depends on no later steps.
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.
      dilation_rate: The distance of the window's elements.

    Returns:
      A tensor.

    >>> tf.keras.backend.conv1d(tf.zeros([1, 8, 3]), tf.zeros([3, 3, 5])).shape.as_list()
    [1, 6, 5]
    """
    if padding == "causal":
        x = temporal_padding(x, (dilation_rate * (kernel.shape.as_list()[0] - 1), 0))
        padding = "valid"
    return _convolved(x, kernel, [strides], padding, data_format, [dilation_rate], 1)


def conv2d(
    x: Any, kernel: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """A convolution over images.

    Args:
      x: A tensor [batch, rows, columns, channels].
      kernel: A tensor [height, width, channels, filters].
      strides: The steps of the window.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.
      dilation_rate: The distances of the window's elements.

    Returns:
      A tensor.

    >>> tf.keras.backend.conv2d(tf.zeros([1, 8, 8, 3]), tf.zeros([3, 3, 3, 5])).shape.as_list()
    [1, 6, 6, 5]
    """
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate, 2)


def conv3d(
    x: Any, kernel: Any, strides: Any = (1, 1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = (1, 1, 1),
) -> Tensor:  # fmt: skip
    """A convolution over volumes.

    Args:
      x: A tensor [batch, depth, rows, columns, channels].
      kernel: A tensor [depth, height, width, channels, filters].
      strides: The steps of the window.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.
      dilation_rate: The distances of the window's elements.

    Returns:
      A tensor.

    >>> tf.keras.backend.conv3d(tf.zeros([1, 4, 4, 4, 3]), tf.zeros([3, 3, 3, 3, 5])).shape.as_list()
    [1, 2, 2, 2, 5]
    """
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate, 3)


def _out_shape(x: Any, output_shape: Any) -> Any:
    if isinstance(output_shape, (tuple, list)):
        sizes: Any = array.shape(x)
        first = sizes[0] if output_shape[0] is None else output_shape[0]
        return array.stack([first, *output_shape[1:]])
    return output_shape


def conv2d_transpose(
    x: Any, kernel: Any, output_shape: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """A transposed convolution over images.

    Args:
      x: A tensor [batch, rows, columns, channels].
      kernel: A tensor [height, width, filters, channels].
      output_shape: The shape of the result; None for the size of the batch.
      strides: The steps of the window.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.
      dilation_rate: The distances of the window's elements; above 1 for channels last only.

    Returns:
      A tensor.

    >>> y = tf.keras.backend.conv2d_transpose(tf.zeros([1, 4, 4, 3]), tf.zeros([3, 3, 5, 3]), (1, 6, 6, 5))
    >>> y.shape.as_list()
    [1, 6, 6, 5]
    """
    layout = _LAYOUTS[checked_format(data_format), 2]
    shape = _out_shape(x, output_shape)
    if tuple(dilation_rate) != (1, 1):
        if layout == "NCHW" or len(set(dilation_rate)) != 1:
            raise ValueError(f"dilation_rate above 1 needs channels_last and the same rate twice, got {dilation_rate}")
        return spatial.atrous_conv2d_transpose(x, kernel, shape, dilation_rate[0], _padding(padding))
    steps = (1, 1, *strides) if layout == "NCHW" else (1, *strides, 1)
    result = tf_convolution.conv2d_transpose(x, kernel, shape, steps, _padding(padding), data_format=layout)
    if isinstance(output_shape, (tuple, list)):
        result.set_shape([d if isinstance(d, int) else None for d in output_shape])
    return result


def depthwise_conv2d(
    x: Any, depthwise_kernel: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """A convolution of each channel of images with kernels of its own.

    Args:
      x: A tensor [batch, rows, columns, channels].
      depthwise_kernel: A tensor [height, width, channels, multiplier].
      strides: The steps of the window.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.
      dilation_rate: The distances of the window's elements.

    Returns:
      A tensor.

    >>> tf.keras.backend.depthwise_conv2d(tf.zeros([1, 8, 8, 3]), tf.zeros([3, 3, 3, 2])).shape.as_list()
    [1, 6, 6, 6]
    """
    layout = _LAYOUTS[checked_format(data_format), 2]
    steps = (1, 1, *strides) if layout == "NCHW" else (1, *strides, 1)
    return spatial.depthwise_conv2d(
        x, depthwise_kernel, steps, _padding(padding), rate=dilation_rate, data_format=layout
    )


def separable_conv2d(
    x: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """A convolution of each channel of images, then one over the channels.

    Args:
      x: A tensor [batch, rows, columns, channels].
      depthwise_kernel: A tensor [height, width, channels, multiplier].
      pointwise_kernel: A tensor [1, 1, channels * multiplier, filters].
      strides: The steps of the window.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.
      dilation_rate: The distances of the window's elements.

    Returns:
      A tensor.

    >>> x, point = tf.zeros([1, 8, 8, 3]), tf.zeros([1, 1, 6, 4])
    >>> tf.keras.backend.separable_conv2d(x, tf.zeros([3, 3, 3, 2]), point).shape.as_list()
    [1, 6, 6, 4]
    """
    layout = _LAYOUTS[checked_format(data_format), 2]
    steps = (1, 1, *strides) if layout == "NCHW" else (1, *strides, 1)
    return spatial.separable_conv2d(
        x, depthwise_kernel, pointwise_kernel, steps, _padding(padding), rate=dilation_rate, data_format=layout
    )


def _pooled(x: Any, size: Any, strides: Any, padding: str, data_format: Any, mode: str, rank: int) -> Tensor:
    if mode not in ("max", "avg"):
        raise ValueError(f"Invalid pooling mode: {mode!r}; expected max or avg")
    layout = _LAYOUTS[checked_format(data_format), rank]
    return spatial.pool(x, size, mode.upper(), _padding(padding), strides=strides, data_format=layout)


def pool2d(
    x: Any, pool_size: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:  # fmt: skip
    """The largest or the mean element in windows of images.

    Args:
      x: A tensor [batch, rows, columns, channels].
      pool_size: The size of the window.
      strides: The steps of the window.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.
      pool_mode: "max" or "avg".

    Returns:
      A tensor.

    >>> tf.keras.backend.pool2d(tf.zeros([1, 8, 8, 3]), (2, 2), strides=(2, 2)).shape.as_list()
    [1, 4, 4, 3]
    """
    return _pooled(x, pool_size, strides, padding, data_format, pool_mode, 2)


def pool3d(
    x: Any, pool_size: Any, strides: Any = (1, 1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:  # fmt: skip
    """The largest or the mean element in windows of volumes.

    Args:
      x: A tensor [batch, depth, rows, columns, channels].
      pool_size: The size of the window.
      strides: The steps of the window.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.
      pool_mode: "max" or "avg".

    Returns:
      A tensor.

    >>> tf.keras.backend.pool3d(tf.zeros([1, 4, 4, 4, 3]), (2, 2, 2), (2, 2, 2)).shape.as_list()
    [1, 2, 2, 2, 3]
    """
    return _pooled(x, pool_size, strides, padding, data_format, pool_mode, 3)


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Tensor:
    """A bias added to each channel.

    Args:
      x: A tensor.
      bias: A vector with a number for each channel, or a tensor of the shape of an example.
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.bias_add(tf.zeros([1, 2]), tf.constant([1.0, 2.0])))
    array([[1., 2.]], dtype=float32)
    """
    first = checked_format(data_format) == "channels_first"
    x, dims = convert_to_tensor(x), bias.shape.as_list()
    rank = x.shape.ndims
    if len(dims) == 1:
        return activation.bias_add(x, bias, data_format="NCHW" if first and rank > 2 else "NHWC")
    if len(dims) != rank - 1:
        raise ValueError(f"Unexpected bias dimensions {len(dims)}, expect to be 1 or {rank - 1} dimensions")
    shape = (1, dims[-1], *dims[:-1]) if first else (1, *dims)
    return x + array.reshape(bias, shape)


def local_conv1d(
    inputs: Any, kernel: Any, kernel_size: Sequence[int], strides: Sequence[int], data_format: str | None = None
) -> Tensor:
    """A convolution along one axis with a kernel of its own for each place.

    Args:
      inputs: A tensor [batch, steps, channels].
      kernel: A tensor [places, width * channels, filters].
      kernel_size: The width of the window, in a tuple.
      strides: The step of the window, in a tuple.
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.

    Returns:
      A tensor.

    >>> x, kernel = tf.zeros([2, 5, 3]), tf.zeros([4, 6, 7])
    >>> tf.keras.backend.local_conv1d(x, kernel, (2,), (1,)).shape.as_list()
    [2, 4, 7]
    """
    return _local(inputs, kernel, kernel_size, strides, (kernel.shape.as_list()[0],), data_format)


def local_conv2d(
    inputs: Any, kernel: Any, kernel_size: Sequence[int], strides: Sequence[int], output_shape: Sequence[int],
    data_format: str | None = None,
) -> Tensor:  # fmt: skip
    """A convolution over images with a kernel of its own for each place.

    Args:
      inputs: A tensor [batch, rows, columns, channels].
      kernel: A tensor [places, height * width * channels, filters].
      kernel_size: The size of the window.
      strides: The steps of the window.
      output_shape: The numbers of rows and columns of the result.
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.

    Returns:
      A tensor.

    >>> x, kernel = tf.zeros([2, 5, 5, 3]), tf.zeros([16, 12, 7])
    >>> tf.keras.backend.local_conv2d(x, kernel, (2, 2), (1, 1), (4, 4)).shape.as_list()
    [2, 4, 4, 7]
    """
    return _local(inputs, kernel, kernel_size, strides, output_shape, data_format)


def _local(inputs: Any, kernel: Any, size: Any, strides: Any, places: Any, data_format: str | None) -> Tensor:
    first = checked_format(data_format) == "channels_first"
    length, filters = kernel.shape.as_list()[1:]
    windows = []
    grid = (
        [(i,) for i in range(places[0])]
        if len(places) == 1
        else [(i, j) for i in range(places[0]) for j in range(places[1])]
    )
    for place in grid:
        cut = tuple(slice(p * s, p * s + k) for p, s, k in zip(place, strides, size, strict=True))
        window = inputs[(slice(None), slice(None), *cut)] if first else inputs[(slice(None), *cut)]
        windows.append(array.reshape(window, (1, -1, length)))
    product = batch_dot(array.concat(windows, 0), kernel)
    rank = len(places)
    spread = array.reshape(product, (*places, -1, filters))
    return array.transpose(spread, [rank, rank + 1, *range(rank)] if first else [rank, *range(rank), rank + 1])
