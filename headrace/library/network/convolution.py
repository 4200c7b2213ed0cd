"""Convolutions and their transposes (tf.nn): thin functions over the ops, in TF1's spellings."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.network.window_argument import padding_argument, window_argument
from headrace.library.scope import name_scope

ONES = (1, 1, 1, 1)


def conv2d(
    input: Any, filter: Any = None, strides: Any = None, padding: Any = None, use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC", dilations: Any = ONES, name: str | None = None, filters: Any = None,
) -> Tensor:  # fmt: skip
    """A 2-D convolution of ``input`` [batch, height, width, in] with ``filter`` [height, width, in, out].

    ``padding`` is "SAME", "VALID" or a list of pairs, one for each dimension.

    Args:
      input: A tensor of floats, [batch, height, width, in], or [batch, in, height, width] with "NCHW".
      filter: A tensor [height, width, in, out] of the type of `input`.
      strides: The step of the window: one number, two for height and width, or four, one for each dimension of
        `input`.
      padding: "SAME", "VALID", or a list of four pairs of numbers: zeros before and after.
      use_cudnn_on_gpu: Accepted for TensorFlow's sake; it changes nothing.
      data_format: "NHWC" or "NCHW".
      dilations: The distance of the filter's elements, in the form of `strides`.
      name: A name for the op.
      filters: Another name of `filter`; give one of them.

    Returns:
      A tensor of the type and layout of `input`, with `out` channels.

    >>> images = tf.ones([1, 3, 3, 1])
    >>> filters = tf.ones([2, 2, 1, 1])
    >>> y = tf.nn.conv2d(images, filters, strides=[1, 1, 1, 1], padding='VALID')
    >>> y.shape
    TensorShape([Dimension(1), Dimension(2), Dimension(2), Dimension(1)])
    >>> tf.Session().run(y)[0, :, :, 0]
    array([[4., 4.],
           [4., 4.]], dtype=float32)
    """
    filter = either("filters", filters, "filter", filter)
    padding, explicit = padding_argument(padding, data_format)
    return raw_ops.Conv2D(
        input, filter, strides=window_argument(strides, 2, data_format, "strides"), use_cudnn_on_gpu=use_cudnn_on_gpu,
        padding=padding, explicit_paddings=explicit, data_format=data_format or "NHWC",
        dilations=window_argument(dilations, 2, data_format, "dilations"), name=name,
    )  # fmt: skip


def conv2d_backprop_input(
    input_sizes: Any, filter: Any = None, out_backprop: Any = None, strides: Any = None, padding: Any = None,
    use_cudnn_on_gpu: bool = True, data_format: str = "NHWC", dilations: Any = ONES, name: str | None = None,
    filters: Any = None,
) -> Tensor:  # fmt: skip
    """The gradient of a 2-D convolution with respect to its input.

    Args:
      input_sizes: Four integers: the shape of the convolution's input.
      filter: A tensor [height, width, in, out].
      out_backprop: The gradient of the convolution's output.
      strides: The step of the window: one number, two for height and width, or four, one for each dimension of the
        input.
      padding: "SAME", "VALID", or a list of four pairs of numbers: zeros before and after.
      use_cudnn_on_gpu: Accepted for TensorFlow's sake; it changes nothing.
      data_format: "NHWC" or "NCHW".
      dilations: The distance of the filter's elements, in the form of `strides`.
      name: A name for the op.
      filters: Another name of `filter`; give one of them.

    Returns:
      A tensor of the shape `input_sizes`.

    >>> grad = tf.nn.conv2d_backprop_input([1, 2, 2, 1], tf.ones([2, 2, 1, 1]), tf.ones([1, 1, 1, 1]), 1, "VALID")
    >>> tf.Session().run(grad)[0, :, :, 0].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    filter = either("filters", filters, "filter", filter)
    padding, explicit = padding_argument(padding, data_format)
    return raw_ops.Conv2DBackpropInput(
        input_sizes, filter, out_backprop, strides=window_argument(strides, 2, data_format, "strides"),
        use_cudnn_on_gpu=use_cudnn_on_gpu, padding=padding, explicit_paddings=explicit, data_format=data_format,
        dilations=window_argument(dilations, 2, data_format, "dilations"), name=name,
    )  # fmt: skip


