"""Meta graphs: a graph with its collections and its saver, to a file and back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import checkpoint_cases as cases

import headrace as tf
from headrace.library.state.resource_variable import is_resource_variable

GOLDEN = str(Path(__file__).parents[3] / "golden/checkpoints")


def check(prefix: str, meta: Any, scope: str | None = None, **options: Any) -> None:
    """Imports, restores, and compares what the network computes and what is in its collections."""
    inside = f"{scope}/" if scope else ""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(meta, import_scope=scope, **options)
        assert saver is not None
        saver.restore(sess, prefix)
        (y,) = tf.get_collection("outputs")
        np.testing.assert_allclose(sess.run(y, {f"{inside}x:0": np.eye(3)}), cases.network_output(np.eye(3)), rtol=1e-5)
        names = [v.name.removeprefix(inside) for v in tf.trainable_variables()]
        assert names == ["layer/w/part_0:0", "layer/w/part_1:0", "layer/b:0"]
        assert tf.trainable_variables()[1]._get_save_slice_info().var_offset == [0, 2]
        assert [tf.get_collection(k) for k in ("sizes", "rates")] == [[3], [0.5]]
        assert tf.get_collection("names") == ["inner/layer" if scope else b"layer"]  # text is taken for a name
        (moved,) = tf.get_collection("steps")
        sess.run(moved)
        assert sess.run(tf.train.get_global_step()) == 1
        assert len(graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)) == 4


@pytest.mark.parametrize("scope", [None, "inner"])
def test_what_tensorflow_exported(scope: str | None) -> None:
    check(f"{GOLDEN}/network", f"{GOLDEN}/network.meta", scope)


@pytest.mark.parametrize("scope", [None, "inner"])
def test_round_trip(tmp_path: Path, scope: str | None) -> None:
    cases.make_network(tf)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, f"{tmp_path}/model", global_step=1)
        check(path, f"{path}.meta", scope)
        assert saver.save(sess, f"{tmp_path}/other", write_meta_graph=False)
        assert not Path(f"{tmp_path}/other.meta").exists()
        text = saver.export_meta_graph(f"{tmp_path}/model.pbtxt", as_text=True, strip_default_attrs=True)
    check(path, f"{tmp_path}/model.pbtxt", scope)
    check(path, text, scope)
    assert "node {" in Path(f"{tmp_path}/model.pbtxt").read_text()
    whole = saver.export_meta_graph()
    assert text.ByteSize() < whole.ByteSize()
    assert text.meta_info_def.stripped_default_attrs and not whole.meta_info_def.stripped_default_attrs


def test_devices_and_other_savers() -> None:
    with tf.device("/job:ps/task:3/cpu:0"):
        tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    tf.train.Saver(name="other")
    whole = saver.export_meta_graph()
    cleared = saver.export_meta_graph(clear_devices=True, clear_extraneous_savers=True)
    assert {n.device for n in cleared.graph_def.node} == {""}
    names = {n.name for n in whole.graph_def.node} - {n.name for n in cleared.graph_def.node}
    assert names and all(name.startswith("other/") for name in names)
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(whole, clear_devices=True)
        assert graph.get_operation_by_name("v").device == ""


def test_a_scope_of_a_graph(caplog: pytest.LogCaptureFixture) -> None:
    with tf.name_scope("part"):
        a = tf.constant(2.0, name="a")
        tf.multiply(a, a, name="b")
    with tf.name_scope("rest"):
        tf.multiply(a, 3.0, name="c")
    exported = tf.train.export_meta_graph(export_scope="part")
    assert [(n.name, list(n.input)) for n in exported.graph_def.node] == [("a", []), ("b", ["a", "a"])]
    rest = tf.train.export_meta_graph(export_scope="rest")
    assert [list(n.input) for n in rest.graph_def.node if n.name == "c"] == [["$unbound_inputs_part/a", "c/y"]]
    assert not tf.train.export_meta_graph(export_scope="nowhere").graph_def.node
    assert "export_scope 'nowhere': the graph has no such nodes" in caplog.text
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(exported) is None  # no variables


def test_collections_of_ones_own_and_savers(caplog: pytest.LogCaptureFixture) -> None:
    v = tf.Variable(1.0, name="v")
    tf.add_to_collection("mine", v)
    tf.add_to_collection("odd", object())
    tf.add_to_collection(tf.GraphKeys.METRIC_VARIABLES, v)
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    exported = tf.train.export_meta_graph()
    assert "odd" not in exported.collection_def
    with tf.Graph().as_default():
        tf.train.import_meta_graph(exported, import_scope="in")
        assert [t.name for t in tf.get_collection("mine")] == ["in/v:0"]
        assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == tf.global_variables()
        (saver,) = tf.get_collection(tf.GraphKeys.SAVERS)
        assert saver.as_saver_def().restore_op_name == "in/save/restore_all"


def test_without_a_saver() -> None:
    tf.Variable(1.0, name="v")
    exported = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(exported)
        assert saver is not None and saver.as_saver_def().restore_op_name == "save/restore_all"


def test_what_is_no_meta_graph(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File .*nothing.meta does not exist"):
        tf.train.import_meta_graph(f"{tmp_path}/nothing.meta")
    (tmp_path / "bad.meta").write_bytes(b"\xff\xff nonsense")
    with pytest.raises(OSError, match="Cannot parse file .*bad.meta"):
        tf.train.import_meta_graph(f"{tmp_path}/bad.meta")
    with pytest.raises(TypeError, match="unexpected keyword arguments .'colour'."):
        tf.train.export_meta_graph(colour=1)


@pytest.mark.parametrize("scope", [None, "in"])
def test_a_reference_variable_that_a_function_captures(tmp_path: Path, scope: str | None) -> None:
    """Its graph is written with a resource variable, as TensorFlow needs it; the collections must say the same."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(np.int64(3), name="v", use_resource=False)
        w = tf.Variable(np.int64(4), name="w", use_resource=False)

        @tf.function
        def times(x: Any) -> Any:
            return x * v

        iterator = tf.data.Dataset.range(3).map(lambda x: x + v).make_initializable_iterator()
        tf.add(times(iterator.get_next()), w, "result")
        tf.add(v.assign_add(1), 0, "more")
        begin = iterator.initializer.name
        sess.run([v.initializer, w.initializer])
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(f"{path}.meta", import_scope=scope)
        prefix = f"{scope}/" if scope else ""
        first, second = tf.global_variables()
        assert (first.name, second.name) == (f"{prefix}v:0", f"{prefix}w:0")
        assert [is_resource_variable(one) for one in (first, second)] == [True, False]
        sess.run(tf.global_variables_initializer())
        assert sess.run([first, first.initialized_value(), tf.is_variable_initialized(first)]) == [3, 3, True]
        assert sess.run(f"{prefix}more:0") == 4
        saver.restore(sess, path)
        sess.run(prefix + begin)
        assert [sess.run(f"{prefix}result:0") for _ in range(3)] == [3 * 3 + 4, 4 * 3 + 4, 5 * 3 + 4]
        again = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(again)
        assert [one.name for one in tf.global_variables()] == [f"{prefix}v:0", f"{prefix}w:0"]
