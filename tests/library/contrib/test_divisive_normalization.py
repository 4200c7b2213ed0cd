"""contrib.layers.gdn against its formula."""

import numpy as np
import pytest

import headrace as tf

X = np.random.RandomState(0).randn(2, 3, 3, 4).astype(np.float32)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_the_formula(inverse: bool, first: bool) -> None:
    layout = "channels_first" if first else "channels_last"
    x = np.transpose(X, [0, 3, 1, 2]) if first else X
    y = tf.contrib.layers.gdn(x, inverse, gamma_init=0.2, data_format=layout)
    assert [v.op.name for v in tf.trainable_variables()] == ["gdn/reparam_beta", "gdn/reparam_gamma"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = session.run(y)
    norm = np.sqrt(1.0 + 0.2 * X**2)
    wanted = X * norm if inverse else X / norm
    np.testing.assert_allclose(np.transpose(value, [0, 2, 3, 1]) if first else value, wanted, rtol=1e-4)


def test_it_trains_and_stays_positive() -> None:
    y = tf.contrib.layers.gdn(X)
    loss = tf.reduce_mean(tf.square(y - 3.0))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(20):
            session.run(train)
        after = session.run(loss)
    assert np.isfinite(after) and after < before
    with pytest.raises(ValueError, match="channel dimension of the inputs to `GDN` must be defined"):
        tf.contrib.layers.gdn(tf.placeholder(tf.float32, [None, None]))
    with pytest.raises(ValueError, match="data_format must be"):
        tf.contrib.layers.GDN(data_format="NHWC")
