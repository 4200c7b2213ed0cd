"""Learning rates at chosen steps, against values computed with TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

STEPS = (0, 1, 3, 6, 10, 13, 25)
CASES = {
    "exponential": (
        lambda s: tf.train.exponential_decay(0.1, s, 10, 0.96),
        [0.1, 0.09959262, 0.09878281, 0.09758043, 0.096, 0.09483149, 0.09029793],
    ),
    "exponential staircase": (
        lambda s: tf.train.exponential_decay(0.1, s, 10, 0.96, staircase=True),
        [0.1, 0.1, 0.1, 0.1, 0.096, 0.096, 0.09216],
    ),
    "piecewise": (
        lambda s: tf.train.piecewise_constant(s, [5, 12], [1.0, 0.5, 0.1]),
        [1.0, 1.0, 1.0, 0.5, 0.5, 0.1, 0.1],
    ),
    "polynomial": (
        lambda s: tf.train.polynomial_decay(0.1, s, 10, 0.01, power=2.0),
        [0.1, 0.0829, 0.0541, 0.0244, 0.01, 0.01, 0.01],
    ),
    "polynomial cycle": (
        lambda s: tf.train.polynomial_decay(0.1, s, 10, 0.01, power=0.5, cycle=True),
        [0.1, 0.0953815, 0.0852994, 0.066921, 0.01, 0.06324472, 0.04674235],
    ),
    "natural": (
        lambda s: tf.train.natural_exp_decay(0.1, s, 10, 0.5),
        [0.1, 0.09512295, 0.0860708, 0.07408182, 0.06065307, 0.05220458, 0.02865048],
    ),
    "inverse": (
        lambda s: tf.train.inverse_time_decay(0.1, s, 10, 0.5),
        [0.1, 0.0952381, 0.08695652, 0.07692308, 0.06666667, 0.06060606, 0.04444445],
    ),
    "inverse staircase": (
        lambda s: tf.train.inverse_time_decay(0.1, s, 10, 0.5, staircase=True),
        [0.1, 0.1, 0.1, 0.1, 0.06666667, 0.06666667, 0.05],
    ),
    "cosine": (
        lambda s: tf.train.cosine_decay(0.1, s, 10, alpha=0.1),
        [0.1, 0.09779754, 0.08145034, 0.04109423, 0.01, 0.01, 0.01],
    ),
    "cosine restarts": (
        lambda s: tf.train.cosine_decay_restarts(0.1, s, 4, t_mul=2.0, m_mul=0.9, alpha=0.1),
        [0.1, 0.08681981, 0.0231802, 0.07913782, 0.02186218, 0.08219962, 0.01614293],
    ),
    "cosine restarts, equal": (
        lambda s: tf.train.cosine_decay_restarts(0.1, s, 4, t_mul=1.0),
        [0.1, 0.08535534, 0.01464466, 0.05, 0.05, 0.08535534, 0.08535534],
    ),
    "linear cosine": (
        lambda s: tf.train.linear_cosine_decay(0.1, s, 10),
        [0.1001, 0.08789754, 0.05567248, 0.01391966, 0.0001, 0.0001, 0.0001],
    ),
}
NAMES = {
    "exponential": "ExponentialDecay",
    "polynomial": "PolynomialDecay",
    "inverse": "InverseTimeDecay",
    "cosine": "CosineDecay/Mul_3",
    "cosine restarts": "SGDRDecay",
    "linear cosine": "LinearCosineDecay",
}


def curve(make):
    step = tf.placeholder(tf.int64, [])
    rate = make(step)
    with tf.Session() as session:
        return rate, [session.run(rate, {step: s}) for s in STEPS]


@pytest.mark.parametrize("name", CASES)
def test_as_tensorflow(name):
    make, expected = CASES[name]
    rate, found = curve(make)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-8)
    assert rate.dtype == tf.float32
    if name in NAMES:
        assert rate.op.name == NAMES[name]


def test_noise_decays_to_the_noiseless_end():
    _, found = curve(lambda s: tf.train.noisy_linear_cosine_decay(0.1, s, 10))
    assert len(set(found[:4])) == 4
    np.testing.assert_allclose(found[4:], [0.0001] * 3, rtol=1e-5)


def test_doubles_stay_doubles():
    rate, found = curve(lambda s: tf.train.exponential_decay(tf.constant(0.1, tf.float64), s, 10, 0.5))
    assert rate.dtype == tf.float64
    np.testing.assert_allclose(found, 0.1 * 0.5 ** (np.array(STEPS) / 10))


def test_a_global_step_is_required():
    with pytest.raises(ValueError, match="global_step"):
        tf.train.exponential_decay(0.1, None, 10, 0.5)


class TestPiecewise:
    def test_lengths(self):
        with pytest.raises(ValueError, match="1 less than the length of values"):
            tf.train.piecewise_constant(tf.constant(1), [1, 2], [0.1, 0.2])

    def test_boundaries_of_another_type(self):
        with pytest.raises(ValueError, match=r"Boundaries \(float32\) must have the same dtype as x \(int32\)"):
            tf.train.piecewise_constant(tf.constant(1), [1.0], [0.1, 0.2])

    def test_values_of_different_types(self):
        with pytest.raises(ValueError, match="Values must have elements all with the same dtype"):
            tf.train.piecewise_constant(tf.constant(1), [1], [0.1, 2])
