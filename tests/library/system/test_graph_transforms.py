"""tensorflow.tools.graph_transforms and tensorflow.python.grappler: GraphDefs changed."""

from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.library.system.graph_transforms import TransformGraph
from headrace.library.system.grappler import OptimizeGraph


def _graph() -> Any:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.device("/cpu:0"):
        same = tf.identity(x, name="same")
    w = tf.multiply(tf.constant([[1.0], [2.0]]), 3.0, name="w")
    tf.add(tf.matmul(same, w), 1.0, name="y")
    tf.negative(x, name="unused")
    return tf.get_default_graph().as_graph_def()


def _run(definition: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        return session.run("y:0", {"x:0": [[1.0, 1.0]]})


def test_transforms_keep_the_result() -> None:
    definition = _graph()
    before = definition.SerializeToString()
    wanted = _run(definition)
    transforms = [
        "strip_unused_nodes(type=float, shape=\"1,2\")", "remove_nodes(op=Identity, op=CheckNumerics)",
        "fold_constants(ignore_errors=true)", "remove_device", "sort_by_execution_order",
        "remove_attribute(attribute_name=_output_shapes)", "set_device(device=/cpu:0)",
    ]  # fmt: skip
    changed = TransformGraph(definition, ["x"], ["y:0"], transforms)
    np.testing.assert_array_equal(_run(changed), wanted)
    ops = [node.op for node in changed.node]
    assert "Identity" not in ops and "Mul" not in ops and "Neg" not in ops
    assert {node.device for node in changed.node} == {"/cpu:0"}
    places = {node.name: i for i, node in enumerate(changed.node)}
    assert all(places[name] < places[node.name] for node in changed.node for name in node.input)
    assert definition.SerializeToString() == before


def test_an_input_inside_the_graph() -> None:
    changed = TransformGraph(_graph(), ["same"], ["y"], ["strip_unused_nodes"])
    assert {node.name: node.op for node in changed.node}["same"] == "Placeholder"
    assert "x" not in {node.name for node in changed.node}


def test_names_of_ops_and_attributes() -> None:
    changed = TransformGraph(
        _graph(), ["x"], ["y"], ["rename_op(old_op_name=Neg, new_op_name=Abs)", "remove_nodes(op=Abs)"]
    )
    assert "Neg" not in {node.op for node in changed.node} and "unused" not in {node.name for node in changed.node}
    changed = TransformGraph(changed, ["x"], ["y"], ["rename_attribute(old_attribute_name=T, new_attribute_name=U)"])
    assert all("T" not in node.attr for node in changed.node)


def test_mistakes() -> None:
    definition = _graph()
    with pytest.raises(
        ValueError, match="no transform 'nonsense'; there are fold_constants, .*test_graph_transforms.py"
    ):
        TransformGraph(definition, ["x"], ["y"], ["nonsense"])
    with pytest.raises(ValueError, match="the graph has no node 'z'"):
        TransformGraph(definition, ["x"], ["z"], [])
    with pytest.raises(ValueError, match="needs an argument old_op_name"):
        TransformGraph(definition, ["x"], ["y"], ["rename_op"])
    with pytest.raises(ValueError, match="is written name or name"):
        TransformGraph(definition, ["x"], ["y"], ["a b"])


def test_grappler_prunes_what_training_does_not_need() -> None:
    _graph()
    tf.add_to_collection(tf.GraphKeys.TRAIN_OP, tf.get_default_graph().get_operation_by_name("y"))
    changed = OptimizeGraph(tf.ConfigProto(), tf.train.export_meta_graph(graph=tf.get_default_graph()))
    assert "unused" not in {node.name for node in changed.node}
    np.testing.assert_array_equal(_run(changed), [[10.0]])
    with tf.Graph().as_default() as graph, pytest.raises(ValueError, match="does not say what is fetched"):
        tf.constant(1.0)
        OptimizeGraph(None, tf.train.export_meta_graph(graph=graph))
