"""What notebooks show of graphs, tensors, variables, sessions and datasets."""

import xml.etree.ElementTree as ElementTree

import numpy as np

import headrace as tf
from headrace.core.card import card


def test_a_card_escapes_and_leaves_out_what_is_empty() -> None:
    shown = card("<title>", {"a": "<b>", "none": None, "empty": "", "zero": 0})
    assert "&lt;title&gt;" in shown
    assert "&lt;b&gt;" in shown
    assert "none" not in shown
    assert "empty" not in shown
    assert "zero" in shown


def test_tensors_operations_and_variables() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    v = tf.get_variable("v", [3])
    assert "tf.Tensor x:0" in x._repr_html_()
    assert "test_card.py:" in x._repr_html_()
    assert "x:0 float32" in x.op._repr_html_()
    assert "shape=(3,)" in v._repr_html_()
    assert "True" in v._repr_html_()


def test_sessions() -> None:
    tf.constant(1.0)
    with tf.Session() as sess:
        assert repr(sess).startswith("<tf.Session, graph of 1 nodes, ")
        assert repr(sess).endswith("open>")
        assert "device:CPU:0" in sess._repr_html_()
    assert repr(sess).endswith("closed>")


def test_datasets() -> None:
    rows = tf.data.Dataset.from_tensor_slices(np.zeros([4, 2], np.float32)).map(lambda x: x + 1.0).batch(2)
    assert "TensorSlice → Map → Batch" in rows._repr_html_()
    assert "float32" in rows._repr_html_()


def test_eager_tensors() -> None:
    with tf.eager_mode():
        assert "[1. 2.]" in tf.constant([1.0, 2.0])._repr_html_()


def test_a_picture_has_a_box_for_each_scope() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.name_scope("first"):
            hidden = tf.nn.relu(tf.identity(x) * 2.0)
        with tf.name_scope("second"):
            tf.reduce_sum(hidden)
    root = ElementTree.fromstring(graph._repr_svg_())
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text and not text.endswith("ops")] == ["x", "first", "second"]
    paths = [path for path in root.iter("{http://www.w3.org/2000/svg}path") if path.get("marker-end")]
    assert [path[0].text for path in paths] == ["x to first: 1 tensors", "first to second: 1 tensors"]
    assert graph._repr_svg_() in graph._repr_html_()
    assert "operations" in tf.Graph()._repr_html_()
