"""Gradients of max pools: the same with and without passes, compiled, and by differences."""

import numpy as np
import pytest

import headrace as tf


def _program(padding: str, stride: int = 2, layout: str = "NHWC"):
    rng = np.random.RandomState(0)
    shape = [2, 5, 6, 3] if layout == "NHWC" else [2, 3, 5, 6]
    x = tf.placeholder(tf.float32, [None, *shape[1:]], name="x")
    window = [1, 2, 2, 1] if layout == "NHWC" else [1, 1, 2, 2]
    strides = [1, stride, stride, 1] if layout == "NHWC" else [1, 1, stride, stride]
    y = tf.nn.max_pool(tf.square(x), window, strides, padding, data_format=layout, name="pool")
    return {x: rng.randn(*shape).astype(np.float32)}, y, tf.gradients(tf.reduce_sum(y * y), x)[0]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_same_values(padding: str, stride: int, layout: str) -> None:
    feed, y, grad = _program(padding, stride, layout)
    level = tf.OptimizerOptions(opt_level=-1)
    plain = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=level))
    results = []
    for config in (tf.ConfigProto(), plain):
        with tf.Session(config=config) as sess:
            results.append(sess.run([y, grad], feed))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)
    x = next(iter(feed))
    with tf.Session() as sess:
        error = tf.test.compute_gradient_error(
            x, feed[x].shape, y, sess.run(y, feed).shape, x_init_value=feed[x], delta=1e-3
        )
    assert error < 2e-2


def test_compiled() -> None:
    feed, y, grad = _program("SAME")
    results = []
    for mode in ("off", "always"):
        with tf.Session(config=tf.ConfigProto(compile=mode)) as sess:
            results.append(sess.run([y, grad], feed))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)
