"""freeze_graph: from a graph and a checkpoint, a meta graph, a SavedModel; as a program too."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.library.saved_model.freeze import freeze_graph, freeze_graph_with_def_protos
from headrace.tools import freeze_graph as program


@pytest.fixture
def saved(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A graph, a checkpoint, its meta graph, a SavedModel: y = x * w + b, w = 2, b = 1."""
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None], name="x")
        w = tf.get_variable("w", initializer=2.0)
        b = tf.get_variable("b", initializer=1.0, use_resource=True)
        y = tf.add(x * w, b, name="y")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            tf.train.Saver().save(sess, str(tmp_path / "model.ckpt"))
            tf.train.write_graph(sess.graph, str(tmp_path), "graph.pbtxt")
            tf.train.write_graph(sess.graph, str(tmp_path), "graph.pb", as_text=False)
            tf.saved_model.simple_save(sess, str(tmp_path / "model"), {"x": x}, {"y": y})
    return tmp_path


def _check(frozen: Any) -> None:
    assert not {n.op for n in frozen.node} & {"VariableV2", "VarHandleOp", "ReadVariableOp"}
    with tf.Graph().as_default():
        y = tf.import_graph_def(frozen, return_elements=["y:0"])[0]
        with tf.Session() as sess:
            np.testing.assert_allclose(sess.run(y, {"import/x:0": [3.0]}), [7.0])


def test_from_files(saved: Path) -> None:
    checkpoint = str(saved / "model.ckpt")
    for graph, binary in (("graph.pbtxt", False), ("graph.pb", True)):
        frozen = freeze_graph(
            str(saved / graph), "", binary, checkpoint, "y", "save/restore_all", "save/Const:0",
            str(saved / "frozen.pb"), True, "",
        )  # fmt: skip
        _check(frozen)
        assert {n.device for n in frozen.node} == {""}
        assert (saved / "frozen.pb").read_bytes() == frozen.SerializeToString()
    kept = freeze_graph(
        str(saved / "graph.pb"), "", True, checkpoint, "y", "", "", "", False, "", variable_names_blacklist="w, b"
    )
    assert {n.op for n in kept.node} >= {"VariableV2", "VarHandleOp"}
    assert any(n.device for n in kept.node)


def test_from_a_meta_graph_and_a_saved_model(saved: Path) -> None:
    checkpoint = str(saved / "model.ckpt")
    _check(freeze_graph("", "", True, checkpoint, "y", "", "", "", True, "", input_meta_graph=checkpoint + ".meta"))
    _check(freeze_graph("", "", True, "", "y", "", "", "", True, "", input_saved_model_dir=str(saved / "model")))


def test_with_a_saver(saved: Path) -> None:
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(str(saved / "model.ckpt.meta"))
        definition = tf.get_default_graph().as_graph_def()
    arguments = (definition, saver.as_saver_def(), str(saved / "model.ckpt"), "y", None, None, None, True, None)
    _check(freeze_graph_with_def_protos(*arguments))


def test_initializers_run_before(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        v, other = tf.get_variable("v", initializer=5.0), tf.get_variable("other", initializer=2.0)
        tf.add(v, other, name="y")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            tf.train.Saver([other]).save(sess, str(tmp_path / "model"))
        arguments = (graph.as_graph_def(), None, str(tmp_path / "model"), "y", None, None, None, True, "v/Assign")
    frozen = freeze_graph_with_def_protos(*arguments)
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.import_graph_def(frozen, return_elements=["y:0"])[0]) == 7.0


def test_mistakes(saved: Path, tmp_path: Path) -> None:
    checkpoint = str(saved / "model.ckpt")
    with pytest.raises(ValueError, match="doesn't exist"):
        freeze_graph(str(saved / "graph.pb"), "", True, str(saved / "nothing"), "y", "", "", "", True, "")
    with pytest.raises(ValueError, match="name of a node"):
        freeze_graph(str(saved / "graph.pb"), "", True, checkpoint, "", "", "", "", True, "")
    with pytest.raises(ValueError, match="is not a GraphDef in text"):
        freeze_graph(str(saved / "graph.pb"), "", False, checkpoint, "y", "", "", "", True, "")
    with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
        freeze_graph(str(saved / "none.pb"), "", True, checkpoint, "y", "", "", "", True, "")
    with tf.Graph().as_default() as graph:
        v = tf.get_variable("p", [4], partitioner=tf.fixed_size_partitioner(2))
        tf.identity(v, name="y")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            tf.train.Saver().save(sess, str(tmp_path / "parts"))
        definition = graph.as_graph_def()
    with pytest.raises(ValueError, match="partition variables"):
        freeze_graph_with_def_protos(definition, None, str(tmp_path / "parts"), "y", None, None, None, True, None)


def test_as_a_program(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [f"--input_graph={saved / 'graph.pb'}", "--input_binary", f"--input_checkpoint={saved / 'model.ckpt'}"]
    options += ["--output_node_names=y", f"--output_graph={saved / 'out.pb'}", "--clear_devices=false"]
    assert program.main(options) == 0
    assert "ops in the final graph" in capsys.readouterr().out and (saved / "out.pb").stat().st_size > 0
    assert program.main(["--input_checkpoint=nothing", "--output_node_names=y"]) == 1
    assert "doesn't exist" in capsys.readouterr().err
