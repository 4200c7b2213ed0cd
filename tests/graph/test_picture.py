"""Pictures of large graphs stay small."""

import headrace as tf
from headrace.graph.picture import MOST, graph_svg


def test_a_large_graph_has_its_largest_scopes() -> None:
    with tf.Graph().as_default() as graph:
        value = tf.constant(1.0)
        for i in range(200):
            with tf.name_scope(f"layer{i}"):
                for _ in range(1 + (i == 77)):
                    value = tf.negative(value)
    svg = graph_svg(graph)
    assert svg.count("<rect") == MOST
    assert "layer77" in svg
    assert ">...<" in svg


def test_scopes_that_use_each_other_are_drawn() -> None:
    with tf.Graph().as_default() as graph:
        with tf.name_scope("a/"):
            x = tf.constant(1.0)
        with tf.name_scope("b/"):
            y = tf.negative(x)
        with tf.name_scope("a/"):
            tf.negative(y)
    assert graph_svg(graph).count("marker-end") == 2
