"""Constraints of weights (tf.keras.constraints): functions that an optimizer applies to a variable after each update."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.backend.config import epsilon
from headrace.library.layers.by_name import NameTable
from headrace.library.layers.named_object import serialize_keras_object
from headrace.library.numeric import math, reduction
from headrace.library.numeric.clip import clip_by_value
from headrace.library.tensor import array


class Constraint:
    """Base class of constraints.  A subclass overrides ``__call__`` and, to be stored with a layer, ``get_config``.

    >>> class AtMostOne(tf.keras.constraints.Constraint):
    ...     def __call__(self, w):
    ...         return tf.minimum(w, 1.0)
    >>> layer = tf.keras.layers.Dense(4, kernel_constraint=AtMostOne())
    """

    def __call__(self, w: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say what it does to a weight")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as plain data."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A constraint from ``get_config``'s data."""
        return cls(**config)


def _norms(w: Tensor, axis: Any) -> Tensor:
    return math.sqrt(reduction.reduce_sum(math.square(w), axis=axis, keepdims=True))


class MaxNorm(Constraint):
    """Scales weights down so that their norm is at most ``max_value``.

    Args:
      max_value: The largest norm.
      axis: The axis or axes over which a norm is taken: 0 for the columns of a dense layer's kernel, [0, 1, 2] for the filters
        of a convolution's.

    >>> tf.Session().run(tf.keras.constraints.MaxNorm(2.5)(tf.constant([[3.0], [4.0]]))).round(3).tolist()
    [[1.5], [2.0]]
    """

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        w = convert_to_tensor(w)
        norms = _norms(w, self.axis)
        return w * (clip_by_value(norms, 0.0, float(self.max_value)) / (norms + epsilon()))

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """Replaces negative weights by zero.

    >>> tf.Session().run(tf.keras.constraints.NonNeg()(tf.constant([-1.0, 2.0]))).tolist()
    [-0.0, 2.0]
    """

    def __call__(self, w: Any) -> Tensor:
        w = convert_to_tensor(w)
        return w * math.cast(math.greater_equal(w, convert_to_tensor(0, dtype=w.dtype)), w.dtype)


class UnitNorm(Constraint):
    """Scales weights so that their norm is 1.

    Args:
      axis: The axis or axes over which a norm is taken: 0 for the columns of a dense layer's kernel, [0, 1, 2] for the filters
        of a convolution's.

    >>> tf.Session().run(tf.keras.constraints.UnitNorm()(tf.constant([[3.0], [4.0]]))).round(3).tolist()
    [[0.6000000238418579], [0.800000011920929]]
    """

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        w = convert_to_tensor(w)
        return w / (_norms(w, self.axis) + epsilon())

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Scales weights so that their norm lies between two bounds, or moves there a little at every update.

    Args:
      min_value: The smallest norm.
      max_value: The largest norm.
      rate: How far one update goes: the norm becomes ``(1 - rate) * norm + rate * clipped norm``.
      axis: The axis or axes over which a norm is taken: 0 for the columns of a dense layer's kernel, [0, 1, 2] for the filters
        of a convolution's.

    >>> tf.Session().run(tf.keras.constraints.MinMaxNorm(0.0, 2.5)(tf.constant([[3.0], [4.0]]))).round(3).tolist()
    [[1.5], [2.0]]
    """

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0) -> None:
        self.min_value = min_value
        self.max_value = max_value
        self.rate = rate
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        w = convert_to_tensor(w)
        norms = _norms(w, self.axis)
        clipped = clip_by_value(norms, float(self.min_value), float(self.max_value))
        return w * ((clipped * self.rate + norms * (1 - self.rate)) / (norms + epsilon()))

    def get_config(self) -> dict[str, Any]:
        return {"min_value": self.min_value, "max_value": self.max_value, "rate": self.rate, "axis": self.axis}


class RadialConstraint(Constraint):
    """Makes the weights of a convolution over images equal along squares around the middle of the kernel.

    Each square takes the weight where it crosses the diagonal; kernels are [height, width, channels, filters], as high as wide.

    >>> kernel = tf.reshape(tf.range(16.0), [4, 4, 1, 1])
    >>> tf.Session().run(tf.keras.constraints.RadialConstraint()(kernel))[:, :, 0, 0].tolist()
    [[15.0, 15.0, 15.0, 15.0], [15.0, 5.0, 5.0, 15.0], [15.0, 5.0, 5.0, 15.0], [15.0, 15.0, 15.0, 15.0]]
    """

    def __call__(self, w: Any) -> Tensor:
        w = convert_to_tensor(w)
        dims = w.shape.as_list() if w.shape.ndims == 4 else []
        if not dims or None in dims or dims[0] != dims[1]:
            raise ValueError(
                f"RadialConstraint takes the kernel of a convolution over images, of shape [size, size, channels, filters]. "
                f"Received a weight of shape {w.shape} {at()}"
            )
        size, _, channels, filters = dims
        rows = array.reshape(w, [size * size, channels * filters])
        chosen = raw_ops.GatherV2(rows, (_diagonal_of_square(size) * (size + 1)).reshape(-1), 0)
        return array.reshape(chosen, dims)


def _diagonal_of_square(size: int) -> np.ndarray:
    """For each place of a kernel the place on the diagonal whose weight it takes: the innermost square's is before the middle."""
    from_edge = np.minimum(np.arange(size), size - 1 - np.arange(size))
    ring = np.minimum.outer(from_edge, from_edge)
    half, inner = size // 2, (size - 1) // 2
    distance = inner - ring  # 0 for the innermost square
    diagonal = half + distance - (size % 2)
    return np.where(distance == 0, max(half - 1, 0), diagonal).astype(np.int32)


_TABLE = NameTable(
    "constraint",
    {
        **{c.__name__: c for c in (Constraint, MaxNorm, NonNeg, UnitNorm, MinMaxNorm, RadialConstraint)},
        "max_norm": MaxNorm,
        "maxnorm": MaxNorm,
        "min_max_norm": MinMaxNorm,
        "non_neg": NonNeg,
        "nonneg": NonNeg,
        "radial_constraint": RadialConstraint,
        "unit_norm": UnitNorm,
        "unitnorm": UnitNorm,
    },
)


def serialize(constraint: Any) -> Any:
    """A constraint as plain data, which ``deserialize`` takes.

    Args:
      constraint: The constraint, or None.

    Returns:
      A dict with the class's name and its configuration; None for None.

    >>> tf.keras.constraints.serialize(tf.keras.constraints.UnitNorm())
    {'class_name': 'UnitNorm', 'config': {'axis': 0}}
    """
    return serialize_keras_object(constraint)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The constraint that a name or ``serialize``'s data describe.

    Args:
      config: A name such as "max_norm", or a dict with the class's name and its configuration.
      custom_objects: A dict of further names and what they stand for.

    Returns:
      A constraint.

    >>> tf.keras.constraints.deserialize({"class_name": "MaxNorm", "config": {"max_value": 3}}).max_value
    3
    """
    return _TABLE.deserialize(config, custom_objects)


def get(identifier: Any) -> Any:
    """What a layer's argument stands for: a constraint given by its name, its data or itself.

    Args:
      identifier: A name such as "non_neg", a dict of ``serialize``, a callable of a weight, or None.

    Returns:
      A callable of a weight; None for None.

    >>> type(tf.keras.constraints.get("non_neg")).__name__
    'NonNeg'
    """
    return _TABLE.get(identifier)
