"""Running means of losses and of distances between labels and predictions (tf.keras.metrics)."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.library.keras import loss_function
from headrace.library.keras.metrics.metric import Mean, MeanMetricWrapper, Metric, done
from headrace.library.keras.weighting import squeeze_or_expand
from headrace.library.metrics.confusion import iou_of
from headrace.library.network.normalization import l2_normalize
from headrace.library.numeric import math, reduction
from headrace.library.numeric.histogram import confusion_matrix
from headrace.library.tensor import array


class MeanAbsoluteError(MeanMetricWrapper):
    """The mean of ``|y_pred - y_true|``.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.MeanAbsoluteError()
    >>> update = metric.update_state([0.0, 1.0], [0.0, 3.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(1.0)
    """

    def __init__(self, name: str | None = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(loss_function.mean_absolute_error, name, dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """The mean of ``|(y_true - y_pred) / y_true|`` in percent.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.MeanAbsolutePercentageError()
    >>> update = metric.update_state([2.0, 4.0], [1.0, 4.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(25.0)
    """

    def __init__(self, name: str | None = "mean_absolute_percentage_error", dtype: Any = None) -> None:
        super().__init__(loss_function.mean_absolute_percentage_error, name, dtype)


class MeanSquaredError(MeanMetricWrapper):
    """The mean of ``(y_pred - y_true) ** 2``.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.MeanSquaredError()
    >>> update = metric.update_state([0.0, 1.0], [0.0, 3.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(2.0)
    """

    def __init__(self, name: str | None = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(loss_function.mean_squared_error, name, dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """The mean of ``(log(y_pred + 1) - log(y_true + 1)) ** 2``.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.MeanSquaredLogarithmicError()
    >>> update = metric.update_state([1.0, 1.0], [1.0, 1.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.0)
    """

    def __init__(self, name: str | None = "mean_squared_logarithmic_error", dtype: Any = None) -> None:
        super().__init__(loss_function.mean_squared_logarithmic_error, name, dtype)


class Hinge(MeanMetricWrapper):
    """The mean of ``max(0, 1 - y_true * y_pred)``, labels being -1 or 1.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.Hinge()
    >>> update = metric.update_state([1.0, -1.0], [0.0, -3.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.5)
    """

    def __init__(self, name: str | None = "hinge", dtype: Any = None) -> None:
        super().__init__(loss_function.hinge, name, dtype)


class SquaredHinge(MeanMetricWrapper):
    """The mean of ``max(0, 1 - y_true * y_pred) ** 2``, labels being -1 or 1.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.SquaredHinge()
    >>> update = metric.update_state([1.0, -1.0], [0.0, -3.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.5)
    """

    def __init__(self, name: str | None = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(loss_function.squared_hinge, name, dtype)


class CategoricalHinge(MeanMetricWrapper):
    """The mean of ``max(0, 1 + neg - pos)`` of the best wrong score and the right score.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.CategoricalHinge()
    >>> update = metric.update_state([[1.0, 0.0]], [[0.5, 0.25]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.75)
    """

    def __init__(self, name: str | None = "categorical_hinge", dtype: Any = None) -> None:
        super().__init__(loss_function.categorical_hinge, name, dtype)


class LogCoshError(MeanMetricWrapper):
    """The mean of ``log(cosh(y_pred - y_true))``.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.LogCoshError()
    >>> update = metric.update_state([1.0, 1.0], [1.0, 1.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.0)
    """

    def __init__(self, name: str | None = "logcosh", dtype: Any = None) -> None:
        super().__init__(loss_function.logcosh, name, dtype)


class Poisson(MeanMetricWrapper):
    """The mean of ``y_pred - y_true * log(y_pred)``.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.Poisson()
    >>> update = metric.update_state([1.0, 1.0], [1.0, 1.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> print(tf.keras.backend.get_value(metric.result()).round(3))
    1.0
    """

    def __init__(self, name: str | None = "poisson", dtype: Any = None) -> None:
        super().__init__(loss_function.poisson, name, dtype)


class KLDivergence(MeanMetricWrapper):
    """The mean of the Kullback-Leibler divergence, ``sum(y_true * log(y_true / y_pred))``.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.KLDivergence()
    >>> update = metric.update_state([[0.5, 0.5]], [[0.5, 0.5]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.0)
    """

    def __init__(self, name: str | None = "kullback_leibler_divergence", dtype: Any = None) -> None:
        super().__init__(loss_function.kullback_leibler_divergence, name, dtype)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of labels 0 and 1.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.
      from_logits: Whether predictions are what goes into the sigmoid rather than what comes out.
      label_smoothing: A number from 0 (no change) to 1 that moves the labels toward a half.

    >>> metric = tf.keras.metrics.BinaryCrossentropy()
    >>> update = metric.update_state([[1.0, 0.0]], [[0.5, 0.5]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> print(tf.keras.backend.get_value(metric.result()).round(3))
    0.693
    """

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        super().__init__(
            loss_function.binary_crossentropy, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing
        )


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of one-hot labels.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.
      from_logits: Whether predictions are what goes into the softmax rather than what comes out.
      label_smoothing: A number from 0 (no change) to 1 that moves the labels toward the uniform distribution.

    >>> metric = tf.keras.metrics.CategoricalCrossentropy()
    >>> update = metric.update_state([[1.0, 0.0]], [[0.5, 0.5]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> print(tf.keras.backend.get_value(metric.result()).round(3))
    0.693
    """

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        super().__init__(
            loss_function.categorical_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of labels given as class numbers.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.
      from_logits: Whether predictions are what goes into the softmax rather than what comes out.
      axis: The dimension of the predictions that has the classes.

    >>> metric = tf.keras.metrics.SparseCategoricalCrossentropy()
    >>> update = metric.update_state([0], [[0.5, 0.5]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> print(tf.keras.backend.get_value(metric.result()).round(3))
    0.693
    """

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(loss_function.sparse_categorical_crossentropy, name, dtype, from_logits=from_logits, axis=axis)


def _cosine(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """The cosine of the angle between labels and predictions: 1 where they point the same way."""
    return reduction.reduce_sum(l2_normalize(y_true, axis=axis) * l2_normalize(y_pred, axis=axis), axis=axis)


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine of the angle between labels and predictions: 1 where they point the same way.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.
      axis: The dimension along which the vectors lie.

    >>> metric = tf.keras.metrics.CosineSimilarity()
    >>> update = metric.update_state([[0.0, 1.0]], [[0.0, 2.0]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(1.0)
    """

    def __init__(self, name: str | None = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(_cosine, name, dtype, axis=axis)


class RootMeanSquaredError(Mean):
    """The root of the mean of ``(y_pred - y_true) ** 2``.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.RootMeanSquaredError()
    >>> update = metric.update_state([2.0, 4.0, 6.0], [5.0, 7.0, 9.0])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(3.0)
    """

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        y_true, y_pred = math.cast(y_true, self._dtype), math.cast(y_pred, self._dtype)
        y_pred, y_true, _ = squeeze_or_expand(y_pred, y_true)
        return super().update_state(raw_ops.SquaredDifference(y_pred, y_true), sample_weight)

    def result(self) -> Any:
        return raw_ops.Sqrt(super().result())


class MeanIoU(Metric):
    """The mean over the classes of how much of what is labelled or predicted as a class is both.

    Args:
      num_classes: How many classes there are; labels and predictions are numbers below it.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.MeanIoU(num_classes=2)
    >>> update = metric.update_state([0, 0, 1, 1], [0, 1, 0, 1])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> print(tf.keras.backend.get_value(metric.result()).round(3))
    0.333
    """

    def __init__(self, num_classes: int, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight(
            "total_confusion_matrix", shape=(num_classes, num_classes), initializer="zeros", dtype=dtypes.float64
        )

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Takes a batch into account.

        Args:
          y_true: The numbers of the correct classes.
          y_pred: The numbers of the predicted classes.
          sample_weight: The weight of each element; None counts all as 1.

        Returns:
          The operation that does so.
        """
        true, predicted = (array.reshape(convert_to_tensor(y), [-1]) for y in (y_true, y_pred))
        if sample_weight is not None:
            sample_weight = array.reshape(convert_to_tensor(sample_weight), [-1])
        matrix = confusion_matrix(true, predicted, self.num_classes, weights=sample_weight, dtype=dtypes.float64)
        return done(self.total_cm.assign_add(matrix))

    def result(self) -> Any:
        return math.cast(iou_of(self.total_cm), self._dtype)

    def get_config(self) -> dict[str, Any]:
        return {"num_classes": self.num_classes, **super().get_config()}
