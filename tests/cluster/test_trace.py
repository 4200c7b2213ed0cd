"""Traced steps over tasks: the times of all nodes come back, whichever task ran them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster
from cluster.ports import free_addresses

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


AHEAD = """
import sys, json, time
right = time.time_ns
time.time_ns = lambda: right() + 3600 * 10**9
import headrace as tf
server = tf.train.Server(tf.train.ClusterSpec(json.loads(sys.argv[1])), "ps", 0)
print("ready", flush=True)
sys.stdin.read()
server._stop()
"""


def test_a_task_whose_clock_is_an_hour_ahead() -> None:
    """Its nodes have the client's time, and what it sends arrives after it was sent."""
    jobs = dict(zip(("ps", "worker"), ([one] for one in free_addresses(2)), strict=True))
    ps = subprocess.Popen(
        [sys.executable, "-c", AHEAD, json.dumps(jobs)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        worker = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", 0)
        assert ps.stdout is not None
        assert ps.stdout.readline() == "ready\n"
        with tf.device("/job:ps"):
            fed = tf.placeholder(tf.float32, [])
            x = tf.exp(fed, name="first")
        with tf.device("/job:worker"):
            y = tf.multiply(x, 10.0, name="second")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with tf.Session(worker.target) as session:
            assert session.run(y, {fed: 0.0}, options, metadata) == 10.0
        worker._stop()
    finally:
        assert ps.stdin is not None
        ps.stdin.close()
        assert ps.wait(60) == 0
        assert ps.stdout is not None
        ps.stdout.close()
    ran = {n.node_name: n for d in metadata.step_stats.dev_stats for n in d.node_stats}
    gap = ran["second"].all_start_nanos - ran["first"].all_start_nanos
    assert 0 < gap < 60 * 10**9


def test_costs_of_a_step_over_tasks(cluster: LocalCluster) -> None:
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    with tf.device("/job:ps"):
        w = tf.get_variable("w", [8, 4])
    with tf.device("/job:worker"):
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    feed = {x: np.ones([16, 8])}
    product = "MatMul(float32[16,8], float32[8,4]; T=float32, transpose_a=False, transpose_b=False)"
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(w.initializer)
        before = session.run(w)
        costs = {what: (device, runs) for device, what, _, runs in session.measure_costs([loss, train], feed, runs=3)}
        assert costs[product] == ("CPU", 3), "what the other task has sent has its shape too"
        assert any(what.startswith("ApplyGradientDescent") for what in costs), "of all tasks"
        assert not (session.run(w) == before).all(), "the steps are real"
        assert session.predict_cost([loss, train], feed).measured > 0.5
        session.run(loss, feed, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata())
        assert {what: runs for _, what, _, runs in session.costs}[product] == 4, "traced steps count too"
