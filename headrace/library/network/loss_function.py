"""Element-wise losses (tf.nn) that are not softmax cross entropies."""

from __future__ import annotations

import math
from typing import Any

from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.scope import name_scope


@learned
def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """``sum(t ** 2) / 2``.

    Args:
      t: A tensor of floats.
      name: A name for the op.

    Returns:
      A scalar of the type of `t`.

    >>> tf.Session().run(tf.nn.l2_loss([3.0, 4.0]))
    np.float32(12.5)
    """
    return raw_ops.L2Loss(t, name=name)


@learned
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy of sigmoid(logits) with respect to ``labels``, element by element, stable for large logits.

    Args:
      _sentinel: Stands for "by name only": give all arguments by name, and this one not at all.
      labels: A tensor of the type and shape of `logits`: probabilities from 0 to 1.
      logits: A tensor of floats.
      name: A name for the op.

    Returns:
      A tensor of losses of the type and shape of `logits`.

    >>> loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[0.0, 0.0])
    >>> tf.Session().run(loss).round(3)
    array([0.693, 0.693], dtype=float32)
    """
    if _sentinel is not None:
        raise ValueError(
            "Only call `sigmoid_cross_entropy_with_logits` with named arguments (labels=..., logits=..., ...)"
        )
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = _pair(labels, logits, "labels")
        # max(x, 0) - x * z + log(1 + exp(-abs(x))), with selects so that the gradient at zero is sigmoid(0) - z
        zeros = raw_ops.ZerosLike(logits, name="zeros_like")
        positive = raw_ops.GreaterEqual(logits, zeros)
        clipped = raw_ops.Select(positive, logits, zeros)
        minus_abs = raw_ops.Select(positive, raw_ops.Neg(logits), logits)
        linear = raw_ops.Sub(clipped, raw_ops.Mul(logits, labels, name="mul"), name="sub")
        return raw_ops.AddV2(linear, raw_ops.Log1p(raw_ops.Exp(minus_abs)), name=scope)


def _pair(labels: Any, logits: Any, what: str) -> tuple[Tensor, Tensor]:
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, dtype=None if isinstance(labels, Tensor) else logits.dtype, name=what)
    if not labels.shape.is_compatible_with(logits.shape):
        raise ValueError(f"logits and {what} must have the same shape ({logits.shape} vs {labels.shape})")
    return logits, labels


def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None, targets: Any = None
) -> Tensor:
    """``sigmoid_cross_entropy_with_logits`` with the positive examples counted ``pos_weight`` times.

    Args:
      labels: A tensor of the type and shape of `logits`: probabilities from 0 to 1.
      logits: A tensor of floats.
      pos_weight: The weight of positive examples, a number or a tensor that broadcasts.
      name: A name for the op.
      targets: Another name of `labels`; give one of them.

    Returns:
      A tensor of losses of the type and shape of `logits`.

    >>> loss = tf.nn.weighted_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[0.0, 0.0], pos_weight=2.0)
    >>> tf.Session().run(loss).round(3)
    array([1.386, 0.693], dtype=float32)
    """
    labels = either("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = _pair(labels, logits, "labels")
        excess = pos_weight if isinstance(pos_weight, (int, float)) else convert_to_tensor(pos_weight)
        weight = 1 + (excess - 1) * labels
        negative = (1 - labels) * logits
        tail = raw_ops.Log1p(raw_ops.Exp(raw_ops.Neg(raw_ops.Abs(logits))))
        stable = raw_ops.AddV2(tail, raw_ops.Relu(raw_ops.Neg(logits)), name="add")
        return raw_ops.AddV2(negative, raw_ops.Mul(weight, stable, name="mul"), name=scope)


def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None) -> Tensor:
    """``exp(log_input) - log_input * targets``, plus Stirling's approximation of ``log(targets!)`` if asked.

    Args:
      targets: A tensor of the type and shape of `log_input`: the counts seen.
      log_input: A tensor of floats: the logarithm of the expected count.
      compute_full_loss: Whether to add the part that depends on `targets` only.
      name: A name for the op.

    Returns:
      A tensor of losses of the type and shape of `log_input`.

    >>> tf.Session().run(tf.nn.log_poisson_loss([2.0], [0.0])).tolist()
    [1.0]
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input, targets = _pair(targets, log_input, "targets")
        result = raw_ops.Sub(raw_ops.Exp(log_input), raw_ops.Mul(log_input, targets, name="mul"), name="sub")
        if not compute_full_loss:
            return result
        half = constant(0.5, dtype=targets.dtype)
        two_pi = constant(2 * math.pi, dtype=targets.dtype)
        powers = raw_ops.Sub(raw_ops.Mul(targets, raw_ops.Log(targets), name="mul"), targets, name="sub")
        root = raw_ops.Mul(half, raw_ops.Log(raw_ops.Mul(two_pi, targets, name="mul")), name="mul")
        stirling = raw_ops.AddV2(powers, root, name="add")
        # The approximation holds above one; below, log(targets!) counts as zero.
        zeros = raw_ops.ZerosLike(targets, name="zeros_like")
        ones = raw_ops.OnesLike(targets, name="ones_like")
        small = raw_ops.LogicalAnd(raw_ops.GreaterEqual(targets, zeros), raw_ops.LessEqual(targets, ones))
        return raw_ops.AddV2(result, raw_ops.Select(small, zeros, stirling), name="add")
