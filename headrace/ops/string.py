"""Strings: joining, splitting, parts, patterns, case, length, hash buckets.  Everything here runs on the host."""

from __future__ import annotations

import functools
import math
import re
from itertools import chain

import numpy as np
import torch

from headrace.core.dtypes import ANY, INDEX
from headrace.core.errors import OutOfRangeError
from headrace.core.registry import op
from headrace.core.shape import TensorShape, broadcast_shape
from headrace.ops.shared.sparse_entry import runs
from headrace.ops.shared.string_array import (
    array_of,
    decode,
    each,
    encode,
    fingerprint64,
    listed,
    murmur64,
    on_host,
    siphash,
)


def _same(name, signature, convert):
    """An op that gives a string for every string."""
    definition = op(f"{name}({signature}) -> (output: string)", host=True)
    definition.shape(lambda input, *attrs: input)
    definition.kernel(each(convert))
    return definition


# ---- case, edges, length

_same("StringStrip", "input: string", bytes.strip)


def _cased(name, plain, text):
    """Changes ASCII letters only, unless an encoding is named: then the strings are UTF-8."""
    definition = op(f'{name}(input: string; encoding: string = "") -> (output: string)', host=True)
    definition.shape(lambda input, encoding: input)

    @definition.kernel
    def _(input, encoding):
        items = listed(input)
        changed = [encode(text(decode(v))) for v in items] if encoding else list(map(plain, items))
        return array_of(changed, input.shape)


_cased("StringLower", bytes.lower, str.lower)
_cased("StringUpper", bytes.upper, str.upper)

_UNITS = ("BYTE", "UTF8_CHAR")


def _check_unit(unit):
    if unit not in _UNITS:
        raise ValueError(
            f"Value for attr 'unit' of \"{unit}\" is not in the list of allowed values: {', '.join(_UNITS)}"
        )


length = op('StringLength(input: string; unit: string = "BYTE") -> (output: int32)', host=True)


@length.shape
def _(input, unit):
    _check_unit(unit)
    return input


def _characters(value):
    """The number of UTF-8 characters: bytes that do not continue a character."""
    return sum(byte & 0xC0 != 0x80 for byte in value)


def _lengths(input, unit):
    items = listed(input)
    counts = map(len if unit == "BYTE" else _characters, items)
    return np.fromiter(counts, np.int32, len(items)).reshape(input.shape)


on_host(length, _lengths)


# ---- joining

join = op('StringJoin(inputs: N*string; separator: string = "") -> (output: string)', host=True)


@join.shape
def _(inputs, separator):
    merged = TensorShape(())
    for shape in inputs:
        if shape.ndims:  # scalars go with everything
            merged = merged.merge_with(shape) if merged.ndims else shape
    return None if merged.ndims == 0 and any(s.ndims is None for s in inputs) else merged


@join.kernel
def _(inputs, separator):
    shape = next((i.shape for i in inputs if i.ndim), ())
    if any(i.ndim and i.shape != shape for i in inputs):
        raise ValueError(f"Input shapes do not match: {[list(i.shape) for i in inputs]}")
    spread = [listed(i if i.shape == shape else np.broadcast_to(i, shape)) for i in inputs]
    glue = separator.encode()
    return array_of(list(map(glue.join, zip(*spread, strict=True))), shape)


reduce_join = op(
    'ReduceJoin(inputs: string, reduction_indices: host int32[1-]; keep_dims: bool = False, separator: string = "")'
    " -> (output: string)",
    host=True,
)  # fmt: skip


def _axes(rank, axes):
    listed = axes if isinstance(axes, list) else [axes]
    for axis in listed:
        if not -rank <= axis < rank:
            raise OutOfRangeError(None, None, f"Invalid reduction dimension {axis} for input with {rank} dimension(s)")
    positive = [a % rank for a in listed]
    if len(set(positive)) != len(positive):
        raise ValueError(f"Duplicate reduction dimension in {listed}")
    return positive


