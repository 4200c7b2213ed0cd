"""contrib.layers and slim: names as TF1 documents them, values against tf.layers and formulas."""

import numpy as np
import pytest
from running import initialize_and_run as run
from running import initialized_session

import headrace as tf
from headrace.contrib import slim

layers = tf.contrib.layers
X = np.random.RandomState(0).randn(4, 6, 6, 3).astype(np.float32)


def names() -> list[str]:
    return [v.name for v in tf.global_variables()]


def test_fully_connected() -> None:
    x = tf.constant(X[:, 0, 0])
    y = layers.fully_connected(x, 5)
    z = layers.fully_connected(y, 2, activation_fn=None, scope="out", outputs_collections="ends")
    assert y.name == "fully_connected/Relu:0"
    assert z.name == "out/BiasAdd:0"
    assert names() == ["fully_connected/weights:0", "fully_connected/biases:0", "out/weights:0", "out/biases:0"]
    assert tf.model_variables() == tf.trainable_variables() == tf.global_variables()
    assert tf.get_collection("ends") == [z]
    value, *rest = run([y, *tf.global_variables()])
    np.testing.assert_allclose(value, np.maximum(X[:, 0, 0] @ rest[0] + rest[1], 0), rtol=1e-5, atol=1e-6)


def test_reuse_and_regularizers() -> None:
    x = tf.constant(X[:, 0, 0])
    for reuse in (None, True):
        layers.fully_connected(x, 5, scope="a", reuse=reuse, weights_regularizer=layers.l2_regularizer(0.1))
    assert names() == ["a/weights:0", "a/biases:0"]
    assert [t.name for t in tf.losses.get_regularization_losses()] == ["a/kernel/Regularizer/l2_regularizer:0"]


def test_variables_collections() -> None:
    layers.fully_connected(tf.constant(X[:, 0, 0]), 5, variables_collections={"weights": ["w"], "biases": ["b"]})
    assert [v.op.name for v in tf.get_collection("w")] == ["fully_connected/weights"]
    assert [v.op.name for v in tf.get_collection("b")] == ["fully_connected/biases"]


def test_conv2d_with_batch_norm_as_slim_nets_do() -> None:
    with (
        slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(1e-3)),
        slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm, padding="SAME", outputs_collections="ends"),
        slim.arg_scope([slim.batch_norm], is_training=True, decay=0.9),
        tf.variable_scope("net"),
    ):
        net = slim.repeat(tf.constant(X), 2, slim.conv2d, 4, [3, 3], scope="conv1")
        net = slim.max_pool2d(net, [2, 2], scope="pool1")
        net = slim.dropout(slim.flatten(net), 0.5, is_training=False)
        net = slim.fully_connected(net, 2, activation_fn=None, scope="logits")
    assert net.name == "net/logits/BiasAdd:0"
    one = "net/conv1/conv1_1/"
    assert names()[:4] == [
        f"{one}weights:0", f"{one}BatchNorm/beta:0", f"{one}BatchNorm/moving_mean:0", f"{one}BatchNorm/moving_variance:0",
    ]  # fmt: skip
    assert names()[-2:] == ["net/logits/weights:0", "net/logits/biases:0"]
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 4
    assert len(tf.losses.get_regularization_losses()) == 3
    assert set(slim.utils.convert_collection_to_dict("ends")) == {"net/conv1/conv1_1", "net/conv1/conv1_2"}
    assert slim.get_model_variables("net/conv1") == tf.global_variables()[:-2]
    assert slim.model_analyzer.analyze_vars(tf.trainable_variables()) == (334, 334 * 4)
    assert run(net).shape == (4, 2)


def test_conv2d_values() -> None:
    y = layers.conv2d(tf.constant(X), 4, 3, stride=2, activation_fn=None, padding="VALID", scope="c")
    z = tf.nn.conv2d(X, tf.global_variables()[0], [1, 2, 2, 1], "VALID")
    assert y.name == "c/BiasAdd:0"
    np.testing.assert_allclose(*run([y, z]), rtol=1e-5, atol=1e-5)
    assert layers.conv2d(tf.constant(X), 4, 3).name == "Conv/Relu:0"
    assert layers.conv2d(tf.constant(X.transpose(0, 3, 1, 2)), 4, 3, data_format="NCHW").shape.as_list() == [4, 4, 6, 6]
    with pytest.raises(ValueError, match="expects input with rank 4, got 2"):
        layers.conv2d(tf.zeros([2, 3]), 4, 3)


def test_other_convolutions() -> None:
    x = tf.constant(X)
    assert layers.conv2d_transpose(x, 2, 3, 2).shape.as_list() == [4, 12, 12, 2]
    assert layers.separable_conv2d(x, 5, 3).shape.as_list() == [4, 6, 6, 5]
    assert layers.separable_conv2d(x, None, 3, depth_multiplier=2, scope="depthwise").shape.as_list() == [4, 6, 6, 6]
    assert names() == [
        "Conv2d_transpose/weights:0", "Conv2d_transpose/biases:0", "SeparableConv2d/depthwise_weights:0",
        "SeparableConv2d/pointwise_weights:0", "SeparableConv2d/biases:0", "depthwise/depthwise_weights:0",
        "depthwise/biases:0",
    ]  # fmt: skip


