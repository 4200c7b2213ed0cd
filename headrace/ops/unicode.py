"""Text in Unicode: between encodings, and between strings and code points.  Runs on the host.

UnicodeTranscode, UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode.
"""

from __future__ import annotations

import codecs

import numpy as np
import torch

from headrace.core.dtypes import INDEX
from headrace.core.registry import op
from headrace.ops.shared.string_array import array_of

_OUT = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
_ERRORS = ("strict", "replace", "ignore")
_PYTHON = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}


def _check(name, value, allowed):
    if value not in allowed:
        raise ValueError(
            f"Value for attr '{name}' of \"{value}\" is not in the list of allowed values: {', '.join(allowed)}"
        )


def _codec(name):
    try:
        return codecs.lookup(name.replace(" ", "-"))
    except LookupError:
        raise ValueError(f"Could not create converter for input encoding: {name}") from None


def _pieces(data, codec):
    """Each character (None if it cannot be read) and the byte where it starts."""
    at = 0
    while at < len(data):
        rest = data[at:]
        bad = None
        try:
            text, _ = codec.decode(rest)
        except UnicodeDecodeError as error:
            bad = error
            text, _ = codec.decode(rest[: error.start])
        for character in text:
            yield character, at
            at += len(codec.encode(character)[0])
        if bad is None:
            return
        yield None, at
        at += bad.end - bad.start


def _characters(data, codec, errors, replacement, controls):
    """Code points and where they start, with the policy on errors applied."""
    for character, at in _pieces(data, codec):
        if character is None:
            if errors == "strict":
                raise ValueError(f"Invalid formatting on input string: {data[:80]!r}")
            if errors == "replace":
                yield replacement, at
        elif controls and ord(character) < 0x20:
            if errors != "ignore":
                yield replacement, at
        else:
            yield ord(character), at


def _encoded(points, encoding, errors, replacement):
    """Code points as a string."""
    characters = []
    for point in points:
        if not 0 <= point <= 0x10FFFF or 0xD800 <= point <= 0xDFFF:
            if errors == "strict":
                raise ValueError(f"Code point is out of range for Unicode, or a noncharacter: {point}")
            if errors == "ignore":
                continue
            point = replacement
        characters.append(chr(point))
    return "".join(characters).encode(_PYTHON[encoding], "replace")


_POLICY = 'errors: string = "replace", replacement_char: int = 65533'

transcode = op(
    f"UnicodeTranscode(input: string; input_encoding: string, output_encoding: string, {_POLICY}, "
    "replace_control_characters: bool = False) -> (output: string)",
    host=True,
)


@transcode.shape
def _(input, input_encoding, output_encoding, errors, replacement_char, replace_control_characters):
    _check("output_encoding", output_encoding, _OUT)
    _check("errors", errors, _ERRORS)
    return input


@transcode.kernel
def _(input, input_encoding, output_encoding, errors, replacement_char, replace_control_characters):
    codec = _codec(input_encoding)
    strings = []
    for data in input.reshape(-1):
        characters = _characters(data, codec, errors, replacement_char, replace_control_characters)
        strings.append(_encoded([p for p, _ in characters], output_encoding, "replace", replacement_char))
    return array_of(strings, input.shape)


def _decode_shape(input, input_encoding, errors, *rest):
    _check("errors", errors, _ERRORS)
    dims = input.tuple
    count = None if dims is None or None in dims else int(np.prod(dims)) + 1
    return [(count,), (None,), (None,)]


def _decode(input, input_encoding, errors, replacement_char, replace_control_characters, splits_type):
    codec = _codec(input_encoding)
    splits, points, starts = [0], [], []
    for data in input.reshape(-1):
        for point, at in _characters(data, codec, errors, replacement_char, replace_control_characters):
            points.append(point)
            starts.append(at)
        splits.append(len(points))
    return (
        torch.tensor(splits, dtype=splits_type),
        torch.tensor(points, dtype=torch.int32),
        torch.tensor(starts, dtype=torch.int64),
    )


_DECODE = (
    f"(input: string; input_encoding: string, {_POLICY}, replace_control_characters: bool = False, "
    "Tsplits: type = int64) -> (row_splits: Tsplits, char_values: int32"
)
decode = op(f"UnicodeDecode{_DECODE})", Tsplits=INDEX, host=True, dynamic_shape=True)
decode.shape(lambda *arguments: _decode_shape(*arguments)[:2])
decode.kernel(lambda *arguments: _decode(*arguments)[:2])

decode_offsets = op(
    f"UnicodeDecodeWithOffsets{_DECODE}, char_to_byte_starts: int64)", Tsplits=INDEX, host=True, dynamic_shape=True
)
decode_offsets.shape(_decode_shape)
decode_offsets.kernel(_decode)

encode = op(
    'UnicodeEncode(input_values: int32[1], input_splits: Tsplits[1]; errors: string = "replace", '
    'output_encoding: string = "UTF-8", replacement_char: int = 65533) -> (output: string)',
    Tsplits=INDEX,
    host=True,
)


@encode.shape
def _(input_values, input_splits, errors, output_encoding, replacement_char):
    _check("errors", errors, _ERRORS)
    _check("output_encoding", output_encoding, _OUT)
    input_values.with_rank(1)
    count = input_splits.with_rank(1).tuple[0]
    return (None if count is None else count - 1,)


@encode.kernel
def _(input_values, input_splits, errors, output_encoding, replacement_char):
    points, splits = input_values.tolist(), input_splits.tolist()
    if not splits or splits[0] != 0 or splits[-1] != len(points) or splits != sorted(splits):
        raise ValueError(f"input_splits must rise from 0 to the number of values, {len(points)}; got {splits}")
    parts = [points[a:b] for a, b in zip(splits, splits[1:], strict=False)]
    return array_of([_encoded(part, output_encoding, errors, replacement_char) for part in parts])
