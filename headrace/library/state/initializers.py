"""Initializers: objects that make a variable's first value, ``initializer(shape, dtype=None, partition_info=None)``.

``partition_info`` describes the whole variable when ``shape`` is one piece of it, so that a partitioned variable gets
the same scale as an undivided one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import Dimension, TensorShape
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric.random import random_normal, random_uniform, truncated_normal
from headrace.library.tensor.creation import eye, fill, ones, zeros

_SMALL = 1000  # elements; larger constants are filled at run time rather than kept in the graph
_TRUNCATED_STDDEV = 0.87962566103423978  # the standard deviation of a normal distribution cut at two of its own


class Initializer:
    """Base class.  A subclass overrides ``__call__`` and, to be stored with a layer, ``get_config``."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as plain data."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """An initializer from ``get_config``'s data."""
        return cls(**config)


def _sizes(shape: Any) -> list[int]:
    """A static shape as numbers."""
    if isinstance(shape, TensorShape):
        return [int(d) for d in shape]
    return [int(d.value) if isinstance(d, Dimension) else int(d) for d in shape]  # type: ignore[arg-type]


def _whole(shape: Any, partition_info: Any) -> list[int]:
    return _sizes(shape if partition_info is None else partition_info.full_shape)


def _floating(dtype: Any) -> DType:
    element_type = dtypes.as_dtype(dtype)
    if not element_type.is_floating:
        raise ValueError(f"Expected floating point type, got {element_type!r}.")
    return element_type


class Zeros(Initializer):
    """All zeros (empty strings, False).

    Args:
      dtype: The type of the elements where the call does not say.

    >>> tf.Session().run(tf.zeros_initializer()([2]))
    array([0., 0.], dtype=float32)
    """

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return zeros(shape, self.dtype if dtype is None else dtype)

    def get_config(self) -> dict[str, Any]:
        return {"dtype": self.dtype.name}


class Ones(Initializer):
    """All ones.

    Args:
      dtype: The type of the elements where the call does not say.

    >>> tf.Session().run(tf.ones_initializer()([2]))
    array([1., 1.], dtype=float32)
    """

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return ones(shape, self.dtype if dtype is None else dtype)

    def get_config(self) -> dict[str, Any]:
        return {"dtype": self.dtype.name}


class Constant(Initializer):
    """A given value: a number for all elements, or a list or array; its last element repeats if it is too short.

    Args:
      value: The number, list or array.
      dtype: The type of the elements where the call does not say.
      verify_shape: Whether a value of another shape than the variable's is an error.

    >>> tf.Session().run(tf.constant_initializer([1, 2])([3]))
    array([1., 2., 2.], dtype=float32)
    """

    def __init__(self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or tuple of values, or "
                "numpy.ndarray)."
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: bool | None = None
    ) -> Tensor:
        element_type = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        verify = self._verify_shape if verify_shape is None else verify_shape
        if np.isscalar(self.value) and not verify and math.prod(_sizes(shape)) >= _SMALL:
            return fill(shape, constant(self.value, element_type), name="Const")
        return constant(self.value, element_type, shape, verify_shape=verify)

    def get_config(self) -> dict[str, Any]:
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    """Uniform over ``[minval, maxval)``.

    Args:
      minval: The lower bound, which may occur.
      maxval: The upper bound, which does not occur; None for 1, for floating-point types only.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The type of the elements where the call does not say.

    >>> tf.random_uniform_initializer(-1.0, 1.0)([2, 3]).shape.as_list()
    [2, 3]
    """

    def __init__(
        self, minval: Any = 0, maxval: Any = None, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, self.dtype if dtype is None else dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed, "dtype": self.dtype.name}


class RandomNormal(Initializer):
    """Normal.

    Args:
      mean: The mean.
      stddev: The standard deviation.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    >>> tf.random_normal_initializer(stddev=0.1)([2, 3]).shape.as_list()
    [2, 3]
    """

    _draw: Callable[..., Tensor] = staticmethod(random_normal)

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return self._draw(shape, self.mean, self.stddev, self.dtype if dtype is None else dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed, "dtype": self.dtype.name}


