"""Discrete distributions: Bernoulli and Categorical."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import (
    assert_equal,
    assert_less_equal,
    assert_near,
    assert_non_negative,
)
from headrace.library.distribution.distribution import NOT_REPARAMETERIZED, Distribution, RegisterKL, floats
from headrace.library.network import softmax
from headrace.library.network.loss_function import sigmoid_cross_entropy_with_logits
from headrace.library.network.softmax import sparse_softmax_cross_entropy_with_logits
from headrace.library.numeric import math, random, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array
from headrace.library.tensor.creation import one_hot


def _logits_and_probs(logits: Any, probs: Any, several: bool, validate_args: bool) -> tuple[Any, Any]:
    """Both forms, from whichever was given."""
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if probs is not None:
        assertions = _sum_to_one if several else _at_most_one
        (parameter,) = floats(("probs", probs), assertions=assertions if validate_args else None)
        with name_scope("logits"):
            log = raw_ops.Log(parameter)
            return (log if several else raw_ops.Sub(log, raw_ops.Log1p(-parameter), name="sub")), parameter
    (parameter,) = floats(("logits", logits))
    return parameter, (
        softmax.softmax(parameter, name="probs") if several else raw_ops.Sigmoid(parameter, name="probs")
    )


def _at_most_one(probs: Tensor) -> list[Any]:
    return [
        assert_non_negative(probs, message="probs has components less than 0."),
        assert_less_equal(probs, 1.0, message="probs has components greater than 1."),
    ]


def _sum_to_one(probs: Tensor) -> list[Any]:
    total = reduction.reduce_sum(probs, -1)
    return [
        assert_non_negative(probs, message="probs has components less than 0."),
        assert_near(total, raw_ops.OnesLike(total), message="probs does not sum to 1."),
    ]


def _whole_numbers(x: Tensor) -> list[Any]:
    """That values are 0, 1, 2..., whatever their type."""
    if x.dtype.base_dtype == dtypes.bool:
        return []
    assertions = [assert_non_negative(x, message="Elements must be non-negative.")]
    if x.dtype.is_floating:
        assertions.append(assert_equal(x, raw_ops.Round(x), message="Elements must be whole numbers."))
    return assertions


def _zeros_and_ones(x: Tensor) -> list[Any]:
    if x.dtype.base_dtype == dtypes.bool:
        return []
    return [*_whole_numbers(x), assert_less_equal(x, 1, message="Elements cannot exceed 1.")]


class Bernoulli(Distribution):
    """Zero or one, one with probability ``probs`` = sigmoid(``logits``).

    Args:
      logits: The log-odds of 1, a number or a tensor of any shape. Give either `logits` or `probs`.
      probs: The probability of 1, in place of `logits`.
      dtype: The type of samples.
      validate_args: True makes `probs` outside [0, 1], and values other than 0 and 1, an error.
      allow_nan_stats: Kept as an attribute: all moments are defined.
      name: The name scope of the distribution's ops.

    >>> coin = tf.distributions.Bernoulli(probs=0.25)
    >>> float(tf.Session().run(coin.prob(1)))
    0.25
    """

    def __init__(
        self, logits: Any = None, probs: Any = None, dtype: Any = dtypes.int32, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Bernoulli",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = _logits_and_probs(logits, probs, False, validate_args)
        super().__init__(
            dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats,
            {"logits": logits, "probs": probs, "dtype": dtype}, [self._logits, self._probs], scope.removesuffix("/"),
        )  # fmt: skip

    @property
    def logits(self) -> Any:
        """The log-odds of 1."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of 1."""
        return self._probs

    def _batch_shape(self) -> TensorShape:
        return self._logits.shape

    def _batch_shape_tensor(self) -> Tensor:
        return array.shape(self._logits)

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        uniform = random.random_uniform(shape, dtype=self._probs.dtype, seed=seed)
        return math.cast(raw_ops.Less(uniform, self._probs), self.dtype)

    def _log_prob(self, event: Any) -> Any:
        event = math.cast(self._valid(event, _zeros_and_ones), self._logits.dtype)
        ones = raw_ops.OnesLike(event) * raw_ops.OnesLike(self._logits)
        return raw_ops.Neg(sigmoid_cross_entropy_with_logits(labels=event * ones, logits=self._logits * ones))

    def _entropy(self) -> Any:
        return -self._logits * (raw_ops.Sigmoid(self._logits) - 1.0) + raw_ops.Softplus(-self._logits)

    def _mean(self) -> Any:
        return raw_ops.Identity(self._probs)

    def _variance(self) -> Any:
        return raw_ops.Mul(self._probs, 1.0 - self._probs, name="mul")

    def _mode(self) -> Any:
        return math.cast(raw_ops.Greater(self._probs, 0.5), self.dtype)


