"""How calls of ops and their results are written down: for the pipe to TensorFlow's process and for the kept results.

A message is JSON, with every array replaced by its dtype, shape and place in the bytes that follow.  Strings are byte
strings one after another, behind their lengths.  Needs numpy only, since both sides import it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import IO, Any

import numpy as np

_LENGTHS = struct.Struct("<II")


def encode(message: Any) -> bytes:
    """The message as bytes.  It may hold dicts, lists, numbers, text, None, bytes and arrays."""
    parts: list[bytes] = []

    def plain(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: plain(value) for key, value in item.items()}
        if isinstance(item, (list, tuple)):
            return [plain(value) for value in item]
        if isinstance(item, bytes):
            return {"bytes": item.decode("latin-1")}
        if isinstance(item, (np.ndarray, np.generic)):
            kind, data = _array_bytes(np.asarray(item))
            parts.append(data)
            return {"array": [kind, list(np.shape(item)), len(data)]}
        return item

    header = json.dumps(plain(message), separators=(",", ":")).encode()
    payload = b"".join(parts)
    return _LENGTHS.pack(len(header), len(payload)) + header + payload


def _array_bytes(array: np.ndarray) -> tuple[str, bytes]:
    if array.dtype.kind in "OSU":
        items = [v if isinstance(v, bytes) else str(v).encode() for v in array.reshape(-1).tolist()]
        return "string", np.array([len(v) for v in items], "<u4").tobytes() + b"".join(items)
    return array.dtype.str, array.tobytes()


def decode(data: bytes) -> Any:
    """What `encode` was given (arrays of strings as object arrays of bytes)."""
    length, _ = _LENGTHS.unpack_from(data)
    place = _LENGTHS.size + length

    def rich(item: Any) -> Any:
        nonlocal place
        if isinstance(item, list):
            return [rich(value) for value in item]
        if not isinstance(item, dict):
            return item
        if set(item) == {"bytes"}:
            return item["bytes"].encode("latin-1")
        if set(item) == {"array"}:
            kind, shape, size = item["array"]
            place += size
            return _array(kind, shape, data[place - size : place])
        return {key: rich(value) for key, value in item.items()}

    return rich(json.loads(data[_LENGTHS.size : place]))


def _array(kind: str, shape: list[int], data: bytes) -> np.ndarray:
    if kind != "string":
        return np.frombuffer(data, np.dtype(kind)).reshape(shape).copy()
    count = int(np.prod(shape, dtype=np.int64))
    lengths = np.frombuffer(data, "<u4", count)
    found = np.empty(count, object)
    place = 4 * count
    for i, length in enumerate(lengths.tolist()):
        found[i] = data[place : place + length]
        place += length
    return found.reshape(shape)


def send(stream: IO[bytes], message: Any) -> None:
    stream.write(encode(message))
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message; EOFError at the end of the stream."""
    head = _exactly(stream, _LENGTHS.size)
    return decode(head + _exactly(stream, sum(_LENGTHS.unpack(head))))


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if data is None or len(data) < count:
        raise EOFError("the other side has gone")
    return data


def digest(message: Any) -> str:
    """Sixteen letters that differ when the messages do."""
    return hashlib.blake2b(encode(message), digest_size=8).hexdigest()


def weights(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """What the output is multiplied with before it is summed up and differentiated: all different, none zero."""
    count = int(np.prod(shape, dtype=np.int64))
    steps = (np.arange(count) * 37 % 101) / 101 - 0.37
    if dtype.startswith("complex"):
        return (steps + 1j * (steps[::-1] * 0.7 + 0.2)).reshape(shape).astype(dtype)
    return steps.reshape(shape).astype(np.float32 if dtype == "bfloat16" else dtype)
