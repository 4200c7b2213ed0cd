"""Session.memory_report: who holds memory."""

import numpy as np
import pytest

import headrace as tf


def _by_name(report):
    return {(one.what, one.name): one.bytes for one in report.holders}


def test_variables_queues_tables_and_datasets():
    v = tf.get_variable("v", [100, 10])
    tf.get_variable("not_initialised", [1000])
    queue = tf.FIFOQueue(10, [tf.float32], name="waiting_room")
    filled = queue.enqueue_many(tf.random_normal([3, 50]))
    rows = tf.data.Dataset.from_tensor_slices(np.zeros([20, 25], np.float32)).map(lambda x: x + 1.0).cache()
    following = rows.make_one_shot_iterator().get_next()
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="words")
    with tf.Session() as sess:
        sess.run([v.initializer, filled, table.insert(tf.constant(["some", "words"]), tf.constant([1, 2], tf.int64))])
        for _ in range(4):
            sess.run(following)
        before = _by_name(sess.memory_report())
        for _ in range(6):
            sess.run(following)
        report = sess.memory_report()
    held = _by_name(report)
    assert held["Variable", "v"] == 4000
    assert ("Variable", "not_initialised") not in held
    assert held["FIFOQueue", "waiting_room"] == 600
    (iterator,) = [key for key in held if key[0] == "Iterator"]
    assert held[iterator] - before[iterator] >= 6 * 100, "six rows more are cached"
    assert any(kind.endswith("Table") and size > 0 for (kind, _), size in held.items())
    assert report.by_type()["Variable"] == 4000
    assert sum(report.by_task().values()) == sum(held.values())


def test_a_buffer_that_two_hold_counts_once():
    v = tf.get_variable("v", [100])
    queue = tf.FIFOQueue(10, [tf.float32], name="q")
    value = tf.placeholder(tf.float32, [100])
    put = queue.enqueue(value)
    with tf.Session() as sess:
        sess.run(v.initializer)
        for _ in range(3):
            sess.run(put, {value: np.ones(100)})
        assert _by_name(sess.memory_report())["FIFOQueue", "q"] == 3 * 400


def test_the_table():
    v = tf.get_variable("v", [1000])
    with tf.Session() as sess:
        sess.run(v.initializer)
        report = sess.memory_report()
    lines = str(report).splitlines()
    assert lines[0].endswith("KB")
    assert lines[2].split()[:3] == ["4,000", "Variable", "v"]
    assert lines[-1].endswith("on /job:localhost/replica:0/task:0")
    assert "<td>Variable</td>" in report._repr_html_()


def test_a_closed_session_has_none():
    tf.constant(1.0)
    sess = tf.Session()
    sess.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.memory_report()
