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
    """The weighted cross-entropy of each sequence of the batch, divided by its total weight unless told otherwise."""
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
    """The sum over the batch of ``sequence_loss_by_example``, or its mean."""
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
