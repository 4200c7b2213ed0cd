"""Partitions on a task in another process: what cannot be sent, and answers that do not fit."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf
from headrace.runtime.session import partition_worker, steps_here

PS = "/job:ps/task:0"


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=1) as made:
        yield made


def test_a_feed_that_is_too_large_to_send_ends_the_step(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = cluster.server("worker", 0)._service.endpoint
    monkeypatch.setattr(endpoint, "limits", replace(endpoint.limits, message=1 << 20))
    x = tf.placeholder(tf.float32, [None])
    with tf.device(PS):
        v = tf.Variable(1.0)
        step = v.assign_add(tf.reduce_sum(x))
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"nothing was sent to .*ps.*: a message has at most"):
            session.run(step, {x: np.ones(1 << 20, np.float32)})
        assert session.run(step, {x: np.ones(3, np.float32)}) == 4.0  # what did not begin has changed nothing


def test_a_task_that_gives_another_number_of_results(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.device(PS):
        v = tf.Variable(1.0)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        run = partition_worker.PartitionWorker.run

        def one_more(self: Any, handle: int, step: int, feeds: Any, done: Any, until: Any) -> None:
            run(self, handle, step, feeds, lambda results, error: done([*results, *results], error), until)

        monkeypatch.setattr(partition_worker.PartitionWorker, "run", one_more)
        with pytest.raises(tf.errors.InternalError, match="gave 2 results in place of 1"):
            session.run(v)
        monkeypatch.undo()
        assert session.run(v) == 1.0


def test_steps_that_are_aborted_and_never_come_are_forgotten(cluster: LocalCluster) -> None:
    with tf.device(PS):
        v = tf.Variable(1.0)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        (worker,) = [one.partitions for one in cluster.server("ps", 0)._service._sessions.values()]
        for number in range(steps_here.ABORTED_STEPS + 50):
            worker.abort(number, tf.errors.AbortedError(None, None, "given up"))
        assert len(worker._here._begun) <= steps_here.ABORTED_STEPS + 1
        assert session.run(v) == 1.0