class TruncatedNormal(RandomNormal):
    """Normal, redrawn beyond two standard deviations.

    Args:
      mean: The mean.
      stddev: The standard deviation before values are left out.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    >>> x = tf.truncated_normal_initializer(stddev=0.1)([100])
    >>> bool((abs(tf.Session().run(x)) <= 0.2).all())
    True
    """

    _draw = staticmethod(truncated_normal)


class UniformUnitScaling(Initializer):
    """Uniform over a range that keeps the variance of a layer's input: ``factor * sqrt(3 / inputs)`` either way.

    Args:
      factor: What to multiply the range by, such as 1.43 for a layer with ReLU.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    >>> tf.uniform_unit_scaling_initializer(factor=1.43)([3, 4]).shape.as_list()
    [3, 4]
    """

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        inputs = max(float(math.prod(_whole(shape, partition_info)[:-1])), 1.0)
        limit = math.sqrt(3 / inputs) * self.factor
        return random_uniform(shape, -limit, limit, self.dtype if dtype is None else dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


class VarianceScaling(Initializer):
    """Variance ``scale / n`` where n is the number of inputs, of outputs, or their mean, by ``mode``.

    ``distribution``: "truncated_normal" (or "normal", the same), "untruncated_normal" or "uniform".

    Args:
      scale: What to multiply the variance by; positive.
      mode: What n is: "fan_in" (inputs), "fan_out" (outputs) or "fan_avg" (their mean).
      distribution: "truncated_normal" (or "normal"), "untruncated_normal" or "uniform".
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    >>> tf.variance_scaling_initializer(scale=2.0, mode="fan_out")([3, 4]).shape.as_list()
    [3, 4]
    """

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        if scale <= 0.0:
            raise ValueError(f"`scale` must be positive float, got {scale!r}.")
        if mode not in _FANS:
            raise ValueError(f"Invalid `mode` argument: {mode!r}; known: {', '.join(_FANS)}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                f"Invalid `distribution` argument: {distribution!r}; known: normal, uniform, truncated_normal, "
                "untruncated_normal"
            )
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        element_type = self.dtype if dtype is None else dtype
        variance = self.scale / max(1.0, _FANS[self.mode](*_fans(_whole(shape, partition_info))))
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_uniform(shape, -limit, limit, element_type, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(variance), element_type, seed=self.seed)
        return truncated_normal(shape, 0.0, math.sqrt(variance) / _TRUNCATED_STDDEV, element_type, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {
            "scale": self.scale, "mode": self.mode, "distribution": self.distribution, "seed": self.seed,
            "dtype": self.dtype.name,
        }  # fmt: skip


_FANS: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda inputs, outputs: inputs,
    "fan_out": lambda inputs, outputs: outputs,
    "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2.0,
}


def _fans(shape: Sequence[int]) -> tuple[float, float]:
    """How many inputs and outputs a weight of this shape has: a matrix's sides, times the window for a convolution."""
    if len(shape) < 2:
        size = float(shape[0]) if shape else 1.0
        return size, size
    window = float(math.prod(shape[:-2]))
    return shape[-2] * window, shape[-1] * window


class GlorotUniform(VarianceScaling):
    """Uniform over ``sqrt(6 / (inputs + outputs))`` either way; also called Xavier.

    Args:
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    >>> x = tf.glorot_uniform_initializer()([4, 2])
    >>> bool((abs(tf.Session().run(x)) <= 1.0).all())
    True
    """

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Truncated normal of variance ``2 / (inputs + outputs)``; also called Xavier.

    Args:
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    >>> tf.glorot_normal_initializer(seed=1)([4, 2]).shape.as_list()
    [4, 2]
    """

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal of variance ``1 / inputs``.

    Args:
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.

    Returns:
      An initializer of type VarianceScaling.

    >>> tf.initializers.lecun_normal()([4, 2]).shape.as_list()
    [4, 2]
    """
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform of variance ``1 / inputs``.

    Args:
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.

    Returns:
      An initializer of type VarianceScaling.

    >>> tf.initializers.lecun_uniform()([4, 2]).shape.as_list()
    [4, 2]
    """
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal of variance ``2 / inputs``.

    Args:
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.

    Returns:
      An initializer of type VarianceScaling.

    >>> tf.initializers.he_normal()([4, 2]).shape.as_list()
    [4, 2]
    """
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform of variance ``2 / inputs``.

    Args:
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.

    Returns:
      An initializer of type VarianceScaling.

    >>> tf.initializers.he_uniform()([4, 2]).shape.as_list()
    [4, 2]
    """
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


class Orthogonal(Initializer):
    """A random matrix with orthonormal rows or columns (whichever are fewer), times ``gain``; all dimensions but the
    last count as rows.

    Args:
      gain: What to multiply the matrix by.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    >>> q = tf.orthogonal_initializer()([2, 2])
    >>> np.round(np.abs(tf.Session().run(tf.matmul(q, q, transpose_b=True))), 3)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        element_type = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        sizes = _sizes(shape)
        if len(sizes) < 2:
            raise ValueError(f"The tensor to initialize must be at least two-dimensional, got shape {sizes}")
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        drawn = random_normal((max(rows, columns), min(rows, columns)), dtype=element_type, seed=self.seed)
        q, r = raw_ops.Qr(drawn, full_matrices=False)
        # Signs of the diagonal make the distribution uniform over orthogonal matrices.
        q = raw_ops.Mul(q, raw_ops.Sign(raw_ops.DiagPart(r)), name="mul")
        if rows < columns:
            q = raw_ops.Transpose(q, [1, 0], name="matrix_transpose/transpose")
        return raw_ops.Mul(
            convert_to_tensor(self.gain, element_type, name="mul_1/x"), raw_ops.Reshape(q, sizes), name="mul"
        )

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class Identity(Initializer):
    """The identity matrix times ``gain``; for matrices only.

    Args:
      gain: What to multiply the matrix by.
      dtype: The floating-point type of the elements where the call does not say.

    >>> tf.Session().run(tf.initializers.identity(gain=2.0)([2, 2]))
    array([[2., 0.],
           [0., 2.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        self.gain = gain
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        element_type = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        sizes = _whole(shape, partition_info)
        if len(sizes) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        rows, columns = sizes
        matrix = eye(rows, columns, dtype=element_type)
        if partition_info is not None:
            matrix = raw_ops.Slice(matrix, list(partition_info.var_offset), _sizes(shape))
        return raw_ops.Mul(self.gain, matrix, name="mul")

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "dtype": self.dtype.name}


# ---- the spellings of tf.contrib.layers


def contrib_variance_scaling_initializer(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None,
    dtype: Any = dtypes.float32,
) -> Callable[..., Tensor]:  # fmt: skip
    """``tf.contrib.layers.variance_scaling_initializer``: VarianceScaling as a function, ``factor`` for scale.

    Args:
      factor: What to multiply the variance by.
      mode: What n is: "FAN_IN" (inputs), "FAN_OUT" (outputs) or "FAN_AVG" (their mean).
      uniform: Whether to draw from a uniform distribution; False for a truncated normal one.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    Returns:
      A function of a shape, a dtype and a ``partition_info`` that gives a tensor.

    >>> tf.contrib.layers.variance_scaling_initializer(mode="FAN_AVG")([4, 2]).shape.as_list()
    [4, 2]
    """
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode.lower() not in _FANS or mode != mode.upper():
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initializer(shape: Any, dtype: Any = dtype, partition_info: Any = None) -> Tensor:
        if not dtypes.as_dtype(dtype).is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        n = _FANS[mode.lower()](*_fans(_sizes(shape)))
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)

    return initializer


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32
) -> Callable[..., Tensor]:
    """``tf.contrib.layers.xavier_initializer``: Glorot's.

    Args:
      uniform: Whether to draw from a uniform distribution; False for a truncated normal one.
      seed: A seed that makes every session draw the same values; None to leave it to the graph's seed.
      dtype: The floating-point type of the elements where the call does not say.

    Returns:
      A function of a shape, a dtype and a ``partition_info`` that gives a tensor.

    >>> tf.contrib.layers.xavier_initializer()([4, 2]).shape.as_list()
    [4, 2]
    """
    return contrib_variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)