@reduce_join.shape
def _(inputs, reduction_indices, keep_dims, separator):
    dims = inputs.tuple
    if dims is None or reduction_indices is None:
        return None
    if isinstance(reduction_indices, list) and None in reduction_indices:
        return [None] * len(dims) if keep_dims else None
    try:
        axes = _axes(len(dims), reduction_indices)
    except OutOfRangeError as error:  # its class when it runs
        raise ValueError(error.message) from None
    return [1 if a in axes else d for a, d in enumerate(dims) if keep_dims or a not in axes]


@reduce_join.kernel
def _(inputs, reduction_indices, keep_dims, separator):
    """Joins along one axis after another, in the order given."""
    axes = _axes(inputs.ndim, reduction_indices)
    glue, result = separator.encode(), inputs
    for axis in axes:
        rows = np.moveaxis(result, axis, -1)
        joined = array_of(
            [glue.join(row) for row in rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])], rows.shape[:-1]
        )
        result = np.expand_dims(joined, axis)
    sizes = [s for a, s in enumerate(result.shape) if keep_dims or a not in axes]
    return result.reshape(sizes).copy()


segment_join = op(
    "UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: host Tnumsegments[0];"
    ' separator: string = "") -> (output: string)',
    Tindices=INDEX, Tnumsegments=INDEX, host=True, lenient=True,
)  # fmt: skip


@segment_join.shape
def _(inputs, segment_ids, num_segments, separator):
    dims, ids = inputs.tuple, segment_ids.ndims
    if num_segments is not None and num_segments < 0:
        raise ValueError(f"Number of segments cannot be negative, got {num_segments}")
    if dims is None or ids is None:
        return None
    if ids > len(dims) or not TensorShape(dims[:ids]).is_compatible_with(segment_ids):
        raise ValueError(f"The shape of the inputs, {inputs}, must start with that of segment_ids, {segment_ids}")
    return (num_segments, *dims[ids:])


@segment_join.kernel
def _(inputs, segment_ids, num_segments, separator):
    ids = segment_ids.reshape(-1).tolist()
    for i in ids:
        if not 0 <= i < num_segments:
            raise ValueError(f"segment_ids must be in [0, {num_segments}), got {i}")
    rest = inputs.shape[segment_ids.ndim :]
    rows = inputs.reshape(len(ids), -1)
    columns = rows.shape[1] if len(ids) else int(np.prod(rest))
    parts = [[[] for _ in range(columns)] for _ in range(num_segments)]
    for i, row in zip(ids, rows, strict=True):
        for column, value in enumerate(row):
            parts[i][column].append(value)
    glue = separator.encode()
    return array_of([glue.join(p) for row in parts for p in row], (num_segments, *rest))


# ---- splitting


def _split_op(signature, split):
    """``split`` gives the parts of all strings in a list, and how many each string has."""
    definition = op(f"{signature} -> (indices: int64, values: string, shape: int64)", host=True, dynamic_shape=True)

    @definition.shape
    def _(input, separator, *attrs):
        input.with_rank(1)
        separator.with_rank(0)
        return [(None, 2), (None,), (2,)]

    def parts(input, separator, *attrs):
        if input.ndim != 1 or separator.ndim:
            raise ValueError(
                f"a vector of strings and a scalar separator are needed, got {list(input.shape)}, {list(separator.shape)}"
            )
        values, counts = split(input.tolist(), separator[()], *attrs)
        indices, shape = runs(counts, len(values))
        return indices, array_of(values), shape

    on_host(definition, parts)


def _flat(parts):
    return list(chain.from_iterable(parts)), np.fromiter(map(len, parts), np.int64, len(parts))


def _split_at_any(items, characters, skip_empty):
    """Splits at each of the separator's characters; without any, after every byte.  An empty string has no parts."""
    if not characters:
        return _flat([[v[i : i + 1] for i in range(len(v))] for v in items])
    if len(characters) == 1:
        parts = [v.split(characters) if v else [] for v in items]
    else:
        split = re.compile(b"[" + re.escape(characters) + b"]").split
        parts = [split(v) if v else [] for v in items]
    return _flat([list(filter(None, p)) if b"" in p else p for p in parts] if skip_empty else parts)


