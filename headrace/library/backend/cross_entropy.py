"""Cross entropies of probabilities or logits (tf.keras.backend).

Probabilities that a softmax or sigmoid of the same graph has just made are traced back to its logits, from which the cross
entropy is computed without loss of accuracy.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.eager.tensor import Immediate
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.backend.config import epsilon
from headrace.library.network.loss_function import sigmoid_cross_entropy_with_logits
from headrace.library.network.softmax import (
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from headrace.library.numeric import clip, math, reduction
from headrace.library.tensor import array


def _logits(output: Tensor, activation: str) -> Any:
    """What the activation that made the tensor was given, or None if another op made it."""
    if isinstance(output, Immediate):
        return None
    while output.op.type == "Identity":
        output = output.op.inputs[0]
    return output.op.inputs[0] if output.op.type == activation else None


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
    """The cross entropy of one-hot labels.

    Args:
      target: The correct classes, one-hot or as probabilities, of the shape of `output`.
      output: The probabilities of the classes, or logits.
      from_logits: Whether `output` is what goes into the softmax rather than what comes out.
      axis: The axis of the classes.

    Returns:
      A tensor without that axis.

    >>> loss = tf.keras.backend.categorical_crossentropy(tf.constant([[1.0, 0.0]]), tf.constant([[0.5, 0.5]]))
    >>> print(tf.Session().run(loss).round(3))
    [0.693]
    """
    output = convert_to_tensor(output)
    target = math.cast(target, output.dtype)
    logits = output if from_logits else _logits(output, "Softmax") if axis in (-1, output.shape.ndims) else None
    if logits is not None:
        return softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, axis=axis)
    output = output / reduction.reduce_sum(output, axis=axis, keepdims=True)
    output = clip.clip_by_value(output, epsilon(), 1.0 - epsilon())
    return -reduction.reduce_sum(target * math.log(output), axis=axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
    """The cross entropy of labels given as numbers of classes.

    Args:
      target: The numbers of the correct classes: the shape of `output` without the axis of the classes, which may be 1.
      output: The probabilities of the classes, or logits.
      from_logits: Whether `output` is what goes into the softmax rather than what comes out.
      axis: The axis of the classes.

    Returns:
      A tensor without that axis.

    >>> loss = tf.keras.backend.sparse_categorical_crossentropy(tf.constant([0]), tf.constant([[0.5, 0.5]]))
    >>> print(tf.Session().run(loss).round(3))
    [0.693]
    """
    output, target = convert_to_tensor(output), convert_to_tensor(target)
    rank = output.shape.ndims
    last = rank is None or axis % rank == rank - 1
    logits = output if from_logits else _logits(output, "Softmax") if last else None
    if logits is None:
        logits = math.log(clip.clip_by_value(output, epsilon(), 1.0 - epsilon()))
    if not last:
        order = [*(i for i in range(rank) if i != axis % rank), axis % rank]
        logits = array.transpose(logits, order)
    shape = logits.shape.tuple
    numbers = math.cast(target, dtypes.int64)
    if rank is not None and target.shape.ndims == rank - 1:
        return sparse_softmax_cross_entropy_with_logits(labels=numbers, logits=logits)
    if rank is not None and target.shape.ndims == rank and target.shape.tuple[-1] in (1, None):
        return sparse_softmax_cross_entropy_with_logits(labels=array.squeeze(numbers, [-1]), logits=logits)
    classes = shape[-1] if shape is not None and shape[-1] is not None else array.shape(logits)[-1]
    losses = sparse_softmax_cross_entropy_with_logits(
        labels=array.reshape(numbers, [-1]), logits=array.reshape(logits, array.stack([-1, classes]))
    )
    return array.reshape(losses, array.shape(logits)[:-1]) if rank != 2 else losses


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    """The cross entropy of each label 0 or 1.

    Args:
      target: The correct labels, of the shape of `output`.
      output: The probabilities of 1, or logits.
      from_logits: Whether `output` is what goes into the sigmoid rather than what comes out.

    Returns:
      A tensor of the shape of `output`.

    >>> loss = tf.keras.backend.binary_crossentropy(tf.constant([1.0, 0.0]), tf.constant([0.5, 0.5]))
    >>> print(tf.Session().run(loss).round(3))
    [0.693 0.693]
    """
    output = convert_to_tensor(output)
    target = math.cast(target, output.dtype)
    logits = output if from_logits else _logits(output, "Sigmoid")
    if logits is not None:
        return sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    output = clip.clip_by_value(output, epsilon(), 1.0 - epsilon())
    yes = target * math.log(output + epsilon())
    no = (1.0 - target) * math.log(1.0 - output + epsilon())
    return -raw_ops.AddV2(yes, no)
