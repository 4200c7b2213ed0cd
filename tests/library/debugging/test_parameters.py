"""tf.debugging.parameter_table."""

import pytest

import headrace as tf


def test_the_variables_of_a_graph():
    with tf.device("/cpu:0"):
        tf.get_variable("w", [784, 10])
    tf.get_variable("b", [10], tf.float64, use_resource=True)
    tf.train.get_or_create_global_step()
    tf.get_variable("any", initializer=tf.zeros([3]), validate_shape=False)
    table = tf.debugging.parameter_table()
    rows = {row["name"]: row for row in table.rows}
    assert (rows["w"]["shape"], rows["w"]["count"], rows["w"]["bytes"]) == ([784, 10], 7840, 31360)
    assert rows["w"]["device"] == "/device:CPU:0"
    assert (rows["b"]["dtype"], rows["b"]["bytes"]) == ("float64", 80)
    assert rows["global_step"]["trainable"] == "no"
    assert "7,850 trainable" in table.title
    assert table.end.startswith("7,8")
    assert "<td>7,840</td>" in table._repr_html_()


def test_some_variables_and_another_graph():
    with tf.Graph().as_default() as graph:
        w = tf.get_variable("w", [2])
        tf.get_variable("v", [3])
    assert [row["name"] for row in tf.debugging.parameter_table([w])] == ["w"]
    assert len(tf.debugging.parameter_table(graph)) == 2
    assert len(tf.debugging.parameter_table()) == 0
    with pytest.raises(TypeError, match="takes a tf.Graph, a list of variables or None, got 'w'"):
        tf.debugging.parameter_table("w")
