"""Batches of encoded Examples as they are usually laid out: each feature's values in one run, columns read at once.

Examples of one length often differ in nothing but their values: one of them is read, the others are compared with it.
Everything here answers None for what is laid out otherwise (or wrongly): then the parsing ops read example by example, which
also names mistakes.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from headrace.core.wire import read_varint, unpack_int64
from headrace.ops._string import array_of, lengths

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


def _run(data: bytes, at: int, end: int) -> int | None:
    """Where the values of a list begin that is one run up to ``end``."""
    if at + 2 > end or data[at] != _LIST:
        return None
    length, at = (data[at + 1], at + 2) if data[at + 1] < 0x80 else read_varint(data, at + 1)
    return at if at + length == end else None


def run_of(data: bytes, features: Spans, name: bytes) -> tuple[int, bytes] | None:
    """The kind and the values of one feature that are one run."""
    if name not in features:
        return None
    kind, at, end = features[name]
    start = _run(data, at, end)
    return None if start is None else (kind, data[start:end])


class Group(NamedTuple):
    """Examples laid out alike: their features, their places in the batch, and they themselves."""

    spans: Spans
    rows: Any
    items: list[bytes]


_FEW = 10  # examples that are rather read one by one


def groups(batch: Any) -> list[Group] | None:
    """All examples of an array."""
    sizes = lengths(batch.tolist())
    counts = np.bincount(sizes)
    found: list[Group] = []
    for size in counts.nonzero()[0].tolist():
        rows = np.nonzero(sizes == size)[0]
        if len(rows) > _FEW:
            rows = _alike(batch, rows, size, found)
        for row in rows.tolist():
            features = spans(batch[row])
            if features is None:
                return None
            found.append(Group(features, row, [batch[row]]))
    return found


def _alike(batch: Any, rows: Any, size: int, found: list[Group]) -> Any:
    """Adds groups of examples of one length to ``found``; gives the rows of those that are left."""
    padding = bytes(-size % 8)
    items = batch[rows]
    words = np.frombuffer(padding.join(items.tolist()) + padding, np.uint64).reshape(len(rows), -1)
    while len(rows) > _FEW:
        features = spans(items[0])
        if features is None:
            break
        other = np.bitwise_or.reduce((words ^ words[0]) & _layout(items[0], features, len(padding)), 1)
        same = other == 0
        count = np.count_nonzero(same)
        if count == len(rows):
            found.append(Group(features, rows, items.tolist()))
            return rows[:0]
        if count <= _FEW:
            break
        found.append(Group(features, rows[same], items[same].tolist()))
        same = ~same
        rows, items, words = rows[same], items[same], words[same]
    return rows


def _layout(data: bytes, features: Spans, padding: int) -> Any:
    """A mask of the bytes that are no values."""
    mask = np.full(len(data) + padding, 0xFF, np.uint8)
    for _, at, end in features.values():
        start = _run(data, at, end)
        mask[at if start is None else start : end] = 0
    return mask.view(np.uint64)


def runs(found: list[Group], count: int, name: bytes, kind: int, needed: bool) -> list[bytes] | None:
    """The values of a feature in each example: packed numbers, or one string.

    Nothing where it is missing, unless it is needed.
    """
    payloads = np.empty(count, object)
    for features, rows, items in found:
        span = features.get(name)
        if span is None:
            if needed:
                return None
            payloads[rows] = b""
            continue
        own, at, end = span
        if own != kind:
            return None
        if at == end and kind != BYTES:
            payloads[rows] = b""
            continue
        start = _run(items[0], at, end)
        if start is None:
            return None
        if len(items) == 1:
            payloads[rows] = items[0][start:end]
            continue
        values = list(map(itemgetter(slice(start, end)), items))
        if len(items) == count:
            return values
        payloads[rows] = array_of(values)
    return payloads.tolist()


def floats(payloads: list[bytes], size: int) -> Any:
    """The numbers of runs that have ``size`` each, a row for each; None if one has more or fewer."""
    if set(map(len, payloads)) != {4 * size}:
        return None
    return np.frombuffer(bytearray().join(payloads), "<f4").reshape(len(payloads), size)


def numbers(payloads: list[bytes], kind: int) -> tuple[Any, Any] | None:
    """All values of the runs one after another, and how many each run has."""
    sizes = lengths(payloads)
    if kind == FLOAT:
        if np.bitwise_or.reduce(sizes) & 3:
            return None
        return np.frombuffer(bytearray().join(payloads), "<f4"), sizes >> 2
    joined = b"".join(payloads)
    raw = np.frombuffer(joined, np.uint8)
    ends = np.add.accumulate(sizes)
    is_last = raw < 0x80
    if not is_last[ends[sizes > 0] - 1].all():  # a run that stops within a number
        return None
    if len(joined) and np.count_nonzero(is_last) == len(payloads) and sizes.all():
        counts = np.ones(len(payloads), np.int64)
    else:
        upto = np.concatenate([[0], np.add.accumulate(is_last, dtype=np.int64)])
        counts = upto[ends] - upto[ends - sizes]
    try:
        return unpack_int64(joined), counts
    except ValueError:
        return None
