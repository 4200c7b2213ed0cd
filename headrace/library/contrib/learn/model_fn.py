"""What model functions of contrib.learn are called for and return, and how that becomes an EstimatorSpec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.user_function import arguments, where_defined

_OLD_ARGUMENTS = ("features", "labels", "targets", "mode", "params", "config", "model_dir")


class ModeKeys:
    """What a model function is called for.

    >>> tf.contrib.learn.ModeKeys.INFER
    'infer'
    """

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    output_alternatives: Any
    training_chief_hooks: Any
    training_hooks: Any
    scaffold: Any


class ModelFnOps(_Fields):
    """The ops of a model in one mode."""

    __slots__ = ()

    def __new__(
        cls, mode: str, predictions: Any = None, loss: Any = None, train_op: Any = None, eval_metric_ops: Any = None,
        output_alternatives: Any = None, training_chief_hooks: Any = None, training_hooks: Any = None,
        scaffold: Any = None,
    ) -> ModelFnOps:  # fmt: skip
        return super().__new__(
            cls, mode, predictions, loss, train_op, eval_metric_ops, output_alternatives, training_chief_hooks,
            training_hooks, scaffold,
        )  # fmt: skip


class MetricSpec:
    """A metric and the names of what it gets: ``metric_fn(predictions, labels, weights)``.

    A key is needed where predictions, or labels, are a dictionary of several tensors.

    Args:
      metric_fn: A function of predictions and labels that gives a pair (value, update), such as those of `tf.metrics`.
      prediction_key: The name of the prediction; None for the only one.
      label_key: The name of the label; None for the only one.
      weight_key: The name of the feature with the weights; None for equal weights.

    >>> spec = tf.contrib.learn.MetricSpec(tf.metrics.accuracy, prediction_key="classes")
    >>> value, update = spec.create_metric_ops({}, labels=[1, 2], predictions={"classes": [1, 3], "scores": [0.5, 0.5]})
    """

    def __init__(
        self, metric_fn: Callable[..., Any], prediction_key: str | None = None, label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:  # fmt: skip
        if not callable(metric_fn):
            raise TypeError(f"metric_fn must be a function of predictions and labels, got {metric_fn!r} {at()}")
        self.metric_fn = metric_fn
        self.prediction_key = prediction_key
        self.label_key = label_key
        self.weight_key = weight_key

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """The value and the update of the metric."""
        values = [_chosen("predictions", predictions, self.prediction_key), _chosen("labels", labels, self.label_key)]
        names = arguments(self.metric_fn)
        weights = {} if self.weight_key is None else {"weights": _chosen("features", inputs, self.weight_key)}
        if {"predictions", "labels"} <= set(names):
            return self.metric_fn(predictions=values[0], labels=values[1], **weights)
        return self.metric_fn(*values, **weights)


def _chosen(what: str, tensors: Any, key: str | None) -> Any:
    if not isinstance(tensors, Mapping):
        if key is not None:
            raise ValueError(f"MetricSpec with key {key!r}, but {what} are a single tensor: {tensors!r} {at()}")
        return tensors
    if key is None:
        if len(tensors) == 1:
            return next(iter(tensors.values()))
        raise ValueError(f"MetricSpec without a key for {what}, which are {sorted(map(str, tensors))} {at()}")
    if key not in tensors:
        raise ValueError(f"MetricSpec with key {key!r}, but {what} have {sorted(map(str, tensors))} {at()}")
    return tensors[key]


def as_estimator_model_fn(model_fn: Any, params: Any, model_dir: Callable[[], str]) -> Callable[..., EstimatorSpec]:
    """A model function for ``tf.estimator`` of one for contrib.learn.

    The old one may call the labels ``targets``, and may return a ModelFnOps, a tuple of predictions, loss and train_op, or an
    EstimatorSpec.
    """
    names = arguments(model_fn)
    unknown = [name for name in names if name not in _OLD_ARGUMENTS]
    if "features" not in names and len(names) >= 2:
        names, unknown = ("features", "labels", *names[2:]), []  # two arguments of any name come first
    if unknown:
        raise ValueError(
            f"model_fn {where_defined(model_fn)} has arguments {unknown}; accepted are {list(_OLD_ARGUMENTS)} {at()}"
        )

    def new_model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        values = {
            "features": features, "labels": labels, "targets": labels, "mode": mode, "params": params, "config": config,
            "model_dir": model_dir(),
        }  # fmt: skip
        result = model_fn(*[values[name] for name in names[:2]], **{name: values[name] for name in names[2:]})
        return _spec(model_fn, mode, result)

    return new_model_fn


def _spec(model_fn: Any, mode: str, result: Any) -> EstimatorSpec:
    if isinstance(result, EstimatorSpec):
        return result
    if isinstance(result, ModelFnOps):
        return EstimatorSpec(
            mode, result.predictions, result.loss, result.train_op, result.eval_metric_ops,
            training_chief_hooks=result.training_chief_hooks, training_hooks=result.training_hooks,
            scaffold=result.scaffold,
        )  # fmt: skip
    if isinstance(result, tuple) and len(result) == 3:
        return EstimatorSpec(mode, *result)
    raise ValueError(
        f"Unrecognized value returned by model_fn {where_defined(model_fn)}: {result!r}. It should return a ModelFnOps, or a "
        f"tuple of predictions, loss and train_op {at()}"
    )
