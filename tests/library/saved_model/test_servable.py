"""Graphs to be served hold no nodes that only Headrace has; others are saved whole."""

from pathlib import Path
from typing import Any

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


def test_a_graph_to_be_served(tmp_path: Path) -> None:
    meta_graph = save(tmp_path / "model", ["serve"])
    names = {node.name for node in meta_graph.graph_def.node}
    assert not own_types(meta_graph)
    assert "train" not in names and {"x", "v", "loss", "v/Momentum"} <= names
    assert all(i.strip("^").split(":")[0] in names for node in meta_graph.graph_def.node for i in node.input)
    assert "train_ops" not in meta_graph.collection_def
    assert list(meta_graph.collection_def["losses_kept"].node_list.value) == ["loss:0"]
    with tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))
        assert sess.run("loss:0", {"x:0": [3.0]}) == 36.0
        assert [v.op.name for v in tf.global_variables()] == ["v", "v/Momentum"]


def test_a_graph_to_be_trained_stays_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert own_types(save(tmp_path / "model", ["train"]))
    assert "Only Headrace can load the graph with the tags ['train']" in caplog.text
    with tf.Session() as sess:
        tf.saved_model.load(sess, ["train"], str(tmp_path / "model"))
        losses = [sess.run(["loss:0", "train"], {"x:0": [0.5]})[0] for _ in range(3)]
        assert losses == sorted(losses, reverse=True)


def test_a_signature_that_needs_such_nodes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert own_types(save(tmp_path / "model", ["serve"], with_gradient=True))
    assert "Only Headrace can load" in caplog.text and "needs one" in caplog.text
    with tf.contrib.predictor.from_saved_model(tmp_path / "model").session as sess:
        assert sess.graph.get_operation_by_name("train")
