"""contrib.layers for volumes."""

import numpy as np
import pytest

import headrace as tf

layers = tf.contrib.layers
X = np.random.RandomState(0).randn(1, 4, 4, 4, 2).astype(np.float32)


def _run(fetches: object) -> object:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_pools() -> None:
    parts = X.reshape(1, 2, 2, 2, 2, 2, 2, 2)
    np.testing.assert_array_equal(_run(layers.max_pool3d(X, 2)), parts.max((2, 4, 6)))
    np.testing.assert_allclose(_run(layers.avg_pool3d(X, [2, 2, 2])), parts.mean((2, 4, 6)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(_run(layers.pool(X, 2, "MAX", stride=2)), parts.max((2, 4, 6)))
    first = np.transpose(X, [0, 4, 1, 2, 3])
    value = _run(layers.max_pool3d(first, 2, data_format="NCDHW"))
    np.testing.assert_array_equal(np.transpose(value, [0, 2, 3, 4, 1]), parts.max((2, 4, 6)))
    with pytest.raises(ValueError, match="data_format has to be either NDHWC or NCDHW, got 'NHWC'"):
        layers.max_pool3d(X, 2, data_format="NHWC")


def test_a_transposed_convolution() -> None:
    y = layers.conv3d_transpose(X, 3, 2, stride=2, weights_initializer=tf.ones_initializer(), activation_fn=None)
    assert {v.op.name for v in tf.trainable_variables()} == {"Conv3d_transpose/weights", "Conv3d_transpose/biases"}
    value = _run(y)
    assert value.shape == (1, 8, 8, 8, 3)
    np.testing.assert_allclose(value[0, ::2, ::2, ::2, 0], X[0].sum(-1), rtol=1e-5, atol=1e-5)
    with tf.contrib.framework.arg_scope([layers.conv3d_transpose], activation_fn=tf.nn.relu):
        assert _run(layers.conv3d_transpose(X, 3, 2)).min() >= 0.0
