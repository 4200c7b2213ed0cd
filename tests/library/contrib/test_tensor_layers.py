"""contrib.layers without variables: maxout, scaled gradients, points in a ball, images as sequences."""

import numpy as np
import pytest

import headrace as tf

layers = tf.contrib.layers


def _run(fetches: object) -> object:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_maxout() -> None:
    x = np.random.RandomState(0).randn(2, 3, 6).astype(np.float32)
    np.testing.assert_array_equal(_run(layers.maxout(x, 2)), x.reshape(2, 3, 2, 3).max(-1))
    with pytest.raises(ValueError, match=r"features\(6\) is not a multiple of num_units\(4\)"):
        layers.maxout(x, 4)


def test_a_gradient_is_scaled() -> None:
    x = tf.constant([1.0, 2.0])
    y = layers.scale_gradient(x, -0.5)
    values = _run([y, tf.gradients(y * 3.0, x)[0]])
    assert [v.tolist() for v in values] == [[1.0, 2.0], [-1.5, -1.5]]


def test_points_stay_in_the_ball() -> None:
    value = _run(layers.poincare_normalize([[0.1, 0.2], [3.0, 4.0]]))
    np.testing.assert_allclose(value, [[0.1, 0.2], [0.6, 0.8]], rtol=2e-5)
    assert np.linalg.norm(value[1]) < 1.0


def test_images_and_sequences() -> None:
    x = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    sequence = layers.images_to_sequence(x)
    back = layers.sequence_to_images(sequence, 3)
    first = layers.images_to_sequence(np.transpose(x, [0, 3, 1, 2]), data_format="channels_first")
    channels = layers.sequence_to_images(sequence, 3, output_data_format="channels_first")
    values = _run([sequence, back, first, channels])
    assert values[0].shape == (4, 6, 5)
    np.testing.assert_array_equal(values[1], x)
    np.testing.assert_array_equal(values[2], values[0])
    np.testing.assert_array_equal(values[3], np.transpose(x, [0, 3, 1, 2]))