def conv2d_backprop_filter(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any, use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC", dilations: Any = ONES, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of a 2-D convolution with respect to its filter.

    Args:
      input: The convolution's input, [batch, height, width, in], or [batch, in, height, width] with "NCHW".
      filter_sizes: Four integers: the shape of the filter, [height, width, in, out].
      out_backprop: The gradient of the convolution's output.
      strides: The step of the window: one number, two for height and width, or four, one for each dimension of
        `input`.
      padding: "SAME", "VALID", or a list of four pairs of numbers: zeros before and after.
      use_cudnn_on_gpu: Accepted for TensorFlow's sake; it changes nothing.
      data_format: "NHWC" or "NCHW".
      dilations: The distance of the filter's elements, in the form of `strides`.
      name: A name for the op.

    Returns:
      A tensor of the shape `filter_sizes`.

    >>> grad = tf.nn.conv2d_backprop_filter(tf.ones([1, 2, 2, 1]), [1, 1, 1, 1], tf.ones([1, 2, 2, 1]), 1, "VALID")
    >>> tf.Session().run(grad).tolist()
    [[[[4.0]]]]
    """
    padding, explicit = padding_argument(padding, data_format)
    return raw_ops.Conv2DBackpropFilter(
        input, filter_sizes, out_backprop, strides=window_argument(strides, 2, data_format, "strides"),
        use_cudnn_on_gpu=use_cudnn_on_gpu, padding=padding, explicit_paddings=explicit, data_format=data_format,
        dilations=window_argument(dilations, 2, data_format, "dilations"), name=name,
    )  # fmt: skip


def conv2d_transpose(
    value: Any = None, filter: Any = None, output_shape: Any = None, strides: Any = None, padding: Any = "SAME",
    data_format: str = "NHWC", name: str | None = None, input: Any = None, filters: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """The transpose of ``conv2d`` ("deconvolution"): ``filter`` is [height, width, out, in].

    Args:
      value: A tensor of floats, [batch, height, width, in], or [batch, in, height, width] with "NCHW".
      filter: A tensor [height, width, out, in] of the type of `value`.
      output_shape: Four integers: the shape of the result.
      strides: How much larger the result is: one number, two for height and width, or four.
      padding: The padding of the convolution this undoes: "SAME", "VALID", or a list of four pairs of numbers.
      data_format: "NHWC" or "NCHW".
      name: A name for the op.
      input: Another name of `value`; give one of them.
      filters: Another name of `filter`; give one of them.
      dilations: The distance of the filter's elements, in the form of `strides`; None for 1.

    Returns:
      A tensor of the shape `output_shape`.

    >>> y = tf.nn.conv2d_transpose(tf.ones([1, 1, 1, 1]), tf.ones([2, 2, 1, 1]), [1, 2, 2, 1], strides=2)
    >>> tf.Session().run(y)[0, :, :, 0].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    value = either("input", input, "value", value)
    filter = either("filters", filters, "filter", filter)
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        word, explicit = padding_argument(padding, data_format)
        return raw_ops.Conv2DBackpropInput(
            _sizes(output_shape, "input_sizes"), filter, value, padding=word, explicit_paddings=explicit,
            strides=window_argument(strides, 2, data_format, "strides"), data_format=data_format or "NHWC",
            dilations=window_argument(dilations, 2, data_format, "dilations"), name=scope,
        )  # fmt: skip


def _sizes(output_shape: Any, name: str) -> Any:
    if isinstance(output_shape, TensorShape):
        output_shape = output_shape.as_list()
    if isinstance(output_shape, (list, tuple)):
        output_shape = [getattr(d, "value", d) for d in output_shape]
    return convert_to_tensor(output_shape, dtype=None if isinstance(output_shape, Tensor) else dtypes.int32, name=name)


# ---- one spatial axis: a convolution of height one


def conv1d(
    value: Any = None, filters: Any = None, stride: Any = None, padding: Any = None,
    use_cudnn_on_gpu: bool | None = None, data_format: str | None = None, name: str | None = None, input: Any = None,
    dilations: Any = None,
) -> Tensor:  # fmt: skip
    """A 1-D convolution of [batch, width, in] with [width, in, out]; ``data_format`` "NWC" (also "NHWC") or "NCW".

    Args:
      value: A tensor of floats, [batch, width, in], or [batch, in, width] with "NCW".
      filters: A tensor [width, in, out] of the type of `value`.
      stride: The step of the window: one number, or three, one for each dimension of `value`.
      padding: "SAME" or "VALID".
      use_cudnn_on_gpu: Accepted for TensorFlow's sake; it changes nothing.
      data_format: "NWC" or "NCW"; None is "NWC".
      name: A name for the op.
      input: Another name of `value`; give one of them.
      dilations: The distance of the filter's elements, in the form of `stride`; None for 1.

    Returns:
      A tensor of the type and layout of `value`, with `out` channels.

    >>> x = tf.reshape([1.0, 2.0, 3.0], [1, 3, 1])
    >>> tf.Session().run(tf.nn.conv1d(x, tf.ones([2, 1, 1]), stride=1, padding="VALID"))[0, :, 0].tolist()
    [3.0, 5.0]
    """
    value = either("input", input, "value", value)
    with name_scope(name, "conv1d", [value, filters]) as scope:
        layout, axis = _line_layout(data_format)
        value = raw_ops.ExpandDims(value, axis)
        filters = raw_ops.ExpandDims(filters, 0)
        result = raw_ops.Conv2D(
            value, filters, strides=_line_argument(stride, layout, "stride"), padding=padding, data_format=layout,
            use_cudnn_on_gpu=use_cudnn_on_gpu is not False, dilations=_line_argument(dilations, layout, "dilations"),
            name=scope,
        )  # fmt: skip
        return raw_ops.Squeeze(result, squeeze_dims=[axis])


def conv1d_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME", data_format: str = "NWC",
    dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The transpose of ``conv1d``: ``filters`` is [width, out, in].

    Args:
      input: A tensor of floats, [batch, width, in], or [batch, in, width] with "NCW".
      filters: A tensor [width, out, in] of the type of `input`.
      output_shape: Three integers: the shape of the result.
      strides: How much larger the result is: one number, or three, one for each dimension of `input`.
      padding: The padding of the convolution this undoes: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      dilations: The distance of the filter's elements, in the form of `strides`; None for 1.
      name: A name for the op.

    Returns:
      A tensor of the shape `output_shape`.

    >>> y = tf.nn.conv1d_transpose(tf.ones([1, 2, 1]), tf.ones([2, 1, 1]), [1, 4, 1], strides=2)
    >>> tf.Session().run(y)[0, :, 0].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        layout, axis = _line_layout(data_format)
        value = raw_ops.ExpandDims(input, axis)
        filters = raw_ops.ExpandDims(filters, 0)
        if isinstance(output_shape, (list, tuple)) and not any(isinstance(d, Tensor) for d in output_shape):
            sizes: Any = [*output_shape[:axis], 1, *output_shape[axis:]]
        else:
            shape = convert_to_tensor(output_shape, name="output_shape")
            parts = [raw_ops.Slice(shape, [0], [axis]), [1], raw_ops.Slice(shape, [axis], [-1])]
            sizes = raw_ops.ConcatV2(parts, 0, name="concat")
        result = raw_ops.Conv2DBackpropInput(
            _sizes(sizes, "input_sizes"), filters, value, strides=_line_argument(strides, layout, "strides"),
            padding=padding, data_format=layout, dilations=_line_argument(dilations, layout, "dilations"), name=scope,
        )  # fmt: skip
        return raw_ops.Squeeze(result, squeeze_dims=[axis])


def _line_layout(data_format: str | None) -> tuple[str, int]:
    """The 2-D layout and where the axis of height one goes."""
    if data_format is None or data_format in ("NHWC", "NWC"):
        return "NHWC", 1
    if data_format in ("NCHW", "NCW"):
        return "NCHW", 2
    raise ValueError(f"`data_format` must be 'NWC' or 'NCW', got {data_format!r}.")


def _line_argument(value: Any, layout: str, name: str) -> list[int]:
    first = layout == "NCHW"
    full = window_argument(value, 1, layout, name)
    return [full[0], full[1], 1, full[2]] if first else [full[0], 1, full[1], full[2]]


# ---- three spatial axes


def conv3d(
    input: Any, filter: Any = None, strides: Any = None, padding: Any = None, data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1), name: str | None = None, filters: Any = None,
) -> Tensor:  # fmt: skip
    """A 3-D convolution of [batch, depth, height, width, in] with [depth, height, width, in, out].

    Args:
      input: A tensor of floats, [batch, depth, height, width, in], or [batch, in, depth, height, width] with "NCDHW".
      filter: A tensor [depth, height, width, in, out] of the type of `input`.
      strides: The step of the window: one number, three for depth, height and width, or five.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: The distance of the filter's elements, in the form of `strides`.
      name: A name for the op.
      filters: Another name of `filter`; give one of them.

    Returns:
      A tensor of the type and layout of `input`, with `out` channels.

    >>> y = tf.nn.conv3d(tf.ones([1, 2, 2, 2, 1]), tf.ones([2, 2, 2, 1, 1]), strides=1, padding="VALID")
    >>> tf.Session().run(y).tolist()
    [[[[[8.0]]]]]
    """
    filter = either("filters", filters, "filter", filter)
    return raw_ops.Conv3D(
        input, filter, strides=window_argument(strides, 3, data_format, "strides"), padding=padding,
        data_format=data_format, dilations=window_argument(dilations, 3, data_format, "dilations"), name=name,
    )  # fmt: skip


