"""Continuous distributions with heavy tails: Student's t and Cauchy's."""

from __future__ import annotations

import math as pymath
from typing import Any

from headrace.core.shape import TensorShape, broadcast_shape
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import assert_greater, assert_positive
from headrace.library.distribution.continuous import LocationAndScale
from headrace.library.distribution.distribution import FULLY_REPARAMETERIZED, Distribution, floats
from headrace.library.numeric import random
from headrace.library.scope import name_scope
from headrace.library.tensor import array, broadcast, indexing


class Cauchy(LocationAndScale):
    """Cauchy's distribution around ``loc``, which has no mean and no variance.

    Args:
      loc: The median, a number or a tensor of any shape.
      scale: The distance of the quartiles from the median, positive, of a shape that broadcasts with `loc`.
      validate_args: True makes a `scale` that is not positive an error.
      allow_nan_stats: False makes asking for the mean or the variance an error, in place of NaN.
      name: The name scope of the distribution's ops.

    >>> float(tf.Session().run(tf.contrib.distributions.Cauchy(loc=1.0, scale=2.0).cdf(3.0)))
    0.75
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Cauchy"
    ) -> None:
        super().__init__({"loc": loc, "scale": scale}, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name)

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        return self._quantile(random.random_uniform(shape, dtype=self.dtype, seed=seed))

    def _log_prob(self, x: Any) -> Any:
        return -pymath.log(pymath.pi) - raw_ops.Log(self.scale) - raw_ops.Log1p(raw_ops.Square(self._z(x)))

    def _cdf(self, x: Any) -> Any:
        return raw_ops.Atan(self._z(x)) / pymath.pi + 0.5

    def _quantile(self, p: Any) -> Any:
        return self.loc + self.scale * raw_ops.Tan(pymath.pi * (p - 0.5))

    def _entropy(self) -> Any:
        return self._spread(pymath.log(4 * pymath.pi) + raw_ops.Log(self.scale), self.loc)

    def _mode(self) -> Any:
        return self._spread(self.loc, self.scale)

    def _mean(self) -> Any:
        return self._undefined("mean")

    def _stddev(self) -> Any:
        return self._undefined("stddev")

    def _variance(self) -> Any:
        return self._undefined("variance")

    def _undefined(self, what: str) -> Any:
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return raw_ops.Mul(self._mode(), float("nan"), name="mul")


class StudentT(Distribution):
    """Student's t: ``loc + scale * t`` with ``df`` degrees of freedom.

    Args:
      df: The degrees of freedom, positive.
      loc: The centre, of a shape that broadcasts with `df`.
      scale: What the deviation from the centre is multiplied by; its sign does not count.
      validate_args: True makes a `df` that is not positive an error.
      allow_nan_stats: False makes a moment that does not exist an error, in place of NaN.
      name: The name scope of the distribution's ops.

    >>> student = tf.distributions.StudentT(df=3.0, loc=0.0, scale=1.0)
    >>> tf.Session().run(student.variance()).round(3)
    np.float32(3.0)
    """

    def __init__(
        self, df: Any, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:  # fmt: skip
        parameters = {"df": df, "loc": loc, "scale": scale}
        with name_scope(name, values=list(parameters.values())) as scope:
            checks = (lambda df, loc, scale: [assert_positive(df)]) if validate_args else None
            self._df, self._loc, self._scale = floats(*parameters.items(), assertions=checks)
        super().__init__(
            self._df.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._df, self._loc, self._scale], scope.removesuffix("/"),
        )  # fmt: skip

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df

    @property
    def loc(self) -> Tensor:
        """The centre."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """What the deviation is multiplied by."""
        return self._scale

    def _batch_shape(self) -> TensorShape:
        return broadcast_shape(self._df.shape, broadcast_shape(self._loc.shape, self._scale.shape))

    def _batch_shape_tensor(self) -> Tensor:
        inner = broadcast.broadcast_dynamic_shape(array.shape(self._loc), array.shape(self._scale))
        return broadcast.broadcast_dynamic_shape(array.shape(self._df), inner)

    def _ones(self) -> Tensor:
        return raw_ops.Fill(self._batch_shape_tensor(), raw_ops.Cast(1.0, DstT=self.dtype))

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        normal = random.random_normal(shape, dtype=self.dtype, seed=seed)
        df = self._df * raw_ops.Fill(shape, raw_ops.Cast(1.0, DstT=self.dtype))
        second = None if seed is None else seed + 1
        gamma = random.random_gamma([], 0.5 * df, beta=0.5, dtype=self.dtype, seed=second)
        return self._loc + self._scale * normal * raw_ops.Rsqrt(gamma / self._df)

    def _log_prob(self, x: Any) -> Any:
        df = self._df
        kernel = -0.5 * (df + 1.0) * raw_ops.Log1p(raw_ops.Square((x - self._loc) / self._scale) / df)
        norm = raw_ops.Log(raw_ops.Abs(self._scale)) + 0.5 * raw_ops.Log(df) + 0.5 * pymath.log(pymath.pi)
        return kernel - norm - raw_ops.Lgamma(0.5 * df) + raw_ops.Lgamma(0.5 * (df + 1.0))

    def _cdf(self, x: Any) -> Any:
        z = (x - self._loc) / raw_ops.Abs(self._scale)
        half = 0.5 * raw_ops.Betainc(*_same_shape(0.5 * self._df, 0.5, self._df / (raw_ops.Square(z) + self._df)))
        return indexing.where(raw_ops.Less(z, 0.0), half, 1.0 - half)

    def _entropy(self) -> Any:
        df, ones = self._df, self._ones()
        half = 0.5 * (df + 1.0)
        beta = raw_ops.Lgamma(0.5 * df) + 0.5 * pymath.log(pymath.pi) - raw_ops.Lgamma(half)
        shape = half * (raw_ops.Digamma(half) - raw_ops.Digamma(0.5 * df))
        return ones * (raw_ops.Log(raw_ops.Abs(self._scale)) + 0.5 * raw_ops.Log(df) + beta + shape)

    def _mean(self) -> Any:
        mean = self._loc * self._ones()
        exists = raw_ops.Greater(self._df * self._ones(), 1.0)
        return self._defined(mean, exists, lambda: [assert_greater(self._df, 1.0, message="mean not defined")])

    def _variance(self) -> Any:
        df = self._df * self._ones()
        safe = indexing.where(raw_ops.Greater(df, 2.0), df - 2.0, raw_ops.OnesLike(df))
        finite = raw_ops.Square(self._scale) * df / safe
        variance = indexing.where(raw_ops.Greater(df, 2.0), finite, raw_ops.ZerosLike(df) + float("inf"))
        exists = raw_ops.Greater(df, 1.0)
        return self._defined(variance, exists, lambda: [assert_greater(self._df, 1.0, message="variance not defined")])

    def _mode(self) -> Any:
        return self._loc * self._ones()


def _same_shape(*values: Any) -> list[Any]:
    """The values, broadcast: Betainc does not do so by itself."""
    ones = values[0] * raw_ops.OnesLike(values[-1])
    return [value * raw_ops.OnesLike(ones) for value in values]
