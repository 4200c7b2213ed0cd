"""Tensors as small headers and raw buffers, and back; payloads as bytes.  Nothing executable: no pickle.

A contiguous tensor is sent from its own memory, and one that is received lies over the buffer it came in, where that is
writable and aligned.  All that can be wrong with received data is a ``MalformedError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
import torch

ALIGNMENT: Final = 64
MAX_DIMENSIONS: Final = 254
NUMPY_DIMENSIONS: Final = 32
STRINGS: Final = "string"
NOTHING: Final = "none"
SMALL: Final = 1024  # bytes that are copied sooner than shared

_TORCH: Final = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
        torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz,
    )
}  # fmt: skip
_TORCH_NAMES: Final = {dtype: name for name, dtype in _TORCH.items()}
_STAND_INS: Final = {  # for types that numpy lacks: one of the same size that it has
    name: torch.int16 if dtype.itemsize == 2 else torch.uint8
    for name, dtype in _TORCH.items()
    if dtype is torch.bfloat16 or "float8" in name
}
_STORED: Final = {
    name: np.dtype(str(_STAND_INS.get(name, dtype)).removeprefix("torch.")) for name, dtype in _TORCH.items()
}
_NUMPY: Final = {
    np.dtype(name).str: np.dtype(name)
    for name in (
        "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
        "complex64", "complex128",
    )
}  # fmt: skip


class MalformedError(ValueError):
    """Received data that is not what this module writes."""


class TensorHeader(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a buffer holds: elements of ``dtype`` ("float32" of torch, "<f4" of numpy, "string", "none") in C order.

    ``count``: it holds so many tensors of this kind, one after the other; ``nbytes`` are those of all.
    """

    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    scalar: bool = False  # numpy's scalar, not an array without dimensions
    count: int = 1


Buffer = Any  # what the buffer protocol takes

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(dict[str, Any])


