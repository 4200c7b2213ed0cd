"""The pass mixed_precision: products in 16 bits and what stands between them; sums, losses and variables in 32."""

import numpy as np
import pytest

import headrace as tf
from headrace import extend

RNG = np.random.RandomState(3)


def types_of(fetches, feed=None, before=None, targets=(), **config):
    """The values of a step, and the type that each op was computed in."""
    types = {}

    def look(name, graph):
        nodes = [node for node in graph.nodes if isinstance(node.attrs.get("T"), tf.DType) and node.origin is not None]
        types.update({node.origin.name: node.attrs["T"].name for node in nodes})

    with tf.Session(config=tf.ConfigProto(compile="off", **config)) as session:
        session.run(before or tf.no_op())
        session._master.after_each_pass = look
        values = session.run([*fetches, *targets], feed)
    return values[: len(fetches)], types


def model(rows=16):
    x, labels = tf.placeholder(tf.float32, [rows, 12]), tf.placeholder(tf.int32, [rows])
    hidden = tf.layers.dense(x, 32, tf.nn.relu, name="one", kernel_initializer=tf.glorot_uniform_initializer(seed=1))
    hidden = tf.layers.dense(hidden, 32, tf.tanh, name="two", kernel_initializer=tf.glorot_uniform_initializer(seed=2))
    logits = tf.layers.dense(hidden, 5, name="three", kernel_initializer=tf.glorot_uniform_initializer(seed=3))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    feed = {x: RNG.randn(rows, 12), labels: RNG.randint(0, 5, rows)}
    return hidden, tf.reduce_mean(losses, name="loss"), feed


def test_which_ops_change():
    hidden, loss, feed = model()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    (value,), types = types_of([loss], feed, tf.global_variables_initializer(), [train], precision="bfloat16")
    assert value.dtype == np.float32
    for name in ("one/MatMul", "one/BiasAdd", "one/Relu", "two/MatMul", "two/Tanh", "three/MatMul"):
        assert types[name] == "bfloat16", name
    assert types["loss"] == "float32" and types["three/BiasAdd"] == "float32"
    assert types["gradients/two/MatMul_grad/MatMul_1"] == "bfloat16"
    assert types["GradientDescent/update_one/kernel/ApplyGradientDescent"] == "float32"


def test_a_power_is_computed_in_32_bits():
    """Also one whose exponent is told to its kernel."""
    hidden, _, feed = model()
    cubes = tf.pow(hidden, 3.0, name="cubes")
    result = tf.matmul(cubes * hidden, tf.ones([32, 2]))
    _, types = types_of([result], feed, tf.global_variables_initializer(), precision="bfloat16")
    assert (types["two/MatMul"], types["cubes"]) == ("bfloat16", "float32")


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_training_goes_as_in_32_bits(precision):
    _, loss, feed = model()
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    found = []
    for one in ("high", precision):
        with tf.Session(config=tf.ConfigProto(precision=one)) as session:
            session.run(tf.global_variables_initializer())
            found.append([session.run([loss, train], feed)[0] for _ in range(30)])
            assert session.run(tf.trainable_variables()[0]).dtype == np.float32
    np.testing.assert_allclose(*found, rtol=0.05, atol=0.01)
    assert found[1][-1] < 0.5 * found[1][0]
    assert found[0] != found[1]


def test_what_is_fetched_is_of_its_own_type():
    hidden, _, feed = model()
    (values,), types = types_of([hidden], feed, tf.global_variables_initializer(), precision="bfloat16")
    assert values.dtype == np.float32 and types["two/MatMul"] == "bfloat16"


def test_pictures_with_normalization():
    x = tf.placeholder(tf.float32, [2, 8, 8, 3])
    y = tf.layers.conv2d(x, 4, 3, name="conv", kernel_initializer=tf.glorot_uniform_initializer(seed=1))
    y = tf.nn.relu(tf.layers.batch_normalization(y, training=True, fused=True, name="norm"))
    y = tf.layers.max_pooling2d(y, 2, 2, name="pool")
    y = tf.layers.conv2d(y, 4, 2, name="last", kernel_initializer=tf.glorot_uniform_initializer(seed=2))
    loss = tf.reduce_sum(tf.square(y), name="loss")
    slopes = tf.gradients(loss, tf.trainable_variables())
    feed = {x: RNG.randn(2, 8, 8, 3)}
    start = tf.global_variables_initializer()
    plain, _ = types_of([loss, *slopes], feed, start)
    found, types = types_of([loss, *slopes], feed, start, precision="bfloat16")
    assert {types[name] for name in ("conv/Conv2D", "norm/FusedBatchNormV3", "pool/MaxPool")} == {"bfloat16"}
    assert types["loss"] == "float32"
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == np.float32
        assert (
            np.linalg.norm(one - other) < 0.2 * np.linalg.norm(other) + 0.05
        )  # a pool may take another of two close numbers


