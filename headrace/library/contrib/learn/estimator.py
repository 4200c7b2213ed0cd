"""``contrib.learn.Estimator``: fit, evaluate and predict, with arrays or input functions, over ``tf.estimator``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.library.contrib.learn.column import SINGLE
from headrace.library.contrib.learn.model_fn import MetricSpec, as_estimator_model_fn
from headrace.library.contrib.learn.serving_input import as_receiver_fn
from headrace.library.estimator import estimator as core
from headrace.library.estimator.add_metrics import add_metrics
from headrace.library.estimator.array_input import numpy_input_fn
from headrace.library.estimator.run_config import RunConfig


class BaseEstimator:
    """What the estimators of contrib.learn can do; ``_estimator`` is the one below.

    >>> issubclass(tf.contrib.learn.DNNClassifier, tf.contrib.learn.BaseEstimator)
    True
    """

    _estimator: core.Estimator
    _is_named = False  # whether the model wants features by name, though they are one tensor

    @property
    def model_dir(self) -> str:
        """The folder of the checkpoints."""
        return self._estimator.model_dir

    @property
    def config(self) -> RunConfig:
        """The `RunConfig`."""
        return self._estimator.config

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the newest checkpoint."""
        return self._estimator.get_variable_names()

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the newest checkpoint."""
        return self._estimator.get_variable_value(name)

    def fit(
        self, x: Any = None, y: Any = None, input_fn: Any = None, steps: int | None = None,
        batch_size: int | None = None, monitors: Any = None, max_steps: int | None = None,
    ) -> Any:  # fmt: skip
        """Trains with arrays, again and again, or with what ``input_fn`` returns.  ``monitors`` are session hooks."""
        inputs = self._input_fn(x, y, input_fn, batch_size, num_epochs=None, shuffle=True)
        self._estimator.train(inputs, hooks=list(monitors or ()), steps=steps, max_steps=max_steps)
        return self

    def partial_fit(
        self, x: Any = None, y: Any = None, input_fn: Any = None, steps: int | None = 1,
        batch_size: int | None = None, monitors: Any = None,
    ) -> Any:  # fmt: skip
        """Trains ``steps`` more steps."""
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def evaluate(
        self, x: Any = None, y: Any = None, input_fn: Any = None, feed_fn: Any = None, batch_size: int | None = None,
        steps: int | None = None, metrics: Any = None, name: str | None = None, checkpoint_path: Any = None,
        hooks: Any = None, log_progress: bool = True,
    ) -> dict[str, Any]:  # fmt: skip
        """The metrics over arrays, once, or over what ``input_fn`` returns.

        ``metrics`` maps names to `MetricSpec` or to functions of predictions and labels.
        """
        del log_progress
        if feed_fn is not None:
            raise NotImplementedError(
                f"evaluate(feed_fn=...) is not supported: pass tf.train.FeedFnHook(feed_fn) in hooks {at()}"
            )
        inputs = self._input_fn(x, y, input_fn, batch_size, num_epochs=1, shuffle=False)
        estimator = self._estimator if not metrics else add_metrics(self._estimator, _metric_fn(metrics))
        return estimator.evaluate(inputs, steps, list(hooks or ()), checkpoint_path, name)

    def predict(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, outputs: Any = None,
        as_iterable: bool = True, iterate_batches: bool = False,
    ) -> Any:  # fmt: skip
        """What the model says of each example: an iterator, or with ``as_iterable=False`` arrays of all of them."""
        inputs = self._input_fn(x, None, input_fn, batch_size, num_epochs=1, shuffle=False)
        if as_iterable:
            return self._estimator.predict(inputs, outputs, yield_single_examples=not iterate_batches)
        return _joined(list(self._estimator.predict(inputs, outputs, yield_single_examples=False)))

    def export_savedmodel(
        self, export_dir_base: Any, serving_input_fn: Any, default_output_alternative_key: str | None = None,
        assets_extra: Any = None, as_text: bool = False, checkpoint_path: Any = None,
        strip_default_attrs: bool = False,
    ) -> bytes:  # fmt: skip
        """Writes a SavedModel; ``serving_input_fn`` returns a `tf.estimator.export.ServingInputReceiver` or an ``InputFnOps``."""
        if default_output_alternative_key is not None:
            raise NotImplementedError(
                "export_savedmodel(default_output_alternative_key=...) is not supported: name the outputs in an EstimatorSpec's "
                f"export_outputs {at()}"
            )
        return self._estimator.export_savedmodel(
            export_dir_base,
            as_receiver_fn(serving_input_fn),
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs,
        )

    # ---- input

    def _input_fn(
        self, x: Any, y: Any, input_fn: Any, batch_size: int | None, num_epochs: int | None, shuffle: bool
    ) -> Callable[[], Any]:
        """An input function: the user's own, or one of the arrays."""
        if input_fn is not None:
            if x is not None or y is not None:
                raise ValueError(f"Can not provide both input_fn and x or y {at()}")
            if batch_size is not None:
                raise ValueError(f"Can not provide both input_fn and batch_size: input_fn makes its own batches {at()}")
            return self._named(input_fn)
        if x is None:
            raise ValueError(f"Either x or input_fn must be provided {at()}")
        features, labels = _arrays(x), None if y is None else _arrays(y)
        size = batch_size or len(next(iter(features.values())) if isinstance(features, dict) else features)
        return self._named(numpy_input_fn(features, labels, size, num_epochs, shuffle))

    def _named(self, input_fn: Callable[..., Any]) -> Callable[[], Any]:
        if not self._is_named or not callable(input_fn):
            return input_fn

        def named_input_fn() -> Any:
            result = input_fn()
            features, labels = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
            return (features if isinstance(features, Mapping) else {SINGLE: features}), labels

        return named_input_fn


