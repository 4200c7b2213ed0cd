"""Strings, examples and sparse entries treated as arrays on the host give what one at a time gives, at the edges too."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import headrace as tf

RANDOM = np.random.default_rng(5)
ODD = [b"a1\x002b", b"", b"x" * 300, "é7ü".encode(), b"\xff\n8"]


def run(value):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(value())


# ---- strings


def test_lengths_beyond_a_byte():
    assert run(lambda: tf.strings.length(ODD)).tolist() == [len(s) for s in ODD]
    assert run(lambda: tf.strings.length(np.zeros((0, 2), object))).shape == (0, 2)


@pytest.mark.parametrize("values", [ODD, ODD[1:], ODD[1:2], []])
def test_replacing_all_at_once(values):
    given = np.array(values, object)
    found = run(lambda: tf.regex_replace(tf.constant(given, tf.string), "[0-9]+", "#"))
    assert found.tolist() == [bytes(b"#"[0] if chr(c).isdigit() and c < 128 else c for c in s) for s in values]


def test_replacing_what_is_not_a_digit():
    """Not by bytes: a character of several bytes is one."""
    assert run(lambda: tf.regex_replace(["é1"], "\\D", "#")).tolist() == [b"#1"]
    assert run(lambda: tf.regex_replace(["a1 b"], "\\D", "#", replace_global=False)).tolist() == [b"#1 b"]


def test_matching_characters_not_bytes():
    assert run(lambda: tf.strings.regex_full_match(["é3", "a3", "ab3"], ".3")).tolist() == [True, True, False]
    assert run(lambda: tf.strings.regex_full_match(["a3", "ab3"], ".3")).tolist() == [True, False]


@pytest.mark.parametrize("skip_empty", [True, False])
@pytest.mark.parametrize("separator", [" ", ", ", ""])
@pytest.mark.parametrize(
    "values", [[b" a  b,", b"c", b"d e"], [b"a b", b"", b" "], [b""], [], [b" a  b,", b"", b"d e"] * 30]
)
def test_splitting_all_at_once(values, separator, skip_empty):
    found = run(lambda: tf.string_split(tf.constant(np.array(values, object), tf.string), separator, skip_empty))
    wanted = []
    for value in values:
        text = value.decode()
        for mark in separator[1:]:
            text = text.replace(mark, separator[0])
        parts = (text.split(separator[0]) if separator else list(text)) if text else []
        wanted.append([p.encode() for p in parts if p or not skip_empty])
    assert found.values.tolist() == [p for parts in wanted for p in parts]
    assert found.indices.tolist() == [[i, j] for i, parts in enumerate(wanted) for j in range(len(parts))]
    assert found.dense_shape.tolist() == [len(values), max(map(len, wanted), default=0)]


def test_parts_of_strings_that_may_be_too_short():
    assert run(lambda: tf.strings.substr([b"abc", b"ab"], 2, 5)).tolist() == [b"c", b""]
    assert run(lambda: tf.strings.substr([b"abc", b"ab"], 1, 0)).tolist() == [b"", b""]
    with pytest.raises(tf.errors.InvalidArgumentError, match="pos 2 out of range"):
        run(lambda: tf.strings.substr([b"abc", b"a"], 2, 5))


@pytest.mark.parametrize("odd", [b"abcdef", b"abc\0\0\0", b"ab", b"\xff\0\xfe\xfd\0"])
def test_parts_of_many_strings(odd):
    given = [b"Word %d" % i for i in range(600)] + [odd]
    found = run(lambda: tf.strings.substr(np.array(given, object).reshape(601, 1), 2, 3)).reshape(-1)
    assert found.tolist() == [v[2:5] for v in given]


@pytest.mark.parametrize("pad", [True, False])
def test_base64_of_all_at_once(pad):
    wanted = [base64.urlsafe_b64encode(s) if pad else base64.urlsafe_b64encode(s).rstrip(b"=") for s in ODD]
    assert run(lambda: tf.encode_base64(ODD, pad)).tolist() == wanted
    assert run(lambda: tf.decode_base64(tf.encode_base64(ODD, pad))).tolist() == ODD
    assert run(lambda: tf.encode_base64(tf.constant([], tf.string), pad)).tolist() == []


def test_numbers_as_strings_all_at_once():
    assert run(lambda: tf.as_string([[-3, 40]], width=4, fill="0")).tolist() == [[b"-003", b"0040"]]
    assert run(lambda: tf.as_string([0.5, np.inf], precision=2)).tolist() == [b"0.50", b"inf"]
    assert run(lambda: tf.as_string(np.zeros(0, np.int64))).tolist() == []


@pytest.mark.parametrize("great", [0, 9, 10, 10**9 - 1, 10**9, 2**32, 10**19 - 1, 2**64 - 1])
def test_many_numbers_as_strings(great):
    given = np.array([great // 10**i // 2**j for i in range(20) for j in range(64)], np.uint64)
    assert run(lambda: tf.as_string(given)).tolist() == [str(n).encode() for n in given.tolist()]
    signed = given.astype(np.int64).reshape(2, -1)
    assert run(lambda: tf.as_string(signed)).tolist() == [[str(n).encode() for n in row] for row in signed.tolist()]


@pytest.mark.parametrize("index", [-1, 2])
def test_strings_gathered_from_outside(index):
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"{index} is not in \[0, 2\)"):
        run(lambda: tf.gather(tf.constant(["a", "b"]), tf.placeholder_with_default([0, index], [2])))


# ---- examples


def example(floats, label, name, more):
    made = {
        "floats": {"float_list": {"value": floats}}, "label": {"int64_list": {"value": [label]}},
        "name": {"bytes_list": {"value": [name]}}, "more": {"int64_list": {"value": more}},
    }  # fmt: skip
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


FEATURES = {
    "floats": tf.FixedLenFeature([2], tf.float32), "label": tf.FixedLenFeature([], tf.int64),
    "name": tf.FixedLenFeature([], tf.string), "more": tf.VarLenFeature(tf.int64),
}  # fmt: skip


def test_examples_laid_out_alike_or_not():
    rows = [
        (RANDOM.random(2).tolist(), int(RANDOM.integers(0, 300)), RANDOM.bytes(RANDOM.integers(2, 4)),
         RANDOM.integers(-1, 100, RANDOM.integers(0, 3) // 2).tolist())
        for _ in range(200)
    ]  # fmt: skip
    batch = [example(*row) for row in rows]
    found = run(lambda: tf.parse_example(batch, FEATURES))
    np.testing.assert_array_equal(found["floats"], np.float32([row[0] for row in rows]))
    assert found["label"].tolist() == [row[1] for row in rows]
    assert found["name"].tolist() == [row[2] for row in rows]
    assert found["more"].values.tolist() == [v for row in rows for v in row[3]]
    assert found["more"].indices.tolist() == [[i, j] for i, row in enumerate(rows) for j in range(len(row[3]))]
    one = run(lambda: tf.parse_single_example(batch[7], FEATURES))
    assert (one["label"], one["name"], one["more"].values.tolist()) == (rows[7][1], rows[7][2], rows[7][3])


@pytest.mark.parametrize("count", [3, 100])
def test_examples_of_one_length_that_are_laid_out_differently(count):
    """A longer name makes up for a shorter label; names that end in zeros keep them."""
    rows = [
        ([1.0, i], 1000, b"a\0", []) if i % 2 else ([2.0, i], -1 if i % 10 == 4 else 7, b"b\0\0", [300])
        for i in range(count)
    ]
    found = run(lambda: tf.parse_example([example(*row) for row in rows], FEATURES))
    np.testing.assert_array_equal(found["floats"], np.float32([row[0] for row in rows]))
    assert found["label"].tolist() == [row[1] for row in rows]
    assert found["name"].tolist() == [row[2] for row in rows]
    assert found["more"].values.tolist() == [v for row in rows for v in row[3]]
    for row in rows[:3]:
        one = run(lambda row=row: tf.parse_single_example(example(*row), FEATURES))
        assert (one["label"], one["name"], one["more"].values.tolist()) == row[1:]


def test_a_damaged_example_among_others_alike():
    batch = [example([1.0, 2.0], 3, b"abc", [4]) for _ in range(20)]
    wrong = bytearray(batch[5])
    wrong[1] -= 1  # its length
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example input"):
        run(lambda: tf.parse_example([*batch[:5], bytes(wrong), *batch[6:]], FEATURES))


# ---- sparse entries


def _dense(indices, values, shape):
    made = np.zeros(shape, np.float32)
    np.add.at(made, tuple(np.array(indices, np.int64).reshape(-1, 2).T), values)
    return made


@pytest.mark.parametrize("order", [1, -1])
def test_sums_of_sparse_tensors_in_order_or_not(order):
    a = [[0, 1], [1, 0], [2, 2]][::order], [1.0, 2.0, 3.0][::order]
    b = [[0, 0], [1, 0], [2, 2]][::order], [5.0, -2.0, 0.25][::order]
    pair = [tf.SparseTensorValue(np.int64(i), np.float32(v), np.int64([3, 3])) for i, v in (a, b)]
    found = run(lambda: tf.sparse_add(*pair))
    np.testing.assert_array_equal(_dense(found.indices, found.values, (3, 3)), _dense(*a, (3, 3)) + _dense(*b, (3, 3)))
    assert found.indices.tolist() == [[0, 0], [0, 1], [1, 0], [2, 2]]
    kept = run(lambda: tf.sparse_add(*pair, 0.5))  # what only one of them has stays
    assert kept.indices.tolist() == [[0, 0], [0, 1], [2, 2]]
    nothing = tf.SparseTensorValue(np.zeros((0, 2), np.int64), np.zeros(0, np.float32), np.int64([3, 3]))
    assert run(lambda: tf.sparse_add(nothing, nothing)).indices.shape == (0, 2)


@pytest.mark.parametrize("bad", [[[0, 3]], [[-1, 0]], [[2, 0]]])
def test_entries_outside_a_dense_shape(bad):
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
        run(lambda: tf.sparse_to_dense(tf.placeholder_with_default(np.int64(bad), [1, 2]), [2, 3], [1.0]))


def test_unique_in_order_of_appearance():
    given = RANDOM.integers(-5, 40, 300)
    found = run(lambda: tf.unique(given))
    assert found.y.tolist() == list(dict.fromkeys(given.tolist()))
    np.testing.assert_array_equal(found.y[found.idx], given)
    assert found.idx.dtype == np.int32
    counted = run(lambda: tf.unique_with_counts(given))
    assert counted.count.tolist() == [given.tolist().count(v) for v in counted.y.tolist()]


def test_accidental_hits():
    true, drawn = RANDOM.integers(0, 12, (6, 2)), RANDOM.permutation(12)[:7]
    rows, ids, weights = run(lambda: tf.nn.compute_accidental_hits(true, drawn, 2))
    wanted = [(i, drawn.tolist().index(v)) for i, row in enumerate(true.tolist()) for v in row if v in drawn]
    assert list(zip(rows.tolist(), ids.tolist(), strict=True)) == wanted
    assert weights.tolist() == [np.finfo(np.float32).min] * len(wanted)
