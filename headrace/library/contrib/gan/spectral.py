"""Spectral normalisation (Miyato et al., 2018): matrices whose largest singular value is 1, by power iteration."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.library.control.dependency import identity, stop_gradient
from headrace.library.linalg.matrix import matmul
from headrace.library.network.normalization import l2_normalize
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.initializers import RandomNormal
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.tensor import array


def compute_spectral_norm(w_tensor: Any, power_iteration_rounds: int = 1, name: str | None = None) -> Any:
    """About the largest singular value of weights, as a matrix whose columns are the output's channels.

    A variable keeps the singular vector, so that each step goes on where the one before stopped.

    Args:
      w_tensor: The weights, [..., outputs].
      power_iteration_rounds: How often the estimate is improved in each step.
      name: The variable scope; None for `spectral_norm`.

    Returns:
      A scalar.

    >>> norm = tf.contrib.gan.features.compute_spectral_norm(tf.diag([3.0, 1.0]), power_iteration_rounds=20)
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     print(round(float(sess.run(norm)), 3))
    3.0
    """
    w_tensor = convert_to_tensor(w_tensor)
    if power_iteration_rounds < 1:
        raise ValueError(f"power_iteration_rounds must be at least 1, got {power_iteration_rounds} {at()}")
    if w_tensor.shape.ndims is None or not w_tensor.shape.is_fully_defined():
        raise ValueError(f"The shape of w_tensor must be known, got {w_tensor} {at()}")
    with variable_scope(name, "spectral_norm"):
        w = array.reshape(w_tensor, [-1, w_tensor.shape.as_list()[-1]])
        vector = get_variable(
            "spectral_norm_u", [w.shape.as_list()[0], 1], w.dtype.base_dtype, initializer=RandomNormal(),
            trainable=False,
        )  # fmt: skip
        u: Any = vector
        for _ in range(power_iteration_rounds):
            v = l2_normalize(matmul(w, u, transpose_a=True))
            u = l2_normalize(matmul(w, v))
        with control_dependencies([vector.assign(u, name="update_u")]):
            u = identity(u)
        u, v = stop_gradient(u), stop_gradient(v)
        return array.squeeze(matmul(matmul(u, w, transpose_a=True), v))


def spectral_normalize(w: Any, power_iteration_rounds: int = 1, name: str | None = None) -> Any:
    """Weights divided by their spectral norm.

    Args:
      w: The weights, [..., outputs].
      power_iteration_rounds: How often the estimate of the norm is improved in each step.
      name: The variable scope; None for `spectral_normalize`.

    Returns:
      A tensor of the shape of `w`.

    >>> w = tf.contrib.gan.features.spectral_normalize(tf.diag([3.0, 1.0]), power_iteration_rounds=20)
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     print(round(float(sess.run(w)[0, 0]), 3))
    1.0
    """
    with variable_scope(name, "spectral_normalize"):
        return convert_to_tensor(w) / compute_spectral_norm(w, power_iteration_rounds)


def spectral_norm_regularizer(
    scale: float, power_iteration_rounds: int = 1, scope: str | None = None
) -> Callable[..., Any]:
    """A regularizer: a multiple of the spectral norm of weights.

    Args:
      scale: The factor, a float of at least 0; 0.0 for no loss.
      power_iteration_rounds: How often the estimate of the norm is improved in each step.
      scope: A name for the ops; None for `SpectralNormRegularizer`.

    Returns:
      A function of weights that gives a scalar.

    >>> regularizer = tf.contrib.gan.features.spectral_norm_regularizer(0.1)
    >>> regularizer(tf.ones([2, 2])).shape.as_list()
    []
    """
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale} {at()}")
    if isinstance(scale, numbers.Real) and scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale} {at()}")

    def regularizer(weights: Any, name: str | None = None) -> Any:
        if isinstance(scale, numbers.Real) and scale == 0.0:
            return None
        with name_scope(scope, "SpectralNormRegularizer", [weights]):
            return convert_to_tensor(scale) * compute_spectral_norm(weights, power_iteration_rounds, name)

    return regularizer
