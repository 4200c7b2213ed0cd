"""tf.losses: weighted losses that also go to a collection, from which ``get_total_loss`` adds them up."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.control.dependency import stop_gradient
from headrace.library.control.replica import note_loss_reduction
from headrace.library.losses.weights import (
    assert_broadcastable,
    broadcast_weights,
    remove_squeezable_dimensions,
    squeezed_if_longer,
)
from headrace.library.network import activation
from headrace.library.network.loss_function import sigmoid_cross_entropy_with_logits
from headrace.library.network.softmax import (
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from headrace.library.numeric import math, reduction
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where


class Reduction:
    """How the losses of single elements become one number.

    ``SUM_BY_NONZERO_WEIGHTS``, the default, divides the sum by the number of elements whose weight is not zero, ``MEAN``
    by the sum of the weights, ``SUM_OVER_BATCH_SIZE`` by the number of elements.

    >>> losses = tf.losses.absolute_difference([1.0, 2.0], [3.0, 2.0], reduction=tf.losses.Reduction.NONE)
    >>> tf.Session().run(losses)
    array([2., 0.], dtype=float32)
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """The names that are accepted."""
        return (
            cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )  # fmt: skip

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raises ValueError unless the name is accepted."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Accepted: {', '.join(sorted(set(cls.all())))}")


_MEAN = Reduction.SUM_BY_NONZERO_WEIGHTS


# ---- collections


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss of one's own to those that ``get_total_loss`` sums.

    Args:
      loss: The tensor to add.
      loss_collection: The name of the collection; None adds the loss to none.

    >>> tf.losses.add_loss(tf.constant(2.0))
    >>> tf.Session().run(tf.losses.get_total_loss())
    np.float32(2.0)
    """
    if loss_collection:
        context.get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses that were collected so far.

    Args:
      scope: A pattern that the names of the losses must match at their beginning; None for all losses.
      loss_collection: The name of the collection.

    Returns:
      A list of tensors, in the order in which they were added.

    >>> loss = tf.losses.mean_squared_error(labels=[1.0], predictions=[2.0])
    >>> tf.losses.get_losses() == [loss]
    True
    """
    return context.get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The regularization losses that were collected so far.

    Args:
      scope: A pattern that the names of the losses must match at their beginning; None for all losses.

    Returns:
      A list of tensors: one for each variable that was made with a regularizer.

    >>> w = tf.get_variable("w", initializer=[1.0, 2.0], regularizer=tf.nn.l2_loss)
    >>> len(tf.losses.get_regularization_losses())
    1
    """
    return context.get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the regularization losses; a zero if there are none.

    Args:
      scope: A pattern that the names of the losses must match at their beginning; None for all losses.
      name: A name for the sum.

    Returns:
      A scalar.

    >>> w = tf.get_variable("w", initializer=tf.constant([1.0, 2.0]), regularizer=tf.nn.l2_loss)
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(tf.losses.get_regularization_loss())
    np.float32(2.5)
    """
    losses = get_regularization_losses(scope)
    return math.add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of all losses in the collection, with the regularization losses.

    Args:
      add_regularization_losses: False leaves the regularization losses out.
      name: A name for the sum.
      scope: A pattern that the names of the losses must match at their beginning; None for all losses.

    Returns:
      A tensor of the shape of the losses, which is a scalar as a rule. It is an error if there is no loss.

    >>> loss = tf.losses.mean_squared_error(labels=[1.0], predictions=[3.0])
    >>> tf.Session().run(tf.losses.get_total_loss())
    np.float32(4.0)
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return math.add_n(losses, name=name)


# ---- weighing