_split_op("StringSplit(input: string[1], delimiter: string[0]; skip_empty: bool = True)", _split_at_any)


def _split_words(items, sep, maxsplit):
    """Splits like Python, but at the limit the rest is a part even if it is empty."""
    if not maxsplit:
        return _flat([[v] for v in items])
    parts = [v.split(sep or None, maxsplit) for v in items]
    if not sep:
        parts = [[*p, b""] if len(p) == maxsplit else p for p in parts]
    return _flat(parts)


_split_op("StringSplitV2(input: string[1], sep: string[0]; maxsplit: int = -1)", _split_words)

# ---- parts

substr = op('Substr(input: string, pos: T, len: T; unit: string = "BYTE") -> (output: string)', T=INDEX, host=True)


@substr.shape
def _(input, pos, len, unit):
    _check_unit(unit)
    pos.assert_is_compatible_with(len)
    return broadcast_shape(input, pos.merge_with(len))


def _part(value, pos, size, unit, where):
    if unit == "BYTE":
        text, total = value, len(value)
    else:
        text = decode(value)
        total = len(text)
    start = pos + total if pos < 0 else pos
    if not 0 <= start <= total:
        raise ValueError(f"pos {pos} out of range for string b'{decode(value)}' at index {where}")
    if size < 0 and unit == "BYTE":  # of bytes, all that are left
        return text[start:]
    part = text[start : start + max(size, 0)]
    return part if unit == "BYTE" else encode(part)


@substr.kernel
def _(input, pos, len, unit):
    if pos.shape != len.shape:
        raise ValueError(f"pos and len should have the same shape, got: {list(pos.shape)} vs. {list(len.shape)}")
    pos, size = pos.numpy(), len.numpy()
    strings, pos, size = np.broadcast_arrays(input, pos, size)
    triples = zip(strings.reshape(-1), pos.reshape(-1).tolist(), size.reshape(-1).tolist(), strict=True)
    return array_of([_part(*t, unit, i) for i, t in enumerate(triples)], strings.shape)


# ---- patterns


@functools.lru_cache(maxsize=256)
def _pattern(pattern: bytes) -> re.Pattern[str]:
    try:
        # RE2's classes are ASCII, its characters UTF-8.
        return re.compile(decode(pattern), re.ASCII)
    except re.error as e:
        raise ValueError(f"Invalid pattern: {decode(pattern)}, error: {e}") from None


def _expand(rewrite, match):
    r"""``rewrite`` with \0 to \9 replaced by what the groups matched."""

    def group(escape):
        mark = escape.group(1)
        if not mark.isdigit():
            return mark
        if int(mark) > match.re.groups:
            raise ValueError(f"Invalid rewrite: {rewrite}, the pattern has only {match.re.groups} groups")
        return match.group(int(mark)) or ""

    return re.sub(r"\\([0-9\\])", group, rewrite)


def _replace(value, pattern, rewrite, replace_global):
    text, pieces, end = decode(value), [], 0
    for match in _pattern(pattern).finditer(text):
        if match.end() == match.start() == end and end:  # RE2 accepts no empty match right after another match
            continue
        pieces += [text[end : match.start()], _expand(rewrite, match)]
        end = match.end()
        if not replace_global:
            break
    return encode("".join([*pieces, text[end:]]))


def _replace_all(input, pattern, rewrite, replace_global):
    text = decode(rewrite)
    return array_of([_replace(v, pattern, text, replace_global) for v in listed(input)], input.shape)


def _matches(input, pattern):
    match, strings = _pattern(pattern).fullmatch, listed(input)
    matched = (match(decode(v)) is not None for v in strings)
    return np.fromiter(matched, np.bool_, len(strings)).reshape(input.shape)


