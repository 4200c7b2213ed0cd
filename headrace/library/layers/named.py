"""Activations, initializers and regularizers by name: layers take ``"relu"`` where they take ``tf.nn.relu``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.library.network import activation, softmax
from headrace.library.numeric import math
from headrace.library.state import initializers
from headrace.library.state.regularizers import l1_l2_regularizer, l1_regularizer, l2_regularizer

# The default values of arguments: one object each, as initializers keep no state.
ZEROS = initializers.Zeros()
ONES = initializers.Ones()

_ACTIVATIONS: dict[str, Callable[[Any], Any] | None] = {
    "elu": activation.elu,
    "exponential": math.exp,
    "linear": None,
    "relu": activation.relu,
    "relu6": activation.relu6,
    "selu": activation.selu,
    "sigmoid": math.sigmoid,
    "softmax": softmax.softmax,
    "softplus": activation.softplus,
    "softsign": activation.softsign,
    "swish": activation.swish,
    "tanh": math.tanh,
}

_INITIALIZERS: dict[str, Callable[[], Any]] = {
    "constant": initializers.Constant,
    "glorot_normal": initializers.GlorotNormal,
    "glorot_uniform": initializers.GlorotUniform,
    "he_normal": lambda: initializers.VarianceScaling(2.0, "fan_in", "truncated_normal"),
    "he_uniform": lambda: initializers.VarianceScaling(2.0, "fan_in", "uniform"),
    "identity": initializers.Identity,
    "lecun_normal": lambda: initializers.VarianceScaling(1.0, "fan_in", "truncated_normal"),
    "lecun_uniform": lambda: initializers.VarianceScaling(1.0, "fan_in", "uniform"),
    "normal": lambda: initializers.RandomNormal(stddev=0.05),
    "ones": initializers.Ones,
    "orthogonal": initializers.Orthogonal,
    "random_normal": lambda: initializers.RandomNormal(stddev=0.05),
    "random_uniform": lambda: initializers.RandomUniform(-0.05, 0.05),
    "truncated_normal": lambda: initializers.TruncatedNormal(stddev=0.05),
    "uniform": lambda: initializers.RandomUniform(-0.05, 0.05),
    "zeros": initializers.Zeros,
}

# The sum of squares, not half of it as in l2_regularizer: hence twice the scale.
_REGULARIZERS: dict[str, Callable[[], Any]] = {
    "l1": lambda: l1_regularizer(0.01),
    "l1_l2": lambda: l1_l2_regularizer(0.01, 0.02),
    "l2": lambda: l2_regularizer(0.02),
}


def get_activation(value: Any) -> Any:
    """A function, or None for the identity."""
    if isinstance(value, str):
        return _look_up(_ACTIVATIONS, value, "activation function")
    if value is None or callable(value):
        return value
    raise TypeError(f"Could not interpret activation function identifier: {value!r}")


def get_initializer(value: Any) -> Any:
    """An initializer (or None for the variable's default)."""
    return _look_up(_INITIALIZERS, value, "initializer")() if isinstance(value, str) else value


def get_regularizer(value: Any) -> Any:
    """A function of a variable, or None."""
    return _look_up(_REGULARIZERS, value, "regularizer")() if isinstance(value, str) else value


def _look_up(table: dict[str, Any], name: str, what: str) -> Any:
    if name not in table:
        raise ValueError(f"Unknown {what}: {name}. Known: {', '.join(sorted(table))}")
    return table[name]
