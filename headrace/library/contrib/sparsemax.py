"""contrib.sparsemax: the projection onto probabilities, which has zeros, and its loss (Martins, Astudillo, 2016)."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric import division, math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where
from headrace.library.tensor.sorting import sort


def sparsemax(logits: Any, name: str | None = None) -> Tensor:
    """The probabilities nearest to the logits; small ones are zero.

    Args:
      logits: A tensor [batch, classes] of floats.
      name: A name for the op.

    Returns:
      A tensor like `logits`, whose rows add up to 1.

    >>> tf.Session().run(tf.contrib.sparsemax.sparsemax([[1.0, 0.5, -2.0]])).round(3)
    array([[0.75, 0.25, 0.  ]], dtype=float32)
    """
    with name_scope(name, "sparsemax", [logits]):
        logits = convert_to_tensor(logits)
        if logits.shape.ndims is not None and logits.shape.ndims != 2:
            raise ValueError(f"logits must have shape [batch, classes], got {logits.shape} {at()}")
        count: Any = array.shape(logits)[1]  # type: ignore[index]
        z = logits - reduction.reduce_mean(logits, axis=1, keepdims=True)
        ordered = sort(z, axis=1, direction="DESCENDING")
        totals = reduction.cumsum(ordered, axis=1)
        k = math.cast(creation.range(1, count + 1), logits.dtype)
        support = math.greater(1.0 + k * ordered, totals)
        most = reduction.reduce_sum(math.cast(support, logits.dtype), axis=1, keepdims=True)
        none = creation.zeros_like(ordered)
        threshold = division.divide(
            reduction.reduce_sum(where(support, ordered, none), axis=1, keepdims=True) - 1.0, most
        )
        return math.maximum(math.cast(0, logits.dtype), z - threshold)


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Tensor:
    """The loss whose gradient for the logits is ``sparsemax - labels``.

    Args:
      logits: A tensor [batch, classes] of floats.
      sparsemax: What `sparsemax` gives for them.
      labels: The true probabilities, a tensor like `logits`.
      name: A name for the op.

    Returns:
      A tensor [batch].

    >>> p = tf.contrib.sparsemax.sparsemax([[1.0, 0.5, -2.0]])
    >>> tf.Session().run(tf.contrib.sparsemax.sparsemax_loss([[1.0, 0.5, -2.0]], p, [[1.0, 0.0, 0.0]])).round(3)
    array([0.063], dtype=float32)
    """
    with name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits, labels = convert_to_tensor(logits), convert_to_tensor(labels)
        probabilities = convert_to_tensor(sparsemax)
        z = logits - reduction.reduce_mean(logits, axis=1, keepdims=True)
        support = math.greater(probabilities, 0.0)
        own = where(support, probabilities * (z - 0.5 * probabilities), creation.zeros_like(z))
        return reduction.reduce_sum(own + labels * (0.5 * labels - z), axis=1)
