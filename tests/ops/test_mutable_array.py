"""Arrays that are written in place, as graphs of TensorFlow 1 that hold gradients have them."""

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace import raw_ops


def make(size, **options):
    return raw_ops._TensorArrayV3(size, dtype=tf.float32, **options)


def test_write_and_read():
    array = make(2)
    flow = raw_ops._TensorArrayWriteV3(array.handle, 1, tf.constant([1.0, 2.0]), array.flow)
    flow = raw_ops._TensorArrayWriteV3(array.handle, 0, tf.constant([3.0, 4.0]), flow)
    size = raw_ops._TensorArraySizeV3(array.handle, flow)
    rows = raw_ops._TensorArrayGatherV3(array.handle, [0, 1], flow, dtype=tf.float32)
    found, count = run([rows, size])
    assert (found.tolist(), count) == ([[3, 4], [1, 2]], 2)


def test_split_and_concat():
    array = make(2)
    x = tf.placeholder(tf.float32, [5])
    flow = raw_ops._TensorArraySplitV3(array.handle, x, np.array([2, 3], np.int64), array.flow)
    joined = raw_ops._TensorArrayConcatV3(array.handle, flow, dtype=tf.float32)
    (slope,) = tf.gradients(joined.value * joined.value, x)
    with tf.control_dependencies([slope]):
        close = raw_ops._TensorArrayCloseV3(array.handle)
    values, lengths, grad, _ = run([joined.value, joined.lengths, slope, close], {x: [1, 2, 3, 4, 5]})
    assert values.tolist() == [1, 2, 3, 4, 5]
    assert lengths.tolist() == [2, 3]
    assert grad.tolist() == [2, 4, 6, 8, 10]


def test_gradients_add_up():
    """An element that is read twice, one that is not read, and one that was written one by one."""
    x = tf.placeholder(tf.float32, [3])
    array = make(4, clear_after_read=False, dynamic_size=True)
    flow = raw_ops._TensorArrayScatterV3(array.handle, [0, 1, 2], x, array.flow)
    flow = raw_ops._TensorArrayWriteV3(array.handle, 3, x[0] * 10.0, flow)
    first, again, last = (raw_ops._TensorArrayReadV3(array.handle, i, flow, dtype=tf.float32) for i in (0, 0, 3))
    (slope,) = tf.gradients(first * 2.0 + again * again + last, x)
    assert run(slope, {x: [3, 4, 5]}).tolist() == [2 + 6 + 10, 0, 0]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda a: raw_ops._TensorArrayWriteV3(a.handle, 5, 1.0, a.flow), "Tried to write to index 5 .*size is: 2"),
        (lambda a: raw_ops._TensorArrayReadV3(a.handle, 7, a.flow, dtype=tf.float32), "Tried to read from index 7"),
        (lambda a: raw_ops._TensorArrayReadV3(a.handle, 1, a.flow, dtype=tf.float32), "It was never written"),
        (lambda a: raw_ops._TensorArrayScatterV3(a.handle, [0], [1.0, 2.0], a.flow), "Expected len.indices. == values"),
        (
            lambda a: raw_ops._TensorArrayWriteV3(a.handle, 0, 1, a.flow),
            "dtype is float but Op is trying to write .* int32",
        ),
        (lambda a: raw_ops._TensorArrayReadV3(a.handle, 0, a.flow, dtype=tf.int32), "Op requested dtype int32"),
        (
            lambda a: raw_ops._TensorArraySplitV3(a.handle, [1.0], np.array([1]), a.flow),
            "not equal to the size of lengths",
        ),
    ],
)
def test_mistakes(build, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(build(make(2)))


def test_twice():
    array = make(2)
    flow = raw_ops._TensorArrayWriteV3(array.handle, 0, 1.0, array.flow)
    with pytest.raises(tf.errors.InvalidArgumentError, match="already been written to"):
        run(raw_ops._TensorArrayWriteV3(array.handle, 0, 2.0, flow))
    first = raw_ops._TensorArrayReadV3(array.handle, 0, flow, dtype=tf.float32)
    with tf.control_dependencies([first]):
        second = raw_ops._TensorArrayReadV3(array.handle, 0, tf.identity(flow), dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cleared after a previous read"):
        run(second)


def test_they_are_exported_under_tensorflows_names():
    array = make(1)
    raw_ops._TensorArrayGradV3(array.handle, array.flow, source="gradients")
    definition = tf.get_default_graph().as_graph_def()
    assert {n.op for n in definition.node} >= {"TensorArrayV3", "TensorArrayGradV3"}
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        assert {op.type for op in graph.get_operations()} >= {"_TensorArrayV3", "_TensorArrayGradV3"}
