"""Session.watch and Session.memory_report over tasks: what comes back from the others."""

from collections.abc import Iterator
from typing import Any

import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf

pytestmark = pytest.mark.allow_leaks(reason="the servers live as long as the module")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=1) as one:
        yield one


def test_what_other_tasks_compute_is_watched(cluster: LocalCluster) -> None:
    seen: list[Any] = []
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/job:ps"):
        there = tf.exp(x, name="there")

        def body(i: tf.Tensor, v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, tf.multiply(v, 2.0, name="doubled")

        loop = tf.while_loop(lambda i, v: i < 2, body, [0, there])[1]
    with tf.device("/job:worker"):
        here = tf.add(loop, 1.0, name="here")
    with tf.Session(cluster.target("worker", 0)) as sess, sess.watch("there|here|.*doubled", seen.append):
        for _ in range(2):
            del seen[:]
            assert sess.run(here, {x: [0.0, 0.0]}).tolist() == [5.0, 5.0]
            assert {one.name: one.value.tolist() for one in seen} == {
                "there:0": [1.0, 1.0], "while/doubled:0": [4.0, 4.0], "here:0": [5.0, 5.0],
            }  # fmt: skip
            assert len(seen) == 4


def test_a_loop_over_two_tasks_is_watched(cluster: LocalCluster) -> None:
    def body(i: tf.Tensor, v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.device("/job:ps"):
            there = tf.multiply(v, 2.0, name="there")
        with tf.device("/job:worker"):
            return i + 1, tf.add(there, 1.0, name="here")

    loop = tf.while_loop(lambda i, v: i < 4, body, [0, tf.constant(1.0)])[1]
    seen: list[Any] = []
    with tf.Session(cluster.target("worker", 0)) as sess, sess.watch(".*/there|.*/here", seen.append):
        for _ in range(20):
            del seen[:]
            assert sess.run(loop) == 31.0
            values = [(one.name, float(one.value)) for one in seen]
            assert [value for name, value in values if name == "while/there:0"] == [2.0, 6.0, 14.0, 30.0]
            assert [value for name, value in values if name == "while/here:0"] == [3.0, 7.0, 15.0, 31.0]


def test_the_memory_of_all_tasks_is_reported(cluster: LocalCluster) -> None:
    with tf.device("/job:ps"):
        there = tf.get_variable("there", [100])
    with tf.device("/job:worker"):
        here = tf.get_variable("here", [10])
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run([there.initializer, here.initializer])
        report = sess.memory_report()
    held = {one.name: (one.bytes, one.device) for one in report.holders if one.what == "Variable"}
    assert held["there"] == (400, "/job:ps/replica:0/task:0/device:CPU:0")
    assert held["here"] == (40, "/job:worker/replica:0/task:0/device:CPU:0")
    assert report.by_task()["/job:ps/replica:0/task:0"] >= 400


def test_a_failed_step_on_another_task_leaves_nothing(cluster: LocalCluster) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.device("/job:ps"):
        first = tf.negative(x, name="first")
        wrong = tf.reshape(first, [2])
    seen: list[Any] = []
    with tf.Session(cluster.target("worker", 0)) as sess, sess.watch("first", seen.append):
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(wrong, {x: [1.0]})
        sess.run(wrong, {x: [1.0, 2.0]})
    assert [one.value.tolist() for one in seen] == [[-1.0, -2.0]]