def test_batch_norm_in_place_updates() -> None:
    training = tf.placeholder(tf.bool, [])
    y = layers.batch_norm(tf.constant(X), decay=0.5, updates_collections=None, is_training=training, scale=True)
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    assert names() == [f"BatchNorm/{n}:0" for n in ("gamma", "beta", "moving_mean", "moving_variance")]
    with initialized_session() as session:
        session.run(y, {training: False})
        np.testing.assert_array_equal(session.run(tf.global_variables()[2]), [0, 0, 0])
        found = session.run(y, {training: True})
        np.testing.assert_allclose(session.run(tf.global_variables()[2]), X.mean((0, 1, 2)) / 2, rtol=1e-4, atol=1e-6)
    wanted = (X - X.mean((0, 1, 2))) / np.sqrt(X.var((0, 1, 2)) + 1e-3)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_layer_instance_and_group_norm() -> None:
    x = tf.constant(X)
    made = [layers.layer_norm(x), layers.instance_norm(x), layers.group_norm(x, groups=3), layers.unit_norm(x, 3)]
    assert names() == [f"{s}/{n}:0" for s in ("LayerNorm", "InstanceNorm", "GroupNorm") for n in ("beta", "gamma")]
    found = run(made)

    def normal(axes: tuple[int, ...], epsilon: float) -> np.ndarray:
        return (X - X.mean(axes, keepdims=True)) / np.sqrt(X.var(axes, keepdims=True) + epsilon)

    np.testing.assert_allclose(found[0], normal((1, 2, 3), 1e-12), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found[1], normal((1, 2), 1e-6), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found[2], found[1], rtol=1e-3, atol=1e-4)  # as many groups as channels
    np.testing.assert_allclose((found[3] ** 2).sum(-1), 1, rtol=1e-4)


def test_small_functions() -> None:
    ids = tf.constant([[1, 0], [1, 1]])
    embedded = layers.embed_sequence(ids, 3, 2, scope="e")
    unique = layers.embed_sequence(ids, 3, 2, scope="e", reuse=True, unique=True)
    assert names() == ["e/embeddings:0"]
    stacked = layers.stack(tf.constant(X[:, 0, 0]), layers.fully_connected, [4, 5], scope="fc")
    assert stacked.name == "fc/fc_2/Relu:0"
    a, b, c, d, table = run(
        [embedded, unique, layers.one_hot_encoding([2, 0], 3), layers.softmax(tf.constant(X)), tf.global_variables()[0]]
    )
    np.testing.assert_array_equal(a, table[[[1, 0], [1, 1]]])
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(c, [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(d.sum(-1), 1, rtol=1e-5)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", tf.train.MomentumOptimizer(0.1, 0.9), tf.train.AdagradOptimizer])
def test_optimize_loss(optimizer) -> None:
    v = tf.get_variable("v", initializer=5.0)
    step = tf.train.get_or_create_global_step()
    counter = tf.get_variable("c", initializer=0.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, counter.assign_add(1.0))
    train = layers.optimize_loss(
        tf.square(v), step, 0.1, optimizer, clip_gradients=1.0, gradient_multipliers={"v": 2.0}
    )
    assert train.name.startswith("OptimizeLoss/")
    with initialized_session() as session:
        assert session.run(train) == 25.0
        assert session.run([step, counter]) == [1, 1.0]
        assert session.run(v) < 5.0


def test_optimize_loss_errors() -> None:
    loss = tf.square(tf.get_variable("v", initializer=5.0))
    step = tf.train.get_or_create_global_step()
    with pytest.raises(ValueError, match="Optimizer name should be one of"):
        layers.optimize_loss(loss, step, 0.1, "Foo")
    with pytest.raises(ValueError, match="Invalid learning_rate"):
        layers.optimize_loss(loss, step, -0.1, "SGD")
    with pytest.raises(ValueError, match="Learning rate is None"):
        layers.optimize_loss(loss, step, None, "SGD")


def test_create_train_op() -> None:
    v = tf.get_variable("v", initializer=[3.0, 4.0])
    loss = tf.reduce_sum(v * v) / 2
    train = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(1.0), clip_gradient_norm=1.0)
    with initialized_session() as session:
        assert session.run(train) == 12.5
        np.testing.assert_allclose(session.run(v), [2.4, 3.2], rtol=1e-5)
        assert session.run(tf.train.get_global_step()) == 1


def tags() -> list[str]:
    with initialized_session() as session:
        return [v.tag for v in tf.Summary.FromString(session.run(tf.summary.merge_all())).value]


def test_optimize_loss_adds_summaries() -> None:
    loss = tf.square(tf.get_variable("v", initializer=5.0))
    step = tf.train.get_or_create_global_step()
    layers.optimize_loss(loss, step, 0.1, "SGD")
    assert tags() == ["OptimizeLoss/global_norm/gradient_norm", "OptimizeLoss/loss"]


def test_optimize_loss_adds_the_summaries_that_are_asked_for() -> None:
    loss = tf.square(tf.get_variable("v", initializer=5.0))
    step = tf.train.get_or_create_global_step()
    with pytest.raises(ValueError, match=r"Summaries should be one of \[learning_rate, .*you provided weights"):
        layers.optimize_loss(loss, step, 0.1, "SGD", summaries=["weights"])
    layers.optimize_loss(
        loss, step, 0.1, "SGD", clip_gradients=1.0, learning_rate_decay_fn=lambda rate, step: rate * 0.5, name="train",
        summaries=layers.OPTIMIZER_SUMMARIES,
    )  # fmt: skip
    assert tags() == [
        "train/learning_rate_1", "train/global_norm/gradient_norm", "train/loss", "train/gradients/v_0",
        "train/gradient_norm/v_0", "train/global_norm/clipped_gradient_norm",
    ]  # fmt: skip


def test_create_train_op_summarizes_gradients() -> None:
    table = tf.get_variable("table", initializer=[[3.0], [4.0]])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, [1])))
    slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(1.0), summarize_gradients=True)
    assert tags() == ["summarize_grads/table_gradient", "summarize_grads/table_gradient_norm"]
