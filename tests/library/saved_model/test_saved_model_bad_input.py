"""What is wrong with a SavedModel, or with a request to make one, is said before anything is changed."""

from pathlib import Path
from typing import Any

import pytest

import headrace as tf
from headrace.library.saved_model.loader import parse_saved_model


def save(folder: Path, **options: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, tf.Variable(2.0, name="v"), name="y")
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(str(folder))
        signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(sess, ["serve"], {"serving_default": signature}, **options)
        builder.add_meta_graph(["train", "gpu"])
        builder.save()


def rewrite(folder: Path, change: Any) -> None:
    """Changes the message in the file."""
    message = parse_saved_model(folder)
    change(message.meta_graphs[0])
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())


def refused(folder: Path, error: Any, words: str, tags: Any = ("serve",)) -> Any:
    with tf.Session(graph=tf.Graph()) as sess:
        with pytest.raises(error, match=words) as caught:
            tf.saved_model.load(sess, tags, str(folder))
        assert not sess.graph.get_operations()
        assert "test_saved_model_bad_input.py" in str(caught.value)
        return caught.value


def test_tags_that_no_graph_has(tmp_path: Path) -> None:
    save(tmp_path / "model")
    error = refused(tmp_path / "model", RuntimeError, "could not be found in SavedModel", ["train"])
    assert "['serve'], ['gpu', 'train']" in str(error)


def test_no_such_folder(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", OSError, r"saved_model.pb\|saved_model.pbtxt.*nowhere does not exist")
    refused(tmp_path, OSError, "has no such file")
    assert not tf.saved_model.contains_saved_model(tmp_path)


@pytest.mark.parametrize("name", ["saved_model.pb", "saved_model.pbtxt"])
def test_a_damaged_file(tmp_path: Path, name: str) -> None:
    for data in (b"\xff\xfe no message at all", b"\x08\x01\x12\xff\xff\x03 too short", b""):
        (tmp_path / name).write_bytes(data)
        refused(tmp_path, OSError, f"Cannot parse file .*{name}")


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "model")
    data = (tmp_path / "model/saved_model.pb").read_bytes()
    for length in range(0, len(data) // 2, 97):
        (tmp_path / "model/saved_model.pb").write_bytes(data[:length])
        with tf.Session(graph=tf.Graph()) as sess, pytest.raises((OSError, RuntimeError)):
            tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))


def test_missing_variables(tmp_path: Path) -> None:
    save(tmp_path / "model")
    (tmp_path / "model/variables/variables.index").unlink()
    refused(tmp_path / "model", ValueError, "variables/variables.index does not exist")


def test_a_missing_data_file(tmp_path: Path) -> None:
    save(tmp_path / "model")
    (tmp_path / "model/variables/variables.data-00000-of-00001").unlink()
    with tf.Session() as sess, pytest.raises(tf.errors.OpError, match="variables.data-00000-of-00001"):
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))


def test_a_missing_asset(session: tf.Session, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("a\n")
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    builder.add_meta_graph_and_variables(session, ["serve"], None, [tf.constant(str(tmp_path / "words"))])
    builder.save()
    (tmp_path / "model/assets/words").unlink()
    refused(tmp_path / "model", tf.errors.NotFoundError, "lacks files that its graph reads: .*model/assets/words")


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "sub/../../../secret", "", "a\0b"])
@pytest.mark.parametrize("in_collection", [False, True])
def test_an_asset_outside_of_the_model(session: tf.Session, tmp_path: Path, name: str, in_collection: bool) -> None:
    """A graph that is loaded reads the files of its model, and no others."""
    (tmp_path / "secret").write_text("a\n")
    (tmp_path / "words").write_text("a\n")
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    builder.add_meta_graph_and_variables(session, ["serve"], None, [tf.constant(str(tmp_path / "words"))])
    builder.save()

    def move(meta_graph: Any) -> None:
        (value,) = meta_graph.collection_def["saved_model_assets"].any_list.value
        asset = meta_graph.asset_file_def.add() if not in_collection else type(meta_graph.asset_file_def.add())()
        asset.ParseFromString(value.value)
        asset.filename = name
        if in_collection:
            del meta_graph.asset_file_def[:]
            value.value = asset.SerializeToString()

    rewrite(tmp_path / "model", move)
    refused(
        tmp_path / "model",
        tf.errors.InvalidArgumentError,
        "names the asset .*; accepted are names of files in its folder",
    )


