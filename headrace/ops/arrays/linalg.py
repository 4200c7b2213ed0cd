"""Inverses, determinants, decompositions and solvers of small matrices.  Singular matrices raise, as they do in torch's."""

from __future__ import annotations

from functools import lru_cache, wraps

import numpy as np

from headrace.core.dtypes import float32, float64
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays.convolution import through

_TYPES = (float32, float64)
_SMALL, _SMALLER = 32 * 32, 16 * 16  # elements: where numpy is quicker, and works on one thread
linalg = np.linalg


def _or_tensors(name):
    """Where rounding decides whether a matrix is singular, the kernel on tensors has the last word, and says it in its own."""

    def decorate(function):
        @wraps(function)
        def kernel(*arguments):
            try:
                return function(*arguments)
            except linalg.LinAlgError:
                return through(name, *arguments)

        return kernel

    return decorate


@on_arrays("MatrixInverse", most=_SMALL, saves=30, T=_TYPES)
@_or_tensors("MatrixInverse")
def _inverse(input, adjoint):
    return linalg.inv(input.swapaxes(-1, -2) if adjoint else input)


@on_arrays("MatrixSolve", most=_SMALL, saves=25, T=_TYPES)
@_or_tensors("MatrixSolve")
def _solve(matrix, rhs, adjoint):
    return linalg.solve(matrix.swapaxes(-1, -2) if adjoint else matrix, rhs)


def _unless_nan(input, found, otherwise):
    """What LAPACK takes for a zero on the way may be no number: such matrices have no determinant."""
    if np.isfinite(np.add.reduce(input, None)):
        return found
    unknown = np.logical_or.reduce(np.isnan(input), (-2, -1))
    return np.where(unknown, input.dtype.type(otherwise), found)


@on_arrays("MatrixDeterminant", most=_SMALL, saves=30, T=_TYPES)
def _determinant(input):
    return _unless_nan(input, linalg.det(input), np.nan)


@on_arrays("LogMatrixDeterminant", most=_SMALL, saves=35, T=_TYPES)
def _log_determinant(input):
    sign, logarithm = linalg.slogdet(input)
    return _unless_nan(input, sign, np.nan), _unless_nan(input, logarithm, np.nan)


@on_arrays("Cholesky", most=_SMALL, saves=3, T=_TYPES)
@_or_tensors("Cholesky")
def _cholesky(input):
    return linalg.cholesky(input)


@lru_cache(maxsize=32)
def _lower_half(size, dtype):
    """Ones below the diagonal, halves on it."""
    return np.tril(np.ones((size, size), dtype)) - np.eye(size, dtype=dtype) / 2


@on_arrays("_CholeskyGrad", most=_SMALL, saves=20, T=_TYPES)
@_or_tensors("_CholeskyGrad")
def _cholesky_grad(factor, grad):
    """The symmetric part of inv(L)' phi(L' grad) inv(L)."""
    phi = np.matmul(factor.swapaxes(-1, -2), grad) * _lower_half(factor.shape[-1], factor.dtype)
    inverse = linalg.inv(factor)
    result = np.matmul(np.matmul(inverse.swapaxes(-1, -2), phi), inverse)
    total = result + result.swapaxes(-1, -2)
    total *= 0.5
    return total


@on_arrays("SelfAdjointEigV2", most=_SMALLER, saves=25, T=_TYPES)
def _eigen(input, compute_v):
    """Of the lower triangle."""
    if compute_v:
        values, vectors = linalg.eigh(input)
        return values, vectors
    return linalg.eigvalsh(input), np.empty(0, input.dtype)
