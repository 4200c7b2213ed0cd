"""Continuous distributions: Normal, Uniform, Laplace, Gamma, Exponential, Beta."""

from __future__ import annotations

import math as pymath
from typing import Any

from headrace.core.shape import TensorShape, broadcast_shape
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import assert_greater, assert_less, assert_positive
from headrace.library.distribution.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    ReparameterizationType,
    floats,
)
from headrace.library.numeric import random
from headrace.library.scope import name_scope
from headrace.library.tensor import array, broadcast

_HALF_LOG_TWO_PI = 0.5 * pymath.log(2.0 * pymath.pi)


class TwoParameters(Distribution):
    """A distribution of two tensors that broadcast."""

    def __init__(
        self, parameters: dict[str, Any], reparameterization_type: ReparameterizationType, validate_args: bool,
        allow_nan_stats: bool, name: str,
    ) -> None:  # fmt: skip
        with name_scope(name, values=list(parameters.values())) as scope:
            self._first, self._second = floats(
                *parameters.items(), assertions=self._assertions if validate_args else None
            )
        super().__init__(
            self._first.dtype, reparameterization_type, validate_args, allow_nan_stats, parameters,
            [self._first, self._second], scope.removesuffix("/"),
        )  # fmt: skip

    def _assertions(self, first: Tensor, second: Tensor) -> list[Any]:
        """What must hold of the parameters."""
        return [assert_positive(one, message="The parameters must be positive.") for one in (first, second)]

    def _batch_shape(self) -> TensorShape:
        return broadcast_shape(self._first.shape, self._second.shape)

    def _batch_shape_tensor(self) -> Tensor:
        return broadcast.broadcast_dynamic_shape(array.shape(self._first), array.shape(self._second))

    def _spread(self, value: Tensor, like: Tensor) -> Tensor:
        """``value`` broadcast against the other parameter."""
        return raw_ops.Mul(value, raw_ops.OnesLike(like), name="mul")


class LocationAndScale(TwoParameters):
    """A symmetric distribution around ``loc``."""

    @property
    def loc(self) -> Tensor:
        """The centre."""
        return self._first

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self._second

    def _assertions(self, first: Tensor, second: Tensor) -> list[Any]:
        return [assert_positive(second, message="scale must be positive.")]

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def _mean(self) -> Any:
        return self._spread(self.loc, self.scale)

    def _mode(self) -> Any:
        return self._mean()


class Normal(LocationAndScale):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``.

    Args:
      loc: The mean, a number or a tensor of any shape.
      scale: The standard deviation, positive, of a shape that broadcasts with `loc`.
      validate_args: True makes a `scale` that is not positive an error.
      allow_nan_stats: Kept as an attribute: all moments are defined.
      name: The name scope of the distribution's ops.

    >>> normal = tf.distributions.Normal(loc=0.0, scale=1.0)
    >>> float(tf.Session().run(normal.cdf(0.0)))
    0.5
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Normal"
    ) -> None:
        super().__init__({"loc": loc, "scale": scale}, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name)

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        return self.loc + self.scale * random.random_normal(shape, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Any) -> Any:
        return -0.5 * raw_ops.Square(self._z(x)) - (_HALF_LOG_TWO_PI + raw_ops.Log(self.scale))

    def _cdf(self, x: Any) -> Any:
        return 0.5 * raw_ops.Erfc(-self._z(x) / pymath.sqrt(2.0))

    def _survival_function(self, x: Any) -> Any:
        return 0.5 * raw_ops.Erfc(self._z(x) / pymath.sqrt(2.0))

    def _log_survival_function(self, x: Any) -> Any:
        return raw_ops.Log(self._survival_function(x))

    def _quantile(self, p: Any) -> Any:
        return self.loc + self.scale * raw_ops.Ndtri(p)

    def _entropy(self) -> Any:
        return self._spread(0.5 + _HALF_LOG_TWO_PI + raw_ops.Log(self.scale), self.loc)

    def _stddev(self) -> Any:
        return self._spread(self.scale, self.loc)


