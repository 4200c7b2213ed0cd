"""Counts of right and wrong answers at thresholds, and their ratios: precision and recall (tf.keras.metrics)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.library.keras.metrics.metric import Metric, done
from headrace.library.keras.weighting import squeeze_or_expand
from headrace.library.metrics.threshold import sums_at
from headrace.library.numeric import math, reduction
from headrace.library.tensor import array, creation

NAMES = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}
_LOWEST = -1e10  # the score of classes that are not among the best


def checked_thresholds(thresholds: Any, default: float = 0.5) -> list[float]:
    """One or several thresholds from 0 to 1 as a list."""
    if thresholds is None:
        return [default]
    listed = list(thresholds) if isinstance(thresholds, (list, tuple)) else [thresholds]
    bad = [t for t in listed if t is None or not 0 <= t <= 1]
    if bad:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {bad} {at()}")
    return [float(t) for t in listed]


class Counting(Metric):
    """A metric that counts right and wrong answers at several thresholds: of those in ``_keys`` it has a variable each."""

    _keys: tuple[str, ...]

    def _make_counts(self, thresholds: Sequence[float]) -> None:
        self._limits = list(thresholds)
        self._counts = {
            key: self.add_weight(NAMES[key], shape=(len(self._limits),), initializer="zeros") for key in self._keys
        }
        for key, variable in self._counts.items():
            setattr(self, NAMES[key], variable)

    def _updated(
        self, y_true: Any, y_pred: Any, sample_weight: Any, top_k: int | None = None, class_id: int | None = None
    ) -> Any:
        y_true, y_pred = math.cast(y_true, dtypes.float32), math.cast(y_pred, dtypes.float32)
        y_pred, y_true, sample_weight = squeeze_or_expand(y_pred, y_true, sample_weight)
        y_pred.shape.assert_is_compatible_with(y_true.shape)
        if top_k is not None:
            y_pred = _best(y_pred, top_k)
        if class_id is not None:
            y_true, y_pred = y_true[..., class_id], y_pred[..., class_id]
            if sample_weight is not None:
                y_pred, y_true, sample_weight = squeeze_or_expand(y_pred, y_true, sample_weight)
        sum_of = sums_at(math.cast(y_true, dtypes.bool), y_pred, self._limits, sample_weight)
        return done(*(v.assign_add(math.cast(sum_of(key), v.dtype)) for key, v in self._counts.items()))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Takes a batch into account.

        Args:
          y_true: The labels; what is not 0 is true.
          y_pred: The predictions, from 0 to 1.
          sample_weight: The weight of each element; None counts all as 1.

        Returns:
          The operation that does so.
        """
        return self._updated(y_true, y_pred, sample_weight)

    def _one_or_all(self, value: Any) -> Any:
        """A scalar where there is one threshold."""
        return value[0] if len(self._limits) == 1 else value


def _best(scores: Any, k: int) -> Any:
    """The scores with those that are not among the best ``k`` of the last dimension lowered."""
    _, places = reduction.top_k(scores, k, sorted=False)
    mask = reduction.reduce_sum(creation.one_hot(places, array.shape(scores)[-1], axis=-1), axis=-2)
    return scores * mask + _LOWEST * (1.0 - mask)


class _Condition(Counting):
    """One of the four counts."""

    def __init__(self, thresholds: Any, name: str | None, dtype: Any) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.thresholds = checked_thresholds(thresholds)
        (key,) = self._keys
        self.accumulator = self.add_weight("accumulator", shape=(len(self.thresholds),), initializer="zeros")
        self._limits, self._counts = self.thresholds, {key: self.accumulator}

    def result(self) -> Any:
        return raw_ops.Identity(self._one_or_all(raw_ops.Identity(self.accumulator)))

    def get_config(self) -> dict[str, Any]:
        return {"thresholds": self.init_thresholds, **super().get_config()}


class _Ratio(Counting):
    """The part of one count in the sum of two."""

    def __init__(self, thresholds: Any, top_k: int | None, class_id: int | None, name: str | None, dtype: Any) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.top_k = top_k
        self.class_id = class_id
        self.thresholds = checked_thresholds(thresholds, default=0.5 if top_k is None else _LOWEST)
        self._make_counts(self.thresholds)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        return self._updated(y_true, y_pred, sample_weight, self.top_k, self.class_id)

    def result(self) -> Any:
        one, other = (self._counts[key] for key in self._keys)
        return self._one_or_all(raw_ops.DivNoNan(one, one + other))

    def get_config(self) -> dict[str, Any]:
        own = {"thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}
        return {**own, **super().get_config()}


class FalsePositives(_Condition):
    """How many predictions above the threshold are wrong, each counted with its weight.

    Args:
      thresholds: A threshold from 0 to 1 or a list of them; None for a half.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.FalsePositives()
    >>> update = metric.update_state([1, 1, 1, 0, 0], [0.9, 0.8, 0.1, 0.7, 0.2])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(1.0)
    """

    _keys = ("fp",)

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(thresholds, name, dtype)


class FalseNegatives(_Condition):
    """How many true ones are not above the threshold, each counted with its weight.

    Args:
      thresholds: A threshold from 0 to 1 or a list of them; None for a half.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.FalseNegatives()
    >>> update = metric.update_state([1, 1, 1, 0, 0], [0.9, 0.8, 0.1, 0.7, 0.2])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(1.0)
    """

    _keys = ("fn",)

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(thresholds, name, dtype)


class TrueNegatives(_Condition):
    """How many predictions that are not above the threshold are right, each counted with its weight.

    Args:
      thresholds: A threshold from 0 to 1 or a list of them; None for a half.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.TrueNegatives()
    >>> update = metric.update_state([1, 1, 1, 0, 0], [0.9, 0.8, 0.1, 0.7, 0.2])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(1.0)
    """

    _keys = ("tn",)

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(thresholds, name, dtype)


class TruePositives(_Condition):
    """How many predictions above the threshold are right, each counted with its weight.

    Args:
      thresholds: A threshold from 0 to 1 or a list of them; None for a half.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.TruePositives()
    >>> update = metric.update_state([1, 1, 1, 0, 0], [0.9, 0.8, 0.1, 0.7, 0.2])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(2.0)
    """

    _keys = ("tp",)

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(thresholds, name, dtype)


class Precision(_Ratio):
    """The part of those above the threshold that are true.

    Args:
      thresholds: A threshold from 0 to 1 or a list of them; None for a half.
      top_k: Count the best `top_k` classes as positive, in place of those above a threshold.
      class_id: The only class to look at; None for all.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.Precision()
    >>> update = metric.update_state([1, 1, 0, 0], [0.9, 0.1, 0.7, 0.2])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.5)
    """

    _keys = ("tp", "fp")

    def __init__(
        self, thresholds: Any = None, top_k: int | None = None, class_id: int | None = None, name: str | None = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(thresholds, top_k, class_id, name, dtype)


class Recall(_Ratio):
    """The part of the true ones that are above the threshold.

    Args:
      thresholds: A threshold from 0 to 1 or a list of them; None for a half.
      top_k: Count the best `top_k` classes as positive, in place of those above a threshold.
      class_id: The only class to look at; None for all.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.Recall()
    >>> update = metric.update_state([1, 1, 0, 0], [0.9, 0.1, 0.7, 0.2])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.5)
    """

    _keys = ("tp", "fn")

    def __init__(
        self, thresholds: Any = None, top_k: int | None = None, class_id: int | None = None, name: str | None = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(thresholds, top_k, class_id, name, dtype)
