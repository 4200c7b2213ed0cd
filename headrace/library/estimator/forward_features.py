"""``forward_features``: an estimator whose predictions have some of its features too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.structures import SparseTensor
from headrace.library.estimator.estimator import Estimator
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.export_output import PredictOutput
from headrace.library.sparse.tensor import sparse_tensor_to_dense


def forward_features(
    estimator: Estimator,
    keys: str | Sequence[str] | None = None,
    sparse_default_values: Mapping[str, Any] | None = None,
) -> Estimator:
    """An estimator of the same model and folder whose predictions have some of the features too: a key, say.

    Args:
      estimator: A `tf.estimator.Estimator`.
      keys: The name of a feature, or a list of names; None for all features.
      sparse_default_values: For sparse features, what stands where nothing is; such a feature becomes dense. None for none.

    Returns:
      A new `tf.estimator.Estimator`.

    >>> estimator = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], model_dir="/tmp/model")
    >>> estimator = tf.contrib.estimator.forward_features(estimator, "x")
    """
    if not isinstance(estimator, Estimator):
        raise ValueError(f"estimator must be a tf.estimator.Estimator, got {estimator!r} {at()}")
    names = [keys] if isinstance(keys, str) else None if keys is None else list(keys)
    if names is not None and not all(isinstance(name, str) for name in names):
        raise ValueError(f"keys must be a name or a list of names, got {keys!r} {at()}")
    defaults = dict(sparse_default_values or {})

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if spec.predictions is None:
            return spec
        if not isinstance(features, Mapping) or not isinstance(spec.predictions, Mapping):
            raise ValueError(f"features and predictions must be dictionaries, got {features!r}, {spec.predictions!r}")
        added = _chosen(features, names, spec.predictions, defaults)
        outputs = dict(spec.export_outputs or {})
        for name, output in outputs.items():
            if name in ("predict", "serving_default") and isinstance(output, PredictOutput):
                outputs[name] = PredictOutput({**output.outputs, **added})
        return EstimatorSpec(
            **{**spec._asdict(), "predictions": {**spec.predictions, **added}, "export_outputs": outputs or None}
        )

    return Estimator(
        model_fn, model_dir=estimator.model_dir, config=estimator.config,
        warm_start_from=estimator._warm_start_settings,
    )  # fmt: skip


def _chosen(
    features: Mapping[str, Any], names: list[str] | None, predictions: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    added = {}
    for name in features if names is None else names:
        if name not in features:
            raise ValueError(f"keys should exist in features: there is no {name!r}; there are {sorted(features)}")
        if name in predictions:
            raise ValueError(f"keys should not conflict with predictions: both have {name!r}")
        value = features[name]
        if isinstance(value, SparseTensor):
            if name not in defaults:
                raise ValueError(f"the feature {name!r} is sparse: give its default value in sparse_default_values")
            value = sparse_tensor_to_dense(value, defaults[name])
        added[name] = convert_to_tensor(value)
    return added
