"""Regularizers, mostly of ``tf.contrib.layers``: functions of a variable that give a scalar loss, or None for no loss."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph import context, convert, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Tensor
from headrace.library.scope import name_scope

Regularizer = Callable[[Any], Any]


def _checked_scale(scale: Any, name: str) -> float:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"{name} cannot be an integer: {scale!r}")
    if isinstance(scale, numbers.Real) and scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale!r}")
    return scale


def _no_loss(_: Any, name: str | None = None) -> None:
    return None


def no_regularizer(_: Any) -> None:
    """A regularizer that adds no loss: ``variable_scope(..., regularizer=tf.no_regularizer)`` undoes an outer one.

    Args:
      _: The variable, which is not looked at.

    >>> with tf.variable_scope("layer", regularizer=tf.no_regularizer):
    ...     w = tf.get_variable("w", [3])
    """
    return None


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """``scale`` times the sum of absolute values; a scale of 0.0 gives no loss.

    ``w = tf.get_variable("w", [3], regularizer=tf.contrib.layers.l1_regularizer(0.1))``

    Args:
      scale: The factor, a float of 0.0 or more.
      scope: The name scope of the loss; None for "l1_regularizer".

    Returns:
      A function of a tensor or variable that gives a scalar loss, or None.

    >>> loss = tf.contrib.layers.l1_regularizer(0.5)(tf.constant([3.0, -4.0]))
    >>> tf.Session().run(loss)
    np.float32(3.5)
    """
    if _checked_scale(scale, "scale") == 0.0:
        return _no_loss

    def l1(weights: Any, name: str | None = None) -> Tensor:
        with name_scope(scope, "l1_regularizer", [weights]) as inner:
            value = convert.convert_to_tensor(weights)
            factor = convert.convert_to_tensor(scale, value.dtype.base_dtype, "scale")
            total = raw_ops.Sum(raw_ops.Abs(value), _all_axes(value))
            return raw_ops.Mul(factor, total, name=inner)

    return l1


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """``scale`` times half the sum of squares; a scale of 0.0 gives no loss.

    ``w = tf.get_variable("w", [3], regularizer=tf.contrib.layers.l2_regularizer(1e-4))``

    Args:
      scale: The factor, a float of 0.0 or more.
      scope: The name scope of the loss; None for "l2_regularizer".

    Returns:
      A function of a tensor or variable that gives a scalar loss, or None.

    >>> loss = tf.contrib.layers.l2_regularizer(0.5)(tf.constant([3.0, -4.0]))
    >>> tf.Session().run(loss)
    np.float32(6.25)
    """
    if _checked_scale(scale, "scale") == 0.0:
        return _no_loss

    def l2(weights: Any) -> Tensor:
        with name_scope(scope, "l2_regularizer", [weights]) as inner:
            value = convert.convert_to_tensor(weights)
            factor = convert.convert_to_tensor(scale, value.dtype.base_dtype, "scale")
            return raw_ops.Mul(factor, raw_ops.L2Loss(value), name=inner)

    return l2


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> Regularizer:
    """The sum of ``l1_regularizer`` and ``l2_regularizer``.

    Args:
      scale_l1: The factor of the absolute values, a float of 0.0 or more.
      scale_l2: The factor of half the squares, a float of 0.0 or more.
      scope: The name scope of the loss; None for "l1_l2_regularizer".

    Returns:
      A function of a tensor or variable that gives a scalar loss, or None.

    >>> loss = tf.contrib.layers.l1_l2_regularizer(1.0, 1.0)(tf.constant([3.0, -4.0]))
    >>> tf.Session().run(loss)
    np.float32(19.5)
    """
    _checked_scale(scale_l1, "scale_l1")
    _checked_scale(scale_l2, "scale_l2")
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(regularizer_list: Sequence[Regularizer | None], scope: str | None = None) -> Any:
    """The sum of several regularizers; None if there are none.

    Args:
      regularizer_list: The regularizers; those that are None are left out.
      scope: The name scope of the loss; None for "sum_regularizer".

    Returns:
      A function of a tensor or variable that gives a scalar loss, or None; None where there are no regularizers.

    >>> both = tf.contrib.layers.sum_regularizer([tf.contrib.layers.l1_regularizer(1.0), tf.contrib.layers.l2_regularizer(2.0)])
    >>> tf.Session().run(both(tf.constant([3.0, -4.0])))
    np.float32(32.0)
    """
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def sum_reg(weights: Any) -> Any:
        with name_scope(scope, "sum_regularizer", [weights]) as inner:
            losses = [loss for loss in (r(weights) for r in regularizers) if loss is not None]
            if not losses:
                return None
            return _sum(losses, inner)

    return sum_reg


def apply_regularization(regularizer: Regularizer, weights_list: Sequence[Any] | None = None) -> Tensor:
    """The summed loss of the weights (default: the collection WEIGHTS), also added to REGULARIZATION_LOSSES.

    Args:
      regularizer: A function of a tensor or variable that gives a scalar loss, or None.
      weights_list: The tensors or variables; None for the collection WEIGHTS of the default graph.

    Returns:
      A scalar tensor.

    >>> loss = tf.contrib.layers.apply_regularization(tf.contrib.layers.l2_regularizer(1.0), [tf.constant([3.0, 4.0])])
    >>> tf.Session().run(loss)
    np.float32(12.5)
    """
    graph = context.get_default_graph()
    if not weights_list:
        weights_list = graph.get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", values=weights_list) as scope:
        penalties = [regularizer(w) for w in weights_list]
        penalties = [p if p is not None else convert.constant(0.0) for p in penalties]
        for p in penalties:
            if p.shape.ndims != 0:
                raise ValueError(
                    f"regularizer must return a scalar Tensor instead of a Tensor with rank {p.shape.ndims}."
                )
        total = _sum(penalties, scope)
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total


def _sum(losses: list[Tensor], name: str) -> Tensor:
    return raw_ops.AddN(losses, name=name) if len(losses) > 1 else raw_ops.Identity(losses[0], name=name)


def _all_axes(value: Tensor) -> Any:
    if value.shape.ndims is None:
        return raw_ops.Range(0, raw_ops.Rank(value), 1)
    return convert.constant(list(range(value.shape.ndims)), "int32")
