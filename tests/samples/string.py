"""Samples of the ops on strings and on what they hold."""

import gzip
import zlib
from pathlib import Path

import numpy as np
from sample_forms import plain as s
from sample_forms import word, words, wrong

from headrace.core import dtypes
from headrace.core.errors import DataLossError, NotFoundError
from headrace.library.testing.opcheck import Sample

TEXT = words(b" One two", b"", "Äpfel ß".encode(), b"a\tb\n", shape=(2, 2))
NONE = np.zeros((0, 2), object)
GRID = words(b"a", b"b", b"c", b"d", b"e", b"f", shape=(2, 3))
LINES = words(b"1,2.5,x", b'3,,"y,""z"""')
HERE = str(Path(__file__).parent / "string.py").encode()
_BUCKETS = [
    s(TEXT, num_buckets=10),
    s(words(b"x" * 20, b"y" * 50, b"z" * 300), num_buckets=2**62),
    s(NONE, num_buckets=3),
]
_NUMBER = words(b"1", b" -2 ", b"+3", b"0")
_REPLACE = [
    (TEXT, b"[a-z]+", b"<\\0>"), (TEXT, b"(\\w)(\\w)", b"\\2\\1"), (words(b"baac", b""), b"a*", b"-"), (NONE, b"a", b"b"),
    (TEXT, b".", b"\\\\"), (words(b"a.b"), b"\\.", b""),
]  # fmt: skip

