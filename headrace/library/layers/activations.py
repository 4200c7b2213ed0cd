"""Activation functions by Keras's names (tf.keras.activations)."""

from __future__ import annotations

from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.backend import elementwise
from headrace.library.layers.named_object import deserialize_keras_object, serialize_keras_object
from headrace.library.network import activation as nn
from headrace.library.network.softmax import softmax as nn_softmax
from headrace.library.numeric import math


def softmax(x: Any, axis: int = -1) -> Tensor:
    """Positive numbers that sum to one along an axis: ``exp(x) / sum(exp(x))``.

    Args:
      x: A tensor of floats, of rank 2 or more.
      axis: The axis along which they sum to one.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.softmax(tf.zeros([1, 4]))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    x = convert_to_tensor(x)
    if x.shape.ndims is not None and x.shape.ndims < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received a tensor of shape {x.shape}")
    return nn_softmax(x, axis=axis)


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """``alpha * (exp(x) - 1)`` below zero, ``x`` above.

    Args:
      x: A tensor of floats.
      alpha: What the result tends to for small ``x``, negated.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.elu(tf.constant([-100.0, 2.0]), 3.0)).tolist()
    [-3.0, 2.0]
    """
    return elementwise.elu(x, alpha)


def selu(x: Any) -> Tensor:
    """``elu`` scaled so that layers of it keep mean 0 and variance 1 (Klambauer et al., 2017).

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.selu(tf.constant([-100.0, 1.0]))).round(2).tolist()
    [-1.7599999904632568, 1.0499999523162842]
    """
    return nn.selu(x)


def softplus(x: Any) -> Tensor:
    """``log(exp(x) + 1)``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.softplus(tf.constant([0.0, 100.0]))).round(1).tolist()
    [0.699999988079071, 100.0]
    """
    return nn.softplus(x)


def softsign(x: Any) -> Tensor:
    """``x / (abs(x) + 1)``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.softsign(tf.constant([-1.0, 3.0]))).tolist()
    [-0.5, 0.75]
    """
    return nn.softsign(x)


def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Tensor:
    """``x`` between a threshold and a largest value; below the threshold a line of slope ``alpha``.

    Args:
      x: A tensor of floats.
      alpha: The slope below the threshold: ``alpha * (x - threshold)``.
      max_value: The largest value of the result; None for no bound.
      threshold: Where the lower part ends.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.relu(tf.constant([-4.0, 2.0, 9.0]), alpha=0.5, max_value=6.0)).tolist()
    [-2.0, 2.0, 6.0]
    """
    return elementwise.relu(x, alpha, max_value, threshold)


def tanh(x: Any) -> Tensor:
    """The hyperbolic tangent.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.tanh(tf.constant([0.0, 100.0]))).tolist()
    [0.0, 1.0]
    """
    return math.tanh(x)


def sigmoid(x: Any) -> Tensor:
    """``1 / (1 + exp(-x))``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.sigmoid(tf.constant([0.0, 100.0]))).tolist()
    [0.5, 1.0]
    """
    return math.sigmoid(x)


def exponential(x: Any) -> Tensor:
    """``exp(x)``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.exponential(tf.constant([0.0]))).tolist()
    [1.0]
    """
    return math.exp(x)


def hard_sigmoid(x: Any) -> Tensor:
    """A line in place of ``sigmoid``'s curve: ``0.2 * x + 0.5``, cut to 0 below -2.5 and to 1 above 2.5.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.keras.activations.hard_sigmoid(tf.constant([-3.0, 0.0, 1.0]))).tolist()
    [0.0, 0.5, 0.699999988079071]
    """
    return elementwise.hard_sigmoid(x)


def linear(x: Any) -> Any:
    """``x`` itself, the activation of layers that have none.

    Args:
      x: Anything.

    Returns:
      `x`.

    >>> tf.keras.activations.linear(3)
    3
    """
    return x


_NAMES: dict[str, Any] = {
    f.__name__: f
    for f in (elu, exponential, hard_sigmoid, linear, relu, selu, sigmoid, softmax, softplus, softsign, tanh)
} | {"relu6": nn.relu6, "swish": nn.swish}


def serialize(activation: Any) -> Any:
    """The name of an activation function, which ``deserialize`` takes.

    Args:
      activation: A function.

    Returns:
      Its name; for an object of a class, a dict with the class's name and its configuration.

    >>> tf.keras.activations.serialize(tf.keras.activations.relu), tf.keras.activations.serialize(tf.nn.softmax)
    ('relu', 'softmax')
    """
    return serialize_keras_object(activation)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """The activation function of a name.

    Args:
      name: A name such as "relu".
      custom_objects: A dict of further names and what they stand for.

    Returns:
      A function of a tensor.

    >>> tf.keras.activations.deserialize("linear")(3)
    3
    """
    return deserialize_keras_object(
        name, module_objects=_NAMES, custom_objects=custom_objects, printable_module_name="activation function"
    )


def get(identifier: Any) -> Any:
    """What a layer's argument stands for: an activation function given by its name or itself.

    Args:
      identifier: A name such as "relu", a function of a tensor, or None.

    Returns:
      A function of a tensor; for None the one that changes nothing.

    >>> tf.keras.activations.get(None)(3)
    3
    """
    if identifier is None:
        return linear
    if callable(identifier):
        return identifier
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise TypeError(
        f"Could not interpret activation function identifier: {identifier!r}. Accepted: a name, a dict, a callable or None"
    )
