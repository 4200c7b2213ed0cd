"""Dropout of single elements and of whole channels."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.data_format import normalize_data_format
from headrace.library.layers.spec import InputSpec
from headrace.library.layers.train_phase import while_training
from headrace.library.network import dropout as dropout_library
from headrace.library.tensor import array


class Dropout(Layer):
    """Sets a fraction of the elements to zero while training and scales the others up to keep the mean.

    Args:
      rate: The probability to drop an element, at least 0 and below 1.
      noise_shape: The shape of the choice, which broadcasts to the inputs'; None entries stand for their sizes, None for all.
      seed: A seed for the choice; None to leave it to the graph's seed.
      **kwargs: What every layer takes, such as ``name``.

    >>> layer = tf.keras.layers.Dropout(0.5, seed=1)
    >>> x = tf.ones([1000])
    >>> sorted(set(tf.Session().run(layer(x, training=True)).tolist())), set(tf.Session().run(layer(x, training=False)).tolist())
    ([0.0, 2.0], {1.0})
    """

    def __init__(self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed
        self.supports_masking = True

    def _get_noise_shape(self, inputs: Any) -> Any:
        """The shape of the choice for these inputs."""
        return self.noise_shape

    def call(self, inputs: Any, training: Any = None) -> Any:  # type: ignore[override]
        def dropped() -> Any:
            return dropout_library.dropout(
                inputs, noise_shape=self._get_noise_shape(inputs), seed=self.seed, rate=self.rate
            )

        return while_training(training, dropped, inputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "noise_shape": self.noise_shape, "seed": self.seed}


class _SpatialDropout(Dropout):
    """Drops whole channels of inputs with ``rank`` axes between the batch and them."""

    rank: int

    def __init__(self, rate: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _get_noise_shape(self, inputs: Any) -> Any:
        sizes: Any = array.shape(inputs)
        batch, ones = sizes[0], [1] * self.rank
        if self.data_format == "channels_first":
            return array.stack([batch, sizes[1], *ones])
        return array.stack([batch, *ones, sizes[self.rank + 1]])


class SpatialDropout1D(_SpatialDropout):
    """Drops whole channels of [batch, steps, channels] while training.

    Args:
      rate: The probability to drop a channel, at least 0 and below 1.
      **kwargs: What every layer takes, such as ``name``.

    >>> y = tf.keras.layers.SpatialDropout1D(0.5)(tf.ones([1, 3, 100]), training=True)
    >>> bool((tf.Session().run(tf.reduce_max(y, 1) - tf.reduce_min(y, 1)) == 0).all())
    True
    """

    rank = 1

    def __init__(self, rate: Any, **kwargs: Any) -> None:
        super().__init__(rate, "channels_last", **kwargs)


class _FormattedDropout(_SpatialDropout):
    """One that takes its data format from the user."""

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}


class SpatialDropout2D(_FormattedDropout):
    """Drops whole channels of images while training.

    Args:
      rate: The probability to drop a channel, at least 0 and below 1.
      data_format: "channels_last" or "channels_first"; None for ``tf.keras.backend.image_data_format()``.
      **kwargs: What every layer takes, such as ``name``.

    >>> y = tf.keras.layers.SpatialDropout2D(0.5)(tf.ones([1, 3, 3, 100]), training=True)
    >>> bool((tf.Session().run(tf.reduce_max(y, [1, 2]) - tf.reduce_min(y, [1, 2])) == 0).all())
    True
    """

    rank = 2


class SpatialDropout3D(_FormattedDropout):
    """Drops whole channels of volumes while training.

    Args:
      rate: The probability to drop a channel, at least 0 and below 1.
      data_format: "channels_last" or "channels_first"; None for ``tf.keras.backend.image_data_format()``.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.keras.layers.SpatialDropout3D(0.5)(tf.ones([1, 3, 3, 3, 4]), training=True).shape.as_list()
    [1, 3, 3, 3, 4]
    """

    rank = 3
