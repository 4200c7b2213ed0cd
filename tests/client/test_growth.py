"""A graph that grows from run to run: one warning, with the line."""

import headrace as tf
from headrace.client.growth import OFTEN


def test_a_loop_that_adds_nodes_is_named_once(caplog):
    x = tf.constant(1.0)
    with tf.Session() as sess:
        for _ in range(3 * OFTEN):
            sess.run(x + 1.0)
    (record,) = [one for one in caplog.records if one.name == "headrace.graph"]
    text = record.getMessage()
    assert text.startswith("The graph grows: ")
    assert "test_growth.py:11 has added nodes before 20 runs" in text
    assert "graph.finalize()" in text


def test_a_graph_that_is_built_first_is_not(caplog):
    x = tf.placeholder(tf.float32, [])
    several = [x + float(i) for i in range(2 * OFTEN)]
    with tf.Session() as sess:
        for _ in range(2):
            for one in several:
                sess.run(one, {x: 1.0})
    assert [one for one in caplog.records if one.name == "headrace.graph"] == []


def test_different_lines_are_not(caplog):
    x = tf.constant(1.0)
    with tf.Session() as sess:
        for _ in range(OFTEN - 2):
            sess.run(x + 1.0)
        for _ in range(OFTEN - 2):
            sess.run(x + 2.0)
    assert [one for one in caplog.records if one.name == "headrace.graph"] == []