def test_unknown_ops_are_all_named(tmp_path: Path) -> None:
    save(tmp_path / "model")

    def change(meta_graph: Any) -> None:
        for name, op_type in (("one", "Frobnicate"), ("two", "Frobnicate"), ("three", "Twiddle")):
            meta_graph.graph_def.node.add(name=name, op=op_type)
        function = meta_graph.graph_def.library.function.add()
        function.signature.name = "inner"
        function.node_def.add(name="four", op="Deep")
        meta_graph.graph_def.node.add(name="call", op="inner")
        unused = meta_graph.graph_def.library.function.add()
        unused.signature.name = "unused"
        unused.node_def.add(name="five", op="NeverUsed")

    rewrite(tmp_path / "model", change)
    error = refused(
        tmp_path / "model", ValueError, "'Deep' .node 'four' of function 'inner'.; 'Frobnicate' .* and 1 more"
    )
    assert "'Twiddle' (node 'three')" in str(error) and "NeverUsed" not in str(error)


def test_a_signature_that_names_no_tensor(
    session: tf.Session, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save(tmp_path / "model")
    rewrite(tmp_path / "model", lambda m: setattr(m.signature_def["serving_default"].outputs["y"], "name", "gone:0"))
    model = tf.saved_model.load(session, ["serve"], str(tmp_path / "model"))
    assert "The signature serving_default is unusable: its y is gone:0" in caplog.text
    with pytest.raises(KeyError, match="gone:0.*is not in the graph"):
        tf.saved_model.get_tensor_from_tensor_info(model.signature_def["serving_default"].outputs["y"])


def test_two_main_ops(tmp_path: Path) -> None:
    save(tmp_path / "model", main_op=tf.no_op())
    rewrite(tmp_path / "model", lambda m: m.collection_def["saved_model_main_op"].node_list.value.append("y"))
    with tf.Session() as sess, pytest.raises(RuntimeError, match="exactly one SavedModel main op, found 2"):
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))


def test_load_wants_a_session(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="must be a Session"):
        tf.saved_model.load(None, ["serve"], str(tmp_path))


# ---- building


def test_a_folder_that_is_not_empty(tmp_path: Path) -> None:
    save(tmp_path / "model")
    with pytest.raises(AssertionError, match="already exists, and isn't empty.*test_saved_model_bad_input.py"):
        tf.saved_model.Builder(str(tmp_path / "model"))


def test_order_of_graphs(session: tf.Session, tmp_path: Path) -> None:
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    with pytest.raises(AssertionError, match="has not been saved yet"):
        builder.add_meta_graph(["serve"])
    builder.add_meta_graph_and_variables(session, ["serve"])
    with pytest.raises(AssertionError, match="has already been saved"):
        builder.add_meta_graph_and_variables(session, ["serve"])


def test_what_add_meta_graph_refuses(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    info = tf.saved_model.build_tensor_info(x)
    other = tf.saved_model.build_tensor_info(x)
    other.name = "gone:0"
    nameless = tf.saved_model.build_tensor_info(x)
    nameless.ClearField("name")
    typeless = tf.saved_model.build_tensor_info(x)
    typeless.dtype = 0
    signature = tf.saved_model.build_signature_def
    cases: list[tuple[dict[str, Any], Any, str]] = [
        ({"tags": "serve"}, TypeError, "tags must be a list"),
        ({"signature_def_map": {"s": signature({"x": other})}}, ValueError, "'x'. of the signature 's' names 'gone:0'"),
        ({"signature_def_map": {"s": signature({"x": nameless})}}, AssertionError, "'encoding'"),
        ({"signature_def_map": {"s": signature(None, {"x": typeless})}}, AssertionError, "dtype"),
        ({"signature_def_map": {"__saved_model_init_op": signature({"x": info})}}, KeyError, "reserved"),
        ({"main_op": x}, TypeError, "must be an Operation"),
        ({"assets_collection": ["words"]}, TypeError, "must be a Tensor"),
        ({"assets_collection": [x]}, TypeError, "is a Placeholder of float32"),
        ({"assets_collection": [tf.constant("")]}, ValueError, "is empty"),
        (
            {"assets_collection": [tf.constant(f"{tmp_path}/no")]},
            tf.errors.NotFoundError,
            "/no', which Const.*:0 names",
        ),
    ]
    for i, (arguments, error, words) in enumerate(cases):
        builder = tf.saved_model.Builder(str(tmp_path / str(i)))
        with tf.Session() as sess, pytest.raises(error, match=words):
            builder.add_meta_graph_and_variables(sess, **{"tags": ["serve"], **arguments})
    with pytest.raises(TypeError, match="must be a Session"):
        tf.saved_model.Builder(str(tmp_path / "last")).add_meta_graph_and_variables("sess", ["serve"])


def test_a_second_main_op(session: tf.Session, tmp_path: Path) -> None:
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    builder.add_meta_graph_and_variables(session, ["serve"], legacy_init_op=tf.no_op())
    with pytest.raises(ValueError, match="already contains one or more main ops"):
        builder.add_meta_graph(["other"], main_op=tf.no_op())
