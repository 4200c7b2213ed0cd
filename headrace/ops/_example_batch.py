"""Batches of encoded Examples as they are usually laid out: each feature's values in one run, columns read at once.

Examples of one length often differ in nothing but their values.  How such examples are laid out is remembered: others of that
length are compared with it instead of being read; in a large batch, all of them at once.
Everything here answers None for what is laid out otherwise (or wrongly): then the parsing ops read example by example, which
also names mistakes.
"""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from headrace.core.wire import read_varint, unpack_int64
from headrace.ops._sparse import runs
from headrace.ops._string import array_of, lengths

_LIST, _VALUE = 0x0A, 0x12  # tags of field 1 and field 2 that hold bytes
BYTES, FLOAT, INT64 = 0x0A, 0x12, 0x1A  # tags of the three kinds of lists
Spans = dict[bytes, tuple[int, int, int]]  # by name: the kind, and where its encoded list begins and ends

# ---- how an example is laid out


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


class Layout:
    """What examples share that are laid out alike: every byte that is no value, and where the values lie."""

    __slots__ = ("cut", "parts", "runs", "texts")

    def __init__(self, data: bytes, features: Spans) -> None:
        self.parts: list[slice] = []
        # By name: the kind, and where the values begin (None unless they are one run) and end.
        self.runs: dict[bytes, tuple[int, int | None, int]] = {}
        at = 0
        for name, (kind, begin, end) in sorted(features.items(), key=lambda item: item[1][1]):
            start = begin if begin == end and kind != BYTES else _run(data, begin, end)
            upto = begin if start is None else start
            self.parts.append(slice(at, upto))
            self.runs[name] = kind, start, end
            at = end
        if at < len(data):
            self.parts.append(slice(at, len(data)))
        self.cut = itemgetter(*self.parts)
        self.texts = self.cut(data)

    def mask(self, size: int, padding: int) -> Any:
        """The bytes that are no values, eight at a time."""
        made = np.zeros(size + padding, np.uint8)
        for part in self.parts:
            made[part] = 0xFF
        return made.view(np.uint64)


_known: dict[int, tuple[Layout, ...]] = {}  # by length
_LENGTHS, _EACH = 1024, 8  # how many are remembered


def layout_of(data: bytes) -> Layout | None:
    """How one example is laid out."""
    known = _known.get(len(data), ())
    for layout in known:
        if layout.cut(data) == layout.texts:
            return layout
    try:
        features = _spans(data)
        made = None if features is None else Layout(data, features)
    except (IndexError, ValueError):
        return None
    if made is not None:
        if len(_known) >= _LENGTHS:
            _known.clear()
        _known[len(data)] = (made, *known[: _EACH - 1])
    return made


# ---- examples laid out alike


class Group(NamedTuple):
    """Examples laid out alike: how, their places in the batch, and their bytes, a row for each."""

    layout: Layout
    rows: Any
    bytes: Any


_FEW = 24  # examples that are rather read one by one
_SMALL = 80  # a batch that is read so as a whole


def groups(items: list[bytes]) -> tuple[list[Group], list[int]]:
    """Examples laid out alike, and the places of the others."""
    found: list[Group] = []
    left: list[int] = []
    if len(items) <= _SMALL:
        return found, list(range(len(items)))
    sizes = lengths(items)
    counts = np.bincount(sizes)
    for size in counts.nonzero()[0].tolist():
        rows = (sizes == size).nonzero()[0]
        if len(rows) > _FEW:
            rows = _alike(items, rows, size, found)
        left += rows.tolist()
    return found, left


def _alike(items: list[bytes], rows: Any, size: int, found: list[Group]) -> Any:
    """Adds groups of examples of one length to ``found``; gives the rows of those that are left."""
    padding = bytes(-size % 8)
    mine = items if len(rows) == len(items) else itemgetter(*rows.tolist())(items)
    words = np.frombuffer(padding.join(mine) + padding, np.uint64).reshape(len(rows), -1)
    while len(rows) > _FEW:
        layout = layout_of(items[rows[0]])
        if layout is None:
            break
        differing = np.bitwise_or.reduce((words ^ words[0]) & layout.mask(size, len(padding)), 1)
        same = differing == 0
        count = np.count_nonzero(same)
        if count == len(rows):
            found.append(Group(layout, rows, words.view(np.uint8)))
            return rows[:0]
        if count <= _FEW:
            break
        found.append(Group(layout, rows[same], words[same].view(np.uint8)))
        same = ~same
        rows, words = rows[same], words[same]
    return rows


# ---- columns


