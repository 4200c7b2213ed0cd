"""Nodes and variables copied into another graph."""

import numpy as np
import pytest

import headrace as tf

copy_graph = tf.contrib.copy_graph


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_trained_node_in_another_graph(use_resource):
    other = tf.Graph()
    v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource, trainable=False, collections=["mine", "variables"])
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.control_dependencies([tf.no_op(name="first")]):
        y = tf.reduce_sum(x * v, name="y")
    if not use_resource:
        pytest.raises(KeyError, copy_graph.get_copied_op, v, other)
    copy = copy_graph.copy_variable_to_graph(v, other, "in")
    assert (
        copy.graph is other
        and copy in other.get_collection("mine")
        and copy not in other.get_collection("trainable_variables")
    )
    found = copy_graph.copy_op_to_graph(y, other, [copy], "in")
    assert found.name == "in/y:0" and copy_graph.get_copied_op(x, other, "in").name == "in/x:0"
    assert copy_graph.copy_op_to_graph(v, other, [copy], "in") is copy is copy_graph.get_copied_op(v, other, "in")
    assert copy_graph.copy_op_to_graph(y.op, other, [copy], "in") is found.op
    assert any(op.name == "in/first" for other_op in other.get_operations() for op in other_op.control_inputs)
    with tf.Session(graph=other) as session:
        session.run(copy.initializer)
        assert session.run(found, {"in/x:0": np.array([3.0, 4.0])}) == 11.0
        session.run(copy.assign([0.0, 1.0]))
        assert session.run(found, {"in/x:0": np.array([3.0, 4.0])}) == 4.0


def test_what_cannot_be_copied():
    with pytest.raises(TypeError, match="is no operation"):
        copy_graph.copy_op_to_graph(3, tf.Graph(), [])
    with pytest.raises(TypeError, match="is not a Variable"):
        copy_graph.copy_variable_to_graph(3, tf.Graph())
