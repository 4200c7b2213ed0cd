"""Devices with hooks on tasks of a cluster: each task calls those of its own devices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster
from runtime.host.counting_device import Counting, registered

import headrace as tf


@pytest.fixture
def npu() -> Iterator[Counting]:
    counting = Counting()
    with registered("NPU", counting.hooks):
        yield counting


@pytest.fixture
def cluster(npu: Counting) -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=1) as one:
        yield one


def test_a_training_step_over_devices_with_hooks_of_two_tasks(npu: Counting, cluster: LocalCluster) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.device("/job:ps/task:0/device:NPU:0"):
        w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(0.5))
    with tf.device("/job:worker/task:0/device:NPU:1"):
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w) - 1.0), name="loss")
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(w.initializer)
        fed, weights = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((3, 1), 0.5, np.float32)
        for _ in range(3):
            found = session.run([loss, train], {x: fed})[0]
            error = fed @ weights - 1.0
            np.testing.assert_allclose(found, np.sum(error**2), rtol=1e-4)
            weights -= 0.01 * 2.0 * fed.T @ error
        np.testing.assert_allclose(session.run(w), weights, rtol=1e-4)
    assert {c[:2] for c in npu.copies} == {(a, b) for d in ("NPU:0", "NPU:1") for a, b in (("host", d), (d, "host"))}
    assert ("MatMul", "NPU:1") in npu.launches and ("ApplyGradientDescent", "NPU:0") in npu.launches
    assert {node.device.name[:14] for node in npu.nodes if node.op == "MatMul"} == {"/job:worker/re"}


def test_an_error_of_a_hook_on_another_task_names_the_node(npu: Counting, cluster: LocalCluster) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/job:ps/task:0/device:NPU:0"):
        y = tf.exp(x, name="far")
    npu.limit = 4
    with tf.Session(cluster.target("worker", 0)) as session:
        with pytest.raises(
            tf.errors.ResourceExhaustedError, match=r"(?s)allocate hook of device type NPU.*node far.*test_ho"
        ):
            session.run(y, {x: [1.0, 2.0]})
        npu.limit = None
        np.testing.assert_allclose(session.run(y, {x: [0.0, 1.0]}), np.exp([0.0, 1.0]), rtol=1e-6)
