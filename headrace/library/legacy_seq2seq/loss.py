"""Cross-entropy of lists of steps: logits [batch, classes], targets and weights [batch] for each."""

from __future__ import annotations

from typing import Any

from headrace.library.network.softmax import sparse_softmax_cross_entropy_with_logits
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array


def sequence_loss_by_example(
    logits: list[Any], targets: list[Any], weights: list[Any], average_across_timesteps: bool = True,
    softmax_loss_function: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """The weighted cross-entropy of each sequence of the batch, divided by its total weight unless told otherwise.

    Args:
      logits: A list with the predictions before the softmax of each step, [batch, classes].
      targets: A list with the numbers of the correct classes of each step, int32 or int64 [batch].
      weights: A list with the weights of each step, float [batch].
      average_across_timesteps: True divides the loss of a sequence by the sum of its weights.
      softmax_loss_function: A function (labels, logits), called with these names; None for the sparse softmax cross-entropy.
      name: The name scope of the ops.

    Returns:
      A tensor [batch].

    >>> step = tf.zeros([1, 2]), tf.constant([0]), tf.constant([1.0])
    >>> logits, targets, weights = ([part] * 3 for part in step)
    >>> loss = tf.contrib.legacy_seq2seq.sequence_loss_by_example(logits, targets, weights)
    >>> tf.Session().run(loss).round(3)
    array([0.693], dtype=float32)
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, {len(targets)}."
        )
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                target = array.reshape(target, [-1])
                loss = sparse_softmax_cross_entropy_with_logits(labels=target, logits=logit)
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            losses.append(loss * weight)
        total = math.add_n(losses)
        if average_across_timesteps:
            total = total / (math.add_n(weights) + 1e-12)
    return total


def sequence_loss(
    logits: list[Any], targets: list[Any], weights: list[Any], average_across_timesteps: bool = True,
    average_across_batch: bool = True, softmax_loss_function: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """The sum over the batch of ``sequence_loss_by_example``, or its mean.

    Args:
      logits: A list with the predictions before the softmax of each step, [batch, classes].
      targets: A list with the numbers of the correct classes of each step, int32 or int64 [batch].
      weights: A list with the weights of each step, float [batch].
      average_across_timesteps: True divides the loss of a sequence by the sum of its weights.
      average_across_batch: True divides the sum over the batch by its size.
      softmax_loss_function: A function (labels, logits), called with these names; None for the sparse softmax cross-entropy.
      name: The name scope of the ops.

    Returns:
      A scalar.

    >>> step = tf.zeros([1, 2]), tf.constant([0]), tf.constant([1.0])
    >>> logits, targets, weights = ([part] * 3 for part in step)
    >>> loss = tf.contrib.legacy_seq2seq.sequence_loss(logits, targets, weights)
    >>> tf.Session().run(loss).round(3)
    np.float32(0.693)
    """
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        cost = reduction.reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )  # fmt: skip
        )
        if not average_across_batch:
            return cost
        return cost / math.cast(array.shape(targets[0])[0], cost.dtype)