class Batch:
    """Examples whose features can be read by columns; see ``batch_of``."""

    def __init__(self, count: int, groups: list[Group], rest: list[tuple[int, bytes, Layout]]) -> None:
        self._count, self._groups, self._rest = count, groups, rest

    def _few(self, name: bytes, kind: int, needed: bool) -> list[bytes] | None:
        """The values in the examples that are in no group: packed numbers, or one string.

        Nothing where the feature is missing, unless it is needed.
        """
        found = []
        for _, data, layout in self._rest:
            run = layout.runs.get(name)
            if run is None:
                if needed:
                    return None
                found.append(b"")
                continue
            own, start, end = run
            if own != kind or start is None:
                return None
            found.append(data[start:end])
        return found

    def _many(self, name: bytes, kind: int, needed: bool) -> list[tuple[Any, Any]] | None:
        """The rows of each group, and the bytes of their values, a row for each."""
        found = []
        for layout, rows, data in self._groups:
            run = layout.runs.get(name)
            if run is None:
                if needed:
                    return None
                found.append((rows, data[:, :0]))
                continue
            own, start, end = run
            if own != kind or start is None:
                return None
            found.append((rows, data[:, start:end]))
        return found

    def _rows(self) -> list[int]:
        return [row for row, _, _ in self._rest]

    def floats(self, name: bytes, size: int) -> Any:
        """The numbers of a feature that has ``size`` in every example, a row for each."""
        few, many = self._few(name, FLOAT, True), self._many(name, FLOAT, True)
        if few is None or many is None or any(data.shape[1] != 4 * size for _, data in many):
            return None
        if list(map(len, few)).count(4 * size) != len(few):
            return None
        if not many:
            return np.ndarray((self._count, size), "<f4", bytearray().join(few))
        found = np.empty((self._count, size), np.float32)
        for rows, data in many:
            found[rows] = data.view("<f4")
        if few:
            found[self._rows()] = np.ndarray((len(few), size), "<f4", b"".join(few))
        return found

    def integers(self, name: bytes) -> Any:
        """The number of a feature that has one in every example."""
        few, many = self._few(name, INT64, True), self._many(name, INT64, True)
        if few is None or many is None:
            return None
        found: Any = list(map(_single, few))
        if None in found:
            return None
        single = np.fromiter(found, np.int64, len(found))
        if not many:
            return single
        found = np.empty(self._count, np.int64)
        for rows, data in many:
            values = _singles(data)
            if values is None:
                return None
            found[rows] = values
        if few:
            found[self._rows()] = single
        return found

    def texts(self, name: bytes) -> Any:
        """The string of a feature that has one in every example."""
        few, many = self._few(name, BYTES, True), self._many(name, BYTES, True)
        if few is None or many is None:
            return None
        if not many:
            return array_of(few)
        found = np.empty(self._count, object)
        for rows, data in many:
            found[rows] = _cut(data)
        if few:
            found[self._rows()] = array_of(few)
        return found

    def ragged(self, name: bytes, kind: int) -> tuple[Any, Any] | None:
        """All numbers of a feature one after another, and how many each example has."""
        few, many = self._few(name, kind, False), self._many(name, kind, False)
        if few is None or many is None:
            return None
        if not many:
            return numbers(few, kind)
        sizes = {data.shape[1] for _, data in many} | set(map(len, few))
        if kind == FLOAT and len(sizes) == 1 and not (size := sizes.pop()) & 3:
            every = self.floats(name, size >> 2)
            return None if every is None else (every.reshape(-1), np.full(self._count, size >> 2))
        payloads = np.empty(self._count, object)
        for rows, data in many:
            payloads[rows] = _cut(data)
        if few:
            payloads[self._rows()] = array_of(few)
        return numbers(payloads.tolist(), kind)

    def sparse(self, name: bytes, kind: int) -> tuple[Any, Any, Any] | None:
        """Indices, values and shape of a feature that has any number of values."""
        found = None if kind == BYTES else self.ragged(name, kind)
        if found is None:
            return None
        indices, shape = runs(found[1], len(found[0]))
        return indices, found[0], shape

    def dense(self, name: bytes, kind: int, shape: tuple[int, ...]) -> Any:
        """A feature that has as many values in every example as the shape holds."""
        size = math.prod(shape)
        if kind == FLOAT:
            values = self.floats(name, size)
        elif kind == BYTES:
            values = self.texts(name) if size == 1 else None
        elif size == 1:
            values = self.integers(name)
        else:
            found = self.ragged(name, INT64)
            values = None if found is None or (found[1] != size).any() else found[0]
        return None if values is None else values.reshape(self._count, *shape)


def batch_of(items: list[bytes]) -> Batch | None:
    """None if one of the examples is not laid out as usual."""
    found, left = groups(items)
    rest = []
    for row in left:
        layout = layout_of(items[row])
        if layout is None:
            return None
        rest.append((row, items[row], layout))
    return Batch(len(items), found, rest)


# ---- values


def _cut(data: Any) -> Any:
    """The strings of a group."""
    count, size = data.shape
    if size and data[:, -1].all():  # numpy's own strings end before their last zeros
        return np.ascontiguousarray(data).view(f"S{size}")[:, 0].astype(object)
    text = data.tobytes()
    return array_of([text[at : at + size] for at in range(0, count * size, size)] if size else [b""] * count)


_SURE = 9  # bytes of a varint that cannot hold more than 63 bits


def _single(text: bytes) -> int | None:
    """The number of a run of one."""
    size = len(text)
    if size == 1:
        return text[0] if text[0] < 0x80 else None
    if not 0 < size <= _SURE or text[-1] > 0x7F:
        return None
    if size == 2 and text[0] > 0x7F:
        return text[0] & 0x7F | text[1] << 7
    found, at = read_varint(text, 0)
    return found if at == size else None


def _singles(data: Any) -> Any:
    """The numbers of a group's runs of one."""
    size = data.shape[1]
    if not 0 < size <= _SURE:
        return None
    last = data[:, -1]
    if np.maximum.reduce(last) > 0x7F or (size > 1 and np.minimum.reduce(data[:, :-1], None) < 0x80):
        return None
    found = last.astype(np.int64)
    for k in range(size - 2, -1, -1):
        found <<= 7
        found |= data[:, k] & 0x7F
    return found


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
