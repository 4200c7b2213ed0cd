"""A parameter server that is started again, beside one that has kept its variables: what is restored, and what is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.ports import free_addresses

import headrace as tf
from headrace.cluster.connection import close_client_endpoint


class Cluster:
    """Two parameter servers and a worker in this process that speak over sockets."""

    def __init__(self) -> None:
        addresses = free_addresses(3)
        self.spec = tf.train.ClusterSpec({"ps": addresses[:2], "worker": addresses[2:]})
        self.ps = [self._server("ps", i) for i in range(2)]
        self.worker = self._server("worker", 0)

    def _server(self, job: str, index: int) -> tf.train.Server:
        return tf.train.Server(self.spec, job, index, config=tf.ConfigProto(compile="off"))

    def restart(self, index: int) -> None:
        self.ps[index]._stop()
        self.ps[index] = self._server("ps", index)

    def stop(self) -> None:
        for server in (*self.ps, self.worker):
            server._stop()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    try:
        yield made
    finally:
        made.stop()
        close_client_endpoint()


def train(
    cluster: Cluster, folder: Path, synchronous: bool, mode: dict[str, Any] | None = None, **options: Any
) -> tuple[list[int], list[float], list[float]]:
    """The steps, and both variables, before and after the second server has lost its variables."""
    with tf.device("/job:ps/task:0"):
        step = tf.train.create_global_step()
        kept = tf.get_variable("kept", initializer=0.0)
    with tf.device("/job:ps/task:1"):
        lost = tf.get_variable("lost", initializer=0.0)
    optimizer: Any = tf.train.GradientDescentOptimizer(1.0)
    hooks = []
    if synchronous:
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=1)
    if mode is not None:
        optimizer = tf.train.replicas(optimizer, workers=1, **mode)
    minimize = optimizer.minimize(-(kept + lost), step)  # each step adds one to both
    if synchronous:
        hooks.append(optimizer.make_session_run_hook(is_chief=True, num_tokens=0))
    steps = []
    with tf.train.MonitoredTrainingSession(
        cluster.worker.target, checkpoint_dir=str(folder), hooks=hooks, save_checkpoint_steps=3, save_summaries_steps=None,
        log_step_count_steps=None, **options,
    ) as sess:  # fmt: skip
        for _ in range(5):
            sess.run(minimize)
        steps.append(sess.run(step))
        before = sess.run([kept, lost])
        cluster.restart(1)
        after = sess.run([kept, lost])
        steps.append(sess.run(step))
    tf.summary.FileWriterCache.clear()
    return steps, before, after


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if "two moments" in r.getMessage()]


def test_an_asynchronous_job_says_so(cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    steps, before, after = train(cluster, tmp_path, False)
    assert steps == [5, 5] and before == [5.0, 5.0] and after == [5.0, 3.0]
    (warning,) = warnings(caplog)
    assert "1 variables were lost" in warning and "of global step 3; 2 others kept theirs, of global step 5." in warning


def test_an_asynchronous_job_that_asks_for_all(
    cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    steps, before, after = train(cluster, tmp_path, False, restore="all")
    assert steps == [5, 3] and before == [5.0, 5.0] and after == [3.0, 3.0]
    assert warnings(caplog) == []


def test_a_synchronous_job_has_one_moment(cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    steps, before, after = train(cluster, tmp_path, True)
    assert steps[1] < steps[0] and before == [steps[0]] * 2 and after == [steps[1]] * 2
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    ("mode", "restored"),
    [
        ({"mode": "sync"}, [3, 3.0, 3.0]),
        ({"mode": "backup", "backups": 0}, [3, 3.0, 3.0]),
        ({"mode": "quorum", "quorum": 1}, [3, 3.0, 3.0]),
        ({"mode": "async"}, [5, 5.0, 3.0]),
        ({"mode": "stale", "staleness": 1}, [5, 5.0, 3.0]),
        ({"mode": "local", "steps": 1}, [5, 5.0, 3.0]),
    ],
    ids=lambda one: one["mode"] if isinstance(one, dict) else "",
)
def test_replicas_that_gather_gradients_have_one_moment(
    cluster: Cluster, tmp_path: Path, mode: dict[str, Any], restored: list[float]
) -> None:
    steps, before, after = train(cluster, tmp_path, False, mode)
    assert steps[0] == 5 and before == [5.0, 5.0] and [steps[1], *after] == restored
