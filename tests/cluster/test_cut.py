"""Saves beside the steps of several tasks: torn ones are told of, consistent ones are a cut, and nobody waits for ever."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf
from headrace.client.cut import cut
from headrace.core import errors

pytestmark = pytest.mark.allow_leaks(reason="the servers live as long as the module")

PS = [f"/job:ps/replica:0/task:{i}" for i in range(2)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=2, workers=2) as one:
        yield one


@pytest.fixture(autouse=True)
def _nothing_is_left(cluster: LocalCluster) -> Iterator[None]:
    yield
    for index in range(2):
        writers = cluster.server("ps", index)._service.worker.writers
        assert not writers.watched and not writers._machine._held and not writers._machine._waiting


class Pair:
    """A variable on each server; a step increments both, each after a while of its own."""

    def __init__(self) -> None:
        with tf.device(PS[0]):
            self.a = tf.Variable(0, name="a")
            first = self.a.assign_add(1, use_locking=True).op
        with tf.device(PS[1]):
            self.b = tf.Variable(0, name="b")
            second = self.b.assign_add(1, use_locking=True).op
        self.both = tf.group(first, second)
        # The second server's part begins with the first's, and writes after a value has come from there.
        with tf.control_dependencies([first]), tf.device(PS[0]):
            after = tf.identity(tf.constant(1))
        with tf.device(PS[1]):
            self.in_turn = tf.group(self.b.assign_add(after, use_locking=True).op)


@contextmanager
def beside(*calls: Callable[[], Any]) -> Iterator[list[BaseException]]:
    """Runs calls on threads; after the block they must have ended."""
    failed: list[BaseException] = []

    def run(call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    yield failed
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def values(path: str) -> tuple[int, int]:
    return int(tf.train.load_variable(path, "a")), int(tf.train.load_variable(path, "b"))


@contextmanager
def under_fire(cluster: LocalCluster, pair: Pair) -> Iterator[tf.Session]:
    """Sessions of both workers increment all the time."""
    stop = threading.Event()

    def increment(target: str) -> None:
        draw = random.Random(target)
        with tf.Session(target, graph=pair.a.graph) as session:
            while not stop.is_set():
                session.run(draw.choice([pair.both, pair.in_turn]))

    targets = [cluster.target("worker", 0), cluster.target("worker", 1)]
    with tf.Session(targets[0]) as session:
        session.run(tf.global_variables_initializer())
        with beside(*(lambda target=target: increment(target) for target in targets)) as failed:
            try:
                yield session
            finally:
                stop.set()
        assert not failed


@pytest.mark.parametrize("sharded", [False, True])
def test_consistent_saves_are_cuts(cluster: LocalCluster, tmp_path: Path, sharded: bool) -> None:
    """100 saves of each kind while two workers increment: both variables are always equal, and steps go on between."""
    pair = Pair()
    saver = tf.train.Saver(sharded=sharded, consistent=True, max_to_keep=1)
    seen = []
    with under_fire(cluster, pair) as session:
        for _ in range(100):
            seen.append(values(saver.save(session, f"{tmp_path}/model", write_meta_graph=False)))
            assert saver.last_save.torn == ()
    assert all(a == b for a, b in seen), seen
    assert len(set(seen)) > 50


def test_other_saves_are_torn_and_say_so(cluster: LocalCluster, tmp_path: Path) -> None:
    pair = Pair()
    saver = tf.train.Saver(max_to_keep=1)
    torn = 0
    with under_fire(cluster, pair) as session:
        while torn < 3:
            a, b = values(saver.save(session, f"{tmp_path}/model", write_meta_graph=False))
            torn += a != b
            assert a == b or saver.last_save.torn == ("a", "b")


def test_two_savers_at_once(cluster: LocalCluster, tmp_path: Path) -> None:
    """One of them saves only what is on one server."""
    pair = Pair()
    savers = [tf.train.Saver(consistent=True), tf.train.Saver([pair.b], consistent=True)]
    with under_fire(cluster, pair) as session:

        def save(index: int) -> None:
            for _ in range(20):
                savers[index].save(session, f"{tmp_path}/{index}", write_meta_graph=False)

        with beside(lambda: save(0), lambda: save(1), lambda: save(0)) as failed:
            pass
        assert not failed
    a, b = values(f"{tmp_path}/0")
    assert a == b


def test_the_time_limit_names_the_step(cluster: LocalCluster, tmp_path: Path) -> None:
    """A step that waits on a queue is not ended by the save, and goes on as if nothing had been saved."""
    pair = Pair()
    with tf.device(PS[0]):
        queue = tf.FIFOQueue(2, [tf.int32], [[]], shared_name="held")
    with tf.device(PS[1]):
        wait = pair.b.assign_add(queue.dequeue(), name="add_from_queue").op
    step = tf.group(wait, pair.a.assign_add(1).op)
    saver = tf.train.Saver(consistent=True, consistent_wait_secs=0.3)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        with beside(lambda: session.run(step)) as failed:
            while session.run(pair.a) != 1:
                pass
            with pytest.raises(errors.DeadlineExceededError) as raised:
                saver.save(session, f"{tmp_path}/model")
            message = str(raised.value)
            assert "a consistent save waited 0.3 s for steps that write what it saves" in message
            assert "add_from_queue" in message and "test_cut.py:" in message and PS[1] in message
            assert not list(tmp_path.iterdir())
            session.run(pair.both)  # is not held up any more
            session.run(queue.enqueue(5))
        assert not failed
        assert values(saver.save(session, f"{tmp_path}/model")) == (2, 6)


def test_a_step_that_is_held_can_run_out_of_time(cluster: LocalCluster) -> None:
    pair = Pair()
    with tf.Session(cluster.target("worker", 0)) as session, tf.Session(cluster.target("worker", 1)) as other:
        session.run(tf.global_variables_initializer())
        with cut(session, PS):
            for one in (session, other):
                with pytest.raises(errors.DeadlineExceededError):
                    one.run(pair.both, options=tf.RunOptions(timeout_in_ms=300))
            assert other.run([pair.a, pair.b]) == [0, 0]  # who only reads is not held up
        other.run(pair.both)
        assert session.run([pair.a, pair.b]) == [1, 1]


def test_a_held_step_of_a_session_that_is_closed(cluster: LocalCluster) -> None:
    pair = Pair()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        other = tf.Session(cluster.target("worker", 1))
        other.run(pair.a)
        with cut(session, PS):
            with beside(lambda: other.run(pair.both)) as failed:
                machines = [cluster.server("ps", i)._service.worker.writers._machine for i in range(2)]
                while not all(machine._held for machine in machines):
                    pass
                other.close()
            assert isinstance(failed[0], (errors.CancelledError, errors.AbortedError, RuntimeError))
        assert session.run([pair.a, pair.b]) == [0, 0]


def test_a_cut_ends_with_its_session(cluster: LocalCluster) -> None:
    pair = Pair()
    first = tf.Session(cluster.target("worker", 0))
    first.run(tf.global_variables_initializer())
    holding = cut(first, PS)
    holding.__enter__()
    with (
        tf.Session(cluster.target("worker", 1)) as session,
        beside(lambda: session.run(pair.both)) as failed,
    ):
        while not cluster.server("ps", 0)._service.worker.writers._machine._held:
            pass
        first.close()
    assert not failed
    with pytest.raises((errors.OpError, RuntimeError)):
        holding.__exit__(None, None, None)


def test_an_unknown_task(cluster: LocalCluster) -> None:
    Pair()
    with (
        tf.Session(cluster.target("worker", 0)) as session,
        pytest.raises(errors.InvalidArgumentError, match=r"no task /job:ps/task:7; it knows .*test_cut\.py"),
    ):
        cut(session, ["/job:ps/task:7"])


# ---- training


MODES: dict[str, dict[str, Any]] = {
    "SyncReplicasOptimizer": {}, "async": {}, "stale": {"staleness": 1}, "sync": {}, "backup": {"backups": 1},
    "quorum": {"quorum": 1, "grace_ms": 50}, "local": {"steps": 2},
}  # fmt: skip


@pytest.mark.usefixtures("full_length")
@pytest.mark.parametrize("mode", MODES)
def test_a_chief_that_saves_each_step_while_replicas_train(cluster: LocalCluster, tmp_path: Path, mode: str) -> None:
    """An update adds the same to two variables on two servers.  The update step that waits for gradients is not waited for."""
    ready, done = threading.Event(), threading.Event()

    def work(index: int) -> None:
        device = f"/job:worker/task:{index}"
        place = tf.train.replica_device_setter(cluster=cluster.spec, worker_device=device)
        with tf.Graph().as_default(), tf.container(mode), tf.device(place):
            step = tf.train.get_or_create_global_step()
            made = [tf.get_variable(name, [4], initializer=tf.zeros_initializer()) for name in ("filler", "v", "w")]
            loss = -tf.add_n([tf.reduce_sum(one) for one in made])
            optimizer: Any = tf.train.GradientDescentOptimizer(1.0)
            hooks = []
            if mode == "SyncReplicasOptimizer":
                optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=2)
                hooks.append(optimizer.make_session_run_hook(index == 0))
            else:
                optimizer = tf.train.replicas(optimizer, mode, 2, **MODES[mode])
            train = optimizer.minimize(loss, step)
            assert {made[1].device, made[2].device} == {f"/job:ps/task:{i}" for i in range(2)}
            saver = tf.train.Saver(
                sharded=True, consistent=True, asynchronous=True, max_to_keep=0, consistent_wait_secs=20
            )
            if index:
                assert ready.wait(60)
            with tf.train.MonitoredTrainingSession(
                cluster.target("worker", index), index == 0, str(tmp_path) if index == 0 else None,
                tf.train.Scaffold(saver=saver), hooks, save_checkpoint_steps=1, save_summaries_steps=None,
                log_step_count_steps=None, config=tf.ConfigProto(device_filters=["/job:ps", device]),
            ) as session:  # fmt: skip
                ready.set()
                if index == 0:
                    for _ in range(12):
                        session.run(train)
                    done.set()
                while not done.is_set():  # so that the chief does not wait for its gradients
                    with suppress(errors.DeadlineExceededError):
                        session.run(train, options=tf.RunOptions(timeout_in_ms=1000))

    with beside(lambda: work(0), lambda: work(1)) as failed:
        pass
    assert not failed, failed
    paths = [str(path).removesuffix(".index") for path in tmp_path.glob("*.index")]
    assert len(paths) >= 3
    for path in paths:
        v, w = (tf.train.load_variable(path, name) for name in "vw")
        assert (v == w).all() and (v == v[0]).all(), (path, v, w)
