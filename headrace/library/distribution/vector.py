"""Distributions whose draws are vectors: Dirichlet, multinomial, their compound, normal vectors, relaxed classes."""

from __future__ import annotations

import math as pymath
from typing import Any

from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import assert_positive
from headrace.library.distribution.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    floats,
)
from headrace.library.linalg import matrix as linalg
from headrace.library.network.softmax import log_softmax, softmax
from headrace.library.numeric import math, random, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation


class VectorDistribution(Distribution):
    """A distribution of vectors; ``_like`` is a tensor [batch..., size] of the shape of one draw of each."""

    _like: Tensor

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one draw, a vector."""
        return self._like.shape[-1:]

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether one draw is a scalar, as a tensor: False."""
        return convert_to_tensor(False, name=name)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The shape of one draw as an int32 vector."""
        with self._scope(name):
            return self._whole()[-1:]

    def _whole(self) -> Any:
        return array.shape(self._like)

    def _batch_shape(self) -> TensorShape:
        return self._like.shape[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return self._whole()[:-1]  # type: ignore[no-any-return]

    def _full(self, shape: Tensor) -> Tensor:
        """The shape of draws, the vector's own axis included."""
        return array.concat([shape, self._whole()[-1:]], 0)


def _total(tensor: Any, keepdims: bool = False) -> Tensor:
    return reduction.reduce_sum(tensor, axis=-1, keepdims=keepdims)


def _log_beta(concentration: Any) -> Tensor:
    """The logarithm of the multivariate beta function."""
    return _total(raw_ops.Lgamma(concentration)) - raw_ops.Lgamma(_total(concentration))


def _log_combinations(count: Any, counts: Any) -> Tensor:
    """The logarithm of the number of orders in which the counts may come."""
    return raw_ops.Lgamma(count + 1.0) - _total(raw_ops.Lgamma(counts + 1.0))


class Dirichlet(VectorDistribution):
    """Probabilities of several classes, which add up to one.

    Args:
      concentration: Positive numbers, [..., classes].
      validate_args: True makes a `concentration` that is not positive an error.
      allow_nan_stats: Accepted: the mode is NaN where it does not exist.
      name: The name scope of the distribution's ops.

    >>> tf.Session().run(tf.distributions.Dirichlet([1.0, 3.0]).mean())
    array([0.25, 0.75], dtype=float32)
    """

    def __init__(
        self, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Dirichlet"
    ) -> None:
        with name_scope(name, values=[concentration]) as scope:
            checks = (lambda one: [assert_positive(one)]) if validate_args else None
            (self._like,) = floats(("concentration", concentration), assertions=checks)
        super().__init__(
            self._like.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, {"concentration": concentration},
            [self._like], scope.removesuffix("/"),
        )  # fmt: skip

    @property
    def concentration(self) -> Tensor:
        """The concentration of each class."""
        return self._like

    @property
    def total_concentration(self) -> Tensor:
        """The sum of the concentrations."""
        return _total(self._like)

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        alpha = self._like * raw_ops.Fill(self._full(shape), raw_ops.Cast(1.0, DstT=self.dtype))
        gamma = random.random_gamma([], alpha, dtype=self.dtype, seed=seed)
        return gamma / _total(gamma, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        return _total(math.xlogy(self._like - 1.0, x)) - _log_beta(self._like)

    def _entropy(self) -> Any:
        alpha, total = self._like, self.total_concentration
        count = raw_ops.Cast(array.shape(alpha)[-1], DstT=self.dtype)  # type: ignore[index]
        inner = _total((alpha - 1.0) * raw_ops.Digamma(alpha))
        return _log_beta(alpha) + (total - count) * raw_ops.Digamma(total) - inner

    def _mean(self) -> Any:
        return self._like / _total(self._like, keepdims=True)

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + _total(self._like, keepdims=True))

    def _mode(self) -> Any:
        alpha = self._like
        count = raw_ops.Cast(array.shape(alpha)[-1], DstT=self.dtype)  # type: ignore[index]
        mode = (alpha - 1.0) / (_total(alpha, keepdims=True) - count)
        exists = raw_ops.Mul(reduction.reduce_min(alpha, axis=-1, keepdims=True), raw_ops.OnesLike(alpha))
        return self._defined(mode, raw_ops.Greater(exists, 1.0), lambda: [assert_positive(alpha - 1.0)])