def conv3d_backprop_filter_v2(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any, data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1), name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of a 3-D convolution with respect to its filter.

    Args:
      input: The convolution's input, [batch, depth, height, width, in], or channels second with "NCDHW".
      filter_sizes: Five integers: the shape of the filter, [depth, height, width, in, out].
      out_backprop: The gradient of the convolution's output.
      strides: The step of the window: one number, three for depth, height and width, or five.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: The distance of the filter's elements, in the form of `strides`.
      name: A name for the op.

    Returns:
      A tensor of the shape `filter_sizes`.

    >>> x = tf.ones([1, 2, 2, 2, 1])
    >>> tf.Session().run(tf.nn.conv3d_backprop_filter(x, [1, 1, 1, 1, 1], x, 1, "VALID")).tolist()
    [[[[[8.0]]]]]
    """
    return raw_ops.Conv3DBackpropFilterV2(
        input, filter_sizes, out_backprop, strides=window_argument(strides, 3, data_format, "strides"),
        padding=padding, data_format=data_format, dilations=window_argument(dilations, 3, data_format, "dilations"),
        name=name,
    )  # fmt: skip


conv3d_backprop_filter = conv3d_backprop_filter_v2


def conv3d_transpose(
    value: Any, filter: Any = None, output_shape: Any = None, strides: Any = None, padding: Any = "SAME",
    data_format: str = "NDHWC", name: str | None = None, input: Any = None, filters: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """The transpose of ``conv3d``: ``filter`` is [depth, height, width, out, in].

    Args:
      value: A tensor of floats, [batch, depth, height, width, in], or channels second with "NCDHW".
      filter: A tensor [depth, height, width, out, in] of the type of `value`.
      output_shape: Five integers: the shape of the result.
      strides: How much larger the result is: one number, three for depth, height and width, or five.
      padding: The padding of the convolution this undoes: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: A name for the op.
      input: Another name of `value`; give one of them.
      filters: Another name of `filter`; give one of them.
      dilations: The distance of the filter's elements, in the form of `strides`; None for 1.

    Returns:
      A tensor of the shape `output_shape`.

    >>> y = tf.nn.conv3d_transpose(tf.ones([1, 1, 1, 1, 1]), tf.ones([2, 2, 2, 1, 1]), [1, 2, 2, 2, 1], 2)
    >>> tf.Session().run(tf.reduce_sum(y))
    np.float32(8.0)
    """
    value = either("input", input, "value", value)
    filter = either("filters", filters, "filter", filter)
    with name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        return raw_ops.Conv3DBackpropInputV2(
            _sizes(output_shape, "input_sizes"), filter, value, padding=padding, data_format=data_format or "NDHWC",
            strides=window_argument(strides, 3, data_format, "strides"),
            dilations=window_argument(dilations, 3, data_format, "dilations"), name=scope,
        )  # fmt: skip


def conv_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME", data_format: str | None = None,
    dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The transposed convolution over as many spatial axes as ``output_shape`` has (one, two or three).

    Args:
      input: A tensor of floats, [batch, ..., in], or [batch, in, ...] with a format of "NC...".
      filters: A tensor [..., out, in] of the type of `input`.
      output_shape: The shape of the result: 3, 4 or 5 integers.
      strides: How much larger the result is: one number, or one for each spatial axis or dimension.
      padding: The padding of the convolution this undoes: "SAME" or "VALID".
      data_format: "NWC", "NHWC" or "NDHWC", or channels second: "NCW", "NCHW", "NCDHW". None is channels last.
      dilations: The distance of the filter's elements, in the form of `strides`; None for 1.
      name: A name for the op.

    Returns:
      A tensor of the shape `output_shape`.

    >>> y = tf.nn.conv_transpose(tf.ones([1, 2, 1]), tf.ones([2, 1, 1]), [1, 4, 1], strides=2)
    >>> tf.Session().run(y)[0, :, 0].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        static = getattr(output_shape, "shape", None)
        count: Any = static.as_list()[0] if isinstance(static, TensorShape) else len(output_shape)
        count = -1 if count is None else count - 2
        if count == 1:
            return conv1d_transpose(
                input, filters, output_shape, strides, padding, data_format or "NWC", dilations, scope
            )
        if count not in (2, 3):
            raise ValueError(f"output_shape must have 3, 4 or 5 elements, got {output_shape}")
        transpose = conv2d_transpose if count == 2 else conv3d_transpose
        layout = data_format or ("NHWC" if count == 2 else "NDHWC")
        return transpose(input, filters, output_shape, strides, padding, layout, scope, dilations=dilations)
