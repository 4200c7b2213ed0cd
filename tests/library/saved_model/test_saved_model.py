"""SavedModels that are written and loaded here."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import saved_model_cases as cases

import headrace as tf


def save_mlp(folder: Path, **options: Any) -> Any:
    """Saves a model; gives what it computes."""
    with tf.Graph().as_default(), tf.Session() as sess:
        signatures = cases.mlp(tf)
        sess.run(tf.global_variables_initializer())
        cases.export(tf, sess, str(folder), signatures).save(**options)
        return sess.run("probabilities:0", {"x:0": cases.weights([3, 4], 21)})


def predict(sess: Any) -> Any:
    return sess.run("probabilities:0", {"x:0": cases.weights([3, 4], 21)})


@pytest.mark.parametrize("as_text", [False, True])
def test_round_trip(session: tf.Session, tmp_path: Path, as_text: bool) -> None:
    expected = save_mlp(tmp_path / "model", as_text=as_text)
    assert (tmp_path / "model" / ("saved_model.pbtxt" if as_text else "saved_model.pb")).exists()
    assert tf.saved_model.contains_saved_model(tmp_path / "model")
    assert not tf.saved_model.loader.maybe_saved_model_directory(str(tmp_path))
    model = tf.saved_model.load(session, {"serve"}, str(tmp_path / "model") + "/")
    np.testing.assert_array_equal(predict(session), expected)
    assert list(model.meta_info_def.tags) == ["serve"]
    assert not (tmp_path / "model" / "assets").exists()


def test_save_gives_the_path(session: tf.Session, tmp_path: Path) -> None:
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    tf.constant(1.0)
    builder.add_meta_graph_and_variables(session, ["serve"])
    assert builder.save() == f"{tmp_path}/model/saved_model.pb".encode()
    assert builder.save(as_text=True) == f"{tmp_path}/model/saved_model.pbtxt".encode()


def test_a_model_without_variables(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as sess:
        tf.saved_model.simple_save(sess, str(tmp_path / "model"), {"x": x}, {"y": tf.square(x, name="y")})
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.loader.load(sess, ["serve"], str(tmp_path / "model"))
        assert sess.run("y:0", {"x:0": 3.0}) == 9.0


def test_graphs_share_variables(tmp_path: Path) -> None:
    builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
    with tf.Session() as sess:
        v = tf.Variable(5.0, name="v")
        tf.multiply(v, 2.0, name="twice")
        sess.run(v.initializer)
        builder.add_meta_graph_and_variables(sess, ["train", "gpu"])
    with tf.Graph().as_default():
        tf.negative(tf.Variable(0.0, name="v"), name="negative")
        builder.add_meta_graph(["serve"])
    builder.save()
    for tags, fetch, value in (({"gpu", "train"}, "twice:0", 10.0), (["serve"], "negative:0", -5.0)):
        with tf.Session(graph=tf.Graph()) as sess:
            tf.saved_model.loader.load(sess, tags, str(tmp_path / "model"))
            assert sess.run(fetch) == value


def test_two_models_in_one_graph(session: tf.Session, tmp_path: Path) -> None:
    expected = save_mlp(tmp_path / "model")
    for scope in ("one", "two", "two"):
        tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "model"), import_scope=scope)
    for scope in ("one", "two", "two_1"):
        outputs = session.run(f"{scope}/probabilities:0", {f"{scope}/x:0": cases.weights([3, 4], 21)})
        np.testing.assert_array_equal(outputs, expected)


def test_input_map_and_clear_devices(tmp_path: Path) -> None:
    with tf.Session() as sess, tf.device("/job:worker/task:7"):
        x = tf.placeholder(tf.float32, [], name="x")
        tf.square(x, name="y")
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    builder.add_meta_graph_and_variables(sess, ["serve"])
    builder.add_meta_graph(["bare"], clear_devices=True, strip_default_attrs=True)
    builder.save()
    for tags, device in ((["serve"], "/job:worker/task:7"), (["bare"], "")):
        with tf.Session(graph=tf.Graph()) as sess:
            two = tf.constant(2.0)
            tf.saved_model.load(sess, tags, str(tmp_path / "model"), clear_devices=False, input_map={"x:0": two})
            assert sess.graph.get_operation_by_name("y").device == device
            if not device:
                assert sess.run("y:0") == 4.0


def test_assets_come_along(tmp_path: Path) -> None:
    """Tables are filled from the copies, wherever the folder is moved to."""
    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_text("\n".join(cases.WORDS) + "\n")
    sentences = {"sentences:0": ["a graph of water", "headrace unknown", "dataflow"]}
    with tf.Session() as sess:
        ((_, outputs),) = cases.text(tf, str(vocabulary)).values()
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        expected = sess.run(outputs, sentences)
        inputs = {"sentences": sess.graph.get_tensor_by_name("sentences:0")}
        main_op = tf.tables_initializer("init")
        for name in ("model", "again"):  # a graph may be saved twice
            tf.saved_model.simple_save(sess, str(tmp_path / name), inputs, outputs, main_op)
    vocabulary.unlink()
    for name in ("model", "again"):
        (tmp_path / name).rename(tmp_path / f"moved_{name}")
        assert [path.name for path in (tmp_path / f"moved_{name}" / "assets").iterdir()] == ["vocabulary.txt"]
        for scope in (None, "model"):
            with tf.Session(graph=tf.Graph()) as sess:
                model = tf.saved_model.load(sess, ["serve"], str(tmp_path / f"moved_{name}"), scope)
                assert len(model.collection_def["saved_model_assets"].any_list.value) == 2
                prefix = f"{scope}/" if scope else ""
                of_info = model.signature_def["serving_default"].outputs
                results = sess.run(
                    {key: prefix + info.name for key, info in of_info.items()},
                    {prefix + key: value for key, value in sentences.items()},
                )
                np.testing.assert_array_equal(results["first"], expected["first"])
                np.testing.assert_array_equal(results["vectors"], expected["vectors"])


def test_assets_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name, words in (("one", "a"), ("two", "b"), ("three", "a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words").write_text(words)
    paths = [tf.constant(str(tmp_path / name / "words"), name=name) for name in ("one", "two", "three")]
    tables = [
        tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(path, tf.string, -2, tf.int64, -1), -1)
        for path in paths
    ]
    for i, table in enumerate(tables):
        tf.identity(table.lookup(tf.constant(["a", "b"])), name=f"found_{i}")
    assert tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS) == paths
    with tf.Session() as sess:
        builder = tf.saved_model.Builder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(sess, [], assets_collection=paths, main_op=tf.tables_initializer())
        builder.save()
    assert sorted(path.name for path in (tmp_path / "model" / "assets").iterdir()) == ["words", "words_1"]
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.load(sess, [], str(tmp_path / "model"))
        assert [list(sess.run(f"found_{i}:0")) for i in range(3)] == [[0, -1], [-1, 0], [0, -1]]


def test_main_ops(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    local = tf.Variable(7.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    with tf.Session() as sess:
        sess.run([v.initializer, local.initializer])
        sess.run(v.assign(2.0))
        main_op = tf.group(tf.local_variables_initializer(), v.assign_add(0.5))
        tf.saved_model.simple_save(sess, str(tmp_path / "model"), {"v": v}, {"v": v}, main_op)
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))
        assert sess.run(["v:0", "local:0"]) == [2.5, 7.0]


def test_main_op_of_everything(session: tf.Session) -> None:
    v = tf.Variable(1.0)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    other = tf.Variable(0.0)
    restore = other.assign(9.0).op
    session.run(tf.saved_model.main_op.main_op())
    assert session.run([v, table.lookup(tf.constant("a"))]) == [1.0, 1]
    session.run(tf.saved_model.main_op_with_restore(restore.name))


def test_a_saver_of_ones_own(tmp_path: Path) -> None:
    kept, left = tf.Variable(1.0, name="kept"), tf.Variable(2.0, name="left")
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        builder.add_meta_graph_and_variables(sess, ["serve"], saver=tf.train.Saver([kept]), main_op=left.initializer)
        builder.save()
    assert [name for name, _ in tf.train.list_variables(str(tmp_path / "model/variables/variables"))] == ["kept"]
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))
        assert sess.run(["kept:0", "left:0"]) == [1.0, 2.0]


def test_other_file_systems() -> None:
    folder = "memory://saved_model_test"
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as sess:
        v = tf.Variable(3.0)
        sess.run(v.initializer)
        tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": tf.multiply(x, v, name="y")})
    assert tf.saved_model.contains_saved_model(folder)
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.load(sess, ["serve"], folder)
        assert sess.run("y:0", {"x:0": 2.0}) == 6.0
    tf.gfile.DeleteRecursively(folder)


def test_freezing_what_was_loaded(tmp_path: Path) -> None:
    expected = save_mlp(tmp_path / "model")
    with tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))
        frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph_def, ["probabilities"])
    tf.train.write_graph(frozen, str(tmp_path), "frozen.pb", as_text=False)
    frozen = tf.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes())
    assert not {node.op for node in frozen.node} & {"VariableV2", "VarHandleOp", "ReadVariableOp"}
    with tf.Session(graph=tf.Graph()) as sess:
        tf.import_graph_def(tf.graph_util.remove_training_nodes(frozen), name="")
        np.testing.assert_array_equal(predict(sess), expected)
