"""contrib.framework.tensor_util, HParamDef, adaptive clipping and rates of mistakes."""

import numpy as np
import pytest

import headrace as tf
from headrace.contrib.framework import tensor_util


def test_shapes_are_checked() -> None:
    x = tf.placeholder(tf.float32, [None])
    checked = tensor_util.with_shape([2], x)
    same = tensor_util.with_same_shape(tf.placeholder_with_default([1.0, 2.0], [None]), x)
    assert checked.shape.as_list() == [2]
    with tf.Session() as session:
        assert session.run([checked, same], {x: [3.0, 4.0]})[1].tolist() == [3.0, 4.0]
        for tensor in (checked, same):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong shape"):
                session.run(tensor, {x: [3.0]})
    with pytest.raises(ValueError, match=r"expected \(3,\), got \(2,\)"):
        tensor_util.with_shape([3], tf.constant([1, 2]))
    with pytest.raises(ValueError, match="Expected integer type"):
        tensor_util.assert_scalar_int(tf.constant(1.0))
    with pytest.raises(ValueError, match="Expected scalar shape"):
        tensor_util.assert_scalar_int(tf.constant([1]))
    with pytest.raises(ValueError, match="No tensors provided"):
        tensor_util.reduce_sum_n([])


def test_hparams_as_a_message() -> None:
    hparams = tf.contrib.training.HParams(rate=0.5, layers=[64, 32], name="net", fast=True, flags=[True, False])
    message = hparams.to_proto()
    again = tf.contrib.training.HParams(hparam_def=type(message).FromString(message.SerializeToString()))
    assert again.values() == hparams.values()
    assert tf.contrib.training.HParams.from_proto(message).layers == [64, 32]
    assert message.hparam["layers"].WhichOneof("kind") == "int64_list"
    with pytest.raises(ValueError, match="hparam_def or keyword arguments"):
        tf.contrib.training.HParams(hparam_def=message, x=1)
    with pytest.raises(TypeError, match="must be an HParamDef message, got 3"):
        tf.contrib.training.HParams(hparam_def=3)


def test_unusual_gradients_are_clipped() -> None:
    size = tf.placeholder(tf.float32, [])
    x = tf.Variable([0.0, 0.0])
    clip = tf.contrib.layers.adaptive_clipping_fn(decay=0.9, report_summary=True)
    [(grad, variable), (none, _)] = clip([(size * tf.constant([0.6, 0.8]), x), (None, x)])
    assert none is None and variable is x
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        usual = [float(np.linalg.norm(session.run(grad, {size: 1.0}))) for _ in range(30)]
        large = float(np.linalg.norm(session.run(grad, {size: 1000.0})))
    assert usual[-1] == pytest.approx(1.0) and large < 10.0
    train = tf.contrib.layers.optimize_loss(tf.reduce_sum(x * 1e3), None, 0.1, "SGD", clip_gradients=clip)
    assert train is not None


def test_rates_of_mistakes() -> None:
    labels, predictions = [1, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 0, 0]
    metrics = tf.contrib.metrics
    pairs = [
        metrics.streaming_false_positive_rate(predictions, labels),
        metrics.streaming_false_negative_rate(predictions, labels),
        metrics.streaming_false_positive_rate_at_thresholds([float(p) for p in predictions], labels, [0.5, 2.0]),
        metrics.streaming_false_negative_rate_at_thresholds([float(p) for p in predictions], labels, [0.5, 2.0]),
    ]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run([update for _, update in pairs])
        values = session.run([value for value, _ in pairs])
    np.testing.assert_allclose(values[0], 0.2)
    np.testing.assert_allclose(values[1], 2 / 3, rtol=1e-6)
    np.testing.assert_allclose(values[2], [0.2, 0.0])
    np.testing.assert_allclose(values[3], [2 / 3, 1.0], rtol=1e-6)


def test_values_one_after_the_other() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    value, update = tf.contrib.metrics.streaming_concat(x, max_size=3)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(value).shape == (0, 2)
        session.run(update, {x: [[1, 2], [3, 4]]})
        session.run(update, {x: [[5, 6], [7, 8]]})
        assert session.run(value).tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(ValueError, match=r"axis = 2 not in \[0, 2\)"):
        tf.contrib.metrics.streaming_concat(x, axis=2)
