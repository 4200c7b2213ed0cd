"""``add_metrics``: an estimator with more metrics than its model function gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core.source import at
from headrace.library.estimator.estimator import Estimator
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.mode_keys import ModeKeys
from headrace.library.estimator.user_function import where_defined

_ARGUMENTS = ("labels", "predictions", "features", "config")


def add_metrics(estimator: Estimator, metric_fn: Callable[..., Mapping[str, Any]]) -> Estimator:
    """An estimator of the same model and folder whose evaluations have the metrics of ``metric_fn`` too.

    ``metric_fn`` names what it wants of ``labels``, ``predictions``, ``features`` and ``config``, and returns a dictionary of
    metrics; one with a name that the model has takes its place.

    Args:
      estimator: A `tf.estimator.Estimator`.
      metric_fn: A function with some of the arguments ``labels``, ``predictions``, ``features`` and ``config``.

    Returns:
      A new `tf.estimator.Estimator`.

    >>> def metric_fn(labels, predictions):
    ...     return {'auc': tf.metrics.auc(labels, predictions['logistic'])}
    >>> estimator = tf.estimator.LinearClassifier([tf.feature_column.numeric_column('x')], model_dir='/tmp/model')
    >>> estimator = tf.estimator.add_metrics(estimator, metric_fn)
    """
    if not isinstance(estimator, Estimator):
        raise ValueError(f"estimator must be a tf.estimator.Estimator, got {estimator!r} {at()}")
    names = tuple(inspect.signature(metric_fn).parameters)
    unknown = [name for name in names if name not in _ARGUMENTS]
    if unknown:
        raise ValueError(
            f"metric_fn {where_defined(metric_fn)} has following not expected args: {unknown}; accepted are "
            f"{list(_ARGUMENTS)} {at()}"
        )

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        values = {"labels": labels, "predictions": spec.predictions, "features": features, "config": config}
        metrics = metric_fn(**{name: values[name] for name in names})
        if not isinstance(metrics, Mapping):
            raise TypeError(f"metric_fn {where_defined(metric_fn)} must return a dictionary, got {metrics!r} {at()}")
        return EstimatorSpec(**{**spec._asdict(), "eval_metric_ops": {**spec.eval_metric_ops, **metrics}})

    return Estimator(
        model_fn, model_dir=estimator.model_dir, config=estimator.config,
        warm_start_from=estimator._warm_start_settings,
    )  # fmt: skip
