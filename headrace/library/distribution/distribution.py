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
from headrace.library.numeric import math
from headrace.library.scope import name_scope
from headrace.library.tensor import array


class ReparameterizationType:
    """Whether gradients pass through samples to the parameters."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """Base class.  A subclass gives ``_log_prob`` (or ``_prob``), ``_sample_n`` and whatever moments it has."""

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
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self._parameters)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        return self._validate_args

    @property
    def batch_shape(self) -> TensorShape:
        return self._batch_shape()

    @property
    def event_shape(self) -> TensorShape:
        return TensorShape([])

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        return convert_to_tensor(True, name=name)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        with self._scope(name):
            if self.batch_shape.is_fully_defined():
                return convert_to_tensor(self.batch_shape.as_list(), "int32", name="batch_shape")
            return self._batch_shape_tensor()

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
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
        return self._of_value("log_prob", value, name, lambda x: raw_ops.Log(self._prob(x)))

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        return self._of_value("prob", value, name, lambda x: raw_ops.Exp(self._log_prob(x)))

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        return self._of_value("cdf", value, name, lambda x: raw_ops.Exp(self._log_cdf(x)))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        return self._of_value("log_cdf", value, name, lambda x: raw_ops.Log(self._cdf(x)))

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """One minus the cumulative distribution function."""
        return self._of_value("survival_function", value, name, lambda x: 1.0 - self._cdf(x))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        return self._of_value(
            "log_survival_function", value, name, lambda x: raw_ops.Log1p(-self._cdf(x))
        )  # fmt: skip

    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        return self._of_value("quantile", value, name)

    def entropy(self, name: str = "entropy") -> Tensor:
        return self._moment("entropy", name)

    def mean(self, name: str = "mean") -> Tensor:
        return self._moment("mean", name)

    def mode(self, name: str = "mode") -> Tensor:
        return self._moment("mode", name)

    def variance(self, name: str = "variance") -> Tensor:
        return self._moment("variance", name, lambda: raw_ops.Square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Tensor:
        return self._moment("stddev", name, lambda: raw_ops.Sqrt(self._variance()))

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        with self._scope(name):
            return raw_ops.AddV2(self._own("entropy")(), kl_divergence(self, other), name="add")

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        with self._scope(name):
            return kl_divergence(self, other)

    # ---- for subclasses

    def _batch_shape(self) -> TensorShape:
        raise NotImplementedError(f"batch_shape is not implemented: {type(self).__name__}")

    def _batch_shape_tensor(self) -> Tensor:
        raise NotImplementedError(f"batch_shape_tensor is not implemented: {type(self).__name__}")

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        raise NotImplementedError(f"sample is not implemented: {type(self).__name__}")

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


def floats(*values: tuple[str, Any]) -> list[Tensor]:
    """Parameters as tensors of one floating dtype: that of the first tensor among them, or float32."""
    dtype = next((v.dtype.base_dtype for _, v in values if hasattr(v, "dtype") and hasattr(v, "graph")), None)
    tensors = []
    for name, value in values:
        tensor = convert_to_tensor(value, dtype, name=f"{name}/input")
        tensor = tensor if tensor.dtype.is_floating else math.cast(tensor, "float32")
        dtype = tensor.dtype.base_dtype
        tensors.append(raw_ops.Identity(tensor, name=name))
    return tensors


# ---- divergences

_divergences: dict[tuple[type, type], Callable[..., Any]] = {}


class RegisterKL:
    """Decorator of a function (a, b, name) that gives the Kullback-Leibler divergence of two classes of distributions."""

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
    """``KL(a || b)``, the expected difference of log probabilities under ``a``."""
    for class_a in type(distribution_a).__mro__:
        for class_b in type(distribution_b).__mro__:
            rule = _divergences.get((class_a, class_b))
            if rule is not None:
                with name_scope("KullbackLeibler"):
                    return rule(distribution_a, distribution_b, name=name)
    raise NotImplementedError(
        "No KL(distribution_a || distribution_b) registered for distribution_a type "
        f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
    )