class Multinomial(VectorDistribution):
    """How often each class comes in ``total_count`` draws.

    Args:
      total_count: The number of draws, a float scalar or [...].
      logits: The unnormalised log probability of each class, [..., classes]. Give either `logits` or `probs`.
      probs: The probability of each class, in place of `logits`.
      validate_args: Accepted and not used.
      allow_nan_stats: Kept as an attribute: all moments are defined.
      name: The name scope of the distribution's ops.

    >>> tf.Session().run(tf.distributions.Multinomial(4.0, probs=[0.25, 0.75]).mean())
    array([1., 3.], dtype=float32)
    """

    def __init__(
        self, total_count: Any, logits: Any = None, probs: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Multinomial",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[total_count, logits, probs]) as scope:
            self._logits, self._probs = _classes(logits, probs)
            (self._count,) = floats(("total_count", raw_ops.Cast(total_count, DstT=self._probs.dtype)))
            self._like = self._probs * raw_ops.OnesLike(array.expand_dims(self._count, -1))
        super().__init__(
            self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats,
            {"total_count": total_count, "logits": logits, "probs": probs}, [self._count, self._probs],
            scope.removesuffix("/"),
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        """The number of draws."""
        return self._count

    @property
    def logits(self) -> Tensor:
        """The log probability of each class."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probability of each class."""
        return self._probs

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        return _drawn(self._count, self._probs, self._full(shape), seed)

    def _log_prob(self, counts: Any) -> Any:
        return _log_combinations(self._count, counts) + _total(counts * log_softmax(self._logits))

    def _mean(self) -> Any:
        return array.expand_dims(self._count, -1) * self._probs

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self._probs)


def _classes(logits: Any, probs: Any) -> tuple[Tensor, Tensor]:
    if (logits is None) == (probs is None):
        raise ValueError(f"Must pass probs or logits, but not both. {at()}")
    if probs is None:
        (given,) = floats(("logits", logits))
        return given, softmax(given)
    (given,) = floats(("probs", probs))
    return raw_ops.Log(given), given


def _drawn(count: Any, probs: Any, full: Tensor, seed: int | None) -> Tensor:
    """Counts of classes, of shape ``full``, in ``count`` draws with these probabilities."""
    ones = raw_ops.Fill(full, raw_ops.Cast(1.0, DstT=probs.dtype))
    size: Any = full[-1]  # type: ignore[index]
    rows = array.reshape(probs * ones, array.stack([-1, size]))
    counts = array.reshape(array.expand_dims(count, -1) * ones, array.stack([-1, size]))[:, :1]
    most = raw_ops.Cast(reduction.reduce_max(count), DstT="int32")
    classes = random.multinomial(raw_ops.Log(rows), most, seed=seed)
    number = raw_ops.Cast(raw_ops.Range(0, most, 1), DstT=probs.dtype)
    counted = raw_ops.Cast(raw_ops.Less(number, counts), DstT=probs.dtype)
    chosen = creation.one_hot(classes, size, dtype=probs.dtype) * array.expand_dims(counted, -1)
    return array.reshape(reduction.reduce_sum(chosen, axis=1), full)


class DirichletMultinomial(VectorDistribution):
    """How often each class comes in ``total_count`` draws whose probabilities were drawn from a Dirichlet distribution.

    Args:
      total_count: The number of draws, a float scalar or [...].
      concentration: Positive numbers, [..., classes].
      validate_args: Accepted and not used.
      allow_nan_stats: Kept as an attribute: all moments are defined.
      name: The name scope of the distribution's ops.

    >>> tf.Session().run(tf.distributions.DirichletMultinomial(4.0, [1.0, 3.0]).mean())
    array([1., 3.], dtype=float32)
    """

    def __init__(
        self, total_count: Any, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[total_count, concentration]) as scope:
            self._concentration, self._count = floats(("concentration", concentration), ("total_count", total_count))
            self._like = self._concentration * raw_ops.OnesLike(array.expand_dims(self._count, -1))
        super().__init__(
            self._count.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats,
            {"total_count": total_count, "concentration": concentration}, [self._count, self._concentration],
            scope.removesuffix("/"),
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        """The number of draws."""
        return self._count

    @property
    def concentration(self) -> Tensor:
        """The concentration of each class."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """The sum of the concentrations."""
        return _total(self._concentration)

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        probs = Dirichlet(self._like)._sample_shaped(shape, seed)
        return _drawn(self._count, probs, self._full(shape), None if seed is None else seed + 1)

    def _log_prob(self, counts: Any) -> Any:
        alpha = self._concentration
        return _log_beta(alpha + counts) - _log_beta(alpha) + _log_combinations(self._count, counts)

    def _mean(self) -> Any:
        return array.expand_dims(self._count, -1) * self._concentration / _total(self._concentration, keepdims=True)

    def _variance(self) -> Any:
        total, count = _total(self._concentration, keepdims=True), array.expand_dims(self._count, -1)
        part = self._concentration / total
        return count * part * (1.0 - part) * (count + total) / (1.0 + total)


class MultivariateNormalFullCovariance(VectorDistribution):
    """Normal vectors with a mean and a matrix of covariances.

    Args:
      loc: The mean, [..., size]; None for zero.
      covariance_matrix: The covariances, symmetric and positive definite, [..., size, size]; None for the identity, which
        needs `loc`.
      validate_args: Accepted and not used: a matrix that is not positive definite fails in its decomposition.
      allow_nan_stats: Kept as an attribute: all moments are defined.
      name: The name scope of the distribution's ops.

    >>> normal = tf.contrib.distributions.MultivariateNormalFullCovariance([1.0, 2.0], [[1.0, 0.5], [0.5, 1.0]])
    >>> tf.Session().run(normal.log_prob([1.0, 2.0])).round(3)
    np.float32(-1.694)
    """

    def __init__(
        self, loc: Any = None, covariance_matrix: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:  # fmt: skip
        if loc is None and covariance_matrix is None:
            raise ValueError(f"give loc or covariance_matrix, or both: they say how long the vectors are {at()}")
        with name_scope(name, values=[loc, covariance_matrix]) as scope:
            if covariance_matrix is None:
                (mean,) = floats(("loc", loc))
                self._tril = raw_ops.MatrixDiag(raw_ops.OnesLike(mean))
            else:
                (matrix,) = floats(("covariance_matrix", covariance_matrix))
                self._tril = raw_ops.Cholesky(matrix)
                mean = raw_ops.ZerosLike(matrix)[..., 0] if loc is None else floats(("c", matrix), ("loc", loc))[1]
            self._loc = mean
            self._like = mean + raw_ops.ZerosLike(self._tril)[..., 0]
        super().__init__(
            self._like.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats,
            {"loc": loc, "covariance_matrix": covariance_matrix}, [self._loc, self._tril], scope.removesuffix("/"),
        )  # fmt: skip

    @property
    def loc(self) -> Tensor:
        """The mean."""
        return self._loc

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        normal = random.random_normal(self._full(shape), dtype=self.dtype, seed=seed)
        return self._loc + reduction.reduce_sum(self._tril * array.expand_dims(normal, -2), axis=-1)

    def _log_det(self) -> Any:
        return 2.0 * _total(raw_ops.Log(raw_ops.MatrixDiagPart(self._tril)))

    def _size(self) -> Any:
        return raw_ops.Cast(self._whole()[-1], DstT=self.dtype)

    def _log_prob(self, x: Any) -> Any:
        apart = array.expand_dims(x - self._loc, -1)
        ones = raw_ops.OnesLike(apart)
        lower = self._tril * ones  # as many matrices as there are vectors
        solved = raw_ops.MatrixTriangularSolve(lower, apart * raw_ops.OnesLike(lower)[..., :1])
        distance = reduction.reduce_sum(raw_ops.Square(solved), axis=[-2, -1])
        return -0.5 * (distance + self._log_det() + self._size() * pymath.log(2.0 * pymath.pi))

    def _entropy(self) -> Any:
        entropy = 0.5 * (self._size() * (1.0 + pymath.log(2.0 * pymath.pi)) + self._log_det())
        return entropy + raw_ops.ZerosLike(self._like)[..., 0]

    def _mean(self) -> Any:
        return raw_ops.Identity(self._like)

    def _mode(self) -> Any:
        return self._mean()

    def _variance(self) -> Any:
        return reduction.reduce_sum(raw_ops.Square(self._tril), axis=-1) + raw_ops.ZerosLike(self._like)

    def covariance(self, name: str = "covariance") -> Tensor:
        """The matrix of covariances."""
        with self._scope(name):
            return linalg.matmul(self._tril, self._tril, transpose_b=True)


class RelaxedOneHotCategorical(VectorDistribution):
    """Soft choices among classes, on the simplex (the Concrete distribution, Maddison et al., 2016).

    Args:
      temperature: How far from one-hot draws are: positive, near zero for nearly one-hot.
      logits: The unnormalised log probability of each class, [..., classes]. Give either `logits` or `probs`.
      probs: The probability of each class, in place of `logits`.
      validate_args: Accepted and not used.
      allow_nan_stats: Kept as an attribute.
      name: The name scope of the distribution's ops.

    >>> relaxed = tf.contrib.distributions.RelaxedOneHotCategorical(0.5, probs=[0.1, 0.5, 0.4])
    >>> tf.Session().run(tf.reduce_sum(relaxed.sample())).round(3)
    np.float32(1.0)
    """

    def __init__(
        self, temperature: Any, logits: Any = None, probs: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "RelaxedOneHotCategorical",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[temperature, logits, probs]) as scope:
            self._logits, self._probs = _classes(logits, probs)
            self._temperature = floats(("l", self._logits), ("temperature", temperature))[1]
            self._like = self._logits + raw_ops.ZerosLike(array.expand_dims(self._temperature, -1))
        super().__init__(
            self._like.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats,
            {"temperature": temperature, "logits": logits, "probs": probs}, [self._logits, self._temperature],
            scope.removesuffix("/"),
        )  # fmt: skip

    @property
    def temperature(self) -> Tensor:
        """How far from one-hot draws are."""
        return self._temperature

    @property
    def logits(self) -> Tensor:
        """The unnormalised log probability of each class."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probability of each class."""
        return self._probs

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        uniform = random.random_uniform(self._full(shape), minval=1e-7, maxval=1.0, dtype=self.dtype, seed=seed)
        gumbel = raw_ops.Neg(raw_ops.Log(raw_ops.Neg(raw_ops.Log(uniform))))
        return softmax((self._logits + gumbel) / array.expand_dims(self._temperature, -1))

    def _log_prob(self, x: Any) -> Any:
        size = raw_ops.Cast(self._whole()[-1], DstT=self.dtype)
        logs = raw_ops.Log(x)
        own = log_softmax(self._logits - logs * array.expand_dims(self._temperature, -1))
        norm = raw_ops.Lgamma(size) + (size - 1.0) * raw_ops.Log(self._temperature)
        return norm + _total(own) - _total(logs)


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlet_divergence(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_dirichlet_dirichlet"):
        digamma = raw_ops.Digamma(a.concentration) - raw_ops.Digamma(_total(a.concentration, keepdims=True))
        inner = _total((a.concentration - b.concentration) * digamma)
        return inner - _log_beta(a.concentration) + _log_beta(b.concentration)


@RegisterKL(MultivariateNormalFullCovariance, MultivariateNormalFullCovariance)
def _normal_divergence(
    a: MultivariateNormalFullCovariance, b: MultivariateNormalFullCovariance, name: str | None = None
) -> Tensor:
    with name_scope(name, "kl_mvn"):
        spread = reduction.reduce_sum(raw_ops.Square(raw_ops.MatrixTriangularSolve(b._tril, a._tril)), axis=[-2, -1])
        apart = raw_ops.MatrixTriangularSolve(b._tril, array.expand_dims(b._like - a._like, -1))
        distance = reduction.reduce_sum(raw_ops.Square(apart), axis=[-2, -1])
        return 0.5 * (b._log_det() - a._log_det() + spread + distance - a._size())
