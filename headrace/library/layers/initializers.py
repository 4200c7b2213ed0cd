"""Initializers by Keras's names (tf.keras.initializers).

They are those of ``library/state/initializers.py``; only the three that draw with a fixed spread have Keras's own defaults.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.library.layers.by_name import NameTable
from headrace.library.layers.named_object import serialize_keras_object
from headrace.library.state import initializers


class RandomNormal(initializers.RandomNormal):
    """Normal, by default of standard deviation 0.05.

    Args:
      mean: The mean.
      stddev: The standard deviation.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    >>> tf.keras.initializers.RandomNormal().get_config()
    {'mean': 0.0, 'stddev': 0.05, 'seed': None, 'dtype': 'float32'}
    """

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


class TruncatedNormal(initializers.TruncatedNormal):
    """Normal, redrawn beyond two standard deviations, by default of standard deviation 0.05.

    Args:
      mean: The mean.
      stddev: The standard deviation before values are left out.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    >>> x = tf.keras.initializers.TruncatedNormal()([100])
    >>> bool((abs(tf.Session().run(x)) <= 0.1).all())
    True
    """

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(initializers.RandomUniform):
    """Uniform over ``[minval, maxval)``, by default 0.05 either way.

    Args:
      minval: The lower bound, which may occur.
      maxval: The upper bound, which does not occur.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The type of the elements where the call does not say.

    >>> x = tf.keras.initializers.RandomUniform()([100])
    >>> bool((abs(tf.Session().run(x)) <= 0.05).all())
    True
    """

    def __init__(
        self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


_CLASSES: tuple[type, ...] = (
    initializers.Constant, initializers.GlorotNormal, initializers.GlorotUniform, initializers.Identity,
    initializers.Initializer, initializers.Ones, initializers.Orthogonal, RandomNormal, RandomUniform, TruncatedNormal,
    initializers.UniformUnitScaling, initializers.VarianceScaling, initializers.Zeros,
)  # fmt: skip

_TABLE = NameTable(
    "initializer",
    {
        **{c.__name__: c for c in _CLASSES},
        "constant": initializers.Constant,
        "glorot_normal": initializers.GlorotNormal,
        "glorot_uniform": initializers.GlorotUniform,
        "he_normal": initializers.he_normal,
        "he_uniform": initializers.he_uniform,
        "identity": initializers.Identity,
        "lecun_normal": initializers.lecun_normal,
        "lecun_uniform": initializers.lecun_uniform,
        "normal": RandomNormal,
        "one": initializers.Ones,
        "ones": initializers.Ones,
        "orthogonal": initializers.Orthogonal,
        "random_normal": RandomNormal,
        "random_uniform": RandomUniform,
        "truncated_normal": TruncatedNormal,
        "uniform": RandomUniform,
        "zero": initializers.Zeros,
        "zeros": initializers.Zeros,
    },
)


def serialize(initializer: Any) -> Any:
    """An initializer as plain data, which ``deserialize`` takes.

    Args:
      initializer: The initializer, or None.

    Returns:
      A dict with the class's name and its configuration; None for None.

    >>> tf.keras.initializers.serialize(tf.keras.initializers.Zeros())
    {'class_name': 'Zeros', 'config': {'dtype': 'float32'}}
    """
    return serialize_keras_object(initializer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The initializer that a name or ``serialize``'s data describe.

    Args:
      config: A name such as "glorot_uniform", or a dict with the class's name and its configuration.
      custom_objects: A dict of further names and what they stand for.

    Returns:
      An initializer.

    >>> tf.keras.initializers.deserialize({"class_name": "Constant", "config": {"value": 3}}).value
    3
    """
    return _TABLE.deserialize(config, custom_objects)


def get(identifier: Any) -> Any:
    """What a layer's argument stands for: an initializer given by its name, its data, its class or itself.

    Args:
      identifier: A name such as "he_normal", a dict of ``serialize``, a callable of a shape, a class of such, or None.

    Returns:
      A callable of a shape; None for None.

    >>> type(tf.keras.initializers.get("ones")).__name__
    'Ones'
    """
    return _TABLE.get(identifier)
