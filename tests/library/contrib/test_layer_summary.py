"""Summaries of contrib.layers, spatial softmax, and other small names of contrib."""

import numpy as np
import pytest

import headrace as tf

layers = tf.contrib.layers


def test_summaries_by_kind() -> None:
    assert layers.summarize_tensor(tf.constant(1.0, name="a")).op.type == "ScalarSummary"
    assert layers.summarize_tensor(tf.constant([1.0]), "tag").op.name == "tag"
    assert layers.summarize_tensor(tf.constant("x")) is layers.summarize_tensor(tf.constant([True])) is None
    layers.summarize_activation(tf.nn.relu6([9.0, -1.0, 3.0], name="six"))
    layers.summarize_activation(tf.identity([1.0], name="plain"))
    names = [s.op.name for s in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert names == ["a_summary", "tag", "six/zeros", "six/sixes", "six/activation", "plain/activation"]
    with tf.Session() as sess:
        written = tf.Summary.FromString(sess.run(tf.summary.merge_all(scope="six")))
    by_tag = {v.tag: v.simple_value for v in written.value if v.HasField("simple_value")}
    np.testing.assert_allclose([by_tag["six/zeros"], by_tag["six/sixes"]], [1 / 3, 1 / 3], rtol=1e-6)


def test_collections() -> None:
    tf.get_variable("in/w", [2])
    tf.get_variable("out/w", [2])
    assert [s.op.name for s in layers.summarize_variables("in/")] == ["in/w_summary"]
    assert layers.summarize_weights() == layers.summarize_biases() == []
    tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, tf.nn.relu([1.0], name="r"))
    assert [s.op.name for s in layers.summarize_activations()] == ["r/activation"]
    assert layers.summarize_tensors([tf.constant(1.0)], lambda t: t.op.type) == ["Const"]


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_spatial_softmax(data_format: str) -> None:
    images = np.random.default_rng(0).normal(size=(2, 3, 5, 4)).astype(np.float32)
    given = images if data_format == "NHWC" else images.transpose(0, 3, 1, 2)
    points = layers.spatial_softmax(tf.constant(given), temperature=0.5, data_format=data_format)
    weights = np.exp(images / 0.5)
    weights /= weights.sum((1, 2), keepdims=True)
    rows = (weights * np.linspace(-1, 1, 3)[None, :, None, None]).sum((1, 2))
    columns = (weights * np.linspace(-1, 1, 5)[None, None, :, None]).sum((1, 2))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_allclose(sess.run(points), np.stack([rows, columns], -1).reshape(2, 8), rtol=1e-4, atol=1e-6)
    assert [v.name for v in tf.trainable_variables()] == ["spatial_softmax/temperature:0"]
    with pytest.raises(ValueError, match="num_channels"):
        layers.spatial_softmax(tf.placeholder(tf.float32, [1, 2, 2, None]))


def test_names_of_framework() -> None:
    assert tf.contrib.framework.is_tensor(tf.constant(1)) and not tf.contrib.framework.is_tensor(1)
    assert tf.contrib.framework.deprecated("2017-01-01", "Use another.")(lambda x: x + 1)(1) == 2
