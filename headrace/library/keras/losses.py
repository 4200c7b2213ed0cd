"""The losses of tf.keras as objects, and how a loss is found by name.

A loss called with labels and predictions gives one number for the batch; ``call`` gives one for each of its elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.keras import loss_function
from headrace.library.keras.weighting import Reduction, compute_weighted_loss, squeeze_or_expand
from headrace.library.layers.named_object import deserialize_keras_object, serialize_keras_object
from headrace.library.scope import name_scope


class Loss:
    """Base class of losses: a subclass defines ``call(y_true, y_pred)``, which gives a loss for each element.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how these become one number.
      name: A name for the ops.

    >>> class Distance(tf.keras.losses.Loss):
    ...     def call(self, y_true, y_pred):
    ...         return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)
    >>> tf.Session().run(Distance()(tf.constant([[1.0, 2.0]]), tf.constant([[1.0, 4.0]])))
    np.float32(1.0)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        Reduction.validate(reduction)
        self.reduction = reduction
        self.name = name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """The loss of the batch, each element times its weight in ``sample_weight`` if that is given."""
        with name_scope("lambda" if self.name == "<lambda>" else self.name, type(self).__name__):
            return compute_weighted_loss(self.call(y_true, y_pred), sample_weight, self.reduction)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each element."""
        raise NotImplementedError(f"{type(self).__name__} must define call(y_true, y_pred)")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments as plain data."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A loss with the arguments that `get_config` gave."""
        return cls(**config)


class LossFunctionWrapper(Loss):
    """A loss that a function of labels and predictions computes; further arguments are passed to it."""

    def __init__(
        self, fn: Callable[..., Any], reduction: str = Reduction.AUTO, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(reduction, name)
        self.fn = fn
        self._fn_kwargs = kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        if isinstance(y_true, Tensor) and isinstance(y_pred, Tensor):
            y_pred, y_true, _ = squeeze_or_expand(y_pred, y_true)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._fn_kwargs}


class MeanSquaredError(LossFunctionWrapper):
    """The mean of ``(y_pred - y_true) ** 2``.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.MeanSquaredError()([[0.0, 1.0]], [[0.0, 3.0]]))
    np.float32(2.0)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_squared_error") -> None:
        super().__init__(loss_function.mean_squared_error, reduction, name)


class MeanAbsoluteError(LossFunctionWrapper):
    """The mean of ``|y_pred - y_true|``.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.MeanAbsoluteError()([[0.0, 1.0]], [[0.0, 3.0]]))
    np.float32(1.0)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_absolute_error") -> None:
        super().__init__(loss_function.mean_absolute_error, reduction, name)


class MeanAbsolutePercentageError(LossFunctionWrapper):
    """The mean of ``|(y_true - y_pred) / y_true|`` in percent.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.MeanAbsolutePercentageError()([[2.0, 4.0]], [[1.0, 4.0]]))
    np.float32(25.0)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_absolute_percentage_error") -> None:
        super().__init__(loss_function.mean_absolute_percentage_error, reduction, name)


class MeanSquaredLogarithmicError(LossFunctionWrapper):
    """The mean of ``(log(y_pred + 1) - log(y_true + 1)) ** 2``.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.MeanSquaredLogarithmicError()([[1.0, 1.0]], [[1.0, 1.0]]))
    np.float32(0.0)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_squared_logarithmic_error") -> None:
        super().__init__(loss_function.mean_squared_logarithmic_error, reduction, name)


class BinaryCrossentropy(LossFunctionWrapper):
    """The cross entropy of labels 0 and 1 that do not exclude each other.

    Args:
      from_logits: Whether predictions are what goes into the sigmoid rather than what comes out.
      label_smoothing: A number from 0 (no change) to 1 that moves the labels toward a half.
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> print(tf.Session().run(tf.keras.losses.BinaryCrossentropy()([[1.0, 0.0]], [[0.5, 0.5]])).round(3))
    0.693
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = Reduction.AUTO,
        name: str = "binary_crossentropy",
    ) -> None:
        super().__init__(
            loss_function.binary_crossentropy, reduction, name, from_logits=from_logits, label_smoothing=label_smoothing
        )


class CategoricalCrossentropy(LossFunctionWrapper):
    """The cross entropy of one-hot labels.

    Args:
      from_logits: Whether predictions are what goes into the softmax rather than what comes out.
      label_smoothing: A number from 0 (no change) to 1 that moves the labels toward the uniform distribution.
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> print(tf.Session().run(tf.keras.losses.CategoricalCrossentropy()([[1.0, 0.0]], [[0.5, 0.5]])).round(3))
    0.693
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = Reduction.AUTO,
        name: str = "categorical_crossentropy",
    ) -> None:
        super().__init__(
            loss_function.categorical_crossentropy,
            reduction,
            name,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """The cross entropy of labels given as class numbers.

    Args:
      from_logits: Whether predictions are what goes into the softmax rather than what comes out.
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> print(tf.Session().run(tf.keras.losses.SparseCategoricalCrossentropy()([0], [[0.5, 0.5]])).round(3))
    0.693
    """

    def __init__(
        self, from_logits: bool = False, reduction: str = Reduction.AUTO, name: str = "sparse_categorical_crossentropy"
    ) -> None:
        super().__init__(loss_function.sparse_categorical_crossentropy, reduction, name, from_logits=from_logits)


class Hinge(LossFunctionWrapper):
    """The mean of ``max(0, 1 - y_true * y_pred)``, labels being -1 or 1.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.Hinge()([[1.0, -1.0]], [[0.0, -3.0]]))
    np.float32(0.5)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "hinge") -> None:
        super().__init__(loss_function.hinge, reduction, name)


class SquaredHinge(LossFunctionWrapper):
    """The mean of ``max(0, 1 - y_true * y_pred) ** 2``, labels being -1 or 1.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.SquaredHinge()([[1.0, -1.0]], [[0.0, -3.0]]))
    np.float32(0.5)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "squared_hinge") -> None:
        super().__init__(loss_function.squared_hinge, reduction, name)