@pytest.mark.parametrize("control_flow", ["auto", "lowered"])
def test_loops_branches_and_functions(control_flow):
    x = tf.placeholder(tf.float32, [4, 6])
    w = tf.get_variable("w", initializer=RNG.randn(6, 6).astype(np.float32) * 0.3)

    @tf.function
    def product(a, b):
        return tf.tanh(tf.matmul(a, b))

    y = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, x])[1]
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(y, w) * 2.0, lambda: tf.matmul(y, w))
    y = product(y, w)
    fetches = [y, *tf.gradients(tf.reduce_sum(y), [w, x])]
    feed = {x: RNG.randn(4, 6)}
    plain, _ = types_of(fetches, feed, w.initializer, control_flow=control_flow)
    found, _ = types_of(fetches, feed, w.initializer, control_flow=control_flow, precision="bfloat16")
    assert any((one != other).any() for one, other in zip(found, plain, strict=True))
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.1, atol=0.1)


def test_ops_that_need_32_bits_keep_them():
    x = tf.placeholder(tf.float32, [3, 3])
    y = tf.matmul(x, x, name="first")
    z = tf.add(tf.exp(y, name="exp"), 1.0, name="after")
    moved = tf.reshape(z, [9], name="moved")
    result = tf.matmul(tf.reshape(moved + 1.0, [3, 3]), x, name="second")
    _, types = types_of([result], {x: np.eye(3)}, precision="bfloat16")
    assert types["first"] == types["second"] == "bfloat16"
    assert types["exp"] == types["after"] == types["moved"] == "float32"


@pytest.fixture
def accelerator():
    extend.register_device("ACCELERATOR", "cpu", 1, priority=200)
    yield
    extend.unregister_device("ACCELERATOR")


def two_products():
    x = tf.placeholder(tf.float32, [3, 3])
    with tf.device("/cpu:0"):
        here = tf.matmul(x, x, name="here")
    return [here, tf.matmul(x, x + 1.0, name="there")], {x: np.eye(3)}


@pytest.mark.parametrize("name", ["TF_ENABLE_AUTO_MIXED_PRECISION", "TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE"])
def test_variables_that_tensorflow_reads(accelerator, monkeypatch, name):
    fetches, feed = two_products()
    assert set(types_of(fetches, feed)[1].values()) == {"float32"}
    monkeypatch.setenv(name, "1")
    types = types_of(fetches, feed)[1]
    assert (types["here"], types["there"]) == ("float32", "bfloat16")


def test_a_setting_of_a_session(accelerator):
    fetches, feed = two_products()
    options = tf.GraphOptions()
    options.rewrite_options.auto_mixed_precision = 1
    types = types_of(fetches, feed, graph_options=options)[1]
    assert (types["here"], types["there"]) == ("float32", "bfloat16")


def test_a_call_for_all_sessions(accelerator):
    fetches, feed = two_products()
    optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(tf.train.GradientDescentOptimizer(0.1))
    try:
        assert isinstance(optimizer, tf.train.experimental.MixedPrecisionLossScaleOptimizer)
        assert types_of(fetches, feed)[1]["there"] == "bfloat16"
        options = tf.GraphOptions()
        options.rewrite_options.auto_mixed_precision = 2  # OFF
        assert types_of(fetches, feed, graph_options=options)[1]["there"] == "float32"
    finally:
        tf.train.experimental.disable_mixed_precision_graph_rewrite()
    assert types_of(fetches, feed)[1]["there"] == "float32"


def test_what_the_call_refuses():
    enable = tf.train.experimental.enable_mixed_precision_graph_rewrite
    with pytest.raises(ValueError, match="must be a tf.train.Optimizer, got 3"):
        enable(3)
    scaled = tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(), 4.0)
    with pytest.raises(ValueError, match="already scales its loss"):
        enable(scaled)


def test_what_a_precision_may_be(monkeypatch):
    monkeypatch.setenv("HEADRACE_PRECISION", "half")
    with pytest.raises(ValueError, match="must be highest, high, medium, bfloat16 or float16, got 'half'"):
        tf.Session()
