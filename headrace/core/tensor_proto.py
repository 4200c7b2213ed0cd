"""TensorProto: how TF1 writes a tensor's value as bytes.

Owns the encoding of arrays (bytes objects for strings) with their dtype and shape, and the decoding of every form TF1
itself writes: raw contents, or one field of values, whose last one stands for all that follow.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from headrace.core import dtypes, file_limits, wire
from headrace.core.dtypes import DType

_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8
# Fields of values: number -> how they are packed.
_FLOAT, _DOUBLE, _INT, _COMPLEX64, _INT64, _BOOL, _COMPLEX128, _HALF, _UINT32, _UINT64 = (
    5,
    6,
    7,
    9,
    10,
    11,
    12,
    13,
    16,
    17,
)
_CONTENT_TAG = bytes([_CONTENT << 3 | wire.BYTES])
_FIXED = {_FLOAT: "<f4", _DOUBLE: "<f8", _COMPLEX64: "<c8", _COMPLEX128: "<c16"}
_VARINTS = (_INT, _INT64, _BOOL, _HALF, _UINT32, _UINT64)


def encode(array: Any, dtype: DType, raw_strings: bool = False) -> bytes:
    """An array of this dtype as an encoded TensorProto; ``raw_strings`` puts strings into the raw contents too."""
    if dtype is not dtypes.string and array.size:
        head = _numbers_head(dtype.as_datatype_enum, array.shape, array.nbytes)
        return b"".join((head, array if array.flags.c_contiguous else array.tobytes()))
    head = _head(dtype.as_datatype_enum, array.shape)
    if dtype == dtypes.string:
        items = list(array.reshape(-1))
        if not raw_strings:
            return head + b"".join(wire.field(_STRINGS, v) for v in items)
        content = b"".join(wire.varint(len(v)) for v in items) + b"".join(items)
        return head + (wire.field(_CONTENT, content) if content else b"")
    return head


@lru_cache(maxsize=512)
def _head(dtype: int, shape: tuple[int, ...]) -> bytes:
    dims = b"".join(wire.field(2, wire.varint(1 << 3) + wire.varint(size) if size else b"") for size in shape)
    return wire.varint(_DTYPE << 3) + wire.varint(dtype) + wire.field(_SHAPE, dims)


@lru_cache(maxsize=512)
def _numbers_head(dtype: int, shape: tuple[int, ...], size: int) -> bytes:
    """All that stands before the raw contents."""
    return _head(dtype, shape) + _CONTENT_TAG + wire.varint(size)


def decode(data: bytes) -> tuple[DType, Any]:
    """-> the dtype and the array (bfloat16 as its bits); ValueError if the bytes are no TensorProto.

    Args:
      data: A serialized TensorProto.

    Returns:
      A pair of a `tf.DType` and a numpy array.

    >>> from headrace.core.tensor_proto import decode
    >>> decode(tf.make_tensor_proto([1, 2]).SerializeToString())
    (tf.int32, array([1, 2], dtype=int32))
    """
    usual = _decode_usual(data)
    if usual is not None:
        return usual
    dtype, content = None, None
    shape: tuple[int, ...] = ()
    values: list[Any] = []
    for number, wire_type, payload in wire.fields(data):
        if number == _DTYPE:
            dtype = dtypes.as_dtype(payload)
        elif number == _SHAPE:
            shape = _shape(payload)
        elif number == _CONTENT:
            content = payload
        elif number == _STRINGS:
            values.append(payload)
        elif number in _FIXED:
            values.extend(np.frombuffer(payload, _FIXED[number]).tolist())
        elif number in _VARINTS:
            values.extend([payload] if wire_type == wire.VARINT else wire.unpack_int64(payload).tolist())
    if dtype is None:
        raise ValueError("a TensorProto needs a dtype")
    return dtype, _array(dtype, shape, content, values)


def _decode_usual(data: bytes) -> tuple[DType, Any] | None:
    """Decodes a dtype, a shape and raw contents of numbers in the order that ``encode`` writes; None for any other bytes."""
    if (
        len(data) < 6
        or data[0] != _DTYPE << 3
        or data[1] > 0x7F
        or data[2] != _SHAPE << 3 | wire.BYTES
        or data[3] > 0x7F
    ):
        return None
    at = 4 + data[3]
    if data[at : at + 1] != _CONTENT_TAG:
        return None
    length, start = wire.read_varint(data, at + 1)
    dtype, shape, plain, size = _read_head(data[:at])
    if start + length != len(data) or length != size:
        return None
    return dtype, np.ndarray(shape, plain, data, start).copy()


@lru_cache(maxsize=512)
def _read_head(data: bytes) -> tuple[DType, tuple[int, ...], Any, int]:
    """The dtype, the shape, numpy's dtype for the numbers, and how many bytes they take: -1 for strings."""
    (_, _, number), (_, _, encoded) = wire.fields(data)
    dtype, shape = dtypes.as_dtype(number), _shape(encoded)
    if dtype == dtypes.string:
        return dtype, shape, None, -1
    plain = np.dtype(_plain_dtype(dtype))
    return dtype, shape, plain, math.prod(shape) * plain.itemsize


