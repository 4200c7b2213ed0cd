"""contrib.layers.legacy_fully_connected and kin, as they were before 1.0."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.contrib.layers import XAVIER
from headrace.library.layers.scoped.thin import ZEROS
from headrace.library.linalg.matrix import matmul
from headrace.library.network.activation import bias_add, relu
from headrace.library.scope import add_to_collections
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.tensor import array


def legacy_fully_connected(
    x: Any, num_output_units: int, activation_fn: Any = None, weight_init: Any = XAVIER, bias_init: Any = ZEROS,
    name: str | None = None, weight_collections: Sequence[Any] = (GraphKeys.WEIGHTS,),
    bias_collections: Sequence[Any] = (GraphKeys.BIASES,), output_collections: Sequence[Any] = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True, weight_regularizer: Any = None, bias_regularizer: Any = None,
) -> Tensor:  # fmt: skip
    """A fully connected layer with variables "weights" and "bias".

    Args:
      x: A tensor of rank 2 or more; the last axis is connected.
      num_output_units: The size of the last axis of the result.
      activation_fn: A function of the result; None for none.
      weight_init: What the weights start from.
      bias_init: What the bias starts from; None for no bias.
      name: The variable scope; None for `fully_connected`.
      weight_collections: Further collections of the weights.
      bias_collections: Further collections of the bias.
      output_collections: The collections to which the result is added.
      trainable: Whether the variables are trained.
      weight_regularizer: A function from the weights to a loss, which is collected; None for none.
      bias_regularizer: A function from the bias to a loss, which is collected; None for none.

    Returns:
      A tensor of the shape of `x`, with `num_output_units` as its last axis.

    >>> tf.contrib.layers.legacy_relu(tf.zeros([2, 3]), 4).shape.as_list()
    [2, 4]
    """
    with variable_scope(name, "fully_connected", [x]):
        x = convert_to_tensor(x)
        if x.shape.ndims is None or x.shape.ndims < 2:
            raise ValueError(f"x must have rank 2 or more, got shape {x.shape} {at()}")
        sizes = x.shape.as_list()
        if sizes[-1] is None:
            raise ValueError(f"the last dimension of x must be known, got shape {x.shape} {at()}")
        weights = get_variable(
            "weights", [sizes[-1], num_output_units], x.dtype.base_dtype, weight_init, weight_regularizer, trainable,
            [*(weight_collections or ()), GraphKeys.GLOBAL_VARIABLES],
        )  # fmt: skip
        y = matmul(x if len(sizes) == 2 else array.reshape(x, [-1, sizes[-1]]), weights)
        if bias_init is not None:
            bias = get_variable(
                "bias", [num_output_units], x.dtype.base_dtype, bias_init, bias_regularizer, trainable,
                [*(bias_collections or ()), GraphKeys.GLOBAL_VARIABLES],
            )  # fmt: skip
            y = bias_add(y, bias)
        if len(sizes) > 2:
            y = array.reshape(y, array.concat([array.shape(x)[:-1], [num_output_units]], 0))  # type: ignore[index]
            y.set_shape([*sizes[:-1], num_output_units])
        if activation_fn is not None:
            y = activation_fn(y)
        add_to_collections(output_collections or (), y)
        return y


_ACTIVATED = """`tf.contrib.layers.legacy_fully_connected` {then}.

Args:
  x: A tensor of rank 2 or more; the last axis is connected.
  num_output_units: The size of the last axis of the result.
  activation_fn: A function of the result, in place of this layer's own; None for none.
  weight_init: What the weights start from.
  bias_init: What the bias starts from; None for no bias.
  name: The variable scope; None for `fully_connected`.
  weight_collections: Further collections of the weights.
  bias_collections: Further collections of the bias.
  output_collections: The collections to which the result is added.
  trainable: Whether the variables are trained.
  weight_regularizer: A function from the weights to a loss, which is collected; None for none.
  bias_regularizer: A function from the bias to a loss, which is collected; None for none.

Returns:
  A tensor of the shape of `x`, with `num_output_units` as its last axis.

Example: ``tf.contrib.layers.{name}(x, 64)``"""


def _activated(name: str, then: str, activation_fn: Any) -> functools.partial[Any]:
    layer = functools.partial(legacy_fully_connected, activation_fn=activation_fn)
    layer.__doc__ = _ACTIVATED.format(name=name, then=then)
    return layer


legacy_linear = _activated("legacy_linear", "without an activation", None)
legacy_relu = _activated("legacy_relu", "with relu", relu)
