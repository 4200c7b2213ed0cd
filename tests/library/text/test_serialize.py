"""Tensors as strings: round trips, what TensorFlow wrote, wrong bytes."""

import numpy as np
import pytest

import headrace as tf
from headrace.core import tensor_proto


def test_round_trip(session: tf.Session) -> None:
    values = [np.float32([[1, 2]]), np.array([b"a", b"\xff"], object), np.array(True), np.zeros([0, 3], np.int64)]
    for value in values:
        text = tf.serialize_tensor(value)
        found = session.run(tf.parse_tensor(text, tf.as_dtype(value.dtype)))
        np.testing.assert_array_equal(found, value)


def test_bfloat16_keeps_its_bits(session: tf.Session) -> None:
    x = tf.cast(tf.constant([1.0, -2.5]), tf.bfloat16)
    assert session.run(tf.parse_tensor(tf.serialize_tensor(x), tf.bfloat16)).tolist() == [1, -2.5]


def test_bytes_are_tensorflows() -> None:
    wanted = b"\x08\x03\x12\x04\x12\x02\x08\x02\x22\x08\x01\x00\x00\x00\xfe\xff\xff\xff"
    assert tensor_proto.encode(np.array([1, -2], np.int32), tf.int32) == wanted
    dtype, array = tensor_proto.decode(wanted)
    assert dtype == tf.int32
    assert array.tolist() == [1, -2]


def test_sparse_tensors(session: tf.Session) -> None:
    sparse = tf.SparseTensor([[0, 1], [2, 0]], ["a", "b"], [3, 2])
    rows = tf.serialize_many_sparse(sparse)
    back = tf.deserialize_many_sparse(rows, tf.string, rank=1)
    assert back.dense_shape.shape.as_list() == [2]
    single = tf.io.deserialize_many_sparse(tf.expand_dims(tf.serialize_sparse(sparse), 0), tf.string)
    assert session.run(rows).shape == (3, 3)
    found = session.run(back)
    assert found.indices.tolist() == [[0, 1], [2, 0]]
    assert found.values.tolist() == [b"a", b"b"]
    assert found.dense_shape.tolist() == [3, 2]
    assert session.run(single).indices.tolist() == [[0, 0, 1], [0, 2, 0]]


def test_wrong_bytes(session: tf.Session) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        session.run(tf.parse_tensor(b"\xff", tf.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch"):
        session.run(tf.parse_tensor(tf.serialize_tensor([1.0]), tf.int32))