replace = op(
    "RegexReplace(input: string, pattern: string[0], rewrite: string[0]; replace_global: bool = True) -> (output: string)",
    host=True,
)  # fmt: skip


@replace.shape
def _(input, pattern, rewrite, replace_global):
    pattern.with_rank(0)
    rewrite.with_rank(0)
    return input


@replace.kernel
def _(input, pattern, rewrite, replace_global):
    if pattern.ndim or rewrite.ndim:
        raise ValueError(
            f"Pattern and rewrite must be scalars, got shapes {list(pattern.shape)}, {list(rewrite.shape)}"
        )
    return _replace_all(input, pattern[()], rewrite[()], replace_global)


static_replace = op(
    "StaticRegexReplace(input: string; pattern: string, rewrite: string, replace_global: bool = True)"
    " -> (output: string)",
    host=True,
)  # fmt: skip
static_replace.shape(lambda input, pattern, rewrite, replace_global: input)
static_replace.kernel(
    lambda input, pattern, rewrite, replace_global: _replace_all(
        input, encode(pattern), encode(rewrite), replace_global
    )
)

full_match = op("RegexFullMatch(input: string, pattern: string[0]) -> (output: bool)", host=True)


@full_match.shape
def _(input, pattern):
    pattern.with_rank(0)
    return input


on_host(full_match, lambda input, pattern: _matches(input, pattern[()]))

static_full_match = op("StaticRegexFullMatch(input: string; pattern: string) -> (output: bool)", host=True)
static_full_match.shape(lambda input, pattern: input)
on_host(static_full_match, lambda input, pattern: _matches(input, encode(pattern)))

# ---- hash buckets


def _buckets(signature, hash_of):
    definition = op(f"{signature} -> (output: int64)", host=True)

    @definition.shape
    def _(strings, num_buckets, key=(0, 0)):
        if len(key) != 2:
            raise ValueError(f"Key must have 2 elements, got {len(key)}")
        if num_buckets < 1:
            raise ValueError(f"num_buckets must be at least 1, got {num_buckets}")
        return strings

    def bucket(strings, num_buckets, *attrs):
        items = listed(strings)
        if num_buckets == 1:
            return np.zeros(strings.shape, np.int64)
        numbers = (hash_of(v, *attrs) % num_buckets for v in items)
        return np.fromiter(numbers, np.int64, len(items)).reshape(strings.shape)

    on_host(definition, bucket)
    return definition


_buckets("StringToHashBucketFast(input: string; num_buckets: int)", functools.lru_cache(1 << 14)(fingerprint64))
_buckets("StringToHashBucket(string_tensor: string; num_buckets: int)", murmur64)
_buckets("StringToHashBucketStrong(input: string; num_buckets: int, key: list(int))", siphash)


# ---- fingerprints

fingerprint = op(
    "Fingerprint(data: T[1+], method: host string[0]) -> (fingerprint: uint8)", T=ANY, host=True, lenient=True
)


@fingerprint.shape
def _(data, method):
    rows = data.with_rank_at_least(1).tuple
    return (None if rows is None else rows[0], 8)


def _print_of(row):
    """The fingerprint of one string; for several, the fingerprint of their fingerprints; for numbers, of their bytes."""
    if isinstance(row, bytes):
        return fingerprint64(row).to_bytes(8, "little")
    if row.dtype == object:
        return _print_of(b"".join(_print_of(item) for item in row.reshape(-1)))
    return _print_of(row.tobytes())


@fingerprint.kernel
def _(data, method):
    if method not in ("farmhash64", b"farmhash64"):
        raise ValueError(f"Unsupported data fingerprinting method: {method!r}; 'farmhash64' is accepted")
    rows = [_print_of(np.asarray(row) if isinstance(row, torch.Tensor) else row) for row in data]
    return (
        torch.frombuffer(bytearray(b"".join(rows)), dtype=torch.uint8).reshape(-1, 8)
        if rows
        else torch.zeros(0, 8, dtype=torch.uint8)
    )
