"""What `compile` says of each output of a model: its loss, its weight, its metrics, its target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.library import log
from headrace.library.keras import losses
from headrace.library.keras.loss_function import (
    binary_crossentropy,
    categorical_crossentropy,
    sparse_categorical_crossentropy,
)
from headrace.library.keras.losses import Loss, LossFunctionWrapper
from headrace.library.keras.metrics import named as metrics_by_name
from headrace.library.keras.metrics.accuracy import (
    binary_accuracy,
    categorical_accuracy,
    sparse_categorical_accuracy,
)
from headrace.library.keras.metrics.metric import Mean, MeanMetricWrapper, Metric
from headrace.library.keras.weighting import Reduction, reduce_weighted_loss, squeeze_or_expand, weighted_losses
from headrace.library.numeric import math

_BY_CONTEXT = {"accuracy": "acc", "acc": "acc", "crossentropy": "ce", "ce": "ce"}
_CHOICES = {
    "acc": (binary_accuracy, sparse_categorical_accuracy, categorical_accuracy),
    "ce": (binary_crossentropy, sparse_categorical_crossentropy, categorical_crossentropy),
}


class Endpoint:
    """One output of a compiled model; without a loss it is not trained."""

    def __init__(
        self, name: str, loss: Loss | None, weight: float, sample_weight_mode: str | None, target: Any
    ) -> None:
        self.name = name
        self.loss = loss
        self.weight = weight
        self.is_temporal = sample_weight_mode == "temporal"
        self.target = target
        self.given_target = target is not None
        self.weights: Any = None  # the placeholder of the sample weights
        self.metrics: list[Any] = []
        self.weighted_metrics: list[Any] = []
        self.loss_metric: Any = None  # of a model with several outputs

    def loss_of(self, y_true: Any, y_pred: Any, sample_weight: Any, mask: Any) -> Any:
        """The loss of a batch, one number."""
        assert self.loss is not None
        weight = masked(y_pred, sample_weight, mask)
        how = self.loss.reduction
        if how == Reduction.AUTO:
            how = Reduction.SUM_OVER_BATCH_SIZE
        values = weighted_losses(self.loss.call(y_true, y_pred), weight)
        return reduce_weighted_loss(values, Reduction.SUM_OVER_BATCH_SIZE if how == Reduction.NONE else how)

    def results(self, y_true: Any, y_pred: Any, sample_weight: Any, mask: Any) -> list[Any]:
        """The metrics with this batch taken into account: first those without the sample weights, then those with them."""
        found = []
        for group, weight in ((self.metrics, None), (self.weighted_metrics, sample_weight)):
            for metric in group:
                given = masked(y_pred, weight, mask)
                found.append(metric(y_true, y_pred) if given is None else metric(y_true, y_pred, sample_weight=given))
        return found


def masked(y_pred: Any, sample_weight: Any, mask: Any) -> Any:
    """The sample weights with what is masked left out."""
    if mask is None:
        return sample_weight
    mask = math.cast(mask, y_pred.dtype)
    if sample_weight is None:
        return mask
    mask, _, sample_weight = squeeze_or_expand(mask, None, sample_weight)
    return raw_ops.Mul(sample_weight, mask)


# ---- what the arguments of `compile` say


def loss_object(loss: Any) -> Loss | None:
    """The loss that a name, a function or an object stands for."""
    found = losses.get(loss)
    if found is None or isinstance(found, Loss):
        return found
    name = getattr(found, "__name__", type(found).__name__)
    return LossFunctionWrapper(found, Reduction.SUM_OVER_BATCH_SIZE, name)


def losses_for(loss: Any, names: Sequence[str]) -> list[Loss | None]:
    """A loss for each output."""
    if isinstance(loss, dict) and not ("class_name" in loss and "config" in loss):
        _check_keys("loss", loss, names)
        for name in names:
            if name not in loss:
                log.warning(
                    f"Output {name} missing from loss dictionary: it is not trained, and `fit` takes no data for it."
                )
        return [loss_object(loss.get(name)) for name in names]
    if isinstance(loss, (list, tuple)):
        if len(loss) != len(names):
            raise ValueError(
                f"When passing a list as loss, it should have one entry per model outputs. The model has {len(names)} outputs "
                f"({', '.join(names)}), but you passed loss={loss!r} {at()}"
            )
        return [loss_object(one) for one in loss]
    return [loss_object(loss) for _ in names]


def _check_keys(what: str, given: dict[str, Any], names: Sequence[str]) -> None:
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise ValueError(
            f"Unknown entries in {what} dictionary: {unknown}. Only expected following keys: {list(names)} {at()}"
        )


def per_output(what: str, given: Any, names: Sequence[str], default: Any) -> list[Any]:
    """One entry of a list or dict for each output."""
    if given is None:
        return [default] * len(names)
    if isinstance(given, dict):
        _check_keys(what, given, names)
        return [given.get(name, default) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ValueError(
                f"When passing a list as {what}, it should have one entry per model output. The model has {len(names)} "
                f"outputs, but you passed {what}={given!r} {at()}"
            )
        return list(given)
    if len(names) > 1 and what != "sample_weight_mode":
        raise TypeError(f"Could not interpret {what} argument: {given!r}. Expected a list or a dict {at()}")
    return [given] * len(names)


def metrics_for(metrics: Any, names: Sequence[str]) -> list[list[Any]]:
    """The metrics asked for each output."""
    if not metrics:
        return [[] for _ in names]
    if isinstance(metrics, dict):
        _check_keys("metrics", metrics, names)
        return [_as_list(metrics.get(name)) for name in names]
    if not isinstance(metrics, (list, tuple)):
        raise TypeError(
            f"Type of `metrics` argument not understood. Expected a list or dictionary, found: {metrics!r} {at()}"
        )
    if any(isinstance(one, (list, tuple)) for one in metrics):
        if len(metrics) != len(names):
            raise ValueError(
                "When passing a list of lists as `metrics`, it should have one entry per model output. The model has "
                f"{len(names)} outputs, but you passed metrics={metrics!r} {at()}"
            )
        return [_as_list(one) for one in metrics]
    if len(names) == 1:
        return [list(metrics)]
    return [[_copied(metric) for metric in metrics] for _ in names]


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _copied(metric: Any) -> Any:
    """Another metric like this one: each output has its own."""
    return type(metric).from_config(metric.get_config()) if isinstance(metric, Metric) else metric


def metric_objects(asked: Sequence[Any], shape: Any, loss: Loss, weighted: bool) -> list[Any]:
    """The metrics themselves, "accuracy" and "crossentropy" chosen by the shape of the output and its loss."""
    return [_metric_object(metric, shape, loss, weighted) for metric in asked if metric is not None]


def _metric_object(metric: Any, shape: Any, loss: Loss, weighted: bool) -> Any:
    if isinstance(metric, Metric):
        return metric
    prefix = "weighted_" if weighted else ""
    if isinstance(metric, str) and metric in _BY_CONTEXT:
        short = _BY_CONTEXT[metric]
        return MeanMetricWrapper(_chosen(short, shape, loss), name=prefix + short)
    found = metrics_by_name.get(metric)
    if isinstance(found, Metric):
        return found
    if isinstance(found, type) and issubclass(found, Metric):
        return found()
    if isinstance(found, Loss):
        return MeanMetricWrapper(found.call, name=prefix + (found.name or type(found).__name__))
    return MeanMetricWrapper(found, name=prefix + getattr(found, "__name__", type(found).__name__))


def _chosen(short: str, shape: Any, loss: Loss) -> Any:
    binary, sparse, categorical = _CHOICES[short]
    function = getattr(loss, "fn", None)
    if (shape is not None and shape[-1] == 1) or function is binary_crossentropy:
        return binary
    return sparse if function is sparse_categorical_crossentropy else categorical


def unique_metric_names(endpoints: Sequence[Endpoint]) -> None:
    """Gives each metric a name that no other has: with several outputs that of the output comes first."""
    names = {"loss", *(f"{e.name}_loss" for e in endpoints if e.loss_metric is not None)}
    for endpoint in endpoints:
        for metric in (*endpoint.metrics, *endpoint.weighted_metrics):
            base = name = f"{endpoint.name}_{metric.name}" if len(endpoints) > 1 else metric.name
            number = 1
            while name in names:
                name = f"{base}_{number}"
                number += 1
            names.add(name)
            metric._name = name


def loss_mean(endpoint: Endpoint) -> Any:
    """The metric that shows the loss of one of several outputs."""
    return Mean(name=f"{endpoint.name}_loss")
