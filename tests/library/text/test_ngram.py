"""tf.strings.ngrams and bytes_split.  The values were made with TensorFlow 2.21."""

import re
from typing import Any

import numpy as np
import pytest
from running import run

import headrace as tf

GRID = [["a", "b", "c", "d"], ["e", "f", "", "h"]]


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({"ngram_width": 2}, "a b,b c,c d"),
        ({"ngram_width": (1, 3)}, "a,b,c,d,a b c,b c d"),
        ({"ngram_width": 2, "separator": "|"}, "a|b,b|c,c|d"),
        ({"ngram_width": 3, "pad_values": ("<", ">")}, "< < a,< a b,a b c,b c d,c d >,d > >"),
        ({"ngram_width": 3, "pad_values": "P", "padding_width": 1}, "P a b,a b c,b c d,c d P"),
        ({"ngram_width": 5}, None),
        ({"ngram_width": 5, "preserve_short_sequences": True}, "a b c d"),
        (
            {"ngram_width": [6, 2], "pad_values": ("", "R"), "padding_width": 9},
            "     a,    a b,   a b c,  a b c d, a b c d R,a b c d R R,b c d R R R,c d R R R R,d R R R R R, a,a b,b c,c d,d R",
        ),
        ({"ngram_width": (3, 5), "preserve_short_sequences": True}, "a b c,b c d"),
        ({"ngram_width": 1, "pad_values": "P"}, "a,b,c,d"),
    ],
)
def test_runs_along_the_last_dimension(options: dict[str, Any], first: str | None) -> None:
    made = tf.strings.ngrams(GRID, **options)
    assert made.shape.as_list() == [2, None] and made.dtype == tf.string
    wanted = [] if first is None else first.encode().split(b",")
    found = run(made)
    assert found[0].tolist() == wanted
    second = dict(zip(b"abcd", (b"e", b"f", b"", b"h"), strict=True))
    assert found[1].tolist() == [b"".join(second.get(byte, bytes([byte])) for byte in text) for text in wanted]


def test_any_rank_and_open_shapes() -> None:
    assert run(tf.strings.ngrams(["a", "b", "c"], 2)).tolist() == [b"a b", b"b c"]
    x = tf.placeholder(tf.string, [2, None, 5])
    made = tf.strings.ngrams(x, 2)
    assert made.shape.as_list() == [2, None, None]
    fed = np.array([[list("abcde")]] * 2, object)
    assert run(made, {x: fed}).tolist() == [[[b"a b", b"b c", b"c d", b"d e"]]] * 2
    y = tf.placeholder(tf.string, [None, None])
    pairs = tf.strings.ngrams(y, 2)
    assert run(pairs, {y: np.zeros([2, 0], object)}).shape == (2, 0)
    assert run(pairs, {y: np.zeros([0, 3], object)}).shape == (0, 0)
    with tf.eager_mode():
        assert tf.strings.ngrams(["a", "b"], 2).numpy().tolist() == [b"a b"]


def test_inside_a_branch() -> None:
    flag = tf.placeholder(tf.bool, [])
    made = tf.cond(flag, lambda: tf.strings.ngrams(GRID, 4), lambda: tf.strings.ngrams(GRID, 3)[:, :1])
    assert run(made, {flag: True}).tolist() == [[b"a b c d"], [b"e f  h"]]


@pytest.mark.parametrize(
    ("data", "options", "error", "words"),
    [
        (GRID, {"ngram_width": 0}, ValueError, "greater than 0. Got 0"),
        (GRID, {"ngram_width": "a"}, TypeError, "received 'a'"),
        (GRID, {"ngram_width": 2, "pad_values": 3}, TypeError, "tuple of strings, or None, received 3"),
        (GRID, {"ngram_width": 2, "padding_width": 1}, ValueError, "pad_values must be provided"),
        (GRID, {"ngram_width": 2, "padding_width": 0, "pad_values": "x"}, ValueError, "padding_width must be greater"),
        (GRID, {"ngram_width": 2, "padding_width": "x", "pad_values": "x"}, TypeError, "received 'x'"),
        (GRID, {"ngram_width": 2, "separator": 3}, TypeError, "separator"),
        ("scalar", {"ngram_width": 2}, ValueError, "rank > 0"),
        ([1, 2], {"ngram_width": 2}, TypeError, "string"),
    ],
)
def test_what_is_refused(data: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=rf"{re.escape(words)}[\s\S]*at .*test_ngram.py"):
        tf.strings.ngrams(data, **options)


def test_the_rank_must_be_known() -> None:
    with pytest.raises(ValueError, match="rank of data must be known"):
        tf.strings.ngrams(tf.placeholder(tf.string), 2)


def test_bytes() -> None:
    assert run(tf.strings.bytes_split("h\u00e9")).tolist() == [b"h", b"\xc3", b"\xa9"]
    assert run(tf.strings.bytes_split("")).shape == (0,)
    with pytest.raises(NotImplementedError, match="bytes_split.*tf.map_fn"):
        tf.strings.bytes_split(["a", "b"])
