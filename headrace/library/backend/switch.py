"""Choices between two tensors: by a condition, or by the learning phase."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import bool as boolean
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.library.backend.creation import seed_or_random
from headrace.library.backend.phase import learning_phase
from headrace.library.control.control_flow import cond
from headrace.library.network import dropout as dropout_library
from headrace.library.numeric import math
from headrace.library.tensor import array, creation


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One tensor or the other, by a condition; element by element if the condition is no scalar.

    Args:
      condition: A tensor of bool or of numbers, which count as true if they are not 0.
      then_expression: A tensor, or a function without arguments that makes it.
      else_expression: A tensor of the same shape, or a function that makes it.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.switch(tf.constant([True, False]), tf.constant([1, 2]), tf.constant([3, 4])))
    array([1, 4], dtype=int32)
    """
    condition = convert_to_tensor(condition)
    if condition.dtype.base_dtype != boolean:
        condition = math.cast(condition, boolean)
    rank = condition.shape.ndims
    if not rank:
        return cond(condition, _function(then_expression), _function(else_expression))
    chosen = then_expression() if callable(then_expression) else convert_to_tensor(then_expression)
    other = else_expression() if callable(else_expression) else convert_to_tensor(else_expression)
    value_rank = chosen.shape.ndims
    if rank > value_rank:
        raise ValueError(
            "Rank of `condition` should be less than or equal to rank of `then_expression` and `else_expression`. "
            f"ndim(condition)={rank}, ndim(then_expression)={value_rank}"
        )
    if rank != value_rank:
        sizes = array.concat([array.shape(condition), [1] * (value_rank - rank)], 0)
        spread = math.cast(array.reshape(condition, sizes), chosen.dtype) + creation.zeros_like(chosen)
        condition = math.cast(spread, boolean)
    elif not condition.shape.is_compatible_with(chosen.shape) or condition.shape.as_list() != chosen.shape.as_list():
        condition = math.logical_or(condition, creation.zeros_like(chosen, dtype=boolean))
    return raw_ops.Select(condition, chosen, other)


def _function(expression: Any) -> Any:
    return expression if callable(expression) else lambda: expression


def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """One tensor while training, another one otherwise.

    Args:
      x: The tensor while training, or a function without arguments that makes it.
      alt: The tensor otherwise, or a function that makes it.
      training: Whether to train: a bool, 0, 1 or a tensor; None for the learning phase.

    Returns:
      A tensor.

    >>> one, two = tf.constant(1), tf.constant(2)
    >>> tf.keras.backend.in_train_phase(one, two, training=True) is one
    True
    """
    training = learning_phase() if training is None else training
    if isinstance(training, (bool, int)):
        chosen = x if training else alt
        return chosen() if callable(chosen) else chosen
    return switch(training, x, alt)


def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """One tensor while not training, another one otherwise.

    Args:
      x: The tensor while not training, or a function without arguments that makes it.
      alt: The tensor otherwise, or a function that makes it.
      training: Whether to train: a bool, 0, 1 or a tensor; None for the learning phase.

    Returns:
      A tensor.

    >>> one, two = tf.constant(1), tf.constant(2)
    >>> tf.keras.backend.in_test_phase(one, two, training=True) is two
    True
    """
    return in_train_phase(alt, x, training=training)


def dropout(x: Any, level: Any, noise_shape: Any = None, seed: Any = None) -> Any:
    """The tensor with some elements set to 0 at random, and the others scaled up.

    Args:
      x: A tensor.
      level: The share of elements that are dropped.
      noise_shape: The shape of what is drawn, broadcast to that of `x`; None for that of `x`.
      seed: An int; None for a random one.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.dropout(tf.constant([2.0]), 0.0))
    array([2.], dtype=float32)
    """
    return dropout_library.dropout(x, rate=level, noise_shape=noise_shape, seed=seed_or_random(seed))