def encode_payload(payload: Any) -> bytes:
    """Plain data by name, a dict or a struct, as bytes; TypeError for what is not plain."""
    try:
        return _encoder.encode(payload if isinstance(payload, (dict, msgspec.Struct)) else dict(payload))
    except (TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as e:
        raise TypeError(f"a payload is plain data (None, bool, int, float, str, bytes, list, dict): {e}") from None


def decode_payload(data: Buffer) -> dict[str, Any]:
    """The plain data of the bytes."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as e:
        raise MalformedError(f"the payload is not a msgpack map: {e}") from None


# ---- sending


def encode_tensors(values: Sequence[Any]) -> tuple[list[TensorHeader], list[Buffer]]:
    """The headers, and as many buffers of bytes.  Buffers share memory with the tensors where they can.

    Small tensors of one kind that follow each other have one header and one buffer: sixteen scalars cost as much as one.
    """
    headers, buffers = [], []
    first, end = 0, len(values)
    while first < end:
        value = values[first]
        first += 1
        if isinstance(value, torch.Tensor):
            after = _last_alike(values, first) if first < end else first
            if after == first:
                header, buffer = _encode_torch(value)
            else:
                whole, buffer = _encode_torch(torch.stack(tuple(values[first - 1 : after])))
                header = TensorHeader(whole.dtype, whole.shape[1:], whole.nbytes, count=whole.shape[0])
                first = after
        elif isinstance(value, (np.ndarray, np.generic)):
            header, buffer = _encode_numpy(value)
        elif value is None:
            header, buffer = TensorHeader(NOTHING, (), 0), b""
        else:
            raise TypeError(
                f"a tensor to send is a torch tensor, a numpy array or None: received {type(value).__name__}"
            )
        headers.append(header)
        buffers.append(buffer)
    return headers, buffers


def _last_alike(values: Sequence[Any], first: int) -> int:
    """Where those end that begin at ``first`` and can share a buffer with the tensor before them."""
    value, end = values[first - 1], len(values)
    if value.layout is not torch.strided or value.nbytes > SMALL or value.dtype not in _TORCH_NAMES:
        return first
    dtype, shape, device = value.dtype, value.shape, value.device
    while first < end:
        other = values[first]
        if (
            type(other) is not torch.Tensor
            or other.dtype is not dtype
            or other.shape != shape
            or other.device != device
        ):
            break
        first += 1
    return first


def _encode_torch(value: torch.Tensor) -> tuple[TensorHeader, Buffer]:
    name = _TORCH_NAMES.get(value.dtype)
    if name is None or value.layout is not torch.strided:
        raise TypeError(
            f"a tensor of {value.dtype} and {value.layout} cannot be sent; accepted are dense {sorted(_TORCH)}"
        )
    try:
        array = value.numpy()
    except (RuntimeError, TypeError):  # numpy lacks the type, or the values are elsewhere, or to be conjugated
        plain = value.detach().cpu().resolve_conj().resolve_neg()
        array = plain.view(_STAND_INS[name]).numpy() if name in _STAND_INS else plain.numpy()
    header = TensorHeader(name, array.shape, array.nbytes)
    if array.nbytes <= SMALL:
        return header, array.tobytes()
    return header, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _encode_numpy(value: np.ndarray[Any, Any] | np.generic) -> tuple[TensorHeader, Buffer]:
    array = np.asarray(value)
    scalar = isinstance(value, np.generic)
    if array.dtype == object:
        data = _encode_strings(array)
        return TensorHeader(STRINGS, array.shape, len(data), scalar), data
    little = array.dtype.newbyteorder("<")
    if little.str not in _NUMPY:
        raise TypeError(
            f"an array of {array.dtype} cannot be sent; accepted are {sorted(_NUMPY)} and objects that are bytes"
        )
    array = np.ascontiguousarray(array, little) if array.ndim else array.astype(little)
    header = TensorHeader(little.str, array.shape, array.nbytes, scalar)
    return header, array.reshape(-1).view(np.uint8).data if array.nbytes else b""


def _encode_strings(array: np.ndarray[Any, Any]) -> bytes:
    """The lengths of all elements, then their bytes."""
    elements = array.ravel().tolist()
    for element in elements:
        if type(element) is not bytes:
            raise TypeError(f"an array of objects holds bytes to be sent: received {type(element).__name__}")
    lengths = np.fromiter(map(len, elements), "<u8", len(elements))
    return b"".join((lengths.tobytes(), *elements))


# ---- receiving


def decode_tensors(headers: Sequence[TensorHeader], buffers: Sequence[Buffer]) -> list[Any]:
    """The tensors.  They lie over the buffers that are writable and aligned; of the others they are copies."""
    if len(headers) != len(buffers):
        raise MalformedError(f"{len(headers)} headers of tensors came with {len(buffers)} buffers")
    values: list[Any] = []
    for header, buffer in zip(headers, buffers, strict=True):
        if header.count == 1:
            values.append(_decode(header, header.shape, buffer))
        elif header.count < 1 or header.dtype not in _STORED:
            raise MalformedError(f"{header.count} tensors of {header.dtype[:40]!r} came together")
        else:
            values += _decode(header, (header.count, *header.shape), buffer).unbind()
    return values


def _decode(header: TensorHeader, shape: tuple[int, ...], buffer: Buffer) -> Any:
    view = memoryview(buffer).cast("B")
    if view.nbytes != header.nbytes:
        raise MalformedError(f"a tensor of {header.nbytes} bytes came with {view.nbytes}")
    count = _count(shape) if shape else 1
    if header.dtype == STRINGS:
        return _decode_strings(header, view, count)
    if header.dtype == NOTHING:
        if view.nbytes or shape:
            raise MalformedError(f"nothing came with a shape {shape} and {view.nbytes} bytes")
        return None
    element = _STORED.get(header.dtype) or _NUMPY.get(header.dtype)
    if element is None:
        raise MalformedError(f"there is no element type {header.dtype[:40]!r}")
    if count * element.itemsize != view.nbytes:
        raise MalformedError(f"a tensor of {header.dtype} and shape {shape} came with {view.nbytes} bytes")
    deep = len(shape) > NUMPY_DIMENSIONS and header.dtype in _STORED
    array: np.ndarray[Any, Any] = np.ndarray((count,) if deep else shape, element, view)
    if view.readonly or not array.flags.aligned:
        array = array.copy()
    if header.dtype in _STORED:
        tensor = torch.from_numpy(array)
        if header.dtype in _STAND_INS:
            tensor = tensor.view(_TORCH[header.dtype])
        return tensor.reshape(shape) if deep else tensor
    return array[()] if header.scalar and not shape else array


def _count(shape: tuple[int, ...]) -> int:
    if len(shape) > MAX_DIMENSIONS:
        raise MalformedError(f"no tensor has the shape {shape[:8]} of {len(shape)} dimensions")
    count = bound = 1
    for n in shape:
        if n < 0:
            raise MalformedError(f"no tensor has the shape {shape}")
        count *= n
        bound *= n or 1  # an empty tensor's other dimensions too: strides are products
        if bound >= 1 << 48:
            raise MalformedError(f"no tensor has the shape {shape}")
    return count


def _decode_strings(header: TensorHeader, view: memoryview, count: int) -> Any:
    if count * 8 > view.nbytes:
        raise MalformedError(f"{count} strings came in {view.nbytes} bytes")
    lengths = np.frombuffer(view[: count * 8], "<u8").tolist()
    if sum(lengths) + count * 8 != view.nbytes:
        raise MalformedError(f"strings of {sum(lengths)} bytes came in {view.nbytes - count * 8}")
    array = np.empty(count, object)
    start = count * 8
    for i, length in enumerate(lengths):
        array[i] = view[start : start + length].tobytes()
        start += length
    if len(header.shape) > 64:
        raise MalformedError(f"an array of strings has at most 64 dimensions: received {len(header.shape)}")
    return array.reshape(header.shape)
