"""Batches of encoded Examples as they are usually laid out: each feature's values in one run, columns read at once.

Everything here answers None for what is laid out otherwise (or wrongly): then the parsing ops read example by example, which
also names mistakes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.wire import read_varint, unpack_int64

_LIST, _VALUE = 0x0A, 0x12  # tags of field 1 and field 2 that hold bytes
BYTES, FLOAT, INT64 = 0x0A, 0x12, 0x1A  # tags of the three kinds of lists
Spans = dict[bytes, tuple[int, int, int]]  # by name: the kind, and where its encoded list begins and ends


def spans(data: bytes) -> Spans | None:
    """Where the features of an encoded Example lie."""
    try:
        return _spans(data)
    except (IndexError, ValueError):
        return None


def _spans(data: bytes) -> Spans | None:
    size, at = len(data), 2
    if data[0] != _LIST:
        return None
    length = data[1]
    if length > 0x7F:
        length, at = read_varint(data, 1)
    if at + length != size:
        return None
    found: Spans = {}
    while at < size:
        length, start = data[at + 1], at + 2
        if length > 0x7F:
            length, start = read_varint(data, at + 1)
        end, key = start + length, start + 2 + data[start + 1]
        if not data[at] == data[start] == _LIST or data[start + 1] > 0x7F or data[key] != _VALUE:
            return None
        name, length, at = data[start + 2 : key], data[key + 1], key + 2
        if length > 0x7F:
            length, at = read_varint(data, key + 1)
        if at + length != end or at + 2 > end:
            return None
        kind, length, inner = data[at], data[at + 1], at + 2
        if length > 0x7F:
            length, inner = read_varint(data, at + 1)
        if inner + length != end:
            return None
        found[name] = kind, inner, end
        at = end
    return found if at == size else None


def runs(batch: Any, found: list[Spans], name: bytes, kind: int, needed: bool) -> list[bytes] | None:
    """The packed values of a feature of numbers in each example; nothing where it is missing, unless it is needed."""
    payloads = []
    for data, features in zip(batch, found, strict=True):
        span = features.get(name)
        if span is None:
            if needed:
                return None
            payloads.append(b"")
            continue
        own, at, end = span
        if own != kind:
            return None
        if at == end:
            payloads.append(b"")
            continue
        if data[at] != _LIST or at + 1 == end:
            return None
        length, at = (data[at + 1], at + 2) if data[at + 1] < 0x80 else read_varint(data, at + 1)
        if at + length != end:
            return None
        payloads.append(data[at:end])
    return payloads


def texts(batch: Any, found: list[Spans], name: bytes) -> list[bytes] | None:
    """The string of a feature that holds one string in each example."""
    values = []
    for data, features in zip(batch, found, strict=True):
        span = features.get(name)
        if span is None:
            return None
        kind, at, end = span
        if kind != BYTES or at + 2 > end or data[at] != _LIST:
            return None
        length, at = (data[at + 1], at + 2) if data[at + 1] < 0x80 else read_varint(data, at + 1)
        if at + length != end:
            return None
        values.append(data[at:end])
    return values


def numbers(payloads: list[bytes], kind: int) -> tuple[Any, Any] | None:
    """All values of the runs one after another, and how many each run has."""
    lengths = np.fromiter(map(len, payloads), np.int64, len(payloads))
    joined = b"".join(payloads)
    if kind == FLOAT:
        if (lengths & 3).any():
            return None
        return np.frombuffer(bytearray(joined), "<f4"), lengths >> 2
    ends = np.cumsum(lengths)
    raw = np.frombuffer(joined, np.uint8)
    if (raw[ends[lengths > 0] - 1] > 0x7F).any():  # a run that stops within a number
        return None
    upto = np.concatenate([[0], np.cumsum(raw < 0x80)])
    counts = upto[ends] - upto[ends - lengths]
    try:
        return unpack_int64(joined), counts
    except ValueError:
        return None
