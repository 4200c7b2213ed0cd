"""Layers that train and infer differently: by the argument, by the learning phase, by a fed tensor; however steps run."""

import numpy as np
import pytest
from running import MODES, initialized_session

import headrace as tf

K, layers = tf.keras.backend, tf.keras.layers


@pytest.mark.parametrize("mode", ["interpreted", "lowered"])
def test_a_fed_learning_phase(mode: str) -> None:
    x = tf.keras.Input([2])
    dropped, normal = layers.Dropout(0.5)(x), layers.BatchNormalization(momentum=0.5)
    y = normal(x)
    updates = normal.get_updates_for(x)
    value = np.array([[1.0, 2.0], [3.0, 6.0]], np.float32)
    with initialized_session(config=MODES[mode]) as session:
        for train in (False, True):
            feed = {x: np.tile(value, [50, 1]), K.learning_phase(): train}
            a, b, _ = session.run([dropped, y, updates], feed)
            assert (a == 0).any() == train
            np.testing.assert_allclose(b.mean(0), [0.0, 0.0] if train else [2.0, 4.0], atol=5e-3)
        np.testing.assert_allclose(session.run(normal.moving_mean), [1.0, 2.0], rtol=1e-5)


def test_the_learning_phase_may_be_set() -> None:
    x = tf.keras.Input([2])
    K.set_learning_phase(1)
    assert layers.GaussianNoise(0.5)(x).op.type != "Identity"
    K.set_learning_phase(0)
    assert layers.GaussianNoise(0.5)(x).op.type == "Identity"


@pytest.mark.parametrize("make", [layers.Dropout, layers.GaussianNoise, layers.GaussianDropout, layers.AlphaDropout])
def test_the_argument_counts_more_than_the_phase(make) -> None:
    x = tf.keras.Input([2])
    K.set_learning_phase(1)
    assert make(0.5)(x, training=False).op.type == "Identity"


def test_layers_of_tf_layers_do_not_train_unless_told_to() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    assert tf.layers.Dropout(0.5)(x).op.type == "Identity"
    tf.layers.batch_normalization(x)
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    assert "keras_learning_phase" not in [op.name for op in tf.get_default_graph().get_operations()]


def test_noise_keeps_mean_and_variance() -> None:
    x = tf.random_normal([200, 200], seed=1)
    names = (layers.GaussianDropout(0.2), layers.AlphaDropout(0.2, seed=2))
    noisy = [layer(tf.nn.selu(x), training=True) for layer in names]
    with tf.Session() as session:
        plain, by_gauss, by_alpha = session.run([tf.nn.selu(x), *noisy])
    assert abs(by_gauss.mean() - plain.mean()) < 0.02
    assert abs(by_alpha.mean() - plain.mean()) < 0.02 and abs(by_alpha.std() - plain.std()) < 0.02


def test_spatial_dropout_drops_whole_channels() -> None:
    x = tf.ones([3, 4, 5, 60])
    first = tf.ones([3, 60, 4, 5])
    with tf.Session() as session:
        last = session.run(layers.SpatialDropout2D(0.5)(x, training=True))
        second = session.run(layers.SpatialDropout2D(0.5, data_format="channels_first")(first, training=True))
    assert (np.ptp(last, axis=(1, 2)) == 0).all() and set(np.unique(last)) == {0.0, 2.0}
    assert (np.ptp(second, axis=(2, 3)) == 0).all() and set(np.unique(second)) == {0.0, 2.0}