SAMPLES: dict[str, list[Sample]] = {
    "StringStrip": [s(TEXT), s(NONE)],
    "StringLower": [s(TEXT), s(TEXT, encoding="utf-8"), s(word(b"ABC"))],
    "StringUpper": [s(TEXT), s(TEXT, encoding="utf-8"), s(NONE)],
    "StringLength": [s(TEXT), s(TEXT, unit="UTF8_CHAR"), s(NONE), wrong(TEXT, unit="WORD", error=ValueError)],
    "StringJoin": [
        s([GRID, GRID], separator="-"),
        s([word(b"("), GRID, word(b")")]),
        s([word(b"x"), word(b"y")]),
        s([NONE, word(b"y")]),
        wrong([GRID, TEXT], error=ValueError),
    ],
    "ReduceJoin": [
        s(GRID, [1], separator=","),
        s(GRID, [0, 1]),
        s(GRID, [-1, -2], keep_dims=True, separator="."),
        s(GRID, np.zeros(0, np.int32)),
        s(GRID, np.int32(0)),
        s(NONE, [0]),
        wrong(GRID, [2], error=ValueError),
        wrong(GRID, [0, -2], error=ValueError),
    ],
    "UnsortedSegmentJoin": [
        s(words(b"a", b"b", b"c", b"d"), [0, 2, 0, 2], np.int32(3), separator=":"),
        s(GRID, np.array([1, 1], np.int64), np.int64(2)),
        wrong(GRID, [0, 5], np.int32(3)),
        wrong(GRID, [0, -1], np.int32(3)),
    ],
    "StringSplit": [
        s(words(b"a b  c", b"", b"d"), word(b" ")),
        s(words(b"a b  c", b"", b"d"), word(b" "), skip_empty=False),
        s(words(b"a,b.c]d", b",."), word(b",.]")),
        s(words(b"abc", b"", b"d"), word(b"")),
        s(np.zeros(0, object), word(b" ")),
        wrong(GRID, word(b" "), error=ValueError),
    ],
    "StringSplitV2": [
        s(words(b"a b  c\t", b"", b" d"), word(b"")),
        s(words(b"1<>2<>3", b"<>4", b""), word(b"<>")),
        s(words(b"1,2,3", b"4"), word(b","), maxsplit=1),
        s(words(b" 1 2 3 ", b"4", b"5 "), word(b""), maxsplit=1),
        s(words(b"1 2", b"4,"), word(b","), maxsplit=0),
    ],
    "Substr": [
        s(words(b"hello", b"world"), np.int32(1), np.int32(3)),
        s(words(b"hello", b"world"), np.array([-3, 0], np.int64), np.array([2, 99], np.int64)),
        s(word(b"hello"), np.array([0, 5]), np.array([2, 1])),
        s(GRID, np.array([[0], [1]], np.int32), np.array([[1], [1]], np.int32)),
        s(words("Äpfel".encode()), np.int32(1), np.int32(2), unit="UTF8_CHAR"),
        wrong(words(b"hello"), np.int32(6), np.int32(1)),
        wrong(words(b"hello"), np.int32(-6), np.int32(1)),
        wrong(words(b"hello"), np.int32(1), np.int32(1), unit="WORD", error=ValueError),
    ],
    "RegexReplace": [
        *[s(text, word(a), word(b)) for text, a, b in _REPLACE],
        s(TEXT, word(b"[a-z]"), word(b"_"), replace_global=False),
        wrong(TEXT, word(b"("), word(b"")),
        wrong(TEXT, word(b"a"), words(b"x", b"y"), error=ValueError),
    ],
    "StaticRegexReplace": [
        *[s(text, pattern=a.decode(), rewrite=b.decode()) for text, a, b in _REPLACE],
        wrong(TEXT, pattern="(", rewrite=""),
    ],
    "RegexFullMatch": [s(GRID, word(b"[a-c]")), s(TEXT, word(b".*")), s(NONE, word(b"a")), wrong(TEXT, word(b"["))],
    "StaticRegexFullMatch": [s(GRID, pattern="[a-c]"), s(TEXT, pattern="a|ab|a\tb\n")],
    "StringToHashBucketFast": [*_BUCKETS, wrong(TEXT, num_buckets=0, error=ValueError)],
    "StringToHashBucket": _BUCKETS,
    "StringToHashBucketStrong": [
        *[Sample(b.inputs, {**b.attrs, "key": [123, -1]}, gradient=False) for b in _BUCKETS],
        wrong(TEXT, num_buckets=3, key=[1], error=ValueError),
    ],
    "StringToNumber": [
        s(words(b"1.5", b" -2e3 ", b"inf", b"+.5", b"7."), out_type=dtypes.float32),
        s(_NUMBER, out_type=dtypes.float64),
        s(words(b"0x1F", b"-0x.8p1"), out_type=dtypes.float32),
        s(_NUMBER, out_type=dtypes.int32),
        s(words(b"9007199254740993", b"-9223372036854775808"), out_type=dtypes.int64),
        s(NONE, out_type=dtypes.int64),
        wrong(words(b"1_0"), out_type=dtypes.float32),
        wrong(words(b"2147483648"), out_type=dtypes.int32),
        wrong(words(b"1.5"), out_type=dtypes.int64),
        wrong(words(b""), out_type=dtypes.float32),
    ],
    "DecodeRaw": [
        s(words(b"\x01\x02\x03\x04", b"\xff\x00\x00\x80"), out_type=dtypes.uint8),
        s(words(b"\x01\x02\x03\x04", b"\xff\x00\x00\x80"), out_type=dtypes.int16, little_endian=False),
        s(word(np.float32([1.5, -2]).tobytes()), out_type=dtypes.float32),
        s(word(np.complex64([1.5 - 2j]).tobytes()), out_type=dtypes.complex64, little_endian=False),
        s(word(b"\x01\x00"), out_type=dtypes.bool),
        s(words(b"", b""), out_type=dtypes.int64),
        s(NONE, out_type=dtypes.int64),
        wrong(words(b"12345"), out_type=dtypes.float32),
        wrong(words(b"1234", b"12"), out_type=dtypes.uint8),
    ],
    "DecodePaddedRaw": [
        s(words(b"\x01\x02\x03\x04\x05", b"\xff"), np.int32(4), out_type=dtypes.uint8),
        s(words(b"\x01\x02\x03\x04\x05", b"\xff"), np.int32(4), out_type=dtypes.int16, little_endian=False),
        wrong(words(b"12345"), np.int32(3), out_type=dtypes.float32),
    ],
    "DecodeCompressed": [
        s(words(b"abc", b"")),
        s(words(zlib.compress(b"abc" * 9)), compression_type="ZLIB"),
        s(words(gzip.compress(b"abc" * 9, mtime=0)), compression_type="GZIP"),
        wrong(words(b"abc"), compression_type="ZLIB", error=DataLossError),
        wrong(words(b"abc"), compression_type="ZIP", error=ValueError),
    ],
    "DecodeCSV": [
        s(LINES, [np.array([0], np.int32), np.array([9.5], np.float32), words(b"-")]),
        s(LINES, [np.array([0], np.int64), np.float64(9.5), words(b"-")]),
        s(LINES, [words(b""), words(b"-")], select_cols=[0, 2]),
        s(words(b"1\tNA\t"), [np.int32([0]), np.int32([7]), np.int32([8])], field_delim="\t", na_value="NA"),
        s(words(b'1,"2"'), [words(b""), words(b"")], use_quote_delim=False),
        s(word(b"4,5"), [np.zeros(0, np.int32), np.int32([1])]),
        wrong(LINES, [np.int32([0]), np.zeros(0, np.float32), words(b"")]),
        wrong(LINES, [np.int32([0])]),
        wrong(words(b"x"), [np.int32([0])]),
        wrong(words(b'a"b'), [words(b"")]),
        wrong(words(b'"ab'), [words(b"")]),
        wrong(words(b"a"), [words(b"", b"")], error=ValueError),
        wrong(words(b"a"), [words(b"")], field_delim=";;", error=ValueError),
    ],
    "ReadFile": [s(word(HERE)), wrong(word(b"/nowhere/at/all"), error=NotFoundError), wrong(GRID, error=ValueError)],
    "WriteFile": [s(word(b"/dev/null"), word(b"text")), wrong(GRID, word(b""), error=ValueError)],
    "MatchingFiles": [s(word(HERE)), s(words(HERE[:-1] + b"?", b"/nowhere/*"))],
}
