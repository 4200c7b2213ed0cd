"""Convolutions whose output has one column: the stride along it must not matter."""

import numpy as np
import pytest

import headrace as tf


@pytest.mark.parametrize("compiled", ["off", "always"])
@pytest.mark.parametrize("padding", ["VALID", "SAME", [[0, 0], [0, 1], [1, 1], [0, 0]]])
def test_one_channel_makes_one_column(padding, compiled):
    draw = np.random.default_rng(0)
    image, filters = draw.normal(size=(2, 5, 4, 1)), draw.normal(size=(3, 3, 1, 2))
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile=compiled)) as session:
        single, double = (
            tf.nn.conv2d(
                tf.placeholder_with_default(image.astype(t), image.shape), filters.astype(t), [1, 1, 4, 1], padding
            )
            for t in ("float32", "float64")
        )
        assert single.shape[2] == 1
        np.testing.assert_allclose(*session.run([single, double]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stride", [1, 2])
def test_one_channel_of_a_volume_makes_one_column(session, stride):
    draw = np.random.default_rng(0)
    volume, filters = draw.normal(size=(2, 3, 4, 4, 1)), draw.normal(size=(2, 1, 3, 1, 2))
    single, double = (
        tf.nn.conv3d(tf.constant(volume.astype(t)), filters.astype(t), [1, stride, 1, 3, 1], "VALID")
        for t in ("float32", "float64")
    )
    assert single.shape[3] == 1
    np.testing.assert_allclose(*session.run([single, double]), rtol=1e-4, atol=1e-5)
