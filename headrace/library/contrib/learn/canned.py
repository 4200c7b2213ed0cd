"""The ready-made models of contrib.learn: those of ``tf.estimator`` under the older methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.library.contrib.learn.estimator import BaseEstimator, examples
from headrace.library.estimator import canned
from headrace.library.losses.loss import Reduction
from headrace.library.network.activation import relu

_MEAN = Reduction.SUM_BY_NONZERO_WEIGHTS


def _check_absent(**arguments: Any) -> None:
    """Refuses settings that the models below do not have."""
    for name, value in arguments.items():
        if value:
            raise NotImplementedError(f"{name}={value!r} is not supported; leave it out {at()}")


class _Canned(BaseEstimator):
    """Predicts one value an example, the one under ``_key``, unless others are asked for."""

    _is_named = True
    _key = "predictions"

    def predict(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, outputs: Any = None,
        as_iterable: bool = True, iterate_batches: bool = False,
    ) -> Any:  # fmt: skip
        """The class, or the number, of each example; with ``outputs`` dictionaries of what they name."""
        if outputs is None:
            return self._values(x, input_fn, batch_size, as_iterable, self._key)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)

    def _values(self, x: Any, input_fn: Any, batch_size: Any, as_iterable: bool, key: str) -> Any:
        values = examples(super().predict(x, input_fn, batch_size, [key]), key)
        return values if as_iterable else np.array(list(values))


class _Classifier(_Canned):
    _key = "class_ids"

    def predict_classes(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """The class of each example."""
        return self._values(x, input_fn, batch_size, as_iterable, self._key)

    def predict_proba(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """The probabilities of all classes, for each example."""
        return self._values(x, input_fn, batch_size, as_iterable, "probabilities")


class _Regressor(_Canned):
    def predict_scores(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """The number, or the numbers, of each example."""
        return self._values(x, input_fn, batch_size, as_iterable, self._key)


class DNNClassifier(_Classifier):
    """Classes by fully connected layers over dense feature columns.

    Args:
      hidden_units: A list with the number of units of each hidden layer.
      feature_columns: The dense feature columns that the model uses.
      model_dir: The folder of the checkpoints; None for a temporary one.
      n_classes: The number of classes.
      weight_column_name: The feature with the weight of each example; None for equal weights.
      optimizer: The name of an optimizer, or an optimizer; None for Adagrad.
      activation_fn: The function after each hidden layer.
      dropout: The probability to drop an output of a hidden layer; None for no dropout.
      gradient_clip_norm: Not supported, must be None.
      enable_centered_bias: Not supported, must be False.
      config: The `RunConfig`; None for the default.
      feature_engineering_fn: Not supported, must be None.
      embedding_lr_multipliers: Not supported, must be None.
      input_layer_min_slice_size: Not supported, must be None.
      label_keys: The names of the classes, if labels are strings; None for labels from 0 on.

    >>> columns = [tf.contrib.layers.real_valued_column("x", dimension=2)]
    >>> classifier = tf.contrib.learn.DNNClassifier([8], columns, model_dir="logs", n_classes=3)
    """

    def __init__(
        self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, n_classes: int = 2,
        weight_column_name: str | None = None, optimizer: Any = None, activation_fn: Any = relu,
        dropout: float | None = None, gradient_clip_norm: Any = None, enable_centered_bias: bool = False,
        config: Any = None, feature_engineering_fn: Any = None, embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: Any = None, label_keys: Any = None,
    ) -> None:  # fmt: skip
        _check_absent(
            gradient_clip_norm=gradient_clip_norm, enable_centered_bias=enable_centered_bias,
            feature_engineering_fn=feature_engineering_fn, embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
        )  # fmt: skip
        self._key = "class_ids" if label_keys is None else "classes"
        self._estimator = canned.DNNClassifier(
            hidden_units, feature_columns, model_dir, n_classes, weight_column_name, label_keys, optimizer or "Adagrad",
            activation_fn, dropout, config=config, loss_reduction=_MEAN,
        )  # fmt: skip


class DNNRegressor(_Regressor):
    """Numbers by fully connected layers over dense feature columns.

    Args:
      hidden_units: A list with the number of units of each hidden layer.
      feature_columns: The dense feature columns that the model uses.
      model_dir: The folder of the checkpoints; None for a temporary one.
      weight_column_name: The feature with the weight of each example; None for equal weights.
      optimizer: The name of an optimizer, or an optimizer; None for Adagrad.
      activation_fn: The function after each hidden layer.
      dropout: The probability to drop an output of a hidden layer; None for no dropout.
      gradient_clip_norm: Not supported, must be None.
      enable_centered_bias: Not supported, must be False.
      config: The `RunConfig`; None for the default.
      feature_engineering_fn: Not supported, must be None.
      label_dimension: How many numbers are predicted for each example.
      embedding_lr_multipliers: Not supported, must be None.
      input_layer_min_slice_size: Not supported, must be None.

    >>> columns = [tf.contrib.layers.real_valued_column("x", dimension=2)]
    >>> regressor = tf.contrib.learn.DNNRegressor([8], columns, model_dir="logs")
    """

    def __init__(
        self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, weight_column_name: str | None = None,
        optimizer: Any = None, activation_fn: Any = relu, dropout: float | None = None, gradient_clip_norm: Any = None,
        enable_centered_bias: bool = False, config: Any = None, feature_engineering_fn: Any = None,
        label_dimension: int = 1, embedding_lr_multipliers: Any = None, input_layer_min_slice_size: Any = None,
    ) -> None:  # fmt: skip
        _check_absent(
            gradient_clip_norm=gradient_clip_norm, enable_centered_bias=enable_centered_bias,
            feature_engineering_fn=feature_engineering_fn, embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
        )  # fmt: skip
        self._estimator = canned.DNNRegressor(
            hidden_units, feature_columns, model_dir, label_dimension, weight_column_name, optimizer or "Adagrad",
            activation_fn, dropout, config=config, loss_reduction=_MEAN,
        )  # fmt: skip


class LinearClassifier(_Classifier):
    """Classes by a weighted sum of feature columns.

    Args:
      feature_columns: The feature columns that the model uses.
      model_dir: The folder of the checkpoints; None for a temporary one.
      n_classes: The number of classes.
      weight_column_name: The feature with the weight of each example; None for equal weights.
      optimizer: The name of an optimizer, or an optimizer; None for Ftrl.
      gradient_clip_norm: Not supported, must be None.
      enable_centered_bias: Not supported, must be False.
      _joint_weight: Not supported, must be False.
      config: The `RunConfig`; None for the default.
      feature_engineering_fn: Not supported, must be None.
      label_keys: The names of the classes, if labels are strings; None for labels from 0 on.

    >>> columns = [tf.contrib.layers.real_valued_column("x", dimension=2)]
    >>> classifier = tf.contrib.learn.LinearClassifier(columns, model_dir="logs")
    """

    def __init__(
        self, feature_columns: Any, model_dir: Any = None, n_classes: int = 2, weight_column_name: str | None = None,
        optimizer: Any = None, gradient_clip_norm: Any = None, enable_centered_bias: bool = False,
        _joint_weight: bool = False, config: Any = None, feature_engineering_fn: Any = None, label_keys: Any = None,
    ) -> None:  # fmt: skip
        _check_absent(
            gradient_clip_norm=gradient_clip_norm, enable_centered_bias=enable_centered_bias,
            _joint_weight=_joint_weight, feature_engineering_fn=feature_engineering_fn,
        )  # fmt: skip
        self._key = "class_ids" if label_keys is None else "classes"
        self._estimator = canned.LinearClassifier(
            feature_columns, model_dir, n_classes, weight_column_name, label_keys, optimizer or "Ftrl", config,
            loss_reduction=_MEAN,
        )  # fmt: skip


class LinearRegressor(_Regressor):
    """Numbers by a weighted sum of feature columns.

    Args:
      feature_columns: The feature columns that the model uses.
      model_dir: The folder of the checkpoints; None for a temporary one.
      weight_column_name: The feature with the weight of each example; None for equal weights.
      optimizer: The name of an optimizer, or an optimizer; None for Ftrl.
      gradient_clip_norm: Not supported, must be None.
      enable_centered_bias: Not supported, must be False.
      label_dimension: How many numbers are predicted for each example.
      _joint_weights: Not supported, must be False.
      config: The `RunConfig`; None for the default.
      feature_engineering_fn: Not supported, must be None.

    >>> columns = [tf.contrib.layers.real_valued_column("x", dimension=2)]
    >>> regressor = tf.contrib.learn.LinearRegressor(columns, model_dir="logs")
    """

    def __init__(
        self, feature_columns: Any, model_dir: Any = None, weight_column_name: str | None = None, optimizer: Any = None,
        gradient_clip_norm: Any = None, enable_centered_bias: bool = False, label_dimension: int = 1,
        _joint_weights: bool = False, config: Any = None, feature_engineering_fn: Any = None,
    ) -> None:  # fmt: skip
        _check_absent(
            gradient_clip_norm=gradient_clip_norm, enable_centered_bias=enable_centered_bias,
            _joint_weights=_joint_weights, feature_engineering_fn=feature_engineering_fn,
        )  # fmt: skip
        self._estimator = canned.LinearRegressor(
            feature_columns, model_dir, label_dimension, weight_column_name, optimizer or "Ftrl", config,
            loss_reduction=_MEAN,
        )  # fmt: skip
