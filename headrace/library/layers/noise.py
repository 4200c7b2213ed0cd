"""Layers that add or multiply noise while training."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.train_phase import while_training
from headrace.library.numeric.math import cast, greater_equal
from headrace.library.numeric.random import random_normal, random_uniform
from headrace.library.tensor import array


class _Noise(Layer):
    """Passes its inputs on, with noise while training."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)


class GaussianNoise(_Noise):
    """Adds normal noise of mean zero while training.

    Args:
      stddev: The standard deviation of the noise.
      **kwargs: What every layer takes, such as ``name``.

    >>> y = tf.keras.layers.GaussianNoise(0.1)(tf.zeros([10000]), training=True)
    >>> round(float(tf.Session().run(y).std()), 1)
    0.1
    """

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def call(self, inputs: Any, training: Any = None) -> Any:  # type: ignore[override]
        def noised() -> Any:
            return inputs + random_normal(array.shape(inputs), 0.0, self.stddev, inputs.dtype)

        return while_training(training, noised, inputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "stddev": self.stddev}


class _RateNoise(_Noise):
    """Noise as strong as dropout of a rate; none for a rate of 0, or of 1 and more."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def _noised(self, inputs: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, training: Any = None) -> Any:  # type: ignore[override]
        if not 0 < self.rate < 1:
            return inputs
        noised: Callable[[], Any] = lambda: self._noised(inputs)  # noqa: E731 - what a conditional takes
        return while_training(training, noised, inputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate}


class GaussianDropout(_RateNoise):
    """Multiplies by normal noise of mean one while training.

    Args:
      rate: The rate of the dropout that is as strong: the standard deviation is ``sqrt(rate / (1 - rate))``.
      **kwargs: What every layer takes, such as ``name``.

    >>> y = tf.keras.layers.GaussianDropout(0.5)(tf.ones([100000]), training=True)
    >>> round(float(tf.Session().run(y).std()), 1)
    1.0
    """

    def _noised(self, inputs: Any) -> Any:
        stddev = math.sqrt(self.rate / (1.0 - self.rate))
        return inputs * random_normal(array.shape(inputs), 1.0, stddev, inputs.dtype)


class AlphaDropout(_RateNoise):
    """Dropout for layers of ``selu``: sets elements to its lower bound, then scales and shifts to keep mean and variance.

    Args:
      rate: The probability to drop an element.
      noise_shape: The shape of the choice, which broadcasts to the inputs'; None for theirs.
      seed: A seed for the choice; None to leave it to the graph's seed.
      **kwargs: What every layer takes, such as ``name``.

    >>> y = tf.keras.layers.AlphaDropout(0.5, seed=1)(tf.zeros([1000]), training=True)
    >>> len(set(tf.Session().run(y).tolist()))
    2
    """

    _BOUND = -1.6732632423543772 * 1.0507009873554805  # what selu tends to for small inputs

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.noise_shape = noise_shape
        self.seed = seed

    def _noised(self, inputs: Any) -> Any:
        shape = array.shape(inputs) if self.noise_shape is None else self.noise_shape
        stays = cast(greater_equal(random_uniform(shape, seed=self.seed), self.rate), inputs.dtype)
        scale = ((1 - self.rate) * (1 + self.rate * self._BOUND**2)) ** -0.5
        shift = -scale * self._BOUND * self.rate
        return (inputs * stays + (1 - stays) * self._BOUND) * scale + shift
