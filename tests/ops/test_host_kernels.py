"""Kernels that take strings, tables or state: their errors, and what they keep."""

import numpy as np
import pytest
from running import initialized_session

import headrace as tf

OFF = tf.ConfigProto(compile="off")
WORDS = np.array([b"a b", b"cd", b"e f g"], object)


def table():
    initial = tf.lookup.KeyValueTensorInitializer(tf.constant(["cd", "x"]), tf.constant([7, 8], tf.int64))
    return tf.lookup.StaticHashTable(initial, -1)


FIXED = {"x": tf.FixedLenFeature([2], tf.float32), "n": tf.FixedLenFeature([], tf.int64)}


def test_a_sampler_keeps_its_state():
    drawn = tf.nn.learned_unigram_candidate_sampler(tf.Variable([[1], [1]], dtype=tf.int64), 1, 2, True, 4, seed=3)
    with initialized_session(config=OFF) as session:
        first, second = session.run(drawn), session.run(drawn)
    assert len(set(first[0].tolist())) == 2
    assert second[1][0, 0] > first[1][0, 0]  # it learned


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: tf.string_to_number(x), "StringToNumberOp could not correctly convert string: a b"),
        (lambda x: tf.decode_csv(x, [[0]]), "is not a valid int32: a b"),
        (lambda x: tf.decode_raw(x, tf.int16), "all be the same size, but element 1 has size 2 != 3"),
        (lambda x: tf.parse_example(x, FIXED)["n"], "Could not parse example input"),
        (lambda x: tf.gather(x, tf.Variable([3])), r"3 is not in \[0, 3\)"),
        (lambda x: table().lookup(x), "not initialized"),
        (lambda x: tf.io.parse_tensor(x[0], tf.int32), "Could not parse `serialized` as TensorProto"),
        (lambda x: tf.raw_ops.ParseTensor(serialized=x[:1], out_type=tf.int32), r"to be a scalar, got shape: \[1\]"),
        (lambda x: tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.int32), "Type mismatch between parsed tensor"),
    ],
)
def test_errors_are_those_of_the_kernels(build, message):
    x = tf.Variable(tf.constant(WORDS, tf.string))
    found = build(x)
    with initialized_session(config=OFF) as session, pytest.raises(tf.errors.OpError, match=message):
        session.run(found)