class Uniform(TwoParameters):
    """Uniform over ``[low, high)``.

    Args:
      low: The lower end of the interval, which belongs to it.
      high: The upper end of the interval, which does not belong to it. Its shape broadcasts with that of `low`.
      validate_args: True makes it an error if `low` is not below `high`.
      allow_nan_stats: Kept as an attribute: all moments are defined.
      name: The name scope of the distribution's ops.

    >>> uniform = tf.distributions.Uniform(low=0.0, high=4.0)
    >>> float(tf.Session().run(uniform.prob(1.0)))
    0.25
    """

    def __init__(
        self, low: Any = 0.0, high: Any = 1.0, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:  # fmt: skip
        super().__init__({"low": low, "high": high}, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name)

    @property
    def low(self) -> Tensor:
        """The lower end of the interval."""
        return self._first

    @property
    def high(self) -> Tensor:
        """The upper end of the interval."""
        return self._second

    def _assertions(self, first: Tensor, second: Tensor) -> list[Any]:
        return [assert_less(first, second, message="uniform not defined when low >= high.")]

    def range(self, name: str = "range") -> Any:
        """``high - low``."""
        with self._scope(name):
            return raw_ops.Sub(self.high, self.low, name="sub")

    def _width(self) -> Any:
        return self.high - self.low

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        return self.low + self._width() * random.random_uniform(shape, dtype=self.dtype, seed=seed)

    def _prob(self, x: Any) -> Any:
        outside = raw_ops.LogicalOr(raw_ops.Less(x, self.low), raw_ops.GreaterEqual(x, self.high))
        density = raw_ops.SelectV2(outside, raw_ops.ZerosLike(x), raw_ops.OnesLike(x) / self._width())
        return raw_ops.SelectV2(raw_ops.IsNan(x), x, density)

    def _cdf(self, x: Any) -> Any:
        part = (x - self.low) / self._width()
        return raw_ops.Minimum(raw_ops.Maximum(part, 0.0), 1.0)

    def _entropy(self) -> Any:
        return raw_ops.Log(self._width())

    def _mean(self) -> Any:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Any:
        return raw_ops.Square(self._width()) / 12.0


class Laplace(LocationAndScale):
    """The double exponential distribution around ``loc``.

    Args:
      loc: The mean, a number or a tensor of any shape.
      scale: The mean distance from `loc`, positive, of a shape that broadcasts with `loc`.
      validate_args: True makes a `scale` that is not positive an error.
      allow_nan_stats: Kept as an attribute: all moments are defined.
      name: The name scope of the distribution's ops.

    >>> laplace = tf.distributions.Laplace(loc=1.0, scale=0.5)
    >>> float(tf.Session().run(laplace.cdf(1.0)))
    0.5
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Laplace"
    ) -> None:
        super().__init__({"loc": loc, "scale": scale}, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name)

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        smallest = 1.0 - 2.0**-24  # the open interval (-1, 1): its ends have no finite image
        uniform: Any = random.random_uniform(shape, -smallest, 1.0, dtype=self.dtype, seed=seed)
        return self.loc - self.scale * raw_ops.Sign(uniform) * raw_ops.Log1p(-raw_ops.Abs(uniform))

    def _log_prob(self, x: Any) -> Any:
        return -raw_ops.Abs(self._z(x)) - (pymath.log(2.0) + raw_ops.Log(self.scale))

    def _cdf(self, x: Any) -> Any:
        z = self._z(x)
        return 0.5 + 0.5 * raw_ops.Sign(z) * (1.0 - raw_ops.Exp(-raw_ops.Abs(z)))

    def _entropy(self) -> Any:
        return self._spread(pymath.log(2.0) + 1.0 + raw_ops.Log(self.scale), self.loc)

    def _stddev(self) -> Any:
        return self._spread(pymath.sqrt(2.0) * self.scale, self.loc)


class Gamma(TwoParameters):
    """The gamma distribution of shape ``concentration`` and inverse scale ``rate``.

    Args:
      concentration: The shape parameter, positive: a number or a tensor of any shape.
      rate: The inverse scale, positive, of a shape that broadcasts with `concentration`.
      validate_args: True makes parameters and values that are not positive an error.
      allow_nan_stats: False makes a mode that is not defined an error; True gives NaN.
      name: The name scope of the distribution's ops.

    >>> gamma = tf.distributions.Gamma(concentration=3.0, rate=2.0)
    >>> float(tf.Session().run(gamma.mean()))
    1.5
    """

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:  # fmt: skip
        parameters = {"concentration": concentration, "rate": rate}
        super().__init__(parameters, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name)

    @property
    def concentration(self) -> Tensor:
        """The shape parameter."""
        return self._first

    @property
    def rate(self) -> Tensor:
        """The inverse scale."""
        return self._second

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        count = array.shape(shape)[0] - array.shape(self._batch_vector())[0]  # type: ignore[index]
        alpha = self._spread(self.concentration, self.rate)
        return random.random_gamma(shape[:count], alpha, self.rate, dtype=self.dtype, seed=seed)  # type: ignore[index]

    def _batch_vector(self) -> Any:
        return self._batch_shape_tensor()

    def _positive(self, x: Any) -> Any:
        return self._valid(x, lambda x: [assert_positive(x, message="sample must be positive.")])

    def _log_prob(self, x: Any) -> Any:
        x = self._positive(x)
        density = (self.concentration - 1.0) * raw_ops.Log(x) - self.rate * x
        return density - (raw_ops.Lgamma(self.concentration) - self.concentration * raw_ops.Log(self.rate))

    def _cdf(self, x: Any) -> Any:
        scaled = self.rate * self._positive(x)
        return raw_ops.Igamma(self._spread(self.concentration, scaled), scaled)

    def _entropy(self) -> Any:
        a = self.concentration
        return a - raw_ops.Log(self.rate) + raw_ops.Lgamma(a) + (1.0 - a) * raw_ops.Digamma(a)

    def _mean(self) -> Any:
        return self.concentration / self.rate

    def _variance(self) -> Any:
        return self.concentration / raw_ops.Square(self.rate)

    def _stddev(self) -> Any:
        return raw_ops.Sqrt(self.concentration) / self.rate

    def _mode(self) -> Any:
        mode = (self.concentration - 1.0) / self.rate
        defined = self._spread(self.concentration, self.rate) > 1.0
        message = "mode not defined when any concentration <= 1"
        return self._defined(mode, defined, lambda: [assert_greater(self.concentration, 1.0, message=message)])


class Exponential(Gamma):
    """The exponential distribution of inverse scale ``rate``.

    Args:
      rate: The inverse of the mean, positive: a number or a tensor of any shape.
      validate_args: True makes a `rate` and values that are not positive an error.
      allow_nan_stats: False makes the mode, which is not defined, an error; True gives NaN.
      name: The name scope of the distribution's ops.

    >>> exponential = tf.distributions.Exponential(rate=4.0)
    >>> float(tf.Session().run(exponential.mean()))
    0.25
    """

    def __init__(
        self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"
    ) -> None:
        with name_scope(name, values=[rate]) as scope:
            (rates,) = floats(("rate", rate))
            one = raw_ops.OnesLike(rates, name="concentration")
        super().__init__(one, rates, validate_args, allow_nan_stats, name=scope)
        self._parameters = {"rate": rate}

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        uniform: Any = random.random_uniform(shape, dtype=self.dtype, seed=seed)
        return -raw_ops.Log1p(-uniform) / self.rate


class Beta(TwoParameters):
    """The beta distribution over [0, 1].

    Args:
      concentration1: The weight toward 1, positive: a number or a tensor of any shape.
      concentration0: The weight toward 0, positive, of a shape that broadcasts with `concentration1`.
      validate_args: True makes parameters that are not positive an error, and `prob` of values outside (0, 1).
      allow_nan_stats: False makes a mode that is not defined an error; True gives NaN.
      name: The name scope of the distribution's ops.

    >>> beta = tf.distributions.Beta(concentration1=1.0, concentration0=3.0)
    >>> float(tf.Session().run(beta.mean()))
    0.25
    """

    def __init__(
        self, concentration1: Any = None, concentration0: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Beta",
    ) -> None:  # fmt: skip
        parameters = {"concentration1": concentration1, "concentration0": concentration0}
        super().__init__(parameters, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name)

    @property
    def concentration1(self) -> Tensor:
        """The weight toward 1."""
        return self._first

    @property
    def concentration0(self) -> Tensor:
        """The weight toward 0."""
        return self._second

    @property
    def total_concentration(self) -> Any:
        """The sum of both weights."""
        return self.concentration1 + self.concentration0

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        a, b = self._spread(self._first, self._second), self._spread(self._second, self._first)
        parts = []
        for i, alpha in enumerate((a, b)):
            count = array.shape(shape)[0] - array.shape(self._batch_shape_tensor())[0]  # type: ignore[index]
            seed_i = None if seed is None else seed + i
            parts.append(random.random_gamma(shape[:count], alpha, dtype=self.dtype, seed=seed_i))  # type: ignore[index]
        return parts[0] / (parts[0] + parts[1])

    def _log_normalization(self) -> Any:
        total = raw_ops.Lgamma(self.total_concentration)
        return raw_ops.Lgamma(self.concentration1) + raw_ops.Lgamma(self.concentration0) - total

    def _log_prob(self, x: Any) -> Any:
        x = self._valid(x, _between_zero_and_one)
        density = (self.concentration1 - 1.0) * raw_ops.Log(x) + (self.concentration0 - 1.0) * raw_ops.Log1p(-x)
        return density - self._log_normalization()

    def _cdf(self, x: Any) -> Any:
        return raw_ops.Betainc(self._spread(self._first, x), self._spread(self._second, x), x)

    def _entropy(self) -> Any:
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        spread = (a - 1.0) * raw_ops.Digamma(a) + (b - 1.0) * raw_ops.Digamma(b)
        return self._log_normalization() - spread + (total - 2.0) * raw_ops.Digamma(total)

    def _mean(self) -> Any:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self) -> Any:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        defined = raw_ops.LogicalAnd(self.concentration1 > 1.0, self.concentration0 > 1.0)  # type: ignore[operator]
        return self._defined(mode, defined, self._mode_assertions)

    def _mode_assertions(self) -> list[Any]:
        return [
            assert_greater(concentration, 1.0, message=f"Mode undefined for {name} <= 1.")
            for name, concentration in (
                ("concentration1", self.concentration1),
                ("concentration0", self.concentration0),
            )
        ]


def _between_zero_and_one(x: Any) -> list[Any]:
    return [
        assert_positive(x, message="sample must be positive."),
        assert_less(x, 1.0, message="sample must be less than `1`."),
    ]


# ---- divergences


@RegisterKL(Normal, Normal)
def _kl_normal_normal(a: Normal, b: Normal, name: str | None = None) -> Any:
    with name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        ratio = raw_ops.Square(a.scale) / raw_ops.Square(b.scale)
        shift = raw_ops.Square(a.loc - b.loc) / (2.0 * raw_ops.Square(b.scale))
        return raw_ops.AddV2(shift, 0.5 * (ratio - 1.0 - raw_ops.Log(ratio)), name="add")


@RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(a: Gamma, b: Gamma, name: str | None = None) -> Any:
    with name_scope(name, "kl_gamma_gamma", [a.rate, b.rate]):
        difference = (a.concentration - b.concentration) * raw_ops.Digamma(a.concentration)
        gammas = raw_ops.Lgamma(b.concentration) - raw_ops.Lgamma(a.concentration)
        rates = b.concentration * raw_ops.Log(a.rate) - b.concentration * raw_ops.Log(b.rate)
        return difference + gammas + rates + a.concentration * (b.rate / a.rate - 1.0)


@RegisterKL(Beta, Beta)
def _kl_beta_beta(a: Beta, b: Beta, name: str | None = None) -> Any:
    with name_scope(name, "kl_beta_beta", [a.concentration1, b.concentration1]):
        total = a.total_concentration
        ones = (a.concentration1 - b.concentration1) * raw_ops.Digamma(a.concentration1)
        zeros = (a.concentration0 - b.concentration0) * raw_ops.Digamma(a.concentration0)
        rest = (b.total_concentration - total) * raw_ops.Digamma(total)
        return b._log_normalization() - a._log_normalization() + ones + zeros + rest
