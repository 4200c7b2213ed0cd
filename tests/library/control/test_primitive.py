"""Switch and Merge as functions, and contexts that a program enters."""

import numpy as np
import pytest

import headrace as tf
from headrace.library.control.primitive import ControlFlowContext, merge, switch


def test_a_conditional_made_of_primitives() -> None:
    pred, x = tf.placeholder(tf.bool, []), tf.constant([1.0, 2.0])
    no, yes = switch(x, pred)
    value, index = merge([no * 10.0, yes + 1.0], name="joined")
    assert value.op.type == "Merge" and value.op.name == "joined"
    gradient = tf.gradients(value, x)[0]
    with tf.Session() as sess:
        got = sess.run([value, index, gradient], {pred: False})
        np.testing.assert_array_equal(got[0], [10.0, 20.0])
        assert got[1] == 0
        np.testing.assert_array_equal(got[2], [10.0, 10.0])
        np.testing.assert_array_equal(sess.run(value, {pred: True}), [2.0, 3.0])


def test_switch_of_values_of_several_tensors() -> None:
    sparse = tf.SparseTensor([[0], [2]], [5.0, 6.0], [4])
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([3]))
    no, yes = switch(sparse, True)
    left, right = switch(slices, tf.constant(False))
    assert isinstance(no, tf.SparseTensor) and isinstance(right, tf.IndexedSlices) and left.dense_shape is None
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(tf.sparse.to_dense(yes)), [5.0, 0.0, 6.0, 0.0])
        np.testing.assert_array_equal(sess.run(left.values), [[1.0]])


def test_merge_of_nothing() -> None:
    with pytest.raises(ValueError, match="At least one of the merge inputs is None"):
        merge([tf.constant(1), None])
    with pytest.raises(TypeError, match="merge takes tensors"):
        merge([tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))])


class _Noting(ControlFlowContext):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def AddOp(self, op):  # noqa: N802
        self.names.append(op.name)
        super().AddOp(op)


def test_a_context_hears_of_nodes() -> None:
    graph = tf.get_default_graph()
    assert graph._get_control_flow_context() is None
    with _Noting() as outer:
        tf.constant(1, name="a")
        with _Noting() as inner:
            assert graph._get_control_flow_context() is inner and inner.outer_context is outer
            tf.constant(1, name="b")
        tf.constant(1, name="c")
    tf.constant(1, name="d")
    assert (outer.names, inner.names) == (["a", "b", "c"], ["b"])
    assert not (inner.IsWhileContext() or inner.IsCondContext() or inner.IsXLAContext()) and inner.name == ""
    with pytest.raises(NotImplementedError, match="values_def must be None"):
        ControlFlowContext(values_def=object())
