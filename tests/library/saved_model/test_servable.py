"""Graphs to be served hold no nodes that only Headrace has; others are saved whole."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.library.saved_model.loader import parse_saved_model


def save(folder: Path, tags: list[str], with_gradient: bool = False) -> Any:
    """Saves a model with its training graph; gives the MetaGraphDef."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        v = tf.Variable(2.0, name="v")
        loss = tf.reduce_mean(tf.square(x * v), name="loss")
        tf.add_to_collection("train_ops", tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train"))
        tf.add_to_collection("losses_kept", loss)
        outputs = {"y": tf.gradients(loss, [x])[0] if with_gradient else loss}
        sess.run(tf.global_variables_initializer())
        signature = tf.saved_model.predict_signature_def({"x": x}, outputs)
        builder = tf.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(sess, tags, {"serving_default": signature})
        builder.save()
    return parse_saved_model(folder).meta_graphs[0]


def own_types(meta_graph: Any) -> set[str]:
    return {node.op for node in meta_graph.graph_def.node if node.op.startswith("_")}


def test_a_graph_to_be_served(session: tf.Session, tmp_path: Path) -> None:
    meta_graph = save(tmp_path / "model", ["serve"])
    names = {node.name for node in meta_graph.graph_def.node}
    assert not own_types(meta_graph)
    assert "train" not in names and {"x", "v", "loss", "v/Momentum"} <= names
    assert all(i.strip("^").split(":")[0] in names for node in meta_graph.graph_def.node for i in node.input)
    assert "train_ops" not in meta_graph.collection_def
    assert list(meta_graph.collection_def["losses_kept"].node_list.value) == ["loss:0"]
    tf.saved_model.load(session, ["serve"], str(tmp_path / "model"))
    assert session.run("loss:0", {"x:0": [3.0]}) == 36.0
    assert [v.op.name for v in tf.global_variables()] == ["v", "v/Momentum"]


def test_a_graph_to_be_trained_stays_whole(
    session: tf.Session, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert own_types(save(tmp_path / "model", ["train"]))
    assert "Only Headrace can load the graph with the tags ['train']" in caplog.text
    tf.saved_model.load(session, ["train"], str(tmp_path / "model"))
    losses = [session.run(["loss:0", "train"], {"x:0": [0.5]})[0] for _ in range(3)]
    assert losses == sorted(losses, reverse=True)


def test_a_signature_that_needs_such_nodes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert own_types(save(tmp_path / "model", ["serve"], with_gradient=True))
    assert "Only Headrace can load" in caplog.text and "needs one" in caplog.text
    with tf.contrib.predictor.from_saved_model(tmp_path / "model").session as sess:
        assert sess.graph.get_operation_by_name("train")


def loops_and_conditionals() -> Any:
    """A network with loops (one inside the other), conditionals and a function; gives its input, its output and its training."""
    x = tf.placeholder(tf.float32, [None, 3, 2], name="x")
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(2), x, dtype=tf.float32)
    h = tf.reduce_sum(outputs, 1)
    h = tf.cond(tf.reduce_sum(h) > 0, lambda: tf.tanh(tf.layers.dense(h, 2)), lambda: tf.exp(h))

    @tf.Defun(tf.float32)
    def squashed(value: Any) -> Any:
        return tf.exp(tf.sin(value))

    def either(value: Any) -> Any:
        return tf.cond(tf.reduce_sum(value) > 0, lambda: tf.sin(value), lambda: tf.cos(value))

    def twice(i: Any, value: Any) -> Any:
        _, value = tf.while_loop(lambda j, _: j < 2, lambda j, v: (j + 1, either(v)), [0, value])
        return i + 1, value * tf.tanh(value)

    _, h = tf.while_loop(lambda i, _: i < 3, twice, [0, h])
    y = tf.identity(squashed(h), "y")
    return x, y, tf.train.AdamOptimizer().minimize(tf.reduce_mean(tf.square(y)), name="train")


def all_types(graph_def: Any) -> set[str]:
    return {n.op for n in graph_def.node} | {n.op for f in graph_def.library.function for n in f.node_def}


def test_loops_of_a_trained_graph_keep_nothing_for_gradients(tmp_path: Path) -> None:
    images = np.random.RandomState(0).rand(2, 3, 2)
    with tf.Graph().as_default(), tf.Session() as sess:
        x, y, train = loops_and_conditionals()
        sess.run(tf.global_variables_initializer())
        sess.run(train, {x: images})
        expected = sess.run(y, {x: images})
        tf.saved_model.simple_save(sess, str(tmp_path / "model"), {"x": x}, {"y": y})
        frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph_def, ["y"])
        np.testing.assert_array_equal(sess.run(y, {x: images}), expected)
        sess.run(train, {x: images})  # the graph itself is as it was
    graph_def = parse_saved_model(tmp_path / "model").meta_graphs[0].graph_def
    for definition in (graph_def, frozen):
        assert not {name for name in all_types(definition) if name.startswith("_")}
        flows = [n for n in definition.node if n.op.endswith("While")]
        assert flows and all(tf.variant.as_datatype_enum not in n.attr["T"].list.type for n in flows)
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))
        np.testing.assert_array_equal(sess.run("y:0", {"x:0": images}), expected)
    with tf.Session(graph=tf.Graph()) as sess:
        tf.import_graph_def(frozen, name="")
        np.testing.assert_array_equal(sess.run("y:0", {"x:0": images}), expected)


def test_a_frozen_gradient_of_a_loop_stays_whole() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [], name="x")
        v = tf.Variable(2.0)
        _, y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, tf.sin(a * v)), [0, x])
        gradient = tf.identity(tf.gradients(y, x)[0], "gradient")
        sess.run(tf.global_variables_initializer())
        expected = sess.run(gradient, {x: 0.3})
        frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph_def, ["gradient"])
    with tf.Session(graph=tf.Graph()) as sess:
        tf.import_graph_def(frozen, name="")
        assert sess.run("gradient:0", {"x:0": 0.3}) == pytest.approx(expected)  # constants are folded