def _plain_dtype(dtype: DType) -> Any:
    return np.uint16 if dtype == dtypes.bfloat16 else dtype.as_numpy_dtype


@lru_cache(maxsize=512)
def _shape(data: bytes) -> tuple[int, ...]:
    sizes = []
    for number, _, payload in wire.fields(data):
        if number == 2:
            sizes.append(next((v for n, _, v in wire.fields(payload) if n == 1), 0))
    if any(size >= 1 << 63 for size in sizes):
        raise ValueError(f"Shape {[size - (size >> 63 << 64) for size in sizes]} is not fully defined")
    if math.prod(filter(None, sizes)) >= 1 << 63:
        raise ValueError(f"Shape {sizes} is too large (more than 2**63 - 1 entries)")
    return tuple(sizes)


class _Budget(threading.local):
    """Bytes that decoded tensors may still have by repeating their last value; None: each as many as the limit."""

    left: int | None = None


_budget = _Budget()


@contextmanager
def repeating_together() -> Iterator[None]:
    """The limit for repeated values holds for all together that this thread decodes meanwhile."""
    outer = _budget.left
    _budget.left = file_limits.REPEATED_BYTES if outer is None else outer
    try:
        yield
    finally:
        _budget.left = outer


def _repeat(count: int, width: int, given: int, shape: tuple[int, ...]) -> None:
    """Notes that a tensor repeats its last value; ValueError if it, or all together, would take too much memory."""
    size = max(count - given, 0) * width
    most = file_limits.REPEATED_BYTES if _budget.left is None else _budget.left
    if size > most:
        raise ValueError(
            f"a tensor of shape {list(shape)} holds {given} of its {count} values; at most {file_limits.REPEATED_BYTES} bytes of "
            "repeated values are read from a TensorProto, or from all constants of a graph. Make it with tf.fill"
        )
    if _budget.left is not None:
        _budget.left -= size


def _array(dtype: DType, shape: tuple[int, ...], content: bytes | None, values: list[Any]) -> Any:
    count = math.prod(shape)
    if dtype == dtypes.string:
        values = values if content is None else _strings(content, count)
        _repeat(count, 8, len(values), shape)
        strings = np.empty(count, dtype=object)
        if count < len(values):
            raise ValueError(f"a tensor of shape {list(shape)} has {len(values)} values")
        strings[: len(values)] = values
        strings[len(values) :] = values[-1] if values else b""
        return strings.reshape(shape)
    plain = _plain_dtype(dtype)
    if content is not None:
        return np.frombuffer(content, plain).reshape(shape).copy()
    if dtype in (dtypes.float16, dtypes.bfloat16):
        given = np.array(values, np.uint16)
        given = given if dtype == dtypes.bfloat16 else given.view(np.float16)
    else:
        given = np.array(values).astype(plain)
        given = given[:count] if dtype.is_complex else given  # whose parts are values of their own on the wire
    if len(given) == count:
        return given.reshape(shape)
    _repeat(count, given.dtype.itemsize, len(given), shape)
    if len(given) > count:
        raise ValueError(f"a tensor of shape {list(shape)} has {len(given)} values")
    filled = np.full(count, given[-1] if len(given) else 0, plain)
    filled[: len(given)] = given
    return filled.reshape(shape)


def _strings(content: bytes, count: int) -> list[bytes]:
    """Strings from raw contents: all their lengths, then all their bytes."""
    lengths, at = [], 0
    for _ in range(count):
        length, at = wire.read_varint(content, at)
        lengths.append(length)
    if at + sum(lengths) != len(content):
        raise ValueError("the contents do not hold the strings they announce")
    strings = []
    for length in lengths:
        strings.append(content[at : at + length])
        at += length
    return strings
