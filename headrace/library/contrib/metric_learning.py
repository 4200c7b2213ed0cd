"""contrib.losses.metric_learning: losses of embeddings, near for examples of one class and far for others."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.linalg import matrix as linalg
from headrace.library.network.softmax import softmax_cross_entropy_with_logits_v2
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation, indexing

_TINY = 1e-16  # under a square root whose gradient is needed


def _distances(feature: Any, squared: bool = False) -> Tensor:
    """The distances of all pairs of rows, exactly zero of a row to itself."""
    feature = convert_to_tensor(feature)
    squares = reduction.reduce_sum(raw_ops.Square(feature), axis=1, keepdims=True)
    product = linalg.matmul(feature, feature, transpose_b=True)
    found = raw_ops.Maximum(squares + array.transpose(squares) - 2.0 * product, 0.0)
    if not squared:
        zero = raw_ops.LessEqual(found, 0.0)
        found = raw_ops.Sqrt(found + math.cast(zero, feature.dtype) * _TINY)
        found = found * math.cast(raw_ops.LogicalNot(zero), feature.dtype)
    return found * (1.0 - _diagonal(feature))


def _diagonal(rows: Tensor) -> Tensor:
    """The identity matrix with as many rows."""
    count = array.shape(rows)[0]
    return raw_ops.MatrixDiag(creation.ones(array.expand_dims(count, 0), rows.dtype))


def _same_class(labels: Any) -> Tensor:
    """Which pairs of rows are of one class, [batch, batch]."""
    labels = array.reshape(labels, [-1, 1])
    return raw_ops.Equal(labels, array.transpose(labels))


def contrastive_loss(labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0) -> Tensor:
    """Draws pairs of one class together, and pushes others apart up to a margin.

    Args:
      labels: 1 for a pair of one class, 0 for another, int32 [batch].
      embeddings_anchor: The first of each pair, float [batch, size].
      embeddings_positive: The second of each pair, of the same shape.
      margin: The distance from which on a pair of two classes costs nothing.

    Returns:
      A float32 scalar.

    >>> loss = tf.contrib.losses.metric_learning.contrastive_loss([1], [[0.0, 0.0]], [[3.0, 4.0]])
    >>> tf.Session().run(loss)
    np.float32(25.0)
    """
    with name_scope(None, "contrastive_loss", [labels, embeddings_anchor, embeddings_positive]):
        apart = reduction.reduce_sum(math.squared_difference(embeddings_anchor, embeddings_positive), axis=1)
        # The gradient of the root at zero is infinite.
        distances = raw_ops.Sqrt(raw_ops.Maximum(apart, _TINY))
        labels = math.cast(labels, dtypes.float32)
        loss = labels * apart + (1.0 - labels) * raw_ops.Square(raw_ops.Maximum(margin - distances, 0.0))
        return reduction.reduce_mean(loss, name="contrastive_loss")


def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Tensor:
    """Wants each pair of one class nearer, by a margin, than the nearest negative beyond it (Schroff et al., 2015).

    Where no negative is farther than the positive, the farthest one counts.

    Args:
      labels: The classes, int32 [batch].
      embeddings: Float [batch, size], best of length one.
      margin: How much farther negatives should be.

    Returns:
      A float32 scalar.

    >>> embeddings = [[0.0], [1.0], [0.5], [9.0]]
    >>> tf.Session().run(tf.contrib.losses.metric_learning.triplet_semihard_loss([0, 0, 1, 1], embeddings)).round(4)
    np.float32(18.25)
    """
    with name_scope(None, "triplet_semihard_loss", [labels, embeddings]):
        distances = _distances(embeddings, squared=True)
        same = _same_class(labels)
        other = math.cast(raw_ops.LogicalNot(same), dtypes.float32)
        # farther[i, j, k]: k is of another class than i and farther from it than j.
        negative = array.expand_dims(other, 1)
        beyond = raw_ops.Greater(array.expand_dims(distances, 1), array.expand_dims(distances, 2))
        farther = math.cast(beyond, dtypes.float32) * negative
        highest = reduction.reduce_max(distances, axis=1, keepdims=True)
        shifted = array.expand_dims(distances - highest, 1)
        nearest_beyond = reduction.reduce_min(shifted * farther, axis=2) + highest
        lowest = reduction.reduce_min(distances, axis=1, keepdims=True)
        farthest = reduction.reduce_max((distances - lowest) * other, axis=1, keepdims=True) + lowest
        some = raw_ops.Greater(reduction.reduce_sum(farther, axis=2), 0.0)
        negatives = indexing.where(some, nearest_beyond, creation.zeros_like(distances) + farthest)
        pairs = math.cast(same, dtypes.float32) - _diagonal(distances)
        loss = raw_ops.Maximum((margin + distances - negatives) * pairs, 0.0)
        return raw_ops.RealDiv(reduction.reduce_sum(loss), reduction.reduce_sum(pairs), name="triplet_semihard_loss")


def npairs_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, reg_lambda: float = 0.002, print_losses: bool = False
) -> Tensor:
    """The cross entropy of which positive belongs to which anchor (Sohn, 2016), and a penalty of long embeddings.

    Args:
      labels: The class of each pair, int32 [batch].
      embeddings_anchor: The first of each pair, float [batch, size].
      embeddings_positive: The second of each pair, of the same shape.
      reg_lambda: The factor of the penalty.
      print_losses: Whether to log both losses in each step.

    Returns:
      A float32 scalar.

    >>> loss = tf.contrib.losses.metric_learning.npairs_loss([0, 1], [[1.0], [-1.0]], [[1.0], [-1.0]], reg_lambda=0.0)
    >>> tf.Session().run(loss).round(4)
    np.float32(0.1269)
    """
    same = math.cast(_same_class(labels), dtypes.float32)
    return _npairs(same, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


def _npairs(same: Tensor, anchor: Any, positive: Any, reg_lambda: float, print_losses: bool) -> Tensor:
    """``same`` says how much of its class each anchor shares with each positive."""
    anchor, positive = convert_to_tensor(anchor), convert_to_tensor(positive)
    lengths = (
        reduction.reduce_sum(raw_ops.Square(anchor), axis=1),
        reduction.reduce_sum(raw_ops.Square(positive), axis=1),
    )
    penalty = raw_ops.Mul(0.25 * reg_lambda, sum(map(reduction.reduce_mean, lengths)), name="l2loss")  # type: ignore[arg-type]
    similarity = linalg.matmul(anchor, positive, transpose_b=True)
    goal = same / reduction.reduce_sum(same, axis=1, keepdims=True)
    entropy = softmax_cross_entropy_with_logits_v2(logits=similarity, labels=goal)
    loss = reduction.reduce_mean(entropy, name="xentropy")
    if print_losses:
        loss = raw_ops.Print(loss, ["cross entropy:", loss, "l2loss:", penalty])
    return penalty + loss


def npairs_loss_multilabel(
    sparse_labels: Any, embeddings_anchor: Any, embeddings_positive: Any, reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:  # fmt: skip
    """``npairs_loss`` of pairs with several classes each: two share as much as they have classes in common.

    Args:
      sparse_labels: The classes of each pair: a list of SparseTensors [1, classes] with ones, or a SparseTensor
        [batch, classes].
      embeddings_anchor: The first of each pair, float [batch, size].
      embeddings_positive: The second of each pair, of the same shape.
      reg_lambda: The factor of the penalty.
      print_losses: Whether to log both losses in each step.

    Returns:
      A float32 scalar.

    >>> labels = [tf.SparseTensor([[0, 0]], [1], [1, 2]), tf.SparseTensor([[0, 1]], [1], [1, 2])]
    >>> vectors = [[1.0], [-1.0]]
    >>> loss = tf.contrib.losses.metric_learning.npairs_loss_multilabel(labels, vectors, vectors, reg_lambda=0.0)
    >>> tf.Session().run(loss).round(4)
    np.float32(0.1269)
    """
    with name_scope(None, "NpairsLossMultiLabel", [embeddings_anchor, embeddings_positive]):
        whole = isinstance(sparse_labels, SparseTensor)
        rows = [sparse_labels] if whole else list(sparse_labels)
        dense = array.concat([_dense(row) for row in rows], 0)
        same = linalg.matmul(dense, dense, transpose_b=True)
        return _npairs(same, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


def _dense(labels: SparseTensor) -> Tensor:
    values = math.cast(labels.values, dtypes.float32)
    return raw_ops.SparseToDense(labels.indices, labels.dense_shape, values, 0.0)


def lifted_struct_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Tensor:
    """Compares each pair of one class with all negatives of both, smoothly (Song et al., 2016).

    Args:
      labels: The classes, int32 [batch].
      embeddings: Float [batch, size].
      margin: How much farther negatives should be.

    Returns:
      A float32 scalar.

    >>> loss = tf.contrib.losses.metric_learning.lifted_struct_loss([0, 0, 1], [[0.0], [1.0], [3.0]])
    >>> tf.Session().run(loss).round(4)
    np.float32(0.0491)
    """
    with name_scope(None, "lifted_struct_loss", [labels, embeddings]):
        distances = _distances(embeddings)
        same = _same_class(labels)
        other = math.cast(raw_ops.LogicalNot(same), dtypes.float32)
        lowest = reduction.reduce_min(margin - distances, axis=1, keepdims=True)
        hardest = reduction.reduce_max((margin - distances - lowest) * other, axis=1, keepdims=True) + lowest
        # The hardest negative of either one of a pair keeps the exponentials small.
        both = raw_ops.Maximum(hardest, array.transpose(hardest))
        shifted = margin - array.expand_dims(distances, 1) - array.expand_dims(both, 2)
        left = reduction.reduce_sum(raw_ops.Exp(shifted) * array.expand_dims(other, 1), axis=2)
        logs = raw_ops.Log(left + array.transpose(left)) + both
        pairs = math.cast(same, dtypes.float32) - _diagonal(distances)
        loss = raw_ops.Square(raw_ops.Maximum((logs + distances) * pairs, 0.0))
        return raw_ops.RealDiv(0.5 * reduction.reduce_sum(loss), reduction.reduce_sum(pairs), name="liftedstruct_loss")
