"""Parts of a graph with what comes in and goes out."""

import pytest

import headrace as tf

ge = tf.contrib.graph_editor


def test_a_view_of_operations_names_and_scopes() -> None:
    x = tf.constant(1.0, name="x")
    with tf.name_scope("layer"):
        y = tf.exp(tf.negative(x), name="y")
    z = tf.square(y, name="z")
    graph = tf.get_default_graph()
    by_scope, by_name = ge.sgv_scope("layer", graph), ge.sgv("^layer/", graph=graph)
    assert by_scope.ops == by_name.ops == ge.make_view([t.op for t in (y.op.inputs[0], y)]).ops
    assert (by_scope.inputs, by_scope.outputs, by_scope.consumers()) == ([x], [y], [z.op])
    assert by_scope.graph is graph and ge.make_view(by_scope) is by_scope and bool(by_scope) and not ge.SubGraphView()
    assert by_scope.find_op_by_name("layer/y") is y.op and by_scope.op(1) is y.op
    with pytest.raises(AssertionError, match="not found"):
        by_scope.find_op_by_name("z")
    through = ge.SubGraphView([y.op], [x])
    assert through.is_passthrough(x) and through.inputs[-1] is x and through.outputs[-1] is x
