"""float32 values that cross between devices as their upper 16 bits: by scope, by config, exactly, and nothing else."""

import numpy as np
import pytest

import headrace as tf

TWO = tf.ConfigProto(device_count={"CPU": 2}, compile="off")
LOSSY = tf.ConfigProto(device_count={"CPU": 2}, compile="off", lossy_transfers=True)


def upper(x):
    """What TensorFlow's truncating cast to bfloat16 keeps."""
    return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def values(dtype=np.float32):
    return np.random.RandomState(0).standard_normal([3, 5]).astype(dtype) * 7 + np.asarray(1, dtype)


def test_a_truncating_cast_drops_the_lower_bits(session):
    x = np.array([1.00390625, -1.005859375, 3.14159274, np.inf, -np.inf, 1e-40, 1.9999999, 0.0], np.float32)
    halves = tf.raw_ops.Cast(x=x, DstT=tf.bfloat16, Truncate=True)
    np.testing.assert_array_equal(session.run(tf.cast(halves, tf.float32)), upper(x))


@pytest.mark.parametrize("where", ["scope", "config", "nowhere"])
def test_float32_crosses_as_its_upper_bits(where):
    x = values()
    with tf.Graph().as_default(), tf.Session(config=LOSSY if where == "config" else TWO) as session:
        fed = tf.placeholder(tf.float32, [3, 5])
        with tf.device("/cpu:0"):
            if where == "scope":
                with tf.train.lossy_transfers():
                    half = fed * 0.5
            else:
                half = fed * 0.5
            stays = half * 2.0
        with tf.device("/cpu:1"):
            both = [half * 2.0, half * 4.0]
        here, twice, four_times = session.run([stays, *both], {fed: x})
    expected = x if where == "nowhere" else upper(x)
    np.testing.assert_array_equal(here, x)
    np.testing.assert_array_equal(twice, expected)
    np.testing.assert_array_equal(four_times, 2 * expected)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64, np.complex64])
def test_other_types_are_whole(dtype):
    x = values(dtype) if dtype != np.int32 else np.array([2**31 - 1, 65537, -3], np.int32)
    with tf.Graph().as_default(), tf.Session(config=LOSSY) as session:
        fed = tf.placeholder(dtype, x.shape)
        with tf.device("/cpu:0"):
            negative = -fed
        with tf.device("/cpu:1"):
            result = -negative
        np.testing.assert_array_equal(session.run(result, {fed: x}), x)


def test_a_variable_made_in_the_scope():
    x = values()
    with tf.Graph().as_default(), tf.Session(config=TWO) as session:
        with tf.device("/cpu:0"), tf.train.lossy_transfers():
            variables = [tf.Variable(x, use_resource=resource) for resource in (False, True)]
        with tf.device("/cpu:1"):
            results = [variable * 1.5 for variable in variables]
        session.run(tf.global_variables_initializer())
        for result in session.run(results):
            np.testing.assert_array_equal(result, upper(x) * np.float32(1.5))
