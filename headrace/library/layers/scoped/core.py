"""tf.layers' Dense, Dropout and Flatten, and their functions."""

from __future__ import annotations

from typing import Any

from headrace.library.layers import core, reshaping
from headrace.library.layers import dropout as dropping
from headrace.library.layers.base import Layer
from headrace.library.layers.scoped.function import layer_function
from headrace.library.layers.scoped.thin import ZEROS, thin


@thin("trainable", "name", kernel_initializer=None, bias_initializer=ZEROS)
class Dense(core.Dense, Layer):
    """``activation(inputs @ kernel + bias)`` over the last axis of inputs of rank 2 or more.

    >>> tf.layers.Dense(4, activation=tf.nn.relu)(tf.zeros([8, 3])).shape.as_list()
    [8, 4]
    """


dense = layer_function(
    "dense",
    Dense,
    """A fully connected layer: ``activation(inputs @ kernel + bias)``.

    >>> hidden = tf.layers.dense(tf.zeros([8, 3]), 4, activation=tf.nn.relu)
    >>> [v.name for v in tf.trainable_variables()]
    ['dense/kernel:0', 'dense/bias:0']
    """,
)


@thin("name", rate=0.5)
class Dropout(dropping.Dropout, Layer):
    """Sets a fraction of the elements to zero while training and scales the others up to keep the mean.

    >>> tf.layers.Dropout(0.4)(tf.zeros([8, 3]), training=True).shape.as_list()
    [8, 3]
    """

    def call(self, inputs: Any, training: Any = False) -> Any:
        return super().call(inputs, training=training)


def dropout(
    inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, training: Any = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Dropout while ``training``, the identity otherwise.

    Args:
      inputs: A tensor of floats.
      rate: The probability to drop an element, at least 0 and below 1.
      noise_shape: The shape of the choice, which broadcasts to the inputs'; None entries stand for their sizes, None for all.
      seed: A seed for the choice; None to leave it to the graph's seed.
      training: Whether to drop: a bool, or a scalar tensor of bool.
      name: A name for the layer.

    Returns:
      A tensor of the type and shape of `inputs`.

    >>> tf.Session().run(tf.layers.dropout(tf.ones([3]), 0.4, training=False)).tolist()
    [1.0, 1.0, 1.0]
    """
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name).apply(inputs, training=training)


@thin()
class Flatten(reshaping.Flatten, Layer):
    """[batch, ...] becomes [batch, product of the rest]; channels that come first are moved to the end before.

    >>> tf.layers.Flatten()(tf.zeros([8, 2, 3])).shape.as_list()
    [8, 6]
    """


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Keeps the first axis and flattens the rest: [8, 2, 3] becomes [8, 6].

    Args:
      inputs: A tensor of rank 1 or more.
      name: A name for the layer.
      data_format: "channels_last", or "channels_first" for channels that are moved to the end before.

    Returns:
      A tensor of rank 2.

    >>> tf.layers.flatten(tf.zeros([8, 2, 3])).shape.as_list()
    [8, 6]
    """
    return Flatten(name=name, data_format=data_format).apply(inputs)
