"""Steps that leave other tasks nothing to do unless a condition says so: these do not hear of them; all else is the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf

EVERY = 5


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=2, workers=2) as made:
        yield made


class Exchange:
    """A worker counts its steps; every fifth adds the count to a variable on each server."""

    def __init__(self, worker: int = 0, turned: bool = False) -> None:
        self.sums = []
        for i in range(2):
            with tf.device(f"/job:ps/task:{i}"):
                self.sums.append(tf.get_variable(f"sum{i}", [], tf.int32, tf.zeros_initializer(), use_resource=True))
        with tf.device(f"/job:worker/task:{worker}"):
            self.count = tf.get_variable(f"count{worker}", [], tf.int32, tf.zeros_initializer(), use_resource=True)
            number = self.count.assign_add(1, use_locking=True)
            self.denominator = tf.placeholder_with_default(tf.constant(1), [])
            checked = number // self.denominator
            is_due = tf.equal(checked % EVERY, 0)

            def add() -> Any:
                return tf.group(*(one.assign_add(number, use_locking=True) for one in self.sums))

            branches = (tf.no_op, add) if turned else (add, tf.no_op)
            self.step = tf.cond(tf.logical_not(is_due) if turned else is_due, *branches).op


def steps_on_servers(cluster: LocalCluster) -> list[int]:
    """How many steps each server has taken part in."""
    return [cluster.server("ps", index)._worker.steps_done for index in range(2)]


@pytest.mark.parametrize("turned", [False, True])
def test_servers_hear_of_exchanges_only(cluster: LocalCluster, turned: bool) -> None:
    exchange = Exchange(turned=turned)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        before = steps_on_servers(cluster)
        for _ in range(4 * EVERY):
            session.run(exchange.step)
        assert [now - then for now, then in zip(steps_on_servers(cluster), before, strict=True)] == [4, 4]
        assert session.run(exchange.sums) == [5 + 10 + 15 + 20] * 2
        assert session.run(exchange.count) == 4 * EVERY


def test_an_error_before_it_is_decided(cluster: LocalCluster) -> None:
    exchange = Exchange()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"[Dd]ivision by zero"):
                session.run(exchange.step, {exchange.denominator: 0})
        for _ in range(2):
            session.run(exchange.step)
        assert session.run(exchange.sums) == [5, 5]


def test_errors_after_it_is_decided_leave_nothing_on_servers(cluster: LocalCluster) -> None:
    """They are told that the step failed, and with the next one that it is over."""
    exchange = Exchange()
    late = tf.placeholder_with_default(tf.constant(1), [])
    with tf.device("/job:worker/task:0"), tf.control_dependencies([exchange.step]):
        after = tf.constant(1) // late
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2 * EVERY - 1):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"[Dd]ivision by zero"):
                session.run(after, {late: 0})
        session.run(after)
        assert session.run(exchange.sums) == [15, 15]
        for index in range(2):
            assert len(cluster.server("ps", index)._worker.rendezvous) <= 1  # the last step is told of with the next


def test_traced_steps_begin_everywhere(cluster: LocalCluster) -> None:
    exchange = Exchange()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        for _ in range(2 * EVERY):
            session.run(
                exchange.step, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata
            )
            devices = {one.device.partition("/device")[0] for one in metadata.step_stats.dev_stats}
            assert {"/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1"} <= devices
        assert session.run(exchange.sums) == [15, 15]


def test_a_lost_server_ends_steps_that_would_not_ask_it(cluster: LocalCluster) -> None:
    exchange = Exchange()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        session.run(exchange.step)
        cluster.restart("ps", 1)
        with pytest.raises((tf.errors.AbortedError, tf.errors.UnavailableError)):
            for _ in range(2 * EVERY):
                session.run(exchange.step)


@pytest.mark.parametrize("everything", [False, True])
def test_consistent_saves_go_on(cluster: LocalCluster, tmp_path: Path, everything: bool) -> None:
    """A save holds up the steps of both workers; a server need not wait for steps that never come to it."""
    exchanges = []
    for worker in range(2):
        with tf.variable_scope("", reuse=tf.AUTO_REUSE):
            exchanges.append(Exchange(worker))
    stop, failed = threading.Event(), []

    def train(worker: int) -> None:
        try:
            with tf.Session(cluster.target("worker", worker), graph=exchanges[0].step.graph) as session:
                while not stop.is_set():
                    session.run(exchanges[worker].step)
        except BaseException as error:
            failed.append(error)

    kept = None if everything else exchanges[0].sums
    saver = tf.train.Saver(kept, consistent=True, max_to_keep=1)
    threads = [threading.Thread(target=train, args=(worker,)) for worker in range(2)]
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        for thread in threads:
            thread.start()
        try:
            seen = []
            for _ in range(30):
                path = saver.save(session, f"{tmp_path}/model", write_meta_graph=False)
                seen.append([int(tf.train.load_variable(path, f"sum{i}")) for i in range(2)])
                assert saver.last_save.torn == ()
        finally:
            stop.set()
            for thread in threads:
                thread.join(90)
    assert not failed and not any(thread.is_alive() for thread in threads)
    assert all(a == b for a, b in seen) and len({a for a, _ in seen}) > 5