class Categorical(Distribution):
    """A class number, with probabilities ``probs`` = softmax(``logits``) over the last axis.

    Args:
      logits: The unnormalised log probability of each class, [..., classes]. Give either `logits` or `probs`.
      probs: The probability of each class, in place of `logits`.
      dtype: The type of samples.
      validate_args: True makes `probs` that do not add up to 1, and values that are no whole numbers, an error.
      allow_nan_stats: Kept as an attribute: all moments are defined.
      name: The name scope of the distribution's ops.

    >>> die = tf.distributions.Categorical(probs=[0.25, 0.75])
    >>> tf.Session().run(die.mode())
    np.int32(1)
    """

    def __init__(
        self, logits: Any = None, probs: Any = None, dtype: Any = dtypes.int32, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Categorical",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = _logits_and_probs(logits, probs, True, validate_args)
            if self._logits.shape.ndims is None:
                raise ValueError("Categorical needs logits or probs of known rank")
            sizes: Any = array.shape(self._logits)
            static_size = self._logits.shape.as_list()[-1]
            self._event_size = (
                raw_ops.Identity(static_size, name="event_size") if static_size is not None else sizes[-1]
            )
        super().__init__(
            dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats,
            {"logits": logits, "probs": probs, "dtype": dtype}, [self._logits, self._probs], scope.removesuffix("/"),
        )  # fmt: skip

    @property
    def logits(self) -> Any:
        """The unnormalised log probability of each class."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of each class."""
        return self._probs

    @property
    def event_size(self) -> Any:
        """The number of classes."""
        return self._event_size

    def _batch_shape(self) -> TensorShape:
        return TensorShape(self._logits.shape.as_list()[:-1])

    def _batch_shape_tensor(self) -> Tensor:
        sizes: Any = array.shape(self._logits)
        return sizes[:-1]

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        flat = array.reshape(self._logits, [-1, self._event_size])
        rows = reduction.reduce_prod(self._batch_shape_tensor()) if self._logits.shape.ndims > 1 else 1
        count = raw_ops.FloorDiv(reduction.reduce_prod(shape), raw_ops.Maximum(rows, 1))
        drawn = random.multinomial(flat, count, seed=seed, output_dtype=self.dtype)
        return array.reshape(array.transpose(drawn), shape)

    def _spread(self, k: Any) -> tuple[Any, Any]:
        """Class numbers and logits of the same batch shape."""
        k = math.cast(self._valid(k, _whole_numbers), dtypes.int32)
        if k.shape.is_fully_defined() and k.shape.as_list() == self._logits.shape.as_list()[:-1]:
            return k, self._logits
        logits = self._logits * array.expand_dims(raw_ops.OnesLike(math.cast(k, self._logits.dtype)), -1)
        return k * raw_ops.OnesLike(math.cast(logits[..., 0], dtypes.int32)), logits

    def _log_prob(self, k: Any) -> Any:
        k, logits = self._spread(k)
        return raw_ops.Neg(sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits))

    def _cdf(self, k: Any) -> Any:
        """The probability of a class number below ``k``."""
        k, logits = self._spread(k)
        below = reduction.cumsum(softmax.softmax(logits), -1, exclusive=True)
        chosen = one_hot(k, self._event_size, dtype=below.dtype)
        return reduction.reduce_sum(below * chosen, -1)

    def _entropy(self) -> Any:
        log = softmax.log_softmax(self._logits)
        return raw_ops.Neg(reduction.reduce_sum(raw_ops.Mul(log, softmax.softmax(self._logits)), -1))

    def _mode(self) -> Any:
        return math.cast(reduction.argmax(self._logits, -1), self.dtype)


# ---- divergences


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Any:
    with name_scope(name, "kl_bernoulli_bernoulli", [a.logits, b.logits]):
        zeros = raw_ops.Softplus(b.logits) - raw_ops.Softplus(a.logits)
        ones = raw_ops.Softplus(-b.logits) - raw_ops.Softplus(-a.logits)
        return raw_ops.AddV2(raw_ops.Sigmoid(a.logits) * ones, raw_ops.Sigmoid(-a.logits) * zeros, name="add")


@RegisterKL(Categorical, Categorical)
def _kl_categorical_categorical(a: Categorical, b: Categorical, name: str | None = None) -> Any:
    with name_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
        difference = softmax.log_softmax(a.logits) - softmax.log_softmax(b.logits)
        return reduction.reduce_sum(softmax.softmax(a.logits) * difference, -1)
