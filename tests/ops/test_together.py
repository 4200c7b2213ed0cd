"""Kernels that treat many elements together give what one at a time gives."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.core import dtypes
from headrace.resources.state.table import Table

RANDOM = np.random.default_rng(3)


def run(value):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(value())


@pytest.mark.parametrize("default", [-1, 7])
def test_numbers_are_found_by_position(default):
    table = Table("t", dtypes.int64, dtypes.int64, True)
    table.initialize([5, -3, 9, 100], [50, 30, 90, 1])
    keys = np.array([[5, -3, 4], [101, -(2**63), 2**63 - 1]])
    found = table.find_numbers(keys, default)
    assert found.tolist() == [[50, 30, default], [default] * 3]
    assert table.find_numbers(keys.astype(np.int32), default)[0].tolist() == [50, 30, default]


def test_keys_far_apart_are_not_kept_by_position():
    table = Table("t", dtypes.int64, dtypes.float32, True)
    table.initialize([0, 10**9], [1.0, 2.0])
    assert table.find_numbers(np.array([0]), 0.0) is None
    assert table.find([0, 10**9, 3], -1.0) == [1.0, 2.0, -1.0]


def test_boxes_beyond_one_block():
    corners = np.sort(RANDOM.random((400, 2, 2)), 1).reshape(400, 4).astype(np.float32)
    scores = np.round(RANDOM.random(400), 2).astype(np.float32)
    found = run(lambda: tf.image.non_max_suppression(corners, scores, 300, 0.3)).tolist()

    def overlap(a, b):
        sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
        shared = sides.clip(0).prod()
        return shared / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared)

    wanted = []
    for i in sorted(range(400), key=lambda i: (-scores[i], i)):
        if all(overlap(corners[i], corners[j]) <= 0.3 for j in wanted):
            wanted.append(i)
    assert found == wanted
    assert len(found) > 64


def example(**features):
    kinds = {float: "float_list", int: "int64_list", bytes: "bytes_list"}
    made = {k: {kinds[type(v[0])]: {"value": v}} for k, v in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def test_batches_of_examples_by_columns():
    batch = [example(x=[i / 2, 1.0], n=[-i, 300 * i], s=[b"a" * i * 50]) for i in range(5)]
    features = {
        "x": tf.FixedLenFeature([2], tf.float32), "n": tf.VarLenFeature(tf.int64), "s": tf.FixedLenFeature([], tf.string),
    }  # fmt: skip
    found = run(lambda: tf.parse_example(batch, features))
    np.testing.assert_array_equal(found["x"], [[i / 2, 1.0] for i in range(5)])
    assert found["n"].values.tolist() == [v for i in range(5) for v in (-i, 300 * i)]
    assert found["n"].dense_shape.tolist() == [5, 2]
    assert found["s"].tolist() == [b"a" * i * 50 for i in range(5)]


def test_batches_with_features_missing_or_of_another_kind():
    batch = [example(x=[1.0]), example(n=[2]), example(x=[3.0, 4.0])]
    found = run(lambda: tf.parse_example(batch, {"x": tf.VarLenFeature(tf.float32)}))["x"]
    assert found.indices.tolist() == [[0, 0], [2, 0], [2, 1]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Data types don't match"):
        run(lambda: tf.parse_example(batch, {"x": tf.VarLenFeature(tf.int64)}))
    with pytest.raises(tf.errors.InvalidArgumentError, match="is required but could not be found"):
        run(lambda: tf.parse_example(batch, {"x": tf.FixedLenFeature([1], tf.float32)}))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example input"):
        run(lambda: tf.parse_example([*batch, batch[0][:-1]], {"x": tf.VarLenFeature(tf.float32)}))


def test_plain_records_as_quoted_ones():
    rows = [(b"1", b"2.5", b"a"), (b"", b"-1e3", b""), (b"-7", b"", b"b c")]
    defaults = [[4], [0.5], ["none"]]
    plain = run(lambda: tf.decode_csv([b",".join(r) for r in rows], defaults))
    quoted = run(lambda: tf.decode_csv([b",".join(b'"' + f + b'"' for f in r) for r in rows], defaults))
    for a, b in zip(plain, quoted, strict=True):
        assert a.tolist() == b.tolist()
    assert plain[0].tolist() == [1, 4, -7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Field 0 in record 1 is not a valid int32: 1_0"):
        run(lambda: tf.decode_csv([b"1", b"1_0"], [[0]]))
