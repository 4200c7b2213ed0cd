"""Clipping by value and by norm."""

import numpy as np
import pytest
from running import run

import headrace as tf


def slices():
    return tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]), tf.constant([3, 2]))


def test_by_value():
    x = tf.constant([-2.0, 0.5, 9.0])
    assert run(tf.clip_by_value(x, -1, 1)).tolist() == [-1.0, 0.5, 1.0]
    assert run(tf.gradients(tf.clip_by_value(x, -1.0, 1.0), x)[0]).tolist() == [0.0, 1.0, 0.0]
    clipped = tf.clip_by_value(slices(), 0.0, 3.5)
    assert isinstance(clipped, tf.IndexedSlices) and run(clipped.values).tolist() == [[3.0, 3.5]]
    with pytest.raises(ValueError):
        tf.clip_by_value(x, tf.zeros([2, 3]), 1.0)


def test_by_norm():
    x = tf.constant([3.0, 4.0])
    np.testing.assert_allclose(run(tf.clip_by_norm(x, 1.0)), [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(run(tf.clip_by_norm(x, 10.0)), [3.0, 4.0], rtol=1e-6)
    np.testing.assert_allclose(run(tf.clip_by_norm(tf.zeros([2]), 1.0)), [0.0, 0.0])
    assert not np.isnan(run(tf.gradients(tf.clip_by_norm(z := tf.zeros([2]), 1.0), z)[0])).any()
    clipped = tf.clip_by_norm(slices(), 1.0)
    assert isinstance(clipped, tf.IndexedSlices)
    np.testing.assert_allclose(run(clipped.values), [[0.6, 0.8]], rtol=1e-6)


def test_by_global_norm():
    x, y = tf.constant([3.0, 0.0]), tf.constant([[4.0]])
    (a, none, b), norm = tf.clip_by_global_norm([x, None, y], 1.0)
    assert none is None
    got = run([a, b, norm])
    np.testing.assert_allclose(got[0], [0.6, 0.0], rtol=1e-6)
    np.testing.assert_allclose(got[1], [[0.8]], rtol=1e-6)
    assert got[2] == 5.0
    (kept,), _ = tf.clip_by_global_norm([slices()], 1.0)
    assert isinstance(kept, tf.IndexedSlices)
    np.testing.assert_allclose(run(kept.values), [[0.6, 0.8]], rtol=1e-6)
    (half,), given = tf.clip_by_global_norm([x], 1.0, use_norm=tf.constant(6.0))
    np.testing.assert_allclose(run([half, given])[0], [0.5, 0.0], rtol=1e-6)


def test_an_infinite_norm_shows():
    (clipped,), _ = tf.clip_by_global_norm([tf.constant([np.inf, 1.0])], 1.0)
    assert np.isnan(run(clipped)).all()


def test_a_list_is_required():
    for function in (tf.global_norm, lambda t: tf.clip_by_global_norm(t, 1.0)):
        with pytest.raises(TypeError, match="t_list should be a sequence"):
            function(tf.zeros([2]))
