"""Programs with strings; see program.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add

WORDS = ["alpha beta", "", "Gamma, delta"]
GRID = [["a", "b"], ["c", "d"]]


@add("join")
def _(tf: Any) -> Any:
    return [
        tf.string_join([WORDS, ["1", "2", "3"]], "-"),
        tf.strings.join(["(", WORDS, ")"], name="named"),
        tf.reduce_join(GRID),
        tf.reduce_join(GRID, 0, separator=","),
        tf.reduce_join(GRID, [0, 1], keep_dims=True),
        tf.strings.reduce_join(GRID, axis=-1, keepdims=True),
        tf.strings.unsorted_segment_join(["x", "y", "z"], [1, 0, 1], 3, ":"),
    ]


@add("split")
def _(tf: Any) -> Any:
    return [
        tf.string_split(WORDS),
        tf.string_split(WORDS, ", ", skip_empty=False),
        tf.string_split(["abc"], delimiter="", name="named"),
        tf.strings.split(WORDS),
        tf.strings.split(["a<>b<>c", "<>"], "<>", maxsplit=1),
        tf.strings.split("one two"),
    ]


@add("split_matrix", names=False)
def _(tf: Any) -> Any:
    return tf.strings.split([["a b", "c"], ["", "d e f"]])


@add("parts")
def _(tf: Any) -> Any:
    return [
        tf.substr(["hello", "world"], 1, 3),
        tf.strings.substr(["hello", "world"], [-2, 0], [2, 4]),
        tf.strings.length(WORDS),
        tf.strings.length(["ä€"], unit="UTF8_CHAR"),
        tf.string_strip(["  a b \n"]),
        tf.strings.lower(WORDS),
        tf.strings.upper(["ä"], encoding="utf-8"),
    ]


@add("patterns")
def _(tf: Any) -> Any:
    return [
        tf.regex_replace(WORDS, "[aeiou]", "_"),
        tf.strings.regex_replace(WORDS, "([a-z])([a-z])", r"\2\1", replace_global=False),
        tf.strings.regex_replace(WORDS, tf.constant("a"), tf.constant("A")),
        tf.strings.regex_full_match(WORDS, ".*a"),
        tf.strings.regex_full_match(WORDS, tf.constant("")),
    ]


@add("hashes")
def _(tf: Any) -> Any:
    words = [*WORDS, "x" * 30, "y" * 60, "z" * 200]
    return [
        tf.string_to_hash_bucket_fast(words, 1000),
        tf.strings.to_hash_bucket_strong(words, 1000, [1, 2]),
        tf.string_to_hash_bucket(words, 1000),
    ]


@add("numbers")
def _(tf: Any) -> Any:
    return [
        tf.string_to_number(["1.5", "-2e-3"]),
        tf.strings.to_number(["7", "-8"], tf.int32),
        tf.decode_raw(np.float32([1, 2]).tobytes(), tf.float32),
        tf.decode_raw([b"\x01\x02", b"\x03\x04"], tf.uint16, little_endian=False),
        *tf.decode_csv(["1,2.5,a", '4,,"b,c"'], [[0], [7.5], ["-"]]),
        *tf.decode_csv("1;x", [tf.constant([], tf.int64), [""]], ";", name="named"),
    ]
