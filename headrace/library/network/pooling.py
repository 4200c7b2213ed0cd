"""Max and average pools (tf.nn): thin functions over the ops, in TF1's spellings."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.network.window_argument import padding_argument, window_argument
from headrace.library.scope import name_scope


def max_pool(
    value: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None,
    input: Any = None,
) -> Tensor:  # fmt: skip
    """The largest value of each window: ``tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")``, or just 2 and 2.

    Args:
      value: A tensor of real numbers, [batch, height, width, channels], or channels second with "NCHW".
      ksize: The size of the window: one number, two for height and width, or four, one for each dimension of `value`.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME", "VALID", or a list of four pairs of numbers: how far to pad before and after.
      data_format: "NHWC" or "NCHW".
      name: A name for the op.
      input: Another name of `value`; give one of them.

    Returns:
      A tensor of the type and layout of `value`.

    >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> y = tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID')
    >>> tf.Session().run(y)[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]], dtype=float32)
    """
    value = either("input", input, "value", value)
    with name_scope(name, "MaxPool", [value]) as scope:
        return _max_pool(value, ksize, strides, padding, data_format, scope)


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """``max_pool`` over two spatial axes.

    Args:
      input: A tensor of real numbers, [batch, height, width, channels], or channels second with "NCHW".
      ksize: The size of the window: one number, two for height and width, or four, one for each dimension of `input`.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME", "VALID", or a list of four pairs of numbers: how far to pad before and after.
      data_format: "NHWC" or "NCHW".
      name: A name for the op.

    Returns:
      A tensor of the type and layout of `input`.

    >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.Session().run(tf.nn.max_pool2d(x, 2, 2, "VALID"))[0, :, :, 0].tolist()
    [[5.0, 7.0], [13.0, 15.0]]
    """
    with name_scope(name, "MaxPool2d", [input]) as scope:
        return _max_pool(input, ksize, strides, padding, data_format, scope)


def _max_pool(value: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None, scope: str) -> Tensor:
    word, explicit = padding_argument(padding, data_format)
    return raw_ops.MaxPool(
        convert_to_tensor(value, name="input"), ksize=window_argument(ksize, 2, data_format, "ksize"),
        strides=window_argument(strides, 2, data_format, "strides"), padding=word, explicit_paddings=explicit,
        data_format=data_format or "NHWC", name=scope,
    )  # fmt: skip


def avg_pool(
    value: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None,
    input: Any = None,
) -> Tensor:  # fmt: skip
    """The mean of each window; padding does not count.

    Args:
      value: A tensor of floats, [batch, height, width, channels], or channels second with "NCHW".
      ksize: The size of the window: one number, two for height and width, or four, one for each dimension of `value`.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      name: A name for the op.
      input: Another name of `value`; give one of them.

    Returns:
      A tensor of the type and layout of `value`.

    >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.Session().run(tf.nn.avg_pool(x, 2, 2, "VALID"))[0, :, :, 0].tolist()
    [[2.5, 4.5], [10.5, 12.5]]
    """
    value = either("input", input, "value", value)
    with name_scope(name, "AvgPool", [value]) as scope:
        return raw_ops.AvgPool(
            convert_to_tensor(value, name="input"), ksize=window_argument(ksize, 2, data_format, "ksize"),
            strides=window_argument(strides, 2, data_format, "strides"), padding=padding,
            data_format=data_format or "NHWC", name=scope,
        )  # fmt: skip


avg_pool2d = avg_pool


def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC", name: str | None = None
) -> Tensor:
    """The largest value of each window over three spatial axes.

    Args:
      input: A tensor of floats, [batch, depth, height, width, channels], or channels second with "NCDHW".
      ksize: The size of the window: one number, three for depth, height and width, or five.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: A name for the op.

    Returns:
      A tensor of the type and layout of `input`.

    >>> x = tf.reshape(tf.range(8.0), [1, 2, 2, 2, 1])
    >>> tf.Session().run(tf.nn.max_pool3d(x, 2, 2, "VALID")).flatten().tolist()
    [7.0]
    """
    with name_scope(name, "MaxPool3D", [input]) as scope:
        return raw_ops.MaxPool3D(
            input, ksize=window_argument(ksize, 3, data_format, "ksize"),
            strides=window_argument(strides, 3, data_format, "strides"), padding=padding,
            data_format=data_format or "NDHWC", name=scope,
        )  # fmt: skip


def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC", name: str | None = None
) -> Tensor:
    """The mean of each window over three spatial axes.

    Args:
      input: A tensor of floats, [batch, depth, height, width, channels], or channels second with "NCDHW".
      ksize: The size of the window: one number, three for depth, height and width, or five.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME" or "VALID"; padding does not count in the mean.
      data_format: "NDHWC" or "NCDHW".
      name: A name for the op.

    Returns:
      A tensor of the type and layout of `input`.

    >>> x = tf.reshape(tf.range(8.0), [1, 2, 2, 2, 1])
    >>> tf.Session().run(tf.nn.avg_pool3d(x, 2, 2, "VALID")).flatten().tolist()
    [3.5]
    """
    with name_scope(name, "AvgPool3D", [input]) as scope:
        return raw_ops.AvgPool3D(
            input, ksize=window_argument(ksize, 3, data_format, "ksize"),
            strides=window_argument(strides, 3, data_format, "strides"), padding=padding,
            data_format=data_format or "NDHWC", name=scope,
        )  # fmt: skip


# ---- one spatial axis: a pool of height one


def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """The largest value of each window of [batch, width, channels] ("NCW": [batch, channels, width]).

    Args:
      input: A tensor of real numbers, [batch, width, channels], or [batch, channels, width] with "NCW".
      ksize: The size of the window: one number, or three, one for each dimension of `input`.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      name: A name for the op.

    Returns:
      A tensor of the type and layout of `input`.

    >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], [1, 4, 1])
    >>> tf.Session().run(tf.nn.max_pool1d(x, 2, 2, "VALID")).flatten().tolist()
    [5.0, 3.0]
    """
    with name_scope(name, "MaxPool1d", [input]) as scope:
        return _line(raw_ops.MaxPool, input, ksize, strides, padding, data_format, scope)


def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """The mean of each window of [batch, width, channels] ("NCW": [batch, channels, width]).

    Args:
      input: A tensor of floats, [batch, width, channels], or [batch, channels, width] with "NCW".
      ksize: The size of the window: one number, or three, one for each dimension of `input`.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME" or "VALID"; padding does not count in the mean.
      data_format: "NWC" or "NCW".
      name: A name for the op.

    Returns:
      A tensor of the type and layout of `input`.

    >>> x = tf.reshape([1.0, 5.0, 2.0, 4.0], [1, 4, 1])
    >>> tf.Session().run(tf.nn.avg_pool1d(x, 2, 2, "VALID")).flatten().tolist()
    [3.0, 3.0]
    """
    with name_scope(name, "AvgPool1D", [input]) as scope:
        return _line(raw_ops.AvgPool, input, ksize, strides, padding, data_format, scope)


def _line(op: Any, input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None, scope: str) -> Tensor:
    first = (data_format or "NWC") == "NCW"
    axis = 2 if first else 1
    ksize, strides = (
        [f[0], f[1], 1, f[2]] if first else [f[0], 1, f[1], f[2]]
        for f in (window_argument(ksize, 1, data_format, "ksize"), window_argument(strides, 1, data_format, "strides"))
    )
    pooled = op(
        raw_ops.ExpandDims(input, axis), ksize=ksize, strides=strides, padding=padding,
        data_format="NCHW" if first else "NHWC", name=scope,
    )  # fmt: skip
    return raw_ops.Squeeze(pooled, squeeze_dims=[axis])


# ---- over any number of spatial axes


def max_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """``max_pool`` over one, two or three spatial axes, by the input's rank.

    Args:
      input: A tensor of real numbers, [batch, ..., channels], or [batch, channels, ...] with a format of "NC...".
      ksize: The size of the window: one number, or one for each spatial axis or each dimension.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME" or "VALID".
      data_format: "NWC", "NHWC" or "NDHWC", or channels second: "NCW", "NCHW", "NCDHW". None is channels last.
      name: A name for the op.

    Returns:
      A tensor of the type and layout of `input`.

    >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], [1, 4, 1])
    >>> tf.Session().run(tf.nn.max_pool_v2(x, 2, 2, "VALID")).flatten().tolist()
    [5.0, 3.0]
    """
    count = _spatial_rank(input, data_format)
    pool: Any = (max_pool1d, max_pool2d, max_pool3d)[count - 1]
    layout = data_format or ("NWC", "NHWC", "NDHWC")[count - 1]
    return pool(input, ksize, strides, padding, layout, name or "MaxPoolV2")


def avg_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """``avg_pool`` over one, two or three spatial axes, by the input's rank.

    Args:
      input: A tensor of floats, [batch, ..., channels], or [batch, channels, ...] with a format of "NC...".
      ksize: The size of the window: one number, or one for each spatial axis or each dimension.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME" or "VALID"; padding does not count in the mean.
      data_format: "NWC", "NHWC" or "NDHWC", or channels second: "NCW", "NCHW", "NCDHW". None is channels last.
      name: A name for the op.

    Returns:
      A tensor of the type and layout of `input`.

    >>> x = tf.reshape([1.0, 5.0, 2.0, 4.0], [1, 4, 1])
    >>> tf.Session().run(tf.nn.avg_pool_v2(x, 2, 2, "VALID")).flatten().tolist()
    [3.0, 3.0]
    """
    count = _spatial_rank(input, data_format)
    pool: Any = (avg_pool1d, avg_pool, avg_pool3d)[count - 1]
    layout = data_format or ("NWC", "NHWC", "NDHWC")[count - 1]
    return pool(input, ksize, strides, padding, layout, name or "AvgPool")


def _spatial_rank(input: Any, data_format: str | None) -> int:
    if data_format is not None:
        return len(data_format) - 2
    rank = convert_to_tensor(input).shape.ndims
    if rank not in (3, 4, 5):
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")
    return rank - 2


# ---- with positions


def max_pool_with_argmax(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", Targmax: Any = None,
    name: str | None = None, output_dtype: Any = None, include_batch_in_index: bool = False,
) -> Any:  # fmt: skip
    """Maxima and their flat positions ``(y * width + x) * channels + channel`` (plus the batch's start if asked).

    Args:
      input: A tensor of real numbers, [batch, height, width, channels].
      ksize: The size of the window: one number, two for height and width, or four, one for each dimension of `input`.
      strides: The step of the window, in the form of `ksize`.
      padding: "SAME" or "VALID".
      data_format: Only "NHWC".
      Targmax: Another name of `output_dtype`; give one of them.
      name: A name for the op.
      output_dtype: The type of the positions: `tf.int32` or `tf.int64`; None is `tf.int64`.
      include_batch_in_index: Whether positions count through the whole batch, or start again with each image.

    Returns:
      A named tuple of two tensors of one shape: `output` and `argmax`.

    >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], [1, 2, 2, 1])
    >>> y = tf.nn.max_pool_with_argmax(x, 2, 2, "VALID")
    >>> [one.flatten().tolist() for one in tf.Session().run([y.output, y.argmax])]
    [[5.0], [1]]
    """
    if data_format != "NHWC":
        raise ValueError("`data_format` values other than 'NHWC' are not supported")
    index_dtype = either("output_dtype", output_dtype, "Targmax", Targmax)
    return raw_ops.MaxPoolWithArgmax(
        input, ksize=window_argument(ksize, 2, data_format, "ksize"),
        strides=window_argument(strides, 2, data_format, "strides"), Targmax=index_dtype or dtypes.int64, padding=padding,
        include_batch_in_index=include_batch_in_index, name=name,
    )  # fmt: skip


def fractional_max_pool(
    value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False,
    seed: int = 0, seed2: int = 0, name: str | None = None,
) -> Any:  # fmt: skip
    """Max pools over windows of random sizes that shrink the image by ``pooling_ratio``, [1, rows, columns, 1].

    -> the pools, and where the windows begin along rows and columns.  ``deterministic`` draws the windows once only.

    Args:
      value: A tensor of real numbers, [batch, height, width, channels].
      pooling_ratio: Four numbers: how much smaller each dimension gets, 1 for the batch and the channels.
      pseudo_random: Whether the windows' edges follow a sequence with a random start, or their widths are shuffled.
      overlapping: Whether windows share the elements at their edges.
      deterministic: Whether each step takes the same windows.
      seed: A seed for the windows; 0 with a `seed2` of 0 draws one.
      seed2: A second seed.
      name: A name for the op.

    Returns:
      A named tuple: `output`, and the int64 vectors `row_pooling_sequence` and `col_pooling_sequence`.

    >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.Session().run(tf.nn.fractional_max_pool(x, [1.0, 2.0, 2.0, 1.0]).output).flatten().tolist()
    [5.0, 7.0, 13.0, 15.0]
    """
    return raw_ops.FractionalMaxPool(
        value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, name=name
    )


def fractional_avg_pool(
    value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False,
    seed: int = 0, seed2: int = 0, name: str | None = None,
) -> Any:  # fmt: skip
    """``fractional_max_pool`` with means.

    Args:
      value: A tensor of real numbers, [batch, height, width, channels].
      pooling_ratio: Four numbers: how much smaller each dimension gets, 1 for the batch and the channels.
      pseudo_random: Whether the windows' edges follow a sequence with a random start, or their widths are shuffled.
      overlapping: Whether windows share the elements at their edges.
      deterministic: Whether each step takes the same windows.
      seed: A seed for the windows; 0 with a `seed2` of 0 draws one.
      seed2: A second seed.
      name: A name for the op.

    Returns:
      A named tuple: `output`, and the int64 vectors `row_pooling_sequence` and `col_pooling_sequence`.

    >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.Session().run(tf.nn.fractional_avg_pool(x, [1.0, 2.0, 2.0, 1.0]).output).flatten().tolist()
    [2.5, 4.5, 10.5, 12.5]
    """
    return raw_ops.FractionalAvgPool(
        value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, name=name
    )
