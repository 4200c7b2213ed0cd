"""Summaries of gradients and their norms, which contrib's functions for training add."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library import log
from headrace.library.numeric.clip import global_norm
from headrace.library.summary.summary import histogram, scalar
from headrace.library.train.optimizer.optimizer import GradsAndVars


def add_gradients_summaries(grads_and_vars: GradsAndVars) -> list[Tensor]:
    """A histogram of each gradient, and a number for its norm.

    Args:
      grads_and_vars: A list of pairs (gradient, variable), as `compute_gradients` gives it; gradients that are None are left out.

    Returns:
      A list of summaries, two for each gradient.

    >>> x = tf.get_variable("x", [2])
    >>> pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(tf.nn.l2_loss(x))
    >>> len(tf.contrib.training.add_gradients_summaries(pairs))
    2
    """
    summaries = []
    for grad, variable in grads_and_vars:
        if grad is None:
            log.info("Var %s has no gradient", variable.op.name)
            continue
        values = _values(grad)
        summaries.append(histogram(f"{variable.op.name}_gradient", values))
        summaries.append(scalar(f"{variable.op.name}_gradient_norm", global_norm([values])))
    return summaries


def add_norm(tag: str, pairs: GradsAndVars) -> None:
    """A number for the norm of all gradients."""
    scalar(f"global_norm/{tag}", global_norm([grad for grad, _ in pairs]))


def add_each(pairs: GradsAndVars, summaries: Collection[str]) -> None:
    """What is ``summaries`` of each gradient: "gradients" a histogram, "gradient_norm" a number."""
    for grad, variable in pairs:
        if grad is None:
            continue
        name, values = variable.name.replace(":", "_"), _values(grad)
        if "gradients" in summaries:
            histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            scalar(f"gradient_norm/{name}", global_norm([values]))


def _values(grad: Any) -> Any:
    return grad.values if isinstance(grad, IndexedSlices) else grad
