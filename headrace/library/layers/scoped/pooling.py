"""tf.layers' pools and their functions."""

from __future__ import annotations

from headrace.library.layers import pooling
from headrace.library.layers.base import Layer
from headrace.library.layers.scoped.function import layer_function
from headrace.library.layers.scoped.thin import REQUIRED, thin

_pool = thin("name", pool_size=REQUIRED, strides=REQUIRED, data_format="channels_last")


@_pool
class MaxPooling1D(pooling.MaxPooling1D, Layer):
    """The largest value of each window along one axis of [batch, length, channels].

    >>> tf.layers.MaxPooling1D(2, 2)(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 4, 3]
    """


max_pooling1d = layer_function(
    "max_pooling1d",
    MaxPooling1D,
    """The largest value of each window along one axis of [batch, length, channels].

    >>> tf.layers.max_pooling1d(tf.zeros([1, 8, 3]), 2, 2).shape.as_list()
    [1, 4, 3]
    """,
)


@_pool
class MaxPooling2D(pooling.MaxPooling2D, Layer):
    """The largest value of each window of images [batch, height, width, channels].

    >>> tf.layers.MaxPooling2D(2, 2)(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 4, 4, 3]
    """


max_pooling2d = layer_function(
    "max_pooling2d",
    MaxPooling2D,
    """The largest value of each window of images [batch, height, width, channels].

    >>> tf.layers.max_pooling2d(tf.zeros([1, 8, 8, 3]), 2, 2).shape.as_list()
    [1, 4, 4, 3]
    """,
)


@_pool
class MaxPooling3D(pooling.MaxPooling3D, Layer):
    """The largest value of each window of volumes [batch, depth, height, width, channels].

    >>> tf.layers.MaxPooling3D(2, 2)(tf.zeros([1, 8, 8, 8, 3])).shape.as_list()
    [1, 4, 4, 4, 3]
    """


max_pooling3d = layer_function(
    "max_pooling3d",
    MaxPooling3D,
    """The largest value of each window of volumes [batch, depth, height, width, channels].

    >>> tf.layers.max_pooling3d(tf.zeros([1, 8, 8, 8, 3]), 2, 2).shape.as_list()
    [1, 4, 4, 4, 3]
    """,
)


@_pool
class AveragePooling1D(pooling.AveragePooling1D, Layer):
    """The mean of each window along one axis of [batch, length, channels].

    >>> tf.layers.AveragePooling1D(2, 2)(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 4, 3]
    """


average_pooling1d = layer_function(
    "average_pooling1d",
    AveragePooling1D,
    """The mean of each window along one axis of [batch, length, channels].

    >>> tf.layers.average_pooling1d(tf.zeros([1, 8, 3]), 2, 2).shape.as_list()
    [1, 4, 3]
    """,
)


@_pool
class AveragePooling2D(pooling.AveragePooling2D, Layer):
    """The mean of each window of images [batch, height, width, channels].

    >>> tf.layers.AveragePooling2D(2, 2)(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 4, 4, 3]
    """


average_pooling2d = layer_function(
    "average_pooling2d",
    AveragePooling2D,
    """The mean of each window of images [batch, height, width, channels].

    >>> tf.layers.average_pooling2d(tf.zeros([1, 8, 8, 3]), 2, 2).shape.as_list()
    [1, 4, 4, 3]
    """,
)


@_pool
class AveragePooling3D(pooling.AveragePooling3D, Layer):
    """The mean of each window of volumes [batch, depth, height, width, channels].

    >>> tf.layers.AveragePooling3D(2, 2)(tf.zeros([1, 8, 8, 8, 3])).shape.as_list()
    [1, 4, 4, 4, 3]
    """


average_pooling3d = layer_function(
    "average_pooling3d",
    AveragePooling3D,
    """The mean of each window of volumes [batch, depth, height, width, channels].

    >>> tf.layers.average_pooling3d(tf.zeros([1, 8, 8, 8, 3]), 2, 2).shape.as_list()
    [1, 4, 4, 4, 3]
    """,
)
