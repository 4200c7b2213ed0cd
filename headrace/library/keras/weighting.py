"""How losses and metrics of Keras weigh single elements, and how the losses of a batch become one number."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.control_flow import cond
from headrace.library.losses.weights import broadcast_weights, remove_squeezable_dimensions
from headrace.library.metrics.metric import fitted
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array


class Reduction:
    """How the losses of the elements of a batch become one number.

    ``AUTO`` is ``SUM_OVER_BATCH_SIZE``, which divides the sum by the number of losses; ``SUM`` adds them up; ``NONE``
    keeps one loss for each element.

    >>> loss = tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.SUM)
    >>> tf.Session().run(loss([[0.0], [0.0]], [[1.0], [2.0]]))
    np.float32(5.0)
    """

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """The names that are accepted."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raises ValueError unless the name is accepted."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Accepted: {', '.join(cls.all())}")


def squeeze_or_expand(y_pred: Any, y_true: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """(y_pred, y_true, sample_weight) with a last dimension of size one dropped, or added to the weights, so that they fit.

    Labels of another rank than the predictions by more than that stay as they are: numbers of classes have one
    dimension less.
    """
    if y_true is not None:
        y_pred, y_true = _squeezed_pair(y_pred, y_true)
    if sample_weight is None:
        return y_pred, y_true, None
    return y_pred, y_true, fitted(y_pred, None, sample_weight)[2]


def _squeezed_pair(y_pred: Tensor, y_true: Tensor) -> tuple[Tensor, Tensor]:
    predicted, true = y_pred.shape.ndims, y_true.shape.ndims
    if predicted is not None and true is not None:
        if predicted - true != 1 or y_pred.shape.as_list()[-1] == 1:
            y_true, y_pred = remove_squeezable_dimensions(y_true, y_pred)
        return y_pred, y_true
    is_longer = raw_ops.Equal(raw_ops.Rank(y_pred) - raw_ops.Rank(y_true), 1)
    ends_in_one = raw_ops.Equal(array.shape(y_pred)[-1], 1)
    squeezed_true, squeezed_pred = remove_squeezable_dimensions(y_true, y_pred)
    keeps = raw_ops.LogicalAnd(is_longer, raw_ops.LogicalNot(ends_in_one))
    pair: Any = cond(
        keeps,
        lambda: (raw_ops.Identity(y_pred), raw_ops.Identity(y_true)),
        lambda: (raw_ops.Identity(squeezed_pred), raw_ops.Identity(squeezed_true)),
    )
    return pair[0], pair[1]


def reduce_weighted_loss(losses: Tensor, how: str) -> Tensor:
    """The losses reduced to one number as ``how`` says."""
    if how == Reduction.NONE:
        return losses
    total = reduction.reduce_sum(losses)
    if how == Reduction.SUM:
        return total
    count = math.cast(array.size(losses, name="num_elements"), total.dtype)
    return raw_ops.DivNoNan(total, count, name="value")


def weighted_losses(losses: Any, sample_weight: Any = None) -> Tensor:
    """Each loss times its weight, in the type of the losses."""
    losses = convert_to_tensor(losses)
    if sample_weight is None:
        return losses
    dtype = losses.dtype
    losses, sample_weight = math.cast(losses, dtypes.float32), math.cast(sample_weight, dtypes.float32)
    losses, _, sample_weight = squeeze_or_expand(losses, None, sample_weight)
    weighted = raw_ops.Mul(losses, broadcast_weights(sample_weight, losses))
    return math.cast(weighted, dtype)


def compute_weighted_loss(losses: Any, sample_weight: Any = None, how: str = Reduction.SUM_OVER_BATCH_SIZE) -> Tensor:
    """One number for the losses of a batch, weighed."""
    Reduction.validate(how)
    with name_scope("weighted_loss"):
        return reduce_weighted_loss(weighted_losses(losses, sample_weight), how)