class CategoricalHinge(LossFunctionWrapper):
    """``max(0, 1 + neg - pos)``: `pos` scores the correct class, `neg` is the best score of the others.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.CategoricalHinge()([[1.0, 0.0]], [[0.5, 0.25]]))
    np.float32(0.75)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "categorical_hinge") -> None:
        super().__init__(loss_function.categorical_hinge, reduction, name)


class Poisson(LossFunctionWrapper):
    """The mean of ``y_pred - y_true * log(y_pred)``.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> print(tf.Session().run(tf.keras.losses.Poisson()([[1.0, 1.0]], [[1.0, 1.0]])).round(3))
    1.0
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "poisson") -> None:
        super().__init__(loss_function.poisson, reduction, name)


class LogCosh(LossFunctionWrapper):
    """The mean of ``log(cosh(y_pred - y_true))``.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.LogCosh()([[1.0, 1.0]], [[1.0, 1.0]]))
    np.float32(0.0)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "logcosh") -> None:
        super().__init__(loss_function.logcosh, reduction, name)


class KLDivergence(LossFunctionWrapper):
    """The Kullback-Leibler divergence, ``sum(y_true * log(y_true / y_pred))``.

    Args:
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.KLDivergence()([[0.5, 0.5]], [[0.5, 0.5]]))
    np.float32(0.0)
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "kullback_leibler_divergence") -> None:
        super().__init__(loss_function.kullback_leibler_divergence, reduction, name)


class Huber(LossFunctionWrapper):
    """Half the square of errors up to ``delta``, growing linearly beyond.

    Args:
      delta: The error at which the loss becomes linear.
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.Huber()([[1.0, 2.0]], [[2.0, 5.0]]))
    np.float32(1.5)
    """

    def __init__(self, delta: float = 1.0, reduction: str = Reduction.AUTO, name: str = "huber_loss") -> None:
        super().__init__(loss_function.huber_loss, reduction, name, delta=delta)


class CosineSimilarity(LossFunctionWrapper):
    """The cosine of the angle between labels and predictions, negated.

    Args:
      axis: The dimension along which the vectors lie.
      reduction: One of the names in `tf.keras.losses.Reduction`: how the losses of a batch become one number.
      name: A name for the ops.

    >>> tf.Session().run(tf.keras.losses.CosineSimilarity()([[0.0, 1.0]], [[0.0, 2.0]]))
    np.float32(-1.0)
    """

    def __init__(self, axis: int = -1, reduction: str = Reduction.AUTO, name: str = "cosine_similarity") -> None:
        super().__init__(loss_function.cosine_similarity, reduction, name, axis=axis)


_CLASSES = (
    MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredLogarithmicError, BinaryCrossentropy,
    CategoricalCrossentropy, SparseCategoricalCrossentropy, Hinge, SquaredHinge, CategoricalHinge, Poisson, LogCosh,
    KLDivergence, Huber, CosineSimilarity,
)  # fmt: skip
_FUNCTIONS = {
    name: f for name, f in vars(loss_function).items() if callable(f) and f.__module__ == loss_function.__name__
}
NAMED: dict[str, Any] = {name: f for name, f in _FUNCTIONS.items() if not name.startswith("_")} | {
    c.__name__: c for c in _CLASSES
}


def serialize(loss: Any) -> Any:
    """What `deserialize` makes the loss from: the name of a function, the configuration of an object.

    Args:
      loss: A loss function or a `Loss`.

    Returns:
      A string, or a dict of plain data.

    >>> tf.keras.losses.serialize(tf.keras.losses.mean_squared_error)
    'mean_squared_error'
    """
    return serialize_keras_object(loss)


def deserialize(name: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The loss of a name or a configuration.

    Args:
      name: What `serialize` gave.
      custom_objects: Losses of one's own by their names.

    Returns:
      A loss function or a `Loss`.

    >>> tf.keras.losses.deserialize('mse') is tf.keras.losses.mean_squared_error
    True
    """
    return deserialize_keras_object(
        name, module_objects=NAMED, custom_objects=custom_objects, printable_module_name="loss function"
    )


def get(identifier: Any) -> Any:
    """The loss that a name, a configuration or a function stands for.

    Args:
      identifier: A name such as 'mse', what `serialize` gave, a function of labels and predictions, or None.

    Returns:
      A loss function or a `Loss`; None for None.

    >>> tf.keras.losses.get('categorical_crossentropy') is tf.keras.losses.categorical_crossentropy
    True
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise ValueError(f"a loss is a name, a function or a tf.keras.losses.Loss, got {identifier!r} {at()}")
