"""Small generators and discriminators for the tests."""

from typing import Any

import headrace as tf


def generator(inputs: Any) -> Any:
    joined = tf.concat(list(inputs), 1) if isinstance(inputs, (list, tuple)) else inputs
    return tf.layers.dense(joined, 2, name="g")


def discriminator(data: Any, inputs: Any) -> Any:
    return tf.layers.dense(data, 1, name="d")


def two_outputs(data: Any, inputs: Any) -> Any:
    return discriminator(data, inputs), tf.layers.dense(data, 3, name="classes")


def guesses(data: Any, inputs: Any) -> Any:
    return discriminator(data, inputs), [tf.distributions.Categorical(tf.layers.dense(data, 3, name="guess"))]
