"""``sequence_loss``: the weighted cross-entropy of a batch of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.library.network.softmax import sparse_softmax_cross_entropy_with_logits
from headrace.library.numeric import division, math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array


def sequence_loss(
    logits: Any, targets: Any, weights: Any, average_across_timesteps: bool = True, average_across_batch: bool = True,
    sum_over_timesteps: bool = False, sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Weighted cross-entropy of logits [batch, time, classes] and targets [batch, time], averaged or summed as asked.

    ``softmax_loss_function(labels=, logits=)`` replaces the sparse softmax cross-entropy.

    Args:
      logits: The predictions before the softmax, [batch, time, classes].
      targets: The number of the correct class at each step, int32 or int64 [batch, time].
      weights: The weight of each step, a float tensor [batch, time]: 0 for steps past the end of a sequence.
      average_across_timesteps: True divides the sum over the steps by the sum of their weights.
      average_across_batch: True divides the sum over the batch by the sum of its weights.
      sum_over_timesteps: True divides the sum over the steps by the number of weights that are not zero.
      sum_over_batch: True divides the sum over the batch by the number of weights that are not zero.
      softmax_loss_function: A function (labels, logits) of flat tensors, called with these names; None for the sparse
        softmax cross-entropy.
      name: The name scope of the ops.

    Returns:
      A scalar, or a tensor that still has the axes ([batch], [time] or both) that are neither averaged nor summed.

    >>> loss = tf.contrib.seq2seq.sequence_loss(tf.zeros([1, 3, 2]), targets=[[0, 1, 0]], weights=[[1.0, 1.0, 0.0]])
    >>> tf.Session().run(loss).round(3)
    np.float32(0.693)
    """
    logits, targets, weights = (convert_to_tensor(t) for t in (logits, targets, weights))
    if logits.shape.ndims != 3:
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor")
    if targets.shape.ndims != 2:
        raise ValueError("Targets must be a [batch_size x sequence_length] tensor")
    if weights.shape.ndims != 2:
        raise ValueError("Weights must be a [batch_size x sequence_length] tensor")
    if average_across_timesteps and sum_over_timesteps:
        raise ValueError("average_across_timesteps and sum_over_timesteps cannot be set to True at same time.")
    if average_across_batch and sum_over_batch:
        raise ValueError("average_across_batch and sum_over_batch cannot be set to True at same time.")
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        flat_logits = array.reshape(logits, [-1, array.shape(logits)[2]])
        flat_targets = array.reshape(targets, [-1])
        compute = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        loss = compute(labels=flat_targets, logits=flat_logits) * array.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return division.divide(reduction.reduce_sum(loss), reduction.reduce_sum(weights) + 1e-12)
        if sum_over_timesteps and sum_over_batch:
            return division.div_no_nan(reduction.reduce_sum(loss), _count(weights, None, loss))
        loss = array.reshape(loss, array.shape(logits)[0:2])
        if average_across_timesteps and not average_across_batch:
            loss = division.divide(
                reduction.reduce_sum(loss, axis=[1]), reduction.reduce_sum(weights, axis=[1]) + 1e-12
            )
        elif average_across_batch and not average_across_timesteps:
            loss = division.divide(
                reduction.reduce_sum(loss, axis=[0]), reduction.reduce_sum(weights, axis=[0]) + 1e-12
            )
        elif sum_over_timesteps and not sum_over_batch:
            loss = division.div_no_nan(reduction.reduce_sum(loss, axis=[1]), _count(weights, [1], loss))
        elif sum_over_batch and not sum_over_timesteps:
            loss = division.div_no_nan(reduction.reduce_sum(loss, axis=[0]), _count(weights, [0], loss))
        return loss


def _count(weights: Any, axis: Any, like: Any) -> Any:
    return math.cast(reduction.count_nonzero(weights, axis=axis), like.dtype)
