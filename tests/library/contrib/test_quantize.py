"""Rewritten graphs: which nodes and variables there are, what they compute, that they learn and are deployed."""

import numpy as np
import pytest

import headrace as tf

quantize = tf.contrib.quantize
IMAGES = np.random.default_rng(1).normal(size=(4, 6, 6, 3)).astype(np.float32)


def _rounded(x: np.ndarray, low: float, high: float, bits: int = 8, narrow: bool = False) -> np.ndarray:
    """What fake quantization makes of numbers: the range is moved so that zero is one of its numbers."""
    first, last = (1 if narrow else 0), 2**bits - 1
    step = (high - low) / (last - first)
    zero = first - low / step
    zero = first if zero < first else last if zero > last else np.round(zero)
    low, high = (first - zero) * step, (last - zero) * step
    return np.round((np.clip(x, low, high) - low) / step) * step + low


def _names(graph: tf.Graph) -> list[str]:
    return [v.op.name for v in graph.get_collection("variables") if v.op.name.endswith(("quant/min", "quant/max"))]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_dense_layer(use_resource: bool) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.variable_scope("", use_resource=use_resource):
        y = tf.layers.dense(x, 2, tf.nn.relu, name="layer")
    loss = tf.reduce_sum(y)
    quantize.create_training_graph()
    kernel = tf.trainable_variables()[0]
    assert _names(tf.get_default_graph()) == [
        f"layer/{w}_quant/{e}" for w in ("weights", "act") for e in ("min", "max")
    ]
    data = IMAGES[0, :, 0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        w = sess.run(kernel)
        out = np.maximum(data @ _rounded(w, min(w.min(), 0), max(w.max(), 0), narrow=True), 0)
        got = sess.run(loss, {x: data})
        np.testing.assert_allclose(got, _rounded(out, 0.0, out.max()).sum(), rtol=1e-3)
        gradient = sess.run(tf.gradients(loss, kernel)[0], {x: data})
        assert np.abs(gradient).max() > 0


def test_only_ranges_of_the_checkpoint_count_in_evaluation() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.dense(x, 2, name="layer")
    end = tf.identity(y)
    quantize.experimental_create_eval_graph(weight_bits=4, activation_bits=6)
    ranges = [v for v in tf.global_variables() if "quant" in v.op.name]
    data = IMAGES[0, :, 0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for v, value in zip(ranges, (-0.5, 0.5, -1.0, 2.0), strict=True):
            v.load(value, sess)
        w = _rounded(sess.run(tf.trainable_variables()[0]), -0.5, 0.5, 4, narrow=True)
        np.testing.assert_allclose(sess.run(end, {x: data}), _rounded(data @ w, -1.0, 2.0, 6), atol=1e-5)


def _network(is_training: bool) -> tf.Tensor:
    with tf.contrib.framework.arg_scope(
        [tf.contrib.layers.conv2d, tf.contrib.layers.separable_conv2d], normalizer_fn=tf.contrib.layers.batch_norm,
        normalizer_params={"is_training": is_training, "decay": 0.5, "fused": True, "scale": True},
    ):  # fmt: skip
        net = tf.contrib.layers.conv2d(tf.constant(IMAGES), 4, 3, activation_fn=tf.nn.relu6, scope="conv")
        net = tf.contrib.layers.separable_conv2d(net, None, 3, depth_multiplier=1, scope="depthwise")
        net += tf.contrib.layers.conv2d(net, 4, 1, activation_fn=None, scope="linear")
    return tf.contrib.layers.fully_connected(tf.reduce_mean(net, [1, 2]), 2, activation_fn=None, scope="logits")


def test_batch_normalizations_are_folded() -> None:
    """With 16 bits the network computes what it computed before, in training and in evaluation."""
    for is_training in (True, False):
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(1)
            logits = _network(is_training)
            end = tf.identity(logits)
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                values = {v.op.name: sess.run(v) for v in tf.global_variables()}
                before = sess.run(end)
            kind = "training" if is_training else "eval"
            getattr(quantize, f"experimental_create_{kind}_graph")(weight_bits=16, activation_bits=16)
            assert {n.type for n in graph.get_operations()} >= {"FakeQuantWithMinMaxVars", "BiasAdd"}
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for v in tf.global_variables():
                    if v.op.name in values:
                        v.load(values[v.op.name], sess)
                np.testing.assert_allclose(sess.run(end), before, rtol=2e-2, atol=2e-3)
            scopes = {name.rpartition("/")[0] for name in _names(graph)}
            assert scopes >= {"conv/weights_quant", "conv/act_quant", "depthwise/act_quant", "linear/conv_quant"}
            assert any(scope.endswith("add_quant") for scope in scopes)


def test_training_and_export() -> None:
    """The folded network learns; its checkpoint fits the graph for evaluation."""
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        loss = tf.losses.sparse_softmax_cross_entropy([0, 1, 0, 1], _network(True))
        quantize.create_training_graph()
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            first = sess.run(loss)
            for _ in range(25):
                sess.run(train)
            assert sess.run(loss) < 0.8 * first
            trained = {v.op.name for v in tf.global_variables()}
    with tf.Graph().as_default():
        _network(False)
        quantize.create_eval_graph()
        assert {v.op.name for v in tf.global_variables()} <= trained


def test_delay() -> None:
    step = tf.train.get_or_create_global_step()
    y = tf.identity(tf.layers.dense(tf.constant([[0.3, 0.7]]), 1, name="layer"))
    quantize.experimental_create_training_graph(weight_bits=2, quant_delay=1)
    kernel = tf.trainable_variables()[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        exact = sess.run(kernel)
        np.testing.assert_allclose(sess.run(y), [[0.3, 0.7]] @ exact, rtol=1e-6)
        step.load(1, sess)
        assert abs(float(sess.run(y)[0, 0]) - float(([[0.3, 0.7]] @ exact)[0, 0])) > 1e-4


def test_scopes_and_mistakes() -> None:
    for name in ("a", "b"):
        with tf.name_scope(name):
            tf.layers.dense(tf.zeros([1, 2]), 2, name=name)
    quantize.experimental_create_eval_graph(scope="a")
    assert {name[0] for name in _names(tf.get_default_graph())} == {"a"}
    with pytest.raises(ValueError, match="from 2 to 16, got 1"):
        quantize.experimental_create_eval_graph(weight_bits=1)
    with pytest.raises(NotImplementedError, match="freeze_bn_delay"):
        quantize.experimental_create_training_graph(freeze_bn_delay=3)
    tf.layers.batch_normalization(tf.layers.conv2d(tf.constant(IMAGES), 2, 3, name="c"), training=True, name="n")
    with pytest.raises(NotImplementedError, match="normalizes a layer with a bias"):
        quantize.experimental_create_training_graph(scope="c")
