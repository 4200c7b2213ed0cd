"""Depthwise, separable, dilated and any-rank convolutions, and any-rank pools (tf.nn).

Dilation is an attribute of the convolution ops here, so no space-to-batch steps are made; dilated pools need them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.network.convolution import _sizes
from headrace.library.network.window_argument import padding_argument, window_argument
from headrace.library.scope import name_scope


def depthwise_conv2d(
    input: Any, filter: Any, strides: Any, padding: Any, rate: Any = None, name: str | None = None,
    data_format: str | None = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """Convolves each channel with its own filters: [height, width, channels, multiplier] -> channels * multiplier.

    Args:
      input: A tensor of floats, [batch, height, width, channels], or channels second with "NCHW".
      filter: A tensor [height, width, channels, multiplier] of the type of `input`.
      strides: The step of the window: four numbers, one for each dimension of `input`.
      padding: "SAME", "VALID", or a list of four pairs of numbers: zeros before and after.
      rate: The distance of the filter's elements: one number, two for height and width, or four; None for 1.
      name: A name for the op.
      data_format: "NHWC" or "NCHW"; None is "NHWC".
      dilations: Another name of `rate`; give one of them.

    Returns:
      A tensor of the type and layout of `input`, with channels * multiplier channels.

    >>> y = tf.nn.depthwise_conv2d(tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 3]), [1, 1, 1, 1], "VALID")
    >>> tf.Session().run(y).flatten().tolist()
    [4.0, 4.0, 4.0]
    """
    rate = either("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        return _depthwise(input, filter, strides, padding, rate, data_format, scope)


def _depthwise(
    input: Any, filter: Any, strides: Any, padding: Any, rate: Any, data_format: str | None, scope: str | None
) -> Tensor:
    input = convert_to_tensor(input, name="tensor_in")
    filter = convert_to_tensor(filter, name="filter_in")
    word, explicit = padding_argument(padding, data_format)
    return raw_ops.DepthwiseConv2dNative(
        input, filter, strides=strides, padding=word, explicit_paddings=explicit, data_format=data_format or "NHWC",
        dilations=window_argument(rate, 2, data_format, "rate"), name=scope,
    )  # fmt: skip


def depthwise_conv2d_native(
    input: Any, filter: Any, strides: Any, padding: Any, data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The op behind ``depthwise_conv2d``.

    Args:
      input: A tensor of floats, [batch, height, width, channels], or channels second with "NCHW".
      filter: A tensor [height, width, channels, multiplier] of the type of `input`.
      strides: The step of the window: four numbers, one for each dimension of `input`.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: The distance of the filter's elements: four numbers, one for each dimension of `input`.
      name: A name for the op.

    Returns:
      A tensor of the type and layout of `input`, with channels * multiplier channels.

    >>> y = tf.nn.depthwise_conv2d_native(tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 3]), [1, 1, 1, 1], "VALID")
    >>> tf.Session().run(y).flatten().tolist()
    [4.0, 4.0, 4.0]
    """
    return raw_ops.DepthwiseConv2dNative(
        input, filter, strides=strides, padding=padding, data_format=data_format, dilations=dilations, name=name
    )


def depthwise_conv2d_backprop_input(
    input_sizes: Any, filter: Any, out_backprop: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1), name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of a depthwise convolution with respect to its input.

    Args:
      input_sizes: Four integers: the shape of the convolution's input.
      filter: A tensor [height, width, channels, multiplier].
      out_backprop: The gradient of the convolution's output.
      strides: The step of the window: four numbers, one for each dimension of the input.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: The distance of the filter's elements: four numbers, one for each dimension of the input.
      name: A name for the op.

    Returns:
      A tensor of the shape `input_sizes`.

    >>> filter, grad, strides = tf.ones([2, 2, 1, 1]), tf.ones([1, 1, 1, 1]), [1, 1, 1, 1]
    >>> grad = tf.nn.depthwise_conv2d_backprop_input([1, 2, 2, 1], filter, grad, strides, "VALID")
    >>> tf.Session().run(grad).flatten().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return raw_ops.DepthwiseConv2dNativeBackpropInput(
        input_sizes, filter, out_backprop, strides=strides, padding=padding, data_format=data_format,
        dilations=dilations, name=name,
    )  # fmt: skip


