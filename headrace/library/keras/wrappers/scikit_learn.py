"""Keras models with the methods that scikit-learn expects of an estimator.  scikit-learn itself is not needed.

An estimator is made of a function that builds a model.  Its further arguments are those of the function, and of the model's
``fit``, ``predict`` and ``evaluate``: each gets the ones that it has.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.library.keras.engine.sequential import Sequential
from headrace.library.keras.utils.categorical import to_categorical

_METHODS = ("fit", "predict", "evaluate")


class BaseWrapper:
    """The base of `KerasClassifier` and `KerasRegressor`; not to be used by itself.

    Args:
      build_fn: A function that returns a compiled model, or an object with ``__call__``; None for the method ``__call__``
        of a subclass.
      **sk_params: Arguments for `build_fn`, and for the model's ``fit``, ``predict`` and ``evaluate``.

    >>> issubclass(tf.keras.wrappers.scikit_learn.KerasClassifier, object)
    True
    """

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: Any) -> None:
        self.build_fn = build_fn
        self.sk_params = sk_params
        self.check_params(sk_params)

    @property
    def _build(self) -> Callable[..., Any]:
        return self.build_fn or getattr(self, "__call__")  # noqa: B004 B009 - of a subclass

    def check_params(self, params: dict[str, Any]) -> None:
        """Refuses names that neither the function nor the model's methods have.

        Args:
          params: A dictionary of arguments.
        """
        takers = [self._build, *(getattr(Sequential, name) for name in _METHODS)]
        for name in params:
            if not any(_takes(one, name) for one in takers):
                raise ValueError(
                    f"{name} is not a legal parameter: neither `build_fn` nor the model's methods have it {at()}"
                )

    def get_params(self, **params: Any) -> dict[str, Any]:
        """The arguments of the constructor.

        Args:
          **params: Not used; scikit-learn passes ``deep``.

        Returns:
          A dictionary.
        """
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Any:
        """Changes arguments of the constructor.

        Args:
          **params: The new values.

        Returns:
          The estimator.
        """
        if "build_fn" in params:
            self.build_fn = params.pop("build_fn")
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def filter_sk_params(self, fn: Callable[..., Any], override: dict[str, Any] | None = None) -> dict[str, Any]:
        """Those of the kept arguments that a function has.

        Args:
          fn: The function.
          override: Arguments that are added, and go before the kept ones.

        Returns:
          A dictionary.
        """
        return {**{k: v for k, v in self.sk_params.items() if _takes(fn, k)}, **(override or {})}

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Builds a new model and trains it.

        Args:
          x: The inputs, an array.
          y: The targets, an array.
          **kwargs: Arguments of the model's ``fit``.

        Returns:
          The history, as from the model's ``fit``.
        """
        self.model = self._build(**self.filter_sk_params(self._build))
        return self.model.fit(x, self._targets(np.asarray(y)), **self.filter_sk_params(Sequential.fit, kwargs))

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """The targets in the form that the model's loss takes."""
        loss = self.model.loss
        name = getattr(loss, "__name__", getattr(loss, "name", loss))
        return to_categorical(y) if name == "categorical_crossentropy" and y.ndim != 2 else y

    def _evaluated(self, x: Any, y: Any, kwargs: dict[str, Any]) -> list[float]:
        found = self.model.evaluate(x, self._targets(y), **self.filter_sk_params(Sequential.evaluate, kwargs))
        return list(found) if isinstance(found, list | tuple) else [found]

    def _predicted(self, x: Any, kwargs: dict[str, Any]) -> np.ndarray:
        return np.asarray(self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs)))


def _takes(function: Callable[..., Any], name: str) -> bool:
    return name in inspect.signature(function).parameters


class KerasClassifier(BaseWrapper):
    """A model that tells classes apart, with the methods of a classifier of scikit-learn.

    Args:
      build_fn: A function that returns a compiled model, or an object with ``__call__``; None for the method ``__call__``
        of a subclass.
      **sk_params: Arguments for `build_fn`, and for the model's ``fit``, ``predict`` and ``evaluate``.

    >>> def build(units=2):
    ...     model = tf.keras.Sequential([tf.keras.layers.Dense(units, "softmax", input_shape=(3,))])
    ...     model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    ...     return model
    >>> classifier = tf.keras.wrappers.scikit_learn.KerasClassifier(build, epochs=1, verbose=0)
    >>> history = classifier.fit(np.zeros([4, 3]), np.array(["no", "yes", "no", "no"]))
    >>> classifier.predict_proba(np.zeros([2, 3])).shape, classifier.classes_.tolist()
    ((2, 2), ['no', 'yes'])
    """

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Builds a new model and trains it.

        Args:
          x: The inputs, an array.
          y: The class of each, an array of any values; or rows with a one at the place of the class.
          **kwargs: Arguments of the model's ``fit``.

        Returns:
          The history, as from the model's ``fit``.
        """
        y = np.array(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"y has one class or one row for each input, got shape {y.shape} {at()}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> np.ndarray:
        """The class of each input.

        Args:
          x: The inputs, an array.
          **kwargs: Arguments of the model's ``predict``.

        Returns:
          An array of classes.
        """
        found = self._predicted(x, kwargs)
        numbers = found.argmax(axis=-1) if found.shape[-1] > 1 else (found > 0.5).astype("int32")
        return self.classes_[numbers]

    def predict_proba(self, x: Any, **kwargs: Any) -> np.ndarray:
        """The probability of each class for each input.

        Args:
          x: The inputs, an array.
          **kwargs: Arguments of the model's ``predict``.

        Returns:
          An array [inputs, classes]; two classes also where the model has one output.
        """
        found = self._predicted(x, kwargs)
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Which part of the inputs is in the right class.

        Args:
          x: The inputs, an array.
          y: The class of each.
          **kwargs: Arguments of the model's ``evaluate``.

        Returns:
          A float.
        """
        found = self._evaluated(x, np.searchsorted(self.classes_, y), kwargs)
        for name, value in zip(self.model.metrics_names, found, strict=True):
            if name in ("accuracy", "acc"):
                return value
        raise ValueError(
            f"The model is not configured to compute accuracy: pass `metrics=['accuracy']` to `model.compile()` {at()}"
        )


class KerasRegressor(BaseWrapper):
    """A model that predicts numbers, with the methods of a regressor of scikit-learn.

    Args:
      build_fn: A function that returns a compiled model, or an object with ``__call__``; None for the method ``__call__``
        of a subclass.
      **sk_params: Arguments for `build_fn`, and for the model's ``fit``, ``predict`` and ``evaluate``.

    >>> def build():
    ...     model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    ...     model.compile("sgd", "mse")
    ...     return model
    >>> regressor = tf.keras.wrappers.scikit_learn.KerasRegressor(build, epochs=2, verbose=0)
    >>> history = regressor.fit(np.zeros([4, 3]), np.zeros(4))
    >>> regressor.predict(np.zeros([2, 3])).shape
    (2,)
    """

    def predict(self, x: Any, **kwargs: Any) -> np.ndarray:
        """The prediction for each input.

        Args:
          x: The inputs, an array.
          **kwargs: Arguments of the model's ``predict``.

        Returns:
          An array.
        """
        return np.squeeze(self._predicted(x, kwargs))

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """The loss, negated: larger is better.

        Args:
          x: The inputs, an array.
          y: The target of each.
          **kwargs: Arguments of the model's ``evaluate``.

        Returns:
          A float.
        """
        return -self._evaluated(x, np.asarray(y), kwargs)[0]
