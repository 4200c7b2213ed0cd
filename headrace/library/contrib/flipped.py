"""contrib.nn's cross entropies, with the order of arguments of TensorFlow before 1.0: logits, then labels."""

from __future__ import annotations

from typing import Any

from headrace.graph.operation import Tensor
from headrace.library.network import loss_function, softmax


def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, dim: int = -1, name: str | None = None
) -> Tensor:
    """``tf.nn.softmax_cross_entropy_with_logits`` with logits before labels.

    Args:
      logits: The predictions before the softmax.
      labels: The probability of each class, of the shape of `logits`.
      dim: The axis of the classes.
      name: The name of the op.

    Returns:
      The losses, a tensor of the shape of `logits` without the axis of the classes.

    >>> losses = tf.contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits([[0.0, 0.0]], [[1.0, 0.0]])
    >>> tf.Session().run(losses).round(3)
    array([0.693], dtype=float32)
    """
    return softmax.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, name: str | None = None
) -> Tensor:
    """``tf.nn.sparse_softmax_cross_entropy_with_logits`` with logits before labels.

    Args:
      logits: The predictions before the softmax, [..., classes].
      labels: The numbers of the correct classes, int32 or int64.
      name: The name of the op.

    Returns:
      The losses, a tensor of the shape of `labels`.

    >>> losses = tf.contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits([[0.0, 0.0]], [0])
    >>> tf.Session().run(losses).round(3)
    array([0.693], dtype=float32)
    """
    return softmax.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits: Any, targets: Any, name: str | None = None) -> Tensor:
    """``tf.nn.sigmoid_cross_entropy_with_logits`` with logits before labels.

    Args:
      logits: The predictions before the sigmoid.
      targets: The correct labels, 0 or 1, of the shape of `logits`.
      name: The name of the op.

    Returns:
      The losses, a tensor of the shape of `logits`.

    >>> tf.Session().run(tf.contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits([0.0], [1.0])).round(3)
    array([0.693], dtype=float32)
    """
    return loss_function.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)
