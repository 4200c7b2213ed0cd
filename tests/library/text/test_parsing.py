"""Examples and their parsing: golden values, static shapes, wrong descriptions."""

import functools

import numpy as np
import pytest
from golden import program
from golden.parsing_programs import PROGRAMS

import headrace as tf

golden = functools.cache(lambda: program.load("parsing"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_tensorflow(name: str) -> None:
    program.compare(tf, PROGRAMS, name, golden())


def _encoded(**values: int) -> bytes:
    features = {k: tf.train.Feature(int64_list=tf.train.Int64List(value=[v])) for k, v in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def test_static_shapes() -> None:
    found = tf.parse_example(
        tf.placeholder(tf.string, [None]),
        {
            "x": tf.FixedLenFeature([2, 3], tf.float32),
            "steps": tf.FixedLenSequenceFeature([4], tf.int64, allow_missing=True),
            "words": tf.VarLenFeature(tf.string),
        },
    )
    assert found["x"].shape.as_list() == [None, 2, 3]
    assert found["steps"].shape.as_list() == [None, None, 4]
    assert found["words"].indices.shape.as_list() == [None, 2]
    single = tf.parse_single_example(tf.placeholder(tf.string, []), {"x": tf.FixedLenFeature([2, 3], tf.float32)})
    assert single["x"].shape.as_list() == [2, 3]


@pytest.mark.parametrize(
    "features",
    [
        {},
        {"x": tf.FixedLenFeature(None, tf.int64)},
        {"x": tf.FixedLenFeature([None], tf.int64)},
        {"x": tf.FixedLenFeature([None, 2], tf.int64)},
        {"x": tf.VarLenFeature(None)},
        {"x": tf.FixedLenSequenceFeature([], tf.int64)},
        {"x": 3},
    ],
)
def test_wrong_descriptions(features: object) -> None:
    with pytest.raises(ValueError):
        tf.parse_example([_encoded(x=1)], features)
    with pytest.raises(ValueError):
        tf.parse_single_example(_encoded(x=1), features)


def test_errors_name_example_and_feature(session: tf.Session) -> None:
    batch = [_encoded(x=1), _encoded(y=1)]
    found = tf.parse_example(batch, {"x": tf.FixedLenFeature([], tf.int64)}, example_names=["first", "second"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: second, Feature: x .*could not be found"):
        session.run(found)
    wrong = tf.parse_single_example(batch[0], {"x": tf.FixedLenFeature([], tf.float32)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Data types don't match"):
        session.run(wrong)


def test_a_feature_without_values_must_be_there_too() -> None:
    none = tf.train.Example().SerializeToString()
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="is required but could not be found"),
    ):
        session.run(tf.parse_example([none], {"a": tf.FixedLenFeature([0], tf.float32)}))


def test_a_default_that_is_a_tensor(session: tf.Session) -> None:
    default = tf.constant(5, tf.int64) + 1
    found = tf.parse_example([_encoded(x=1), b""], {"x": tf.FixedLenFeature([], tf.int64, default)})
    np.testing.assert_array_equal(session.run(found["x"]), [1, 6])


def test_sequences_need_a_feature() -> None:
    with pytest.raises(ValueError, match="at least one"):
        tf.parse_single_sequence_example(b"")
