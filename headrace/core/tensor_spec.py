"""TensorSpec: what a tensor must be like, its dtype and shape, without a value."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape


class ShapedSpec:
    """A dtype and a (partial) shape: what the specs of dense and of sparse tensors have in common."""

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self._shape: TensorShape = as_shape(shape)
        self._dtype: DType = dtypes.as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or whatever another spec allows, may be like this."""
        same = self._dtype.is_compatible_with(spec_or_tensor.dtype)
        return bool(same and self._shape.is_compatible_with(spec_or_tensor.shape))

    def _key(self) -> tuple[Any, ...]:
        return self._shape.tuple, self._dtype

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((self._shape.tuple, self._dtype))


class TensorSpec(ShapedSpec):
    """The dtype and (partial) shape of a tensor that is yet to come: an entry of an ``input_signature``.

    Args:
      shape: The shape; None and sizes of None for what is not known.
      dtype: The type of the elements.
      name: The name of the argument; None for none.

    >>> tf.TensorSpec([None, 3], tf.float32, name="x")
    TensorSpec(shape=(?, 3), dtype=tf.float32, name='x')
    """

    __slots__ = ("_name",)

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        super().__init__(shape, dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """The shape and dtype of another spec, with another name if one is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """What the given tensor is like."""
        return cls(tensor.shape, tensor.dtype, name or getattr(tensor.op, "name", None))

    @property
    def name(self) -> str | None:
        """The name of the argument, or None."""
        return self._name

    @property
    def is_discrete(self) -> bool:
        """Whether the elements are integers or booleans."""
        return self._dtype.is_integer or self._dtype.is_bool

    @property
    def is_continuous(self) -> bool:
        """Whether the elements are floating point numbers."""
        return self._dtype.is_floating

    def _key(self) -> tuple[Any, ...]:
        return *super()._key(), self._name

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"
