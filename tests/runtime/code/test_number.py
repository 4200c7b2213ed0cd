"""Integer scalars in bodies are Python numbers that behave as the integers of their dtype."""

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.runtime.code.number import wrap


@pytest.mark.parametrize("value", [0, 5, -5, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**40 + 3])
def test_wrap(value):
    assert wrap(value, 32) == np.array(value, np.int64).astype(np.int32)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x // y, lambda x, y: x % y,
        lambda x, y: tf.maximum(x, y), lambda x, y: tf.minimum(x, y), lambda x, y: -x, lambda x, y: tf.abs(x),
        lambda x, y: tf.cast(x < y, x.dtype), lambda x, y: tf.cast(tf.logical_or(x > y, tf.equal(x, y)), x.dtype),
        lambda x, y: x * x * x * y + tf.size(tf.zeros([3]), out_type=x.dtype),
        lambda x, y: tf.to_int32(tf.to_float(x) * 0.5) if x.dtype == tf.int32 else tf.to_int64(tf.to_float(x) * 0.5),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("a", "b"), [(7, 3), (-7, 3), (7, -3), (2**31 - 1, 2), (-(2**31), 5)])
def test_same_in_a_body_as_outside(dtype, function, a, b):
    x, y = tf.placeholder(dtype, []), tf.placeholder(dtype, [])
    outside = function(x, y)
    inside = tf.cond(x > 10**6, lambda: function(x, y), lambda: function(x, y))
    looped = tf.while_loop(lambda i, r: i < 1, lambda i, r: (i + 1, function(x, y)), (0, x))[1]
    first, second, third = run([outside, inside, looped], {x: a, y: b})
    assert first == second == third
    assert second.dtype == dtype


def test_division_by_zero_names_the_node():
    x = tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i: i < 3, lambda i: i + 7 // x, [0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="while/floordiv"), tf.Session() as session:
        session.run(y, {x: 0})


def test_numbers_become_tensors_where_tensors_are_needed():
    x = tf.placeholder(tf.float32, [None])
    y = tf.map_fn(lambda i: x[i] * tf.to_float(i) + tf.to_float(tf.fill([2], i))[1], tf.range(3), dtype=tf.float32)
    assert run(y, {x: [1.0, 2.0, 3.0]}).tolist() == [0, 3, 8]
