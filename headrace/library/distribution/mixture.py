"""Mixtures: a draw is one of a component that is drawn first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.distribution.discrete import Categorical
from headrace.library.distribution.distribution import NOT_REPARAMETERIZED, Distribution
from headrace.library.network.softmax import log_softmax
from headrace.library.numeric import reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array


class Mixture(Distribution):
    """Draws of components, each with the probability of its class.

    Args:
      cat: A `Categorical`, whose classes are the components.
      components: A list of distributions of one type of element, batch shape and event shape, those of `cat`.
      validate_args: Accepted and not used: batch shapes are compared when it is made, as far as they are known.
      allow_nan_stats: Kept as an attribute.
      use_static_graph: Accepted and not used: draws are always made from all components.
      name: The name scope of the distribution's ops.

    >>> d = tf.contrib.distributions
    >>> mixture = d.Mixture(d.Categorical(probs=[0.25, 0.75]), [d.Normal(0.0, 1.0), d.Normal(4.0, 1.0)])
    >>> tf.Session().run(mixture.mean()).round(3)
    np.float32(3.0)
    """

    def __init__(
        self, cat: Categorical, components: Sequence[Distribution], validate_args: bool = False,
        allow_nan_stats: bool = True, use_static_graph: bool = False, name: str = "Mixture",
    ) -> None:  # fmt: skip
        if not isinstance(cat, Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat!r} {at()}")
        if not components or not all(isinstance(one, Distribution) for one in components):
            raise TypeError(f"components must be a list of at least one distribution, but saw: {components!r} {at()}")
        first = components[0]
        for one in components:
            if one.dtype != first.dtype:
                raise TypeError(f"All components must have the same dtype: {[c.dtype.name for c in components]} {at()}")
            cat.batch_shape.assert_is_compatible_with(one.batch_shape)
            first.event_shape.assert_is_compatible_with(one.event_shape)
        classes = cat.logits.shape.as_list()[-1]
        if classes is not None and classes != len(components):
            raise ValueError(f"cat has {classes} classes, and there are {len(components)} components {at()}")
        self._cat, self._components = cat, list(components)
        with name_scope(name) as scope:
            pass
        super().__init__(
            first.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, {"cat": cat, "components": components},
            [cat.logits], scope.removesuffix("/"),
        )  # fmt: skip

    @property
    def cat(self) -> Categorical:
        """What chooses the component."""
        return self._cat

    @property
    def components(self) -> list[Distribution]:
        """The components."""
        return list(self._components)

    @property
    def num_components(self) -> int:
        """The number of components."""
        return len(self._components)

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one draw: that of a component's."""
        return self._components[0].event_shape

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether one draw is a scalar, as a tensor."""
        return self._components[0].is_scalar_event(name)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The shape of one draw as an int32 vector."""
        return self._components[0].event_shape_tensor(name)

    def _batch_shape(self) -> TensorShape:
        return self._cat.batch_shape

    def _batch_shape_tensor(self) -> Tensor:
        return self._cat.batch_shape_tensor()

    def _inside(self, tensor: Any) -> Tensor:
        """With an axis of size one for each axis of a draw."""
        for _ in range(self.event_shape.ndims or 0):
            tensor = array.expand_dims(tensor, -1)
        return tensor

    def _sample_shaped(self, shape: Tensor, seed: int | None) -> Tensor:
        chosen = self._cat._sample_shaped(shape, seed)
        seeds = [None if seed is None else seed + i for i in range(1, self.num_components + 1)]
        drawn = [one._sample_shaped(shape, own) for one, own in zip(self._components, seeds, strict=True)]
        total = None
        for i, values in enumerate(drawn):
            own = raw_ops.Equal(self._inside(chosen), i)
            total = values if total is None else raw_ops.SelectV2(own, values, total)
        return total  # type: ignore[return-value]

    def _log_weights(self) -> list[Tensor]:
        return array.unstack(log_softmax(self._cat.logits), self.num_components, axis=-1)

    def _log_prob(self, x: Any) -> Any:
        logs = [w + one.log_prob(x) for w, one in zip(self._log_weights(), self._components, strict=True)]
        return reduction.reduce_logsumexp(array.stack(logs, -1), axis=-1)

    def _cdf(self, x: Any) -> Any:
        parts = [raw_ops.Exp(w) * c.cdf(x) for w, c in zip(self._log_weights(), self._components, strict=True)]
        return raw_ops.AddN(parts)

    def _weighted(self, values: Sequence[Any]) -> Tensor:
        pairs = zip(self._log_weights(), values, strict=True)
        return raw_ops.AddN([self._inside(raw_ops.Exp(w)) * value for w, value in pairs])

    def _mean(self) -> Any:
        return self._weighted([one.mean() for one in self._components])

    def _variance(self) -> Any:
        squares = [one.variance() + raw_ops.Square(one.mean()) for one in self._components]
        return self._weighted(squares) - raw_ops.Square(self._mean())

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Tensor:
        """A number that the entropy is not below: the weighted mean of the components' entropies."""
        with self._scope(name):
            parts = [raw_ops.Exp(w) * c.entropy() for w, c in zip(self._log_weights(), self._components, strict=True)]
            return raw_ops.AddN(parts)
