"""Distribution: what all of them have in common, and the table of Kullback-Leibler divergences.

A distribution has a batch shape (that of its parameters, broadcast) and an event shape (of one draw; all here are scalar).
Public methods open a name scope ``<Name>/<method>`` and call the method of the same name with an underscore, which
subclasses give; what they do not give raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import Assert
from headrace.library.control.dependency import with_dependencies
from headrace.library.numeric import math, reduction
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.tensor import array


class ReparameterizationType:
    """Whether gradients pass through samples to the parameters.

    Args:
      rep_type: A name for the type, shown by `repr`.

    >>> tf.distributions.Normal(0.0, 1.0).reparameterization_type
    <Reparameterization Type: FULLY_REPARAMETERIZED>
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """Base class.  A subclass gives ``_log_prob`` (or ``_prob``), ``_sample_n`` and whatever moments it has.

    Args:
      dtype: The type of samples.
      reparameterization_type: Whether gradients pass through samples: `tf.distributions.FULLY_REPARAMETERIZED`
        or `tf.distributions.NOT_REPARAMETERIZED`.
      validate_args: True lets subclasses check parameters and values when a step computes them.
      allow_nan_stats: False makes a moment that is not defined an error of the step; True gives NaN.
      parameters: The arguments of the subclass's constructor, with which `copy` makes another distribution.
      graph_parents: The tensors that the distribution is made of.
      name: The name scope of the distribution's ops; None for the name of the class.

    >>> normal = tf.distributions.Normal(loc=[0.0, 1.0], scale=1.0)
    >>> isinstance(normal, tf.distributions.Distribution), normal.batch_shape.as_list()
    (True, [2])
    """

    def __init__(
        self, dtype: DType, reparameterization_type: ReparameterizationType, validate_args: bool,
        allow_nan_stats: bool, parameters: dict[str, Any] | None = None, graph_parents: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = parameters or {}
        self._graph_parents = list(graph_parents or ())
        self._name = name or type(self).__name__

    # ---- what it is

    @property
    def name(self) -> str:
        """The name of the distribution's ops."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The type of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return dict(self._parameters)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether gradients pass through samples to the parameters."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """What was given as `allow_nan_stats`."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """What was given as `validate_args`."""
        return self._validate_args

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the parameters, broadcast, as far as it is known."""
        return self._batch_shape()

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one draw: that of a scalar."""
        return TensorShape([])

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether one draw is a scalar, as a tensor."""
        return convert_to_tensor(True, name=name)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the parameters, broadcast, as an int32 vector."""
        with self._scope(name):
            if self.batch_shape.is_fully_defined():
                return convert_to_tensor(self.batch_shape.as_list(), "int32", name="batch_shape")
            return self._batch_shape_tensor()

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The shape of one draw as an int32 vector."""
        with self._scope(name):
            return convert_to_tensor([], "int32", name="event_shape")

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """A distribution of the same class with some parameters changed."""
        return type(self)(**{**self._parameters, **override_parameters_kwargs})

    def __repr__(self) -> str:
        return (
            f"<tf.distributions.{type(self).__name__} '{self._name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self._dtype.name}>"
        )

    # ---- samples, densities, moments

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Draws of shape ``sample_shape + batch_shape``."""
        with self._scope(name, [sample_shape] if isinstance(sample_shape, Tensor) else []):
            size = convert_to_tensor(sample_shape, "int32", name="sample_shape")
            vector = array.reshape(size, [-1])
            batch = (
                convert_to_tensor(self.batch_shape.as_list(), "int32")
                if self.batch_shape.is_fully_defined()
                else self._batch_shape_tensor()
            )
            return self._sample_shaped(array.concat([vector, batch], 0), seed)

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """The logarithm of the density, or of the probability, of a value."""
        return self._of_value("log_prob", value, name, lambda x: raw_ops.Log(self._prob(x)))

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """The density, or the probability, of a value."""
        return self._of_value("prob", value, name, lambda x: raw_ops.Exp(self._log_prob(x)))

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """The cumulative distribution function at a value."""
        return self._of_value("cdf", value, name, lambda x: raw_ops.Exp(self._log_cdf(x)))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """The logarithm of the cumulative distribution function at a value."""
        return self._of_value("log_cdf", value, name, lambda x: raw_ops.Log(self._cdf(x)))

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """One minus the cumulative distribution function."""
        return self._of_value("survival_function", value, name, lambda x: 1.0 - self._cdf(x))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """The logarithm of one minus the cumulative distribution function."""
        return self._of_value(
            "log_survival_function", value, name, lambda x: raw_ops.Log1p(-self._cdf(x))
        )  # fmt: skip

    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        """The value at which the cumulative distribution function is the given one."""
        return self._of_value("quantile", value, name)

    def entropy(self, name: str = "entropy") -> Tensor:
        """The entropy, in nats."""
        return self._moment("entropy", name)

    def mean(self, name: str = "mean") -> Tensor:
        """The mean."""
        return self._moment("mean", name)

    def mode(self, name: str = "mode") -> Tensor:
        """The most probable value."""
        return self._moment("mode", name)

    def variance(self, name: str = "variance") -> Tensor:
        """The variance."""
        return self._moment("variance", name, lambda: raw_ops.Square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Tensor:
        """The standard deviation."""
        return self._moment("stddev", name, lambda: raw_ops.Sqrt(self._variance()))

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """The cross entropy of this distribution and another one, in nats."""
        with self._scope(name):
            divergence = kl_divergence(self, other, self._allow_nan_stats)
            return raw_ops.AddV2(self._own("entropy")(), divergence, name="add")

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """The Kullback-Leibler divergence of this distribution from another one."""
        with self._scope(name):
            return kl_divergence(self, other, self._allow_nan_stats)

    # ---- for subclasses

    def _batch_shape(self) -> TensorShape:
        raise NotImplementedError(f"batch_shape is not implemented: {type(self).__name__}")

    def _batch_shape_tensor(self) -> Tensor:
        raise NotImplementedError(f"batch_shape_tensor is not implemented: {type(self).__name__}")

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        raise NotImplementedError(f"sample is not implemented: {type(self).__name__}")

    def _valid(self, value: Any, assertions: Callable[[Any], list[Any]]) -> Any:
        """A value that, with ``validate_args``, waits for the assertions about it."""
        return with_dependencies(assertions(value), value) if self._validate_args else value

    def _defined(self, value: Any, defined: Any, assertions: Callable[[], list[Any]]) -> Any:
        """A moment, with NaN where it is not ``defined``; without ``allow_nan_stats`` it waits for assertions that it is."""
        if self._allow_nan_stats:
            return raw_ops.SelectV2(defined, value, raw_ops.ZerosLike(value) + float("nan"))
        return with_dependencies(assertions(), value)

    def _scope(self, name: str, values: Any = ()) -> Any:
        return name_scope(f"{self._name}/{name}", values=[*self._graph_parents, *values])

    def _own(self, what: str) -> Callable[..., Any]:
        method: Callable[..., Any] | None = getattr(self, f"_{what}", None)
        if method is None:
            raise NotImplementedError(f"{what} is not implemented: {type(self).__name__}")
        return method

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name[1:] in _METHODS:
            raise NotImplementedError(f"{name[1:]} is not implemented: {type(self).__name__}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _has(self, what: str) -> bool:
        return any(f"_{what}" in vars(base) for base in type(self).__mro__)

    def _moment(self, what: str, name: str, otherwise: Callable[[], Any] | None = None) -> Tensor:
        with self._scope(name):
            if self._has(what) or otherwise is None:
                return self._own(what)()
            try:
                return otherwise()  # type: ignore[no-any-return]
            except NotImplementedError:
                raise NotImplementedError(f"{what} is not implemented: {type(self).__name__}") from None

    def _of_value(self, what: str, value: Any, name: str, otherwise: Callable[[Any], Any] | None = None) -> Tensor:
        with self._scope(name, [value]):
            value = convert_to_tensor(value, name="value", preferred_dtype=self._dtype)
            if self._has(what) or otherwise is None:
                return self._own(what)(value)
            try:
                return otherwise(value)  # type: ignore[no-any-return]
            except NotImplementedError:
                raise NotImplementedError(f"{what} is not implemented: {type(self).__name__}") from None


_METHODS = (
    "log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival_function", "quantile", "entropy", "mean",
    "mode", "variance", "stddev",
)  # fmt: skip


def floats(*values: tuple[str, Any], assertions: Callable[..., list[Any]] | None = None) -> list[Tensor]:
    """Parameters as tensors of one floating dtype, that of the first tensor among them or float32, once assertions hold."""
    dtype = next((v.dtype.base_dtype for _, v in values if hasattr(v, "dtype") and hasattr(v, "graph")), None)
    tensors = []
    for name, value in values:
        tensor = convert_to_tensor(value, dtype, name=f"{name}/input")
        tensor = tensor if tensor.dtype.is_floating else math.cast(tensor, "float32")
        dtype = tensor.dtype.base_dtype
        tensors.append(tensor)
    with control_dependencies(assertions(*tensors) if assertions is not None else []):
        return [raw_ops.Identity(tensor, name=name) for (name, _), tensor in zip(values, tensors, strict=True)]


# ---- divergences

_divergences: dict[tuple[type, type], Callable[..., Any]] = {}


class RegisterKL:
    """Decorator of a function (a, b, name) that gives the Kullback-Leibler divergence of two classes of distributions.

    Args:
      dist_cls_a: The class of the first distribution.
      dist_cls_b: The class of the second distribution.

    >>> class Fixed(tf.distributions.Normal):
    ...     "Never differs from another one."
    >>> rule = tf.distributions.RegisterKL(Fixed, Fixed)(lambda a, b, name=None: tf.constant(0.0))
    >>> tf.Session().run(tf.distributions.kl_divergence(Fixed(0.0, 1.0), Fixed(2.0, 1.0)))
    np.float32(0.0)
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _divergences:
            raise ValueError(
                f"KL({self._key[0].__name__} || {self._key[1].__name__}) has already been registered to: "
                f"{_divergences[self._key]}"
            )
        _divergences[self._key] = kl_fn
        return kl_fn


def kl_divergence(
    distribution_a: Distribution, distribution_b: Distribution, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """``KL(a || b)``, the expected difference of log probabilities under ``a``.

    Args:
      distribution_a: The distribution under which the mean is taken.
      distribution_b: The distribution it is compared with; the two classes must have a registered divergence.
      allow_nan_stats: False makes a divergence that is NaN an error of the step.
      name: A name for the ops.

    Returns:
      A tensor of the broadcast batch shape of the two.

    >>> a, b = tf.distributions.Normal(0.0, 1.0), tf.distributions.Normal(2.0, 1.0)
    >>> float(tf.Session().run(tf.distributions.kl_divergence(a, b)))
    2.0
    """
    for class_a in type(distribution_a).__mro__:
        for class_b in type(distribution_b).__mro__:
            rule = _divergences.get((class_a, class_b))
            if rule is not None:
                with name_scope("KullbackLeibler"):
                    divergence = rule(distribution_a, distribution_b, name=name)
                    return divergence if allow_nan_stats else _without_nan(divergence, distribution_a, distribution_b)
    raise NotImplementedError(
        "No KL(distribution_a || distribution_b) registered for distribution_a type "
        f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
    )


def _without_nan(divergence: Tensor, a: Distribution, b: Distribution) -> Tensor:
    has_nan = reduction.reduce_any(raw_ops.IsNan(divergence))
    message = (
        f"KL calculation between {a.name} and {b.name} returned NaN values (and was called with allow_nan_stats=False):"
    )
    return with_dependencies([Assert(raw_ops.LogicalNot(has_nan), [message, divergence])], divergence)  # type: ignore[no-any-return]
