"""tf.debugging.compare_graphs."""

import numpy as np
import pytest

import headrace as tf
from headrace.library.debugging.graph_difference import largest_difference


def _graph(build):
    with tf.Graph().as_default() as graph:
        build()
    return graph


def test_equal_graphs_have_no_difference():
    def build():
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        tf.reduce_sum(x)

    table = tf.debugging.compare_graphs(_graph(build), _graph(build))
    assert len(table) == 0
    assert str(table).startswith("no difference")


def test_inputs_devices_attributes_and_bodies():
    def before():
        a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
        tf.subtract(a, b, name="c")
        tf.cond(a > 0.0, lambda: tf.negative(b, name="inside"), lambda: b)

    def after():
        a = tf.constant(1.0, name="a")
        with tf.device("/cpu:1"):
            b = tf.constant(3.0, name="b")
        tf.subtract(b, a, name="c")
        tf.cond(a > 0.0, lambda: tf.exp(b, name="inside"), lambda: b)

    rows = tf.debugging.compare_graphs(_graph(before), _graph(after).as_graph_def()).rows
    found = {(row["node"].rpartition("/")[2], row["what"]): (row["first"], row["second"]) for row in rows}
    assert found["c", "inputs"] == ("['a', 'b']", "['b', 'a']")
    assert found["b", "device"] == ("", "/device:CPU:1")
    assert ("b", "attribute value") in found
    assert any("Neg" in first and "Exp" in second for first, second in found.values())


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="a graph is a tf.Graph, tf.GraphDef or tf.MetaGraphDef, got str"):
        tf.debugging.compare_graphs("graph", tf.Graph())


def test_the_largest_difference():
    nan, inf = np.nan, np.inf
    one = np.array([1.0, nan, inf, 2.0], np.float32)
    assert largest_difference(one, one.copy(), 0.0, 0.0) is None
    assert largest_difference(one, np.array([1.0, nan, inf, 2.5], np.float32), 0.0, 0.0) == 0.5
    assert largest_difference(one, np.array([1.0, 0.0, inf, 2.0], np.float32), 0.0, 0.0) == inf
    strings = np.array([b"a", b"b"], object)
    assert largest_difference(strings, np.array([b"a", b"c"], object), 0.0, 0.0) == 1.0
