"""Batch normalization against its formulas.  The names are TF1's documented ones; TensorFlow 2 ships no TF1 layer to compare."""

import numpy as np
import pytest
from running import initialized_session

import headrace as tf

X = np.random.RandomState(0).randn(5, 4, 4, 3).astype(np.float32) * 2 + 1


def normalized(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-3)


def run(fetch, feed=None, steps: int = 0):
    with initialized_session() as session:
        for _ in range(steps):
            session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), feed)
        return session.run(fetch, feed)


def test_names() -> None:
    tf.layers.batch_normalization(tf.constant(X), training=True)
    prefix = "batch_normalization/"
    assert [v.name for v in tf.trainable_variables()] == [f"{prefix}gamma:0", f"{prefix}beta:0"]
    assert [v.name for v in tf.global_variables()[2:]] == [f"{prefix}moving_mean:0", f"{prefix}moving_variance:0"]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert [u.name for u in updates] == [f"{prefix}AssignMovingAvg:0", f"{prefix}AssignMovingAvg_1:0"]
    assert tf.get_default_graph().get_operation_by_name(f"{prefix}FusedBatchNormV3")


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("axis", [-1, 1])
def test_training_uses_the_batch_and_moves_the_averages(fused: bool, axis: int) -> None:
    y = tf.layers.batch_normalization(tf.constant(X), axis=axis, training=True, momentum=0.9, fused=fused)
    others = (0, 1, 2) if axis == -1 else (0, 2, 3)
    found, mean, variance = run([y, *tf.global_variables()[2:]], steps=2)
    np.testing.assert_allclose(found, normalized(X, others), rtol=1e-4, atol=1e-4)
    count = X.size // X.shape[axis]
    wanted = X.var(others) * (count / (count - 1) if fused else 1.0)
    np.testing.assert_allclose(mean, X.mean(others) * (1 - 0.9**2), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variance, 0.9**2 + wanted * (1 - 0.9**2), rtol=1e-4)


@pytest.mark.parametrize("fused", [True, False])
def test_inference_uses_the_averages(fused: bool) -> None:
    y = tf.layers.batch_normalization(
        tf.constant(X), fused=fused, moving_mean_initializer=tf.constant_initializer(0.5),
        moving_variance_initializer=tf.constant_initializer(4.0), beta_initializer=tf.constant_initializer(1.0),
        gamma_initializer=tf.constant_initializer(2.0),
    )  # fmt: skip
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    np.testing.assert_allclose(run(y), (X - 0.5) / np.sqrt(4.001) * 2 + 1, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fused", [True, False])
def test_training_as_a_tensor(fused: bool) -> None:
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(tf.constant(X), training=training, fused=fused)
    found, mean = run([y, tf.global_variables()[2]], {training: True}, steps=1)
    np.testing.assert_allclose(found, normalized(X, (0, 1, 2)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(mean, X.mean((0, 1, 2)) * 0.01, rtol=1e-4)
    found, mean = run([y, tf.global_variables()[2]], {training: False}, steps=1)
    np.testing.assert_allclose(found, X / np.sqrt(1.001), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(mean, [0, 0, 0])


@pytest.mark.parametrize("fused", [True, False])
def test_trains_with_training_as_a_tensor(fused: bool) -> None:
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(tf.constant(X), training=training, fused=fused)
    y = tf.layers.dropout(y, 0.5, training=training)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(tf.square(y - 1.0)))
    with initialized_session() as session:
        session.run(train, {training: True})
        gamma, beta, mean, _ = session.run(tf.global_variables())
        assert (beta > 0).all()
        assert (gamma != 1).all()
        np.testing.assert_allclose(mean, X.mean((0, 1, 2)) * 0.01, rtol=1e-4)


def test_gradients_fused_and_plain_agree() -> None:
    made = []
    for fused in (True, False):
        x = tf.constant(X)
        y = tf.layers.batch_normalization(x, training=True, fused=fused)
        made.append(tf.gradients(tf.reduce_sum(y * y * y), [x, *tf.trainable_variables()[-2:]]))
    first, second = run(made)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


def test_several_axes_and_options() -> None:
    y = tf.layers.batch_normalization(tf.constant(X), axis=[1, 3], training=True, center=False, scale=False)
    assert [v.name.split("/")[-1] for v in tf.global_variables()] == ["moving_mean:0", "moving_variance:0"]
    assert tf.global_variables()[0].shape.as_list() == [1, 4, 1, 3]
    np.testing.assert_allclose(run(y), normalized(X, (0, 2)), rtol=1e-4, atol=1e-4)


def test_half_keeps_its_variables_in_float32() -> None:
    y = tf.layers.batch_normalization(tf.constant(X.astype(np.float16)), training=True)
    assert y.dtype == tf.float16
    assert all(v.dtype.base_dtype == tf.float32 for v in tf.global_variables())
    np.testing.assert_allclose(run(y), normalized(X, (0, 1, 2)), rtol=2e-2, atol=2e-2)


def test_two_dimensional_input_is_not_fused() -> None:
    y = tf.layers.batch_normalization(tf.constant(X.reshape(-1, 3)), training=True)
    assert y.op.name == "batch_normalization/batchnorm/add_1"
    np.testing.assert_allclose(run(y), normalized(X.reshape(-1, 3), (0,)), rtol=1e-4, atol=1e-4)