def compute_weighted_loss(
    losses: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN,
) -> Tensor:  # fmt: skip
    """Weighs the losses of single elements, reduces them to one number and adds that to the collection.

    Args:
      losses: A tensor with the loss of each element.
      weights: A scalar, or a tensor of the rank of `losses` whose dimensions are 1 or equal to those of `losses`.
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.

    Returns:
      A scalar of the type of `losses`, or a tensor of the shape of `losses` if `reduction` is `NONE`.

    >>> loss = tf.losses.compute_weighted_loss([1.0, 5.0, 9.0], weights=[1.0, 1.0, 0.0])
    >>> tf.Session().run(loss)
    np.float32(3.0)
    """
    Reduction.validate(reduction)
    note_loss_reduction(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        losses = convert_to_tensor(losses)
        input_dtype = losses.dtype
        losses = _float32(losses)
        weights = _float32(convert_to_tensor(weights, name="weights"))
        with control_dependencies(_checks(weights, losses)):
            weighted = raw_ops.Mul(losses, weights)
        loss = _reduced(weighted, losses, weights, reduction)
        loss = math.cast(loss, input_dtype)
        add_loss(loss, loss_collection)
        return loss


def _float32(tensor: Tensor) -> Tensor:
    return math.cast(tensor, dtypes.float32)


def _checks(weights: Tensor, values: Tensor) -> list[Any]:
    return [] if weights.shape.tuple == () else [assert_broadcastable(weights, values)]


def _reduced(weighted: Tensor, losses: Tensor, weights: Tensor, how: str) -> Tensor:
    if how == Reduction.NONE:
        return weighted
    total = reduction.reduce_sum(weighted)
    if how == Reduction.SUM:
        return total
    if how == Reduction.MEAN:
        count = reduction.reduce_sum(math.multiply(creation.ones_like(losses), weights))
    elif how == _MEAN:
        count = _num_present(losses, weights)
    else:
        with name_scope(None, "num_elements", [losses]) as scope:
            count = math.cast(array.size(losses, name=scope), losses.dtype)
    return raw_ops.DivNoNan(total, count, name="value")


def _num_present(losses: Tensor, weights: Tensor, per_batch: bool = False) -> Tensor:
    """How many elements have a weight that is not zero: in all, or for each element of the batch (with ones kept)."""
    with name_scope(None, "num_present", [losses, weights]) as scope:
        is_zero = raw_ops.Equal(weights, 0.0)
        present = where(is_zero, creation.zeros_like(weights), creation.ones_like(weights))
        if not per_batch and weights.shape.tuple == ():
            return raw_ops.Mul(present, math.cast(array.size(losses), dtypes.float32), name=scope)
        present = broadcast_weights(present, losses)
        if not per_batch:
            return reduction.reduce_sum(present, name=scope)
        return reduction.reduce_sum(present, axis=_inner_axes(losses), keepdims=True, name=scope)


def _inner_axes(tensor: Tensor) -> Any:
    if tensor.shape.ndims is None:
        return raw_ops.Range(1, raw_ops.Rank(tensor), 1)
    return list(range(1, tensor.shape.ndims))


# ---- the losses


def _pair(labels: Any, predictions: Any, names: tuple[str, str] = ("labels", "predictions")) -> tuple[Tensor, Tensor]:
    """(labels, predictions) as float32 tensors of the same shape."""
    _need(names[0], labels)
    _need(names[1], predictions)
    predictions = _float32(convert_to_tensor(predictions))
    labels = _float32(convert_to_tensor(labels))
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def _need(name: str, value: Any) -> None:
    if value is None:
        raise ValueError(f"{name} must not be None.")


def absolute_difference(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN,
) -> Tensor:  # fmt: skip
    """The mean of ``|predictions - labels|``.

    Args:
      labels: The correct values, of the shape of `predictions`.
      predictions: The predicted values.
      weights: A scalar, or a tensor that broadcasts to the losses: a weight of 0 leaves an element out.
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.

    Returns:
      A float32 scalar, or a tensor of the shape of `labels` if `reduction` is `NONE`.

    >>> tf.Session().run(tf.losses.absolute_difference(labels=[1.0, 2.0], predictions=[1.0, 4.0]))
    np.float32(1.0)
    """
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = raw_ops.Abs(raw_ops.Sub(predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: Any, predictions: Any, axis: int | None = None, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN, dim: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of one minus the cosine along ``axis``; both must be of unit length already.

    Args:
      labels: The correct vectors, of length one along `axis` and of the shape of `predictions`.
      predictions: The predicted vectors, of length one along `axis`.
      axis: The axis along which the vectors lie. It must be given.
      weights: A scalar, or a tensor that broadcasts to the losses, in which `axis` has size 1.
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.
      dim: An older name of `axis`.

    Returns:
      A float32 scalar, or the losses with `axis` of size 1 if `reduction` is `NONE`.

    >>> loss = tf.losses.cosine_distance(labels=[[1.0, 0.0]], predictions=[[0.0, 1.0]], axis=1)
    >>> tf.Session().run(loss)
    np.float32(1.0)
    """
    axis = either("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        products = raw_ops.Mul(predictions, labels)
        losses = raw_ops.Sub(1.0, raw_ops.Sum(products, [axis], keep_dims=True), name="sub")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(
    labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN,
) -> Tensor:  # fmt: skip
    """The mean of ``max(0, 1 - sign * logits)`` where labels are 0 or 1.

    Args:
      labels: The correct classes, 0 or 1, of the shape of `logits`.
      logits: The predictions: positive for class 1, negative for class 0.
      weights: A scalar, or a tensor that broadcasts to the losses: a weight of 0 leaves an element out.
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.

    Returns:
      A float32 scalar, or a tensor of the shape of `labels` if `reduction` is `NONE`.

    >>> tf.Session().run(tf.losses.hinge_loss(labels=[1.0, 0.0], logits=[2.0, 0.5]))
    np.float32(0.75)
    """
    with name_scope(scope, "hinge_loss", [logits, labels, weights]) as scope:
        labels, logits = _pair(labels, logits, ("labels", "logits"))
        signs = raw_ops.Sub(raw_ops.Mul(2.0, labels, name="mul"), 1.0)
        losses = activation.relu(raw_ops.Sub(1.0, raw_ops.Mul(signs, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN,
) -> Tensor:  # fmt: skip
    """Half the square of errors up to ``delta``, growing linearly beyond.

    Args:
      labels: The correct values, of the shape of `predictions`.
      predictions: The predicted values.
      weights: A scalar, or a tensor that broadcasts to the losses: a weight of 0 leaves an element out.
      delta: The error at which the loss becomes linear.
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.

    Returns:
      A float32 scalar, or a tensor of the shape of `labels` if `reduction` is `NONE`.

    >>> tf.Session().run(tf.losses.huber_loss(labels=[1.0, 2.0], predictions=[2.0, 5.0]))
    np.float32(1.5)
    """
    with name_scope(scope, "huber_loss", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        error = raw_ops.Abs(raw_ops.Sub(predictions, labels))
        quadratic = raw_ops.Minimum(error, delta)
        linear = raw_ops.Sub(error, quadratic)
        squares = raw_ops.Mul(0.5, raw_ops.Mul(quadratic, quadratic))
        losses = raw_ops.AddV2(squares, raw_ops.Mul(delta, linear), name="Add")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN,
) -> Tensor:  # fmt: skip
    """The cross entropy of labels 0 or 1 and predicted probabilities.

    Args:
      labels: The correct classes, 0 or 1, or probabilities, of the shape of `predictions`.
      predictions: The predicted probabilities of class 1.
      weights: A scalar, or a tensor that broadcasts to the losses: a weight of 0 leaves an element out.
      epsilon: What is added to a probability before its logarithm, so that 0 has a finite loss.
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.

    Returns:
      A float32 scalar, or a tensor of the shape of `labels` if `reduction` is `NONE`.

    >>> loss = tf.losses.log_loss(labels=[1.0, 0.0], predictions=[0.5, 0.5])
    >>> tf.Session().run(loss).round(3)
    np.float32(0.693)
    """
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        yes = raw_ops.Mul(labels, raw_ops.Log(raw_ops.AddV2(predictions, epsilon, name="add")))
        no = raw_ops.Log(raw_ops.AddV2(raw_ops.Sub(1.0, predictions, name="sub"), epsilon, name="add"))
        losses = raw_ops.Sub(raw_ops.Neg(yes), raw_ops.Mul(raw_ops.Sub(1.0, labels, name="sub"), no), name="sub")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:  # fmt: skip
    """The mean squared difference between the differences of pairs of elements, within each element of the batch.

    Args:
      labels: The correct values, [batch, ...], of the shape of `predictions`.
      predictions: The predicted values.
      weights: A scalar, or a tensor that broadcasts to `labels`, such as [batch, 1] with a weight for each element of the batch.
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.

    Returns:
      A float32 scalar: the sum over the batch.

    >>> loss = tf.losses.mean_pairwise_squared_error(labels=[[1.0, 2.0]], predictions=[[1.0, 4.0]])
    >>> tf.Session().run(loss)
    np.float32(4.0)
    """
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        labels, predictions = _pair(labels, predictions)
        weights = _float32(convert_to_tensor(weights, name="weights"))
        with control_dependencies(_checks(weights, labels)):
            difference = raw_ops.Sub(predictions, labels)
        axes = _inner_axes(difference)
        squares = reduction.reduce_sum(raw_ops.Square(difference), axis=axes, keepdims=True)
        count = _num_present(difference, weights, per_batch=True)
        rest = raw_ops.Maximum(raw_ops.Sub(count, 1.0), 0.0)
        first = raw_ops.Mul(2.0, raw_ops.DivNoNan(squares, rest, name="value"))
        total = reduction.reduce_sum(difference, axis=axes, keepdims=True)
        second = raw_ops.Mul(2.0, raw_ops.DivNoNan(raw_ops.Square(total), raw_ops.Mul(count, rest), name="value"))
        loss = reduction.reduce_sum(raw_ops.Mul(raw_ops.Sub(first, second), weights))
        some = raw_ops.Greater(reduction.reduce_sum(count), 0.0)
        mean = where(some, loss, creation.zeros_like(loss), name="value")
        add_loss(mean, loss_collection)
        return mean


def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN,
) -> Tensor:  # fmt: skip
    """The mean of ``(predictions - labels) ** 2``.

    Args:
      labels: The correct values, of the shape of `predictions`.
      predictions: The predicted values.
      weights: A scalar, or a tensor that broadcasts to the losses: a weight of 0 leaves an element out.
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.

    Returns:
      A float32 scalar, or a tensor of the shape of `labels` if `reduction` is `NONE`.

    >>> loss = tf.losses.mean_squared_error(labels=[1.0, 2.0], predictions=[1.0, 4.0])
    >>> tf.Session().run(loss)
    np.float32(2.0)
    """
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = raw_ops.SquaredDifference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN,
) -> Tensor:  # fmt: skip
    """The cross entropy of independent labels; ``label_smoothing`` moves them toward a half.

    Args:
      multi_class_labels: The correct labels, 0 or 1 for each class, of the shape of `logits`.
      logits: The predictions before the sigmoid.
      weights: A scalar, or a tensor that broadcasts to the losses: a weight of 0 leaves an element out.
      label_smoothing: A number from 0 (no change) to 1 (all labels become a half).
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.

    Returns:
      A scalar of the type of `logits`, or a tensor of their shape if `reduction` is `NONE`.

    >>> loss = tf.losses.sigmoid_cross_entropy([[1.0, 0.0]], logits=[[0.0, 0.0]])
    >>> tf.Session().run(loss).round(3)
    np.float32(0.693)
    """
    _need("multi_class_labels", multi_class_labels)
    _need("logits", logits)
    with name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]) as scope:
        logits = convert_to_tensor(logits)
        labels = math.cast(convert_to_tensor(multi_class_labels), logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN,
) -> Tensor:  # fmt: skip
    """The cross entropy of one-hot labels; ``label_smoothing`` moves them toward the uniform distribution.

    Args:
      onehot_labels: The correct classes, one-hot or as probabilities, [batch, classes].
      logits: The predictions before the softmax, of the shape of `onehot_labels`.
      weights: A scalar, or one weight for each element of the batch, [batch]: 0 leaves an element out.
      label_smoothing: A number from 0 (no change) to 1 (all classes become equally probable).
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.

    Returns:
      A scalar of the type of `logits`, or one loss for each element of the batch if `reduction` is `NONE`.

    >>> loss = tf.losses.softmax_cross_entropy([[1.0, 0.0]], logits=[[0.0, 0.0]])
    >>> tf.Session().run(loss).round(3)
    np.float32(0.693)
    """
    _need("onehot_labels", onehot_labels)
    _need("logits", logits)
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as scope:
        logits = convert_to_tensor(logits)
        labels = math.cast(convert_to_tensor(onehot_labels), logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            sizes: Any = array.shape(labels)
            classes = math.cast(sizes[-1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN,
) -> Tensor:  # fmt: skip
    """The cross entropy of labels given as class numbers.

    Args:
      labels: The number of the correct class of each element: int32 or int64 [batch], or [batch, 1].
      logits: The predictions before the softmax, [batch, classes].
      weights: A scalar, or one weight for each element of the batch, [batch] or [batch, 1].
      scope: The name scope of the ops.
      loss_collection: The name of the collection to add the loss to; None adds it to none.
      reduction: One of the names in `tf.losses.Reduction`.

    Returns:
      A scalar of the type of `logits`, or one loss for each element of the batch if `reduction` is `NONE`.

    >>> loss = tf.losses.sparse_softmax_cross_entropy([0], logits=[[0.0, 0.0]])
    >>> tf.Session().run(loss).round(3)
    np.float32(0.693)
    """
    _need("labels", labels)
    _need("logits", logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        weights = convert_to_tensor(weights)
        ranks = weights.shape.ndims, labels.shape.ndims
        if None in ranks:
            weights = squeezed_if_longer(weights, raw_ops.Rank(weights) - raw_ops.Rank(labels))
        elif ranks[0] and ranks[0] - ranks[1] == 1:
            weights = array.squeeze(weights, [-1])
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)
