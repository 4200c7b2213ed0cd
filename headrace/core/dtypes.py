"""Element types: the `DType` objects, `as_dtype`, and the type sets that op signatures constrain themselves with.

Owns the names, enum numbers (TensorFlow's, so that GraphDefs can be exchanged) and numpy equivalents of every type.
Does not know torch: the mapping to torch dtypes lives with the kernels. numpy has no bfloat16, so the values of a
bfloat16 tensor are seen from Python as float32 arrays (`bfloat16.as_numpy_dtype is np.float32`).

This module defines a name `bool`, as TensorFlow does; inside it the Python type is spelled `builtins.bool`.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeAlias

import numpy as np

from headrace.core.source import at

__all__ = ["DType", "DTypeLike", "as_dtype"]

_REF_OFFSET = 100
_HANDLE_OFFSET = 200  # ours: TensorFlow has one number for all handles
_RESOURCE_ENUM = 20


class DType:
    """The type of the elements of a tensor.

    There is exactly one instance per type (`DType(1) is float32`), so identity is equality between DTypes;
    `==` also accepts whatever `as_dtype` accepts. Instances are immutable by convention and safe to share.
    A *reference* type (`float32_ref`) marks an edge that carries a mutable variable rather than a value.  So does the
    type of a resource variable's handle, which equals `resource`; its `base_dtype` is that of the variable's elements.

    Args:
      type_enum: The number of the type in TensorFlow's DataType enum.

    >>> tf.float32.name, tf.float32.size, tf.DType(1) is tf.float32
    ('float32', 4, True)
    """

    __slots__ = (
        "_handle",
        "_is_ref_dtype",
        "_is_resource",
        "_ref",
        "as_datatype_enum",
        "as_numpy_dtype",
        "base_dtype",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numpy_compatible",
        "is_quantized",
        "is_unsigned",
        "name",
        "size",
    )

    name: str
    as_datatype_enum: int
    as_numpy_dtype: Any
    base_dtype: DType
    is_bool: builtins.bool
    is_complex: builtins.bool
    is_floating: builtins.bool
    is_integer: builtins.bool
    is_numpy_compatible: builtins.bool
    is_quantized: builtins.bool
    is_unsigned: builtins.bool
    size: int
    _handle: DType
    _is_ref_dtype: builtins.bool
    _is_resource: builtins.bool
    _ref: DType

    def __new__(cls, type_enum: int) -> DType:
        """The shared instance whose enum number is `type_enum`."""
        dtype = _BY_ENUM.get(int(type_enum))
        if dtype is None:
            raise TypeError(f"type_enum is not a valid DataType number: received {type_enum!r}")
        return dtype

    @property
    def _as_ref(self) -> DType:
        return self._ref

    @property
    def _as_handle(self) -> DType:
        """The type of the handle of a resource variable of these elements."""
        return self._handle

    @property
    def as_ref(self) -> DType:
        """The reference type of the same elements."""
        return self._ref

    @property
    def is_ref_dtype(self) -> builtins.bool:
        """Whether this is a reference type."""
        return self._is_ref_dtype and not self._is_resource

    @property
    def real_dtype(self) -> DType:
        """The type of the real part: float32 for complex64, float64 for complex128, otherwise this type."""
        return _REAL_PART.get(self.base_dtype, self)

    @property
    def min(self) -> Any:
        """The lowest representable value; TypeError for types that have no order."""
        return self._extreme("minimum", lowest=True)

    @property
    def max(self) -> Any:
        """The highest representable value; TypeError for types that have no order."""
        return self._extreme("maximum", lowest=False)

    @property
    def limits(self) -> tuple[Any, Any]:
        """The (lowest, highest) intensity of an image of this type, negatives clipped: (0, 1) for floats."""
        if self.is_bool:
            return (0, True)
        if self.base_dtype in (float32, float64):
            return (0, 1)
        if self.is_integer:
            return (0, self.max)
        raise ValueError(f"{self} does not have defined limits.")

    def is_compatible_with(self, other: DTypeLike) -> builtins.bool:
        """Whether a value of type `other` may be used where this type is expected.

        A type is compatible with itself and with its reference type; a reference type only with itself.
        """
        other = as_dtype(other)
        return self == other or self is other.base_dtype

    def _extreme(self, what: str, lowest: builtins.bool) -> Any:
        if self.base_dtype is bfloat16:
            limit = float.fromhex("0x1.FEp127")
            return np.float32(-limit if lowest else limit)
        info: Any
        if self.is_floating:
            info = np.finfo(self.as_numpy_dtype)
        elif self.is_integer:
            info = np.iinfo(self.as_numpy_dtype)
        else:
            raise TypeError(f"Cannot find {what} value of {self}.")
        return info.min if lowest else info.max

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None:
            return False
        if isinstance(other, DType):
            return self._is_resource and other._is_resource
        try:
            return as_dtype(other) == self
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> int:
        return _RESOURCE_ENUM if self._is_resource else self.as_datatype_enum

    def __int__(self) -> int:
        return _RESOURCE_ENUM if self._is_resource else self.as_datatype_enum

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return DType, (self.as_datatype_enum,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: object) -> DType:
        return self


DTypeLike: TypeAlias = Any
"""What `as_dtype` accepts: a DType, an enum number, a name, a numpy dtype or scalar type, a Python type."""

_BY_ENUM: dict[int, DType] = {}
_BY_NAME: dict[str, DType] = {}


def _instance(name: str, enum: int, numpy_dtype: Any, letter: str, size: int, base: DType | None) -> DType:
    dtype = object.__new__(DType)
    dtype.name = name
    dtype.as_datatype_enum = enum
    dtype.as_numpy_dtype = numpy_dtype
    dtype.base_dtype = dtype if base is None else base
    dtype.is_bool = letter == "b"
    dtype.is_complex = letter == "c"
    dtype.is_floating = letter == "f"
    dtype.is_integer = letter in ("i", "u")
    dtype.is_quantized = letter == "q"
    dtype.is_unsigned = letter == "u"
    dtype.is_numpy_compatible = letter != "handle"
    dtype.size = size
    dtype._is_ref_dtype = base is not None
    dtype._is_resource = name == "resource"
    dtype._ref = dtype._handle = dtype
    _BY_ENUM[enum] = dtype
    if enum < _HANDLE_OFFSET:
        _BY_NAME[name] = dtype
    return dtype


def _declare(name: str, enum: int, numpy_dtype: Any, letter: str, size: int | None = None) -> DType:
    """Makes a type, its reference type and its handle type.

    `letter` is numpy's letter, "q" (quantized), "s" (string) or "handle".
    """
    if size is None:
        size = np.dtype(numpy_dtype).itemsize
    value = _instance(name, enum, numpy_dtype, letter, size, None)
    value._ref = _instance(f"{name}_ref", enum + _REF_OFFSET, numpy_dtype, letter, size, value)
    if enum != _RESOURCE_ENUM:
        value._handle = _instance("resource", enum + _HANDLE_OFFSET, numpy_dtype, letter, size, value)
    return value


float32 = _declare("float32", 1, np.float32, "f")
float64 = _declare("float64", 2, np.float64, "f")
int32 = _declare("int32", 3, np.int32, "i")
uint8 = _declare("uint8", 4, np.uint8, "u")
int16 = _declare("int16", 5, np.int16, "i")
int8 = _declare("int8", 6, np.int8, "i")
string = _declare("string", 7, np.object_, "s")
complex64 = _declare("complex64", 8, np.complex64, "c")
int64 = _declare("int64", 9, np.int64, "i")
bool = _declare("bool", 10, np.bool_, "b")  # noqa: A001 - TensorFlow's name
qint8 = _declare("qint8", 11, np.dtype([("qint8", np.int8)]), "q")
quint8 = _declare("quint8", 12, np.dtype([("quint8", np.uint8)]), "q")
qint32 = _declare("qint32", 13, np.dtype([("qint32", np.int32)]), "q")
bfloat16 = _declare("bfloat16", 14, np.float32, "f", size=2)
qint16 = _declare("qint16", 15, np.dtype([("qint16", np.int16)]), "q")
quint16 = _declare("quint16", 16, np.dtype([("quint16", np.uint16)]), "q")
uint16 = _declare("uint16", 17, np.uint16, "u")
complex128 = _declare("complex128", 18, np.complex128, "c")
float16 = _declare("float16", 19, np.float16, "f")
resource = _declare("resource", 20, np.dtype([("resource", np.ubyte)]), "handle", size=1)
variant = _declare("variant", 21, np.object_, "handle", size=1)
uint32 = _declare("uint32", 22, np.uint32, "u")
uint64 = _declare("uint64", 23, np.uint64, "u")

half = float16
double = float64

float16_ref = float16.as_ref
half_ref = float16_ref
float32_ref = float32.as_ref
float64_ref = float64.as_ref
double_ref = float64_ref
bfloat16_ref = bfloat16.as_ref
int8_ref = int8.as_ref
int16_ref = int16.as_ref
int32_ref = int32.as_ref
int64_ref = int64.as_ref
uint8_ref = uint8.as_ref
uint16_ref = uint16.as_ref
uint32_ref = uint32.as_ref
uint64_ref = uint64.as_ref
bool_ref = bool.as_ref
string_ref = string.as_ref
complex64_ref = complex64.as_ref
complex128_ref = complex128.as_ref
qint8_ref = qint8.as_ref
quint8_ref = quint8.as_ref
qint16_ref = qint16.as_ref
quint16_ref = quint16.as_ref
qint32_ref = qint32.as_ref
resource_ref = resource.as_ref
variant_ref = variant.as_ref

# Type sets for op signatures.
COMPLEX: tuple[DType, ...] = (complex64, complex128)
FLOATING: tuple[DType, ...] = (float16, bfloat16, float32, float64)
FLOAT_OR_COMPLEX: tuple[DType, ...] = FLOATING + COMPLEX
INTEGER: tuple[DType, ...] = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
INDEX: tuple[DType, ...] = (int32, int64)
REAL: tuple[DType, ...] = FLOATING + INTEGER
NUMERIC: tuple[DType, ...] = REAL + COMPLEX
QUANTIZED: tuple[DType, ...] = (qint8, quint8, qint16, quint16, qint32)
QUANTIZED_DTYPES = frozenset(QUANTIZED)  # TF1's name
ANY: tuple[DType, ...] = (*NUMERIC, bool, string, *QUANTIZED, resource, variant)

_REAL_PART: dict[DType, DType] = {complex64: float32, complex128: float64}

_BY_NAME.update(
    {"half": float16, "float": float32, "double": float64, "half_ref": half_ref}
    | {"float_ref": float32_ref, "double_ref": double_ref}
)

# Only these three, as in TensorFlow: `int` does not say whether 32 or 64 bits are meant.
_BY_PYTHON_TYPE: dict[Any, DType] = {
    builtins.float: float32,
    builtins.bool: bool,
    builtins.object: string,
}

_BY_NUMPY_TYPE: dict[Any, DType] = {d.as_numpy_dtype: d for d in (*REAL, *COMPLEX, bool) if d is not bfloat16} | {
    np.object_: string,
    np.str_: string,
    np.bytes_: string,
}
# Types of the same width share one dtype whatever their C name (np.longlong is another class than np.int64).
_BY_NUMPY_TYPE |= {c: _BY_NUMPY_TYPE[np.dtype(np.dtype(c).str).type] for c in (np.longlong, np.ulonglong, np.intc)}

_QUANTIZED_BY_FIELD: dict[str, DType] = {d.name: d for d in (*QUANTIZED, resource)}


def as_dtype(type_value: DTypeLike) -> DType:
    """The DType that `type_value` stands for; TypeError, naming what was received, when there is none.

    Args:
      type_value: A DType, a name, a numpy type, dtype or array, float, bool, or a number of the DataType enum.

    Returns:
      A `tf.DType`.

    >>> tf.as_dtype('int64'), tf.as_dtype(np.float32), tf.as_dtype(bool)
    (tf.int64, tf.float32, tf.bool)
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, str):
        dtype = _BY_NAME.get(type_value)
    elif isinstance(type_value, builtins.type):
        dtype = _BY_NUMPY_TYPE.get(type_value) or _BY_PYTHON_TYPE.get(type_value)
    elif isinstance(type_value, np.dtype):
        dtype = _from_numpy(type_value)
    elif isinstance(type_value, int) and not isinstance(type_value, builtins.bool):
        dtype = _BY_ENUM.get(type_value)
    elif isinstance(type_value, (np.ndarray, np.generic)):
        dtype = _from_numpy(type_value.dtype)
    else:
        dtype = None
    if dtype is None:
        raise TypeError(
            f"Cannot convert {type_value!r} (of type {type(type_value).__name__}) to a DType; accepted are a DType, "
            f"a name such as 'float32' or 'int32_ref', a numpy dtype, float, bool or a DataType number {at()}"
        )
    return dtype


def _from_numpy(dtype: np.dtype[Any]) -> DType | None:
    if dtype.names is not None and len(dtype.names) == 1:
        quantized = _QUANTIZED_BY_FIELD.get(dtype.names[0])
        return quantized if quantized is not None and quantized.as_numpy_dtype == dtype else None
    return _BY_NUMPY_TYPE.get(dtype.type)
