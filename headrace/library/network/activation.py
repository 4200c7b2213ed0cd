"""Activation functions, bias addition and the small layers made of them (tf.nn)."""

from __future__ import annotations

from typing import Any

from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.scope import name_scope


@learned
def relu(features: Any, name: str | None = None) -> Tensor:
    """``max(features, 0)``.

    Args:
      features: A tensor of real numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `features`.

    >>> tf.Session().run(tf.nn.relu([-1.0, 0.0, 2.0]))
    array([0., 0., 2.], dtype=float32)
    """
    return raw_ops.Relu(features, name=name)


@learned
def relu6(features: Any, name: str | None = None) -> Tensor:
    """``min(max(features, 0), 6)``.

    Args:
      features: A tensor of real numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `features`.

    >>> tf.Session().run(tf.nn.relu6([-1.0, 3.0, 9.0])).tolist()
    [0.0, 3.0, 6.0]
    """
    with name_scope(name, "Relu6", [features]) as scope:
        return raw_ops.Relu6(convert_to_tensor(features, name="features"), name=scope)


@learned
def elu(features: Any, name: str | None = None) -> Tensor:
    """``exp(features) - 1`` below zero, ``features`` above.

    Args:
      features: A tensor of floats.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `features`.

    >>> tf.Session().run(tf.nn.elu([-1.0, 2.0])).round(3)
    array([-0.632,  2.   ], dtype=float32)
    """
    return raw_ops.Elu(features, name=name)


@learned
def selu(features: Any, name: str | None = None) -> Tensor:
    """The self-normalising exponential unit: ``scale * elu(features, alpha)``.

    Args:
      features: A tensor of floats.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `features`.

    >>> tf.Session().run(tf.nn.selu([-1.0, 1.0])).round(3)
    array([-1.111,  1.051], dtype=float32)
    """
    return raw_ops.Selu(features, name=name)


@learned
def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """``features`` above zero, ``alpha * features`` below; ``alpha`` may be a tensor.

    Args:
      features: A tensor of real numbers; integers become float32.
      alpha: The slope below zero, a number or a tensor; a tensor must not exceed 1.
      name: A name for the op.

    Returns:
      A tensor of floats of the shape of `features`.

    >>> tf.Session().run(tf.nn.leaky_relu([-10.0, 2.0])).tolist()
    [-2.0, 2.0]
    """
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = raw_ops.Cast(features, DstT="float32", name="ToFloat")
        if isinstance(alpha, (int, float)) or getattr(alpha, "shape", None) == () and hasattr(alpha, "item"):
            return raw_ops.LeakyRelu(features, alpha=float(alpha), name=scope)
        alpha = convert_to_tensor(alpha, dtype=features.dtype, name="alpha")
        return raw_ops.Maximum(raw_ops.Mul(alpha, features, name="mul"), features, name=scope)


@learned
def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """The positive and the negative part side by side along ``axis``: twice the depth.

    Args:
      features: A tensor of real numbers.
      name: A name for the op.
      axis: The axis to join the two parts along.

    Returns:
      A tensor of the type of `features`, twice as long along `axis`.

    >>> tf.Session().run(tf.nn.crelu([[-1.0, 2.0]])).tolist()
    [[0.0, 2.0, 1.0, 0.0]]
    """
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        both = raw_ops.ConcatV2([features, raw_ops.Neg(features)], axis, name=scope)
        return raw_ops.Relu(both)


@learned
def softplus(features: Any, name: str | None = None) -> Tensor:
    """``log(1 + exp(features))``.

    Args:
      features: A tensor of floats.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `features`.

    >>> tf.Session().run(tf.nn.softplus([0.0, 100.0])).round(3)
    array([  0.693, 100.   ], dtype=float32)
    """
    return raw_ops.Softplus(features, name=name)


@learned
def softsign(features: Any, name: str | None = None) -> Tensor:
    """``features / (1 + abs(features))``.

    Args:
      features: A tensor of floats.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `features`, between -1 and 1.

    >>> tf.Session().run(tf.nn.softsign([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """
    return raw_ops.Softsign(features, name=name)


def swish(features: Any) -> Tensor:
    """``features * sigmoid(features)``.

    Args:
      features: A tensor of floats.

    Returns:
      A tensor of the type and shape of `features`.

    >>> tf.Session().run(tf.nn.swish([0.0, 1.0])).round(3)
    array([0.   , 0.731], dtype=float32)
    """
    features = convert_to_tensor(features, name="features")
    return raw_ops.Mul(features, raw_ops.Sigmoid(features), name="mul")


@learned
def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """Adds the vector ``bias`` along the channels: the last axis, or the second with ``data_format="NC..."``.

    Args:
      value: A tensor of rank 2 or more.
      bias: A vector of the type of `value`, with an element for each channel.
      data_format: "N...C", channels last, or "NC...", channels second; None is channels last.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `value`.

    >>> tf.Session().run(tf.nn.bias_add([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0]))
    array([[11., 22.],
           [13., 24.]], dtype=float32)
    """
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format is not None:
            if data_format.startswith("NC"):
                data_format = "NCHW"
            elif data_format.startswith("N") and data_format.endswith("C"):
                data_format = "NHWC"
            else:
                raise ValueError("data_format must be of the form `N...C` or `NC...`")
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype.base_dtype, name="bias")
        return raw_ops.BiasAdd(value, bias, data_format=data_format or "NHWC", name=scope)


@learned
def bias_add_v1(value: Any, bias: Any, name: str | None = None) -> Tensor:
    """``bias_add`` along the last axis, as the op was in TensorFlow's first releases."""
    with name_scope(name, "BiasAddV1", [value, bias]) as scope:
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype.base_dtype, name="bias")
        return raw_ops.BiasAddV1(value, bias, name=scope)


@learned
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """``matmul(x, weights) + biases``.

    Args:
      x: A matrix [batch, in].
      weights: A matrix [in, out] of the type of `x`.
      biases: A vector [out] of the type of `x`.
      name: A name for the op.

    Returns:
      A matrix [batch, out].

    >>> tf.Session().run(tf.nn.xw_plus_b([[1.0, 2.0]], [[3.0], [4.0]], [0.5])).tolist()
    [[11.5]]
    """
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        product = _product(x, weights, biases)
        return raw_ops.BiasAdd(*product, name=scope)


@learned
def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """``relu(matmul(x, weights) + biases)``.

    Args:
      x: A matrix [batch, in].
      weights: A matrix [in, out] of the type of `x`.
      biases: A vector [out] of the type of `x`.
      name: A name for the op.

    Returns:
      A matrix [batch, out].

    >>> tf.Session().run(tf.nn.relu_layer([[1.0, 2.0]], [[-3.0], [1.0]], [0.5])).tolist()
    [[0.0]]
    """
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        product = _product(x, weights, biases)
        return raw_ops.Relu(raw_ops.BiasAdd(*product), name=scope)


def _product(x: Any, weights: Any, biases: Any) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(x, name="x")
    weights = convert_to_tensor(weights, name="weights")
    biases = convert_to_tensor(biases, name="biases")
    return raw_ops.MatMul(x, weights), biases
