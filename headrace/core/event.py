"""Summaries and events as bytes: what summary ops make and event files hold, in the wire format of TensorFlow's messages.

Writes and reads just the fields that are needed while a program trains, without protobuf.  Users' messages (``tf.Summary``,
``tf.Event``) are TensorBoard's protocol buffers (`proto`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from headrace.core import wire

# Fields of Summary.Value
_VALUE: Final = 1
_TAG, _SIMPLE_VALUE, _IMAGE, _HISTOGRAM, _AUDIO, _NODE_NAME, _TENSOR, _METADATA = 1, 2, 4, 5, 6, 7, 8, 9
# Fields of Event
_WALL_TIME, _STEP, FILE_VERSION, GRAPH_DEF, SUMMARY, LOG_MESSAGE, SESSION_LOG = 1, 2, 3, 4, 5, 6, 7
RUN_METADATA, META_GRAPH = 8, 9

_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")
_VALUE_START: Final = _VALUE << 3 | wire.BYTES
_TAG_START: Final = _TAG << 3 | wire.BYTES
_NUMBER_START: Final = _SIMPLE_VALUE << 3 | wire.FIXED32
_METADATA_START: Final = _METADATA << 3 | wire.BYTES


# ---- parts of messages: a field that has its default is left out


def _text(number: int, payload: bytes) -> bytes:
    return wire.field(number, payload) if payload else b""


def _integer(number: int, value: int) -> bytes:
    return wire.varint(number << 3) + wire.varint(value & 0xFFFFFFFFFFFFFFFF) if value else b""


def _float(number: int, value: float) -> bytes:
    data = float_bytes(value)
    return wire.varint(number << 3 | wire.FIXED32) + data if any(data) else b""


def _double(number: int, value: float) -> bytes:
    data = _DOUBLE.pack(value)
    return wire.varint(number << 3 | wire.FIXED64) + data if any(data) else b""


def float_bytes(value: float) -> bytes:
    """The number in 4 bytes; one too large for them becomes an infinity."""
    try:
        return _FLOAT.pack(value)
    except OverflowError:
        return _FLOAT.pack(math.copysign(math.inf, value))


# ---- Summary


@lru_cache(maxsize=4096)
def _scalar_head(tag: bytes) -> bytes:
    """All that stands before the four bytes of the number."""
    head = _text(_TAG, tag) + bytes([_NUMBER_START])
    return wire.varint(_VALUE << 3 | wire.BYTES) + wire.varint(len(head) + _FLOAT.size) + head


def scalar(tag: bytes, value: float) -> bytes:
    """A summary of one number."""
    return _scalar_head(tag) + float_bytes(value)


def histogram(tag: bytes, statistics: Iterable[float], limits: bytes, counts: bytes) -> bytes:
    """A summary of one histogram: (min, max, num, sum, sum_squares), and little-endian doubles."""
    numbers = b"".join(_double(number, value) for number, value in enumerate(statistics, 1))
    return _value(tag, _HISTOGRAM, numbers + _text(6, limits) + _text(7, counts))


def image(tag: bytes, height: int, width: int, channels: int, encoded: bytes) -> bytes:
    """A summary of one picture, ``encoded`` as PNG."""
    parts = _integer(1, height) + _integer(2, width) + _integer(3, channels) + _text(4, encoded)
    return _value(tag, _IMAGE, parts)


def audio(tag: bytes, sample_rate: float, channels: int, frames: int, encoded: bytes) -> bytes:
    """A summary of one sound, ``encoded`` as WAV."""
    parts = (
        _float(1, sample_rate),
        _integer(2, channels),
        _integer(3, frames),
        _text(4, encoded),
        _text(5, b"audio/wav"),
    )
    return _value(tag, _AUDIO, b"".join(parts))


def tensor(tag: bytes, encoded: bytes, metadata: bytes | None) -> bytes:
    """A summary of one tensor: an encoded TensorProto and perhaps an encoded SummaryMetadata."""
    return _value(tag, _TENSOR, encoded, b"" if metadata is None else wire.field(_METADATA, metadata))


def named_tensor(node_name: bytes, encoded: bytes) -> bytes:
    """A summary of one tensor that has the name of its node in place of a tag."""
    return wire.field(_VALUE, _text(_NODE_NAME, node_name) + wire.field(_TENSOR, encoded))


def _value(tag: bytes, number: int, payload: bytes, rest: bytes = b"") -> bytes:
    return wire.field(_VALUE, _text(_TAG, tag) + wire.field(number, payload) + rest)


def values(summary: bytes) -> list[tuple[bytes, bytes]]:
    """(tag, encoded value) of each value of a summary.  ValueError if it is none."""
    if len(summary) > 2 and summary[0] == _VALUE_START and summary[1] == len(summary) - 2 < 0x80:  # one short value
        value = summary[2:]
        return [(_tag(value), value)]
    parts = wire.fields(summary)
    return [(_tag(v), v) for number, wire_type, v in parts if number == _VALUE and wire_type == wire.BYTES]


def _tag(value: bytes) -> bytes:
    if len(value) > 1 and value[0] == _TAG_START and (length := value[1]) < 0x80:
        end = 2 + length
        if len(value) == end + 1 + _FLOAT.size and value[end] == _NUMBER_START:  # the usual form of a number
            return value[2:end]
    tag = b""
    for number, wire_type, payload in wire.fields(value):
        if number == _TAG and wire_type == wire.BYTES:
            tag = payload
    return tag


def without_metadata(value: bytes) -> bytes:
    """An encoded value without its metadata."""
    fields = []
    for number, wire_type, payload in wire.fields(value):
        if number == _METADATA:
            continue
        fields.append(wire.varint(number << 3 | wire_type))
        if wire_type == wire.BYTES:
            fields.append(wire.varint(len(payload)))
        fields.append(wire.varint(payload) if wire_type == wire.VARINT else payload)
    return b"".join(fields)


def with_new_metadata(summary: bytes, seen: set[bytes]) -> bytes:
    """The summary without the metadata of tags that are in ``seen``; its tags are in there afterwards."""
    fields = []
    changed = False
    for tag, value in values(summary):
        if tag in seen and _METADATA_START in value:
            value = without_metadata(value)
            changed = True
        seen.add(tag)
        fields.append(value)
    return b"".join(wire.field(_VALUE, value) for value in fields) if changed else summary


# ---- Event


def event(wall_time: float, step: int | None, number: int, payload: bytes) -> bytes:
    """An event that holds one field of bytes: ``GRAPH_DEF``, ``SUMMARY`` ..."""
    return _double(_WALL_TIME, wall_time) + _integer(_STEP, step or 0) + wire.field(number, payload)


def tagged_run_metadata(tag: bytes, metadata: bytes) -> bytes:
    """The message TaggedRunMetadata."""
    return _text(1, tag) + _text(2, metadata)
