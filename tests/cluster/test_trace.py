"""Traced steps over tasks: the times of all nodes come back, whichever task ran them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf

PS, WORKER = "/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"
pytestmark = pytest.mark.allow_leaks(reason="the servers live as long as the module")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=1) as one:
        yield one


def traced(session: tf.Session, fetch: tf.Tensor) -> tuple[float, dict[str, set[str]]]:
    """The value, and the names of the nodes that each device says it ran."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    value = session.run(fetch, options=options, run_metadata=metadata)
    stats = metadata.step_stats.dev_stats
    assert all(node.all_start_micros > 1e15 for device in stats for node in device.node_stats), "times of day"
    return value, {device.device: {node.node_name for node in device.node_stats} for device in stats}


def test_nodes_of_all_tasks_are_in_the_trace(cluster: LocalCluster) -> None:
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=2.0)
        added = v.assign_add(1.0, name="added")
    with tf.device("/job:worker"):
        y = tf.multiply(added, 10.0, name="times_ten")
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        assert session.run(y) == 30.0
        for expected in (40.0, 50.0):
            value, nodes = traced(session, y)
            assert value == expected, "traced steps change the same variables"
            assert "added" in nodes[PS]
            assert "times_ten" in nodes[WORKER]
            assert len(nodes) == 2
        assert session.run(y) == 60.0


def test_a_step_of_another_task_alone_and_after_a_reset(cluster: LocalCluster) -> None:
    with tf.device("/job:ps"):
        v = tf.get_variable("alone", initializer=1.0)
        doubled = tf.multiply(v, 2.0, name="doubled")
    target = cluster.target("worker", 0)
    with tf.Session(target) as session:
        for _ in range(2):
            session.run(v.initializer)
            value, nodes = traced(session, doubled)
            assert value == 2.0
            assert "doubled" in nodes[PS]
            tf.Session.reset(target)


def test_an_error_in_a_traced_step_names_the_line(cluster: LocalCluster) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/job:ps"):
        y = tf.reshape(x, [2], name="two")
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    with tf.Session(cluster.target("worker", 0)) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"two .*{Path(__file__).name}"):
            session.run(y, {x: [1.0]}, options=options, run_metadata=metadata)
        assert session.run(y, {x: [1.0, 2.0]}, options=options, run_metadata=metadata).tolist() == [1.0, 2.0]
        assert [n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats].count("two") == 1