def depthwise_conv2d_backprop_filter(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1), name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of a depthwise convolution with respect to its filter.

    Args:
      input: The convolution's input, [batch, height, width, channels], or channels second with "NCHW".
      filter_sizes: Four integers: the shape of the filter, [height, width, channels, multiplier].
      out_backprop: The gradient of the convolution's output.
      strides: The step of the window: four numbers, one for each dimension of `input`.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: The distance of the filter's elements: four numbers, one for each dimension of `input`.
      name: A name for the op.

    Returns:
      A tensor of the shape `filter_sizes`.

    >>> x, strides = tf.ones([1, 2, 2, 1]), [1, 1, 1, 1]
    >>> tf.Session().run(tf.nn.depthwise_conv2d_backprop_filter(x, [1, 1, 1, 1], x, strides, "VALID")).tolist()
    [[[[4.0]]]]
    """
    return raw_ops.DepthwiseConv2dNativeBackpropFilter(
        input, filter_sizes, out_backprop, strides=strides, padding=padding, data_format=data_format,
        dilations=dilations, name=name,
    )  # fmt: skip


def separable_conv2d(
    input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: Any, rate: Any = None,
    name: str | None = None, data_format: str | None = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """A depthwise convolution followed by one of size 1 x 1 that mixes the channels.

    Args:
      input: A tensor of floats, [batch, height, width, channels], or channels second with "NCHW".
      depthwise_filter: A tensor [height, width, channels, multiplier] of the type of `input`.
      pointwise_filter: A tensor [1, 1, channels * multiplier, out] of the type of `input`.
      strides: The step of the window: four numbers, one for each dimension of `input`.
      padding: "SAME", "VALID", or a list of four pairs of numbers: zeros before and after.
      rate: The distance of the filter's elements: one number, two for height and width, or four; None for 1.
      name: A name for the op.
      data_format: "NHWC" or "NCHW"; None is "NHWC".
      dilations: Another name of `rate`; give one of them.

    Returns:
      A tensor of the type and layout of `input`, with `out` channels.

    >>> x, first, second = tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 3]), tf.ones([1, 1, 3, 1])
    >>> tf.Session().run(tf.nn.separable_conv2d(x, first, second, [1, 1, 1, 1], "VALID")).tolist()
    [[[[12.0]]]]
    """
    rate = either("dilations", dilations, "rate", rate)
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        shape = pointwise_filter.shape.with_rank(4).tuple
        if shape[0] not in (None, 1) or shape[1] not in (None, 1):
            raise ValueError(f"pointwise_filter must be 1 x 1, got shape {pointwise_filter.shape}")
        mixed = _depthwise(input, depthwise_filter, strides, padding, rate, data_format, "depthwise")
        return raw_ops.Conv2D(
            mixed, pointwise_filter, strides=[1, 1, 1, 1], padding="VALID", data_format=data_format or "NHWC",
            name=scope,
        )  # fmt: skip


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Tensor:
    """A convolution with holes: the filter's taps stand ``rate`` apart.

    Args:
      value: A tensor of floats, [batch, height, width, in].
      filters: A tensor [height, width, in, out] of the type of `value`.
      rate: The distance of the filter's elements, a number of 1 or more.
      padding: "SAME" or "VALID".
      name: A name for the op.

    Returns:
      A tensor of the type of `value`, [batch, height, width, out], smaller with "VALID".

    >>> x = tf.reshape(tf.range(3.0), [1, 1, 3, 1])
    >>> tf.Session().run(tf.nn.atrous_conv2d(x, tf.ones([1, 2, 1, 1]), rate=2, padding="VALID")).tolist()
    [[[[2.0]]]]
    """
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """The transpose of ``atrous_conv2d``: ``filters`` is [height, width, out, in].

    Args:
      value: A tensor of floats, [batch, height, width, in].
      filters: A tensor [height, width, out, in] of the type of `value`.
      output_shape: Four integers: the shape of the result.
      rate: The distance of the filter's elements, a number of 1 or more.
      padding: The padding of the convolution this undoes: "SAME" or "VALID".
      name: A name for the op.

    Returns:
      A tensor of the shape `output_shape`.

    >>> x, filters = tf.ones([1, 1, 1, 1]), tf.ones([1, 2, 1, 1])
    >>> tf.Session().run(tf.nn.atrous_conv2d_transpose(x, filters, [1, 1, 3, 1], 2, "VALID")).flatten().tolist()
    [1.0, 0.0, 1.0]
    """
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as scope:
        if rate < 1:
            raise ValueError(f"rate {rate} cannot be less than one")
        return raw_ops.Conv2DBackpropInput(
            _sizes(output_shape, "output_shape"), filters, value, strides=[1, 1, 1, 1], padding=padding,
            dilations=[1, rate, rate, 1], name=scope,
        )  # fmt: skip


# ---- any number of spatial axes


def convolution(
    input: Any, filter: Any, padding: Any, strides: Any = None, dilation_rate: Any = None, name: str | None = None,
    data_format: str | None = None, filters: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """A convolution over as many spatial axes as ``filter`` has beyond two: one, two or three.

    Args:
      input: A tensor of floats, [batch, ..., in], or [batch, in, ...] with a format of "NC...".
      filter: A tensor [..., in, out] of the type of `input`.
      padding: "SAME" or "VALID"; for one or two spatial axes also a list of four pairs of numbers.
      strides: The step of the window: one number, or one for each spatial axis; None for 1.
      dilation_rate: The distance of the filter's elements, in the form of `strides`; above 1 only without strides.
      name: A name for the op.
      data_format: Channels last, such as "NHWC", or second, such as "NCHW"; None is channels last.
      filters: Another name of `filter`; give one of them, with ``filter=None``.
      dilations: Another name of `dilation_rate`; give one of them.

    Returns:
      A tensor of the type and layout of `input`, with `out` channels.

    >>> x = tf.reshape([1.0, 2.0, 3.0], [1, 3, 1])
    >>> tf.Session().run(tf.nn.convolution(x, tf.ones([2, 1, 1]), "VALID")).flatten().tolist()
    [3.0, 5.0]
    """
    filter = either("filters", filters, "filter", filter)
    dilation_rate = either("dilations", dilations, "dilation_rate", dilation_rate)
    with name_scope(name, "convolution", [input, filter]) as scope:
        input = convert_to_tensor(input, name="input")
        filter = convert_to_tensor(filter, name="filter")
        rank = filter.shape.ndims if filter.shape.ndims is not None else input.shape.ndims
        if rank is None:
            raise ValueError("rank of input or filter must be known")
        if rank not in (3, 4, 5):
            raise ValueError(f"convolution takes 1, 2 or 3 spatial axes; the filter's shape is {filter.shape}")
        stride = _numbers(strides, rank - 2, "strides")
        dilation = _numbers(dilation_rate, rank - 2, "dilation_rate")
        if max(stride) > 1 and max(dilation) > 1:
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        return _convolution(input, filter, padding, stride, dilation, data_format, rank - 2, scope)


def _numbers(values: Any, count: int, name: str) -> list[int]:
    numbers = [1] * count if values is None else [int(v) for v in np.atleast_1d(values)]
    numbers = numbers * count if len(numbers) == 1 else numbers
    if len(numbers) != count:
        raise ValueError(f"len({name})={len(numbers)} but should be {count}")
    if min(numbers) < 1:
        raise ValueError(f"all values of {name} must be positive, got {numbers}")
    return numbers


def _convolution(
    input: Tensor, filter: Tensor, padding: Any, stride: list[int], dilation: list[int], data_format: str | None,
    count: int, scope: str,
) -> Tensor:  # fmt: skip
    first = data_format is not None and data_format.startswith("NC")
    if count == 3:
        layout = "NCDHW" if first else "NDHWC"
        return raw_ops.Conv3D(
            input, filter, strides=window_argument(stride, 3, layout, "strides"), padding=padding, data_format=layout,
            dilations=window_argument(dilation, 3, layout, "dilation_rate"), name=scope,
        )  # fmt: skip
    layout, axis = ("NCHW", 2) if first else ("NHWC", 1)
    if count == 1:
        input, filter = raw_ops.ExpandDims(input, axis), raw_ops.ExpandDims(filter, 0)
        stride, dilation = [1, *stride], [1, *dilation]
    word, explicit = padding_argument(padding, layout)
    result = raw_ops.Conv2D(
        input, filter, strides=window_argument(stride, 2, layout, "strides"), padding=word, explicit_paddings=explicit,
        data_format=layout, dilations=window_argument(dilation, 2, layout, "dilation_rate"), name=scope,
    )  # fmt: skip
    return raw_ops.Squeeze(result, squeeze_dims=[axis]) if count == 1 else result


def pool(
    input: Any, window_shape: Any, pooling_type: str, padding: str, dilation_rate: Any = None, strides: Any = None,
    name: str | None = None, data_format: str | None = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """A pool ("MAX" or "AVG") over one, two or three spatial axes: ``tf.nn.pool(x, [2, 2], "MAX", "SAME")``.

    Args:
      input: A tensor of numbers, [batch, ..., channels], or [batch, channels, ...] with a format of "NC...".
      window_shape: The size of the window: a list with a number for each spatial axis.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      dilation_rate: The distance of the window's elements: one number, or one for each axis. Above 1 it needs
        "VALID", steps of 1 and known sizes.
      strides: The step of the window: one number, or one for each spatial axis; None for 1.
      name: A name for the op.
      data_format: Channels last, such as "NHWC", or second, such as "NCHW"; None is channels last.
      dilations: Another name of `dilation_rate`; give one of them.

    Returns:
      A tensor of the type and layout of `input`.

    >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], [1, 4, 1])
    >>> tf.Session().run(tf.nn.pool(x, [2], "MAX", "VALID")).flatten().tolist()
    [5.0, 5.0, 3.0]
    """
    dilation_rate = either("dilations", dilations, "dilation_rate", dilation_rate)
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"Unsupported pooling operation {pooling_type!r}; accepted: 'MAX', 'AVG'")
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        count = len(window_shape)
        if count not in (1, 2, 3):
            raise ValueError(f"pool takes 1, 2 or 3 spatial axes, got the window {window_shape}")
        input.shape.with_rank(count + 2)
        stride = _numbers(strides, count, "strides")
        dilation = _numbers(dilation_rate, count, "dilation_rate")
        if max(stride) > 1 and max(dilation) > 1:
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        if any(s > w for s, w in zip(stride, window_shape, strict=True)):
            raise ValueError(
                f"strides > window_shape not supported: got strides {stride} and window {list(window_shape)} {at()}"
            )
        if max(dilation) == 1:
            return _pool(input, list(window_shape), pooling_type, padding, stride, data_format, scope)
        if padding == "SAME":
            raise ValueError("pooling with 'SAME' padding is not implemented for dilation_rate > 1")
        return _dilated_pool(input, list(window_shape), pooling_type, padding, dilation, data_format, scope)


def _pool(
    input: Tensor,
    window: list[int],
    reduction: str,
    padding: str,
    stride: list[int],
    data_format: str | None,
    scope: str,
) -> Tensor:
    count = len(window)
    first = data_format is not None and data_format.startswith("NC")
    axis = 2 if first else 1
    if count == 1:
        input, window, stride = raw_ops.ExpandDims(input, axis), [1, *window], [1, *stride]
    layout = {True: ("NCHW", "NCDHW"), False: ("NHWC", "NDHWC")}[first][count == 3]
    pool = getattr(raw_ops, {"MAX": "MaxPool", "AVG": "AvgPool"}[reduction] + ("3D" if count == 3 else ""))
    result = pool(
        input, ksize=window_argument(window, len(window), layout, "window_shape"), padding=padding, data_format=layout,
        strides=window_argument(stride, len(window), layout, "strides"), name=scope,
    )  # fmt: skip
    return raw_ops.Squeeze(result, squeeze_dims=[axis]) if count == 1 else result


def _dilated_pool(
    input: Tensor,
    window: list[int],
    reduction: str,
    padding: str,
    dilation: list[int],
    data_format: str | None,
    scope: str,
) -> Tensor:
    """Every ``dilation``-th element becomes an image of its own, pooled plainly; then they are put back together."""
    if data_format is not None and data_format.startswith("NC"):
        raise ValueError("dilated pools take channels-last tensors")
    dims = input.shape.as_list()[1:-1]
    if None in dims:
        raise ValueError(f"dilated pools need known spatial sizes, got {input.shape}")
    extra = [-(n or 0) % d for n, d in zip(dims, dilation, strict=True)]
    split = raw_ops.SpaceToBatchND(input, dilation, [[0, e] for e in extra])
    pooled = _pool(split, window, reduction, padding, [1] * len(window), data_format, scope)
    return raw_ops.BatchToSpaceND(pooled, dilation, [[0, e] for e in extra])
