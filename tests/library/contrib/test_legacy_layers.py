"""contrib.layers.legacy_fully_connected."""

import numpy as np
import pytest

import headrace as tf


def test_names_collections_and_values() -> None:
    x = np.random.RandomState(0).randn(2, 3, 4).astype(np.float32)
    y = tf.contrib.layers.legacy_relu(x, 5, weight_init=tf.ones_initializer(), bias_init=tf.constant_initializer(0.5))
    assert [v.op.name for v in tf.trainable_variables()] == ["fully_connected/weights", "fully_connected/bias"]
    assert [len(tf.get_collection(key)) for key in ("weights", "biases", "activations")] == [1, 1, 1]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = session.run(y)
    wanted = np.maximum(x.sum(-1, keepdims=True) + 0.5, 0.0).repeat(5, -1)
    np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)
    assert tf.contrib.layers.legacy_linear(x[0], 2, bias_init=None).shape.as_list() == [3, 2]
    with pytest.raises(ValueError, match="must have rank 2 or more"):
        tf.contrib.layers.legacy_fully_connected(x[0, 0], 2)
