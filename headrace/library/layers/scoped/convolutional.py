"""tf.layers' convolutions: plain, separable and transposed, and their functions."""

from __future__ import annotations

from headrace.library.layers import convolutional, separable, transposed
from headrace.library.layers.base import Layer
from headrace.library.layers.scoped.function import layer_function
from headrace.library.layers.scoped.thin import ZEROS, thin

_plain = thin("trainable", "name", data_format="channels_last", kernel_initializer=None, bias_initializer=ZEROS)
_separable = thin(
    "trainable", "name", data_format="channels_last", depthwise_initializer=None, pointwise_initializer=None,
    bias_initializer=ZEROS,
)  # fmt: skip
_transposed = thin(
    "trainable", "name", without=("output_padding", "dilation_rate"), data_format="channels_last",
    kernel_initializer=None, bias_initializer=ZEROS,
)  # fmt: skip


@_plain
class Conv1D(convolutional.Conv1D, Layer):
    """A convolution along one axis of [batch, length, channels].

    >>> tf.layers.Conv1D(4, 3)(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 6, 4]
    """


conv1d = layer_function(
    "conv1d",
    Conv1D,
    """A convolution along one axis of [batch, length, channels].

    >>> tf.layers.conv1d(tf.zeros([1, 8, 3]), 4, 3).shape.as_list()
    [1, 6, 4]
    """,
)


@_plain
class Conv2D(convolutional.Conv2D, Layer):
    """A convolution over images [batch, height, width, channels].

    >>> tf.layers.Conv2D(16, 3)(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 6, 6, 16]
    """


conv2d = layer_function(
    "conv2d",
    Conv2D,
    """A convolution over images [batch, height, width, channels].

    >>> tf.layers.conv2d(tf.zeros([1, 8, 8, 3]), 16, 3).shape.as_list()
    [1, 6, 6, 16]
    """,
)


@_plain
class Conv3D(convolutional.Conv3D, Layer):
    """A convolution over volumes [batch, depth, height, width, channels].

    >>> tf.layers.Conv3D(4, 3)(tf.zeros([1, 8, 8, 8, 3])).shape.as_list()
    [1, 6, 6, 6, 4]
    """


conv3d = layer_function(
    "conv3d",
    Conv3D,
    """A convolution over volumes [batch, depth, height, width, channels].

    >>> tf.layers.conv3d(tf.zeros([1, 8, 8, 8, 3]), 4, 3).shape.as_list()
    [1, 6, 6, 6, 4]
    """,
)


@_separable
class SeparableConv1D(separable.SeparableConv1D, Layer):
    """A separable convolution along one axis of [batch, length, channels].

    >>> tf.layers.SeparableConv1D(4, 3)(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 6, 4]
    """


separable_conv1d = layer_function(
    "separable_conv1d",
    SeparableConv1D,
    """A separable convolution along one axis of [batch, length, channels].

    >>> tf.layers.separable_conv1d(tf.zeros([1, 8, 3]), 4, 3).shape.as_list()
    [1, 6, 4]
    """,
)


@_separable
class SeparableConv2D(separable.SeparableConv2D, Layer):
    """A separable convolution over images [batch, height, width, channels].

    >>> tf.layers.SeparableConv2D(16, 3)(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 6, 6, 16]
    """


separable_conv2d = layer_function(
    "separable_conv2d",
    SeparableConv2D,
    """A separable convolution over images [batch, height, width, channels].

    >>> tf.layers.separable_conv2d(tf.zeros([1, 8, 8, 3]), 16, 3).shape.as_list()
    [1, 6, 6, 16]
    """,
)


@_transposed
class Conv2DTranspose(transposed.Conv2DTranspose, Layer):
    """A transposed convolution over images [batch, height, width, channels].

    >>> tf.layers.Conv2DTranspose(4, 2, strides=2)(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 16, 16, 4]
    """


conv2d_transpose = layer_function(
    "conv2d_transpose",
    Conv2DTranspose,
    """A transposed convolution over images [batch, height, width, channels].

    >>> tf.layers.conv2d_transpose(tf.zeros([1, 8, 8, 3]), 4, 2, strides=2).shape.as_list()
    [1, 16, 16, 4]
    """,
)


@_transposed
class Conv3DTranspose(transposed.Conv3DTranspose, Layer):
    """A transposed convolution over volumes [batch, depth, height, width, channels].

    >>> tf.layers.Conv3DTranspose(4, 2, strides=2)(tf.zeros([1, 4, 4, 4, 3])).shape.as_list()
    [1, 8, 8, 8, 4]
    """


conv3d_transpose = layer_function(
    "conv3d_transpose",
    Conv3DTranspose,
    """A transposed convolution over volumes [batch, depth, height, width, channels].

    >>> tf.layers.conv3d_transpose(tf.zeros([1, 4, 4, 4, 3]), 4, 2, strides=2).shape.as_list()
    [1, 8, 8, 8, 4]
    """,
)
