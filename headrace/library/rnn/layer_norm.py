"""Layer normalisation inside cells, with its gain and shift in a scope of the given name."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.library.network.normalization import batch_normalization, moments
from headrace.library.rnn.base import input_depth
from headrace.library.state import initializers
from headrace.library.state.variable_scope import get_variable, variable_scope


def layer_norm(x: Any, scope: str, gain: float, shift: float) -> Any:
    """Rows of ``x`` with mean 0 and deviation 1, times ``<scope>/gamma``, plus ``<scope>/beta``."""
    dtype, shape = x.dtype.base_dtype, [input_depth(x.shape)]
    with variable_scope(scope):
        gamma = get_variable("gamma", shape, dtype, initializer=initializers.Constant(gain))
        beta = get_variable("beta", shape, dtype, initializer=initializers.Constant(shift))
        mean, variance = moments(x, [1], keepdims=True)
        epsilon = 1e-3 if dtype == dtypes.float16 else 1e-12
        return batch_normalization(x, mean, variance, beta, gamma, epsilon)
