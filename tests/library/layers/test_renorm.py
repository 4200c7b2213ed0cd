"""Batch renormalization, virtual batches, adjustments and weights of batch normalization, against numpy."""

import numpy as np
import pytest
from running import initialize_and_run, initialized_session

import headrace as tf

RNG = np.random.RandomState(0)
BATCHES = [RNG.randn(8, 3) * (1 + i) + i for i in range(4)]


def _reference(momentum: float, slow: float, epsilon: float, rmax: float, dmax: float) -> tuple[list, list]:
    """Ioffe's algorithm 1, with averages that start at nothing."""
    moving = [np.zeros(3), np.ones(3)]
    mean_sum, deviation_sum, weight = np.zeros(3), np.zeros(3), 0.0
    made = []
    for x in BATCHES:
        mean, deviation = x.mean(0), np.sqrt(x.var(0) + epsilon)
        mixed_mean, mixed = mean_sum + (1 - weight) * mean, deviation_sum + (1 - weight) * deviation
        r, d = np.clip(deviation / mixed, 1 / rmax, rmax), np.clip((mean - mixed_mean) / mixed, -dmax, dmax)
        made.append((x - mean) / deviation * r + d)
        mean_sum = mean_sum * slow + mean * (1 - slow)
        deviation_sum = deviation_sum * slow + deviation * (1 - slow)
        weight = weight * slow + 1 - slow
        found = [mean_sum / weight, (deviation_sum / weight) ** 2 - epsilon]
        moving = [m * momentum + f * (1 - momentum) for m, f in zip(moving, found, strict=True)]
    return made, moving


def test_renorm() -> None:
    x, training = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.bool, [])
    limits = {"rmax": 1.5, "rmin": 1 / 1.5, "dmax": 0.5}
    y = tf.layers.batch_normalization(
        x, training=training, renorm=True, momentum=0.9, renorm_clipping=limits, renorm_momentum=0.95
    )
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    made, moving = _reference(0.9, 0.95, 1e-3, 1.5, 0.5)
    with initialized_session() as session:
        session.run(updates, {x: BATCHES[0], training: False})  # changes nothing
        for batch, expected in zip(BATCHES, made, strict=True):
            found, _ = session.run([y, updates], {x: batch, training: True})
            np.testing.assert_allclose(found, expected, atol=1e-4)
        names = ("batch_normalization/moving_mean:0", "batch_normalization/moving_variance:0")
        for found, expected in zip(session.run(names), moving, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        plain = session.run(y, {x: BATCHES[0], training: False})
        np.testing.assert_allclose(plain, (BATCHES[0] - moving[0]) / np.sqrt(moving[1] + 1e-3), atol=1e-4)
    assert [v.op.name.split("/")[1] for v in tf.global_variables()] == [
        "gamma", "beta", "moving_mean", "moving_variance", "renorm_mean", "renorm_mean_weight", "renorm_stddev",
        "renorm_stddev_weight",
    ]  # fmt: skip


def test_the_corrections_get_no_gradient() -> None:
    x = tf.constant(BATCHES[1], tf.float32)
    y = tf.layers.batch_normalization(x, training=True, renorm=True)
    plain = tf.layers.batch_normalization(x, training=True)
    weights = tf.constant(RNG.randn(8, 3), tf.float32)
    grads = [tf.gradients(tf.reduce_sum(v * weights), x)[0] for v in (y, plain)]
    np.testing.assert_allclose(*initialize_and_run(grads), atol=1e-5)  # at the first step r is 1 and d is 0


def test_virtual_batches() -> None:
    x = tf.constant(BATCHES[1], tf.float32)
    y = tf.layers.batch_normalization(x, training=True, virtual_batch_size=4)
    parts = BATCHES[1].reshape(4, 2, 3)
    expected = ((parts - parts.mean(0)) / np.sqrt(parts.var(0) + 1e-3)).reshape(8, 3)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with initialized_session() as session:
        np.testing.assert_allclose(session.run(y), expected, atol=1e-5)
        session.run(updates)
        mean = session.run("batch_normalization/moving_mean:0")
    np.testing.assert_allclose(mean.reshape(-1), 0.01 * BATCHES[1].mean(0), atol=1e-6)
    assert y.shape.as_list() == [8, 3]
    assert mean.shape == (1, 1, 3)


def test_adjustment_counts_only_while_training() -> None:
    x, training = tf.constant(BATCHES[1], tf.float32), tf.placeholder(tf.bool, [])

    def adjust(shape: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.fill([shape[0], 1], 2.0), tf.ones([1, 3])

    y = tf.layers.batch_normalization(x, training=training, adjustment=adjust)
    b = BATCHES[1]
    with initialized_session() as session:
        found = session.run(y, {training: True})
        np.testing.assert_allclose(found, (b - b.mean(0)) / np.sqrt(b.var(0) + 1e-3) * 2 + 1, atol=1e-5)
        np.testing.assert_allclose(session.run(y, {training: False}), b / np.sqrt(1 + 1e-3), atol=1e-5)


def test_what_does_not_go_together() -> None:
    with pytest.raises(ValueError, match="fused=True"):
        tf.layers.BatchNormalization(fused=True, renorm=True)
    with pytest.raises(ValueError, match=r"contains keys not in \['rmax', 'rmin', 'dmax'\]"):
        tf.layers.BatchNormalization(renorm=True, renorm_clipping={"max": 3})
    with pytest.raises(ValueError, match="adjustment cannot be specified"):
        tf.layers.BatchNormalization(virtual_batch_size=2, adjustment=lambda shape: (1.0, 0.0))
    with pytest.raises(ValueError, match="fused=True"):
        tf.contrib.layers.batch_norm(tf.zeros([2, 3, 3, 1]), fused=True, batch_weights=[1.0, 0.0])


def test_contrib_batch_weights_and_debiased_mean() -> None:
    x, training = tf.placeholder(tf.float32, [None, 3]), tf.placeholder_with_default(True, [])
    weighted = tf.contrib.layers.batch_norm(x, batch_weights=[1.0] * 3 + [0.0] * 5, scope="w", updates_collections=None)
    tf.contrib.layers.batch_norm(x, is_training=training, zero_debias_moving_mean=True, decay=0.9, scope="z")
    tf.contrib.layers.batch_norm(x, renorm=True, scope="r")
    part = BATCHES[2][:3]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS, "z")
    with initialized_session() as session:
        found = session.run(weighted, {x: BATCHES[2]})
        np.testing.assert_allclose(found, (BATCHES[2] - part.mean(0)) / np.sqrt(part.var(0) + 1e-3), atol=1e-4)
        session.run(updates, {x: BATCHES[1], training: False})
        assert not session.run("z/moving_mean:0").any()
        session.run(updates, {x: BATCHES[1]})
        np.testing.assert_allclose(session.run("z/moving_mean:0"), BATCHES[1].mean(0), rtol=1e-4)
    assert "r/renorm_mean_weight:0" in [v.name for v in tf.global_variables()]
