"""Every layer of Keras called eagerly, and on inputs of models, for which shapes are known before there are values."""

import numpy as np
import pytest
from golden.keras_layers_cases import CASES, as_masks, inputs

import headrace as tf


@pytest.mark.parametrize("name", CASES)
def test_a_layer_called_eagerly(name: str) -> None:
    make, shapes, ids, call = CASES[name]
    with tf.eager_mode():
        layer, xs = make(tf.keras), inputs(tf, shapes, ids)
        call = {k: as_masks(tf, v) if k == "mask" else v for k, v in call.items()}
        with tf.GradientTape() as tape:
            y = layer(xs if len(xs) > 1 else xs[0], **call)
            total = tf.reduce_sum(y)
        assert all(g is not None for g in tape.gradient(total, layer.trainable_weights))
        assert np.isfinite(y.numpy()).all()
        assert all(loss.shape == () for loss in layer.losses)
        if "mask" not in call:
            _compare_with_symbolic(make(tf.keras), xs, y)


def _compare_with_symbolic(layer, xs, y) -> None:
    symbols = [tf.keras.Input(x.shape.as_list()[1:], dtype=x.dtype) for x in xs]
    shapes = [s.shape for s in symbols]
    z = layer(symbols if len(symbols) > 1 else symbols[0])
    assert z.shape.as_list() == [None, *y.shape.as_list()[1:]]
    computed = layer.compute_output_shape(shapes if len(shapes) > 1 else shapes[0])
    assert computed.as_list() == z.shape.as_list()


def test_noise_is_there_while_training_only() -> None:
    with tf.eager_mode():
        x = tf.ones([4, 50, 3])
        for layer in (
            tf.keras.layers.Dropout(0.5), tf.keras.layers.SpatialDropout1D(0.5), tf.keras.layers.GaussianNoise(0.5),
            tf.keras.layers.GaussianDropout(0.5), tf.keras.layers.AlphaDropout(0.5),
        ):  # fmt: skip
            np.testing.assert_array_equal(layer(x), x)
            np.testing.assert_array_equal(layer(x, training=False), x)
            assert not np.array_equal(layer(x, training=True), x)
            with tf.keras.backend.learning_phase_scope(1):
                assert not np.array_equal(layer(x), x)


def test_the_averages_of_batch_normalization_move_while_training() -> None:
    with tf.eager_mode():
        layer = tf.keras.layers.BatchNormalization(momentum=0.5)
        x = tf.constant([[1.0], [3.0]])
        layer(x, training=False)
        np.testing.assert_array_equal(layer.moving_mean.numpy(), [0.0])
        layer(x, training=True)
        np.testing.assert_array_equal(layer.moving_mean.numpy(), [1.0])