class Estimator(BaseEstimator):
    """A model function of contrib.learn and its checkpoints.

    ``model_fn(features, labels, mode, params)`` returns a `ModelFnOps`, or a tuple of predictions, loss and train_op.

    Args:
      model_fn: A function (features, labels, mode, params, config, model_dir), of which it may leave out all but the
        first two.
      model_dir: The folder of the checkpoints; None for a temporary one.
      config: The `RunConfig`; None for the default.
      params: What `model_fn` gets as `params`; None for nothing.
      feature_engineering_fn: A function from features and labels to those that `model_fn` gets; None for none.

    >>> def model_fn(features, labels, mode):
    ...     loss = tf.losses.mean_squared_error(labels, features)
    ...     return tf.contrib.learn.ModelFnOps(mode, predictions=features, loss=loss, train_op=tf.no_op())
    >>> estimator = tf.contrib.learn.Estimator(model_fn, model_dir="logs")
    """

    def __init__(
        self, model_fn: Any = None, model_dir: Any = None, config: Any = None, params: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:  # fmt: skip
        if not callable(model_fn):
            raise ValueError(f"model_fn must be a function of features and labels, got {model_fn!r} {at()}")
        new_model_fn = as_estimator_model_fn(model_fn, params, lambda: self.model_dir)
        if feature_engineering_fn is not None:
            new_model_fn = _engineered(new_model_fn, feature_engineering_fn)
        self.params = params
        self._estimator = core.Estimator(new_model_fn, model_dir, config)


def _engineered(model_fn: Callable[..., Any], engineer: Callable[..., Any]) -> Callable[..., Any]:
    def engineered_model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        features, labels = engineer(features, labels)
        return model_fn(features, labels, mode, config)

    return engineered_model_fn


class SKCompat:
    """An estimator with the methods of scikit-learn: only arrays, and predictions as arrays.

    Args:
      estimator: An estimator of `tf.contrib.learn`.

    >>> columns = [tf.contrib.layers.real_valued_column("", dimension=2)]
    >>> model = tf.contrib.learn.SKCompat(tf.contrib.learn.DNNClassifier([8], columns, model_dir="logs"))
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        if not isinstance(estimator, BaseEstimator):
            raise TypeError(f"SKCompat takes an estimator of tf.contrib.learn, got {estimator!r} {at()}")
        self._estimator = estimator

    def fit(
        self, x: Any, y: Any, batch_size: int = 128, steps: int | None = None, max_steps: int | None = None,
        monitors: Any = None,
    ) -> SKCompat:  # fmt: skip
        """Trains with arrays."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(
        self, x: Any, y: Any, batch_size: int = 128, steps: int | None = None, metrics: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """The metrics over arrays."""
        return self._estimator.evaluate(x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name)

    def predict(self, x: Any, batch_size: int = 128, outputs: Any = None) -> Any:
        """What the model says of all examples."""
        return BaseEstimator.predict(self._estimator, x, None, batch_size, outputs, as_iterable=False)


# ---- parts


def _arrays(values: Any) -> Any:
    if isinstance(values, Mapping):
        return {key: np.asarray(value) for key, value in values.items()}
    array = np.asarray(getattr(values, "values", values))
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _metric_fn(metrics: Any) -> Callable[..., dict[str, Any]]:
    if not isinstance(metrics, Mapping):
        raise ValueError(f"metrics must be a dictionary of names and MetricSpecs, got {metrics!r} {at()}")

    def metric_fn(features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
        specs = {name: m if isinstance(m, MetricSpec) else MetricSpec(m) for name, m in metrics.items()}
        return {name: spec.create_metric_ops(features, labels, predictions) for name, spec in specs.items()}

    return metric_fn


def _joined(batches: list[Any]) -> Any:
    if batches and isinstance(batches[0], Mapping):
        return {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]}
    return np.concatenate(batches) if batches else np.zeros(0)


def examples(predictions: Any, key: str) -> Iterator[Any]:
    """One prediction of each example; vectors of one number as that number."""
    for prediction in predictions:
        value = prediction[key]
        yield value[0] if np.shape(value) == (1,) else value
