"""identity, group, tuple and their like: order, devices and node names as TensorFlow 1 has them."""

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.library.control.dependency import with_dependencies


def nodes() -> list[tuple[str, str, list[str]]]:
    return [(op.name, op.type, [c.name for c in op.control_inputs]) for op in tf.get_default_graph().get_operations()]


def test_identities() -> None:
    a = tf.constant(1.0, name="a")
    assert [t.name for t in (tf.identity(a), tf.stop_gradient(a), tf.identity([1, 2]))] == [
        "Identity:0", "StopGradient:0", "Identity_1:0",
    ]  # fmt: skip
    x, y = tf.identity_n([a, tf.constant(2)])
    assert run([x, y]) == [1.0, 2]
    assert tf.gradients(tf.stop_gradient(a) * a, a)[0] is not None
    assert tf.gradients(tf.stop_gradient(a), a) == [None]


def test_group_names() -> None:
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    tf.group(a, b)
    tf.group()
    tf.group(a, [b, None], {"k": b}, name="x")
    assert nodes()[2:] == [
        ("group_deps", "NoOp", ["a", "b"]),
        ("group_deps_1", "NoOp", []),
        ("x", "NoOp", ["a", "b"]),
    ]


def test_group_waits_once_for_each_device() -> None:
    with tf.device("/cpu:0"):
        a = tf.constant(1, name="a")
    with tf.device("/cpu:1"):
        b = tf.constant(2, name="b")
    tf.group(a, b, tf.constant(3, name="c"))
    assert nodes()[3:] == [
        ("group_deps/NoOp", "NoOp", ["c"]),
        ("group_deps/NoOp_1", "NoOp", ["a"]),
        ("group_deps/NoOp_2", "NoOp", ["b"]),
        ("group_deps", "NoOp", ["group_deps/NoOp", "group_deps/NoOp_1", "group_deps/NoOp_2"]),
    ]
    devices = [op.device for op in tf.get_default_graph().get_operations()[3:]]
    assert devices == ["", "/device:CPU:0", "/device:CPU:1", ""]


def test_group_errors() -> None:
    with pytest.raises(TypeError, match="tf.group"):
        tf.group(3)
    with pytest.raises(ValueError, match="Unknown keyword arguments"):
        tf.group(tf.no_op(), nmae="x")


def test_group_runs_everything(session: tf.Session) -> None:
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable(3.0)
    step = tf.group(v.assign_add([1.0, 1.0]), w.assign(7.0))
    session.run(tf.global_variables_initializer())
    assert session.run(step) is None
    np.testing.assert_array_equal(session.run(v), [2, 3])
    assert session.run(w) == 7


def test_tuple() -> None:
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    gate = tf.no_op()
    x, none, y = tf.tuple([a, None, b])
    assert none is None
    tf.tuple([a, b], name="q", control_inputs=[gate])
    assert nodes()[3:] == [
        ("tuple/group_deps", "NoOp", ["a", "b"]),
        ("tuple/control_dependency", "Identity", ["tuple/group_deps"]),
        ("tuple/control_dependency_1", "Identity", ["tuple/group_deps"]),
        ("q/group_deps", "NoOp", ["a", "b", "NoOp"]),
        ("q/control_dependency", "Identity", ["q/group_deps"]),
        ("q/control_dependency_1", "Identity", ["q/group_deps"]),
    ]
    assert run([x, y]) == [1, 2]
    with pytest.raises(ValueError, match="at least one Tensor"):
        tf.tuple([None])


def test_tuple_of_slices() -> None:
    values, indices = tf.constant([1.0]), tf.constant([0])
    slices, operation = tf.tuple([tf.IndexedSlices(values, indices), tf.no_op(name="n")])
    assert isinstance(slices, tf.IndexedSlices)
    assert slices.indices is indices
    assert operation.type == "NoOp"


def test_with_dependencies_orders(session: tf.Session) -> None:
    v = tf.Variable(1.0)
    after = with_dependencies([v.assign(5.0)], tf.constant(2.0))
    session.run(v.initializer)
    assert session.run(after) == 2
    assert session.run(v) == 5


def test_op_scope() -> None:
    a = tf.constant(1.0)
    with tf.op_scope([a], None, "layer") as scope:
        assert scope == "layer/"
        assert tf.identity(a).name == "layer/Identity:0"
