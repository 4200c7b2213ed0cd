"""Figures over many thresholds: the area under a curve, and one rate where another is given (tf.keras.metrics)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.library.backend.config import epsilon
from headrace.library.keras.metrics.counts import Counting
from headrace.library.metrics.threshold import interpolated_area
from headrace.library.numeric import reduction


def _between(count: int) -> list[float]:
    """``count - 2`` even thresholds between 0 and 1."""
    return [(i + 1) * 1.0 / (count - 1) for i in range(count - 2)]


def _rate(one: Any, other: Any) -> Any:
    return raw_ops.DivNoNan(one, one + other)


class AUC(Counting):
    """The area under the ROC curve, or under precision over recall, by a Riemann sum over thresholds.

    Args:
      num_thresholds: How many thresholds from 0 to 1 are tried, if `thresholds` is None.
      curve: "ROC" or "PR".
      summation_method: How the area between two thresholds is computed: "interpolation", "minoring" or "majoring".
      name: The name of the metric.
      dtype: The type of its variables.
      thresholds: The thresholds to try between 0 and 1; None for even ones.

    >>> metric = tf.keras.metrics.AUC(num_thresholds=3)
    >>> update = metric.update_state([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.75)
    """

    _keys = ("tp", "tn", "fp", "fn")

    def __init__(
        self, num_thresholds: int = 200, curve: str = "ROC", summation_method: str = "interpolation",
        name: str | None = None, dtype: Any = None, thresholds: Sequence[float] | None = None,
    ) -> None:  # fmt: skip
        if curve not in ("ROC", "PR"):
            raise ValueError(f'Invalid AUC curve {curve!r}: expected "ROC" or "PR" {at()}')
        if summation_method not in ("interpolation", "minoring", "majoring"):
            raise ValueError(
                f'Invalid AUC summation method {summation_method!r}: expected "interpolation", "minoring" or "majoring" {at()}'
            )
        if thresholds is None and num_thresholds <= 1:
            raise ValueError(f"`num_thresholds` must be > 1, got {num_thresholds} {at()}")
        super().__init__(name=name, dtype=dtype)
        self._given = thresholds
        inner = _between(num_thresholds) if thresholds is None else sorted(thresholds)
        self.num_thresholds = len(inner) + 2
        self.curve, self.summation_method = curve, summation_method
        self.thresholds = [0.0 - epsilon(), *inner, 1.0 + epsilon()]
        self._make_counts(self.thresholds)

    def result(self) -> Any:
        tp, tn, fp, fn = (raw_ops.Identity(self._counts[key]) for key in self._keys)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return interpolated_area(tp, fp, fn)
        recall = _rate(tp, fn)
        x, y = (_rate(fp, tn), recall) if self.curve == "ROC" else (recall, _rate(tp, fp))
        if self.summation_method == "interpolation":
            heights = (y[:-1] + y[1:]) / 2.0
        else:
            heights = (raw_ops.Minimum if self.summation_method == "minoring" else raw_ops.Maximum)(y[:-1], y[1:])
        return reduction.reduce_sum((x[:-1] - x[1:]) * heights, name="auc")

    def get_config(self) -> dict[str, Any]:
        own = {"num_thresholds": self.num_thresholds, "curve": self.curve, "summation_method": self.summation_method}
        if self._given is not None:
            own["thresholds"] = list(self._given)
        return {**own, **super().get_config()}


class _RateAtRate(Counting):
    """One rate at the threshold where another comes closest to what is given."""

    _keys = ("tp", "tn", "fp", "fn")

    def __init__(self, what: str, value: float, num_thresholds: int, name: str | None, dtype: Any) -> None:
        if num_thresholds <= 0:
            raise ValueError(f"`num_thresholds` must be > 0, got {num_thresholds} {at()}")
        if not 0 <= value <= 1:
            raise ValueError(f"`{what}` must be in the range [0, 1], got {value} {at()}")
        super().__init__(name=name, dtype=dtype)
        self.num_thresholds = num_thresholds
        self.value = value
        self.thresholds = [0.5] if num_thresholds == 1 else [0.0, *_between(num_thresholds), 1.0]
        self._make_counts(self.thresholds)

    def _rate_where(self, sought: tuple[str, str], given: tuple[str, str]) -> Any:
        counts = {key: raw_ops.Identity(variable) for key, variable in self._counts.items()}
        distance = raw_ops.Abs(_rate(counts[given[0]], counts[given[1]]) - self.value)
        place = reduction.argmin(distance, axis=0)
        return _rate(*(raw_ops.GatherV2(counts[key], place, 0) for key in sought))


class SensitivityAtSpecificity(_RateAtRate):
    """The recall at the threshold where the specificity comes closest to what is asked for.

    Args:
      specificity: The specificity, from 0 to 1.
      num_thresholds: How many thresholds from 0 to 1 are tried.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.SensitivityAtSpecificity(0.4, num_thresholds=1)
    >>> update = metric.update_state([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.5)
    """

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__("specificity", specificity, num_thresholds, name, dtype)
        self.specificity = specificity

    def result(self) -> Any:
        return self._rate_where(("tp", "fn"), ("tn", "fp"))

    def get_config(self) -> dict[str, Any]:
        return {"num_thresholds": self.num_thresholds, "specificity": self.specificity, **super().get_config()}


class SpecificityAtSensitivity(_RateAtRate):
    """The specificity at the threshold where the recall comes closest to what is asked for.

    Args:
      sensitivity: The recall, from 0 to 1.
      num_thresholds: How many thresholds from 0 to 1 are tried.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.SpecificityAtSensitivity(0.8, num_thresholds=1)
    >>> update = metric.update_state([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(1.0)
    """

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__("sensitivity", sensitivity, num_thresholds, name, dtype)
        self.sensitivity = sensitivity

    def result(self) -> Any:
        return self._rate_where(("tn", "fp"), ("tp", "fn"))

    def get_config(self) -> dict[str, Any]:
        return {"num_thresholds": self.num_thresholds, "sensitivity": self.sensitivity, **super().get_config()}
