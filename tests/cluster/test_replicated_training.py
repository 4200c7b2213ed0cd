"""tf.train.replicas over sockets: two parameter servers, workers that are lost, servers that are started again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster
from cluster.ports import free_addresses

import headrace as tf
from headrace.resources.state.replicas.box import ChunkQuery, Failure, Given, Stop
from tests.cluster import _roles
from tests.cluster.role import Role, preload

WAIT_S = 60.0
RANDOM = np.random.RandomState(0)
FEATURES = RANDOM.randn(8, 3).astype(np.float32)
LABELS = RANDOM.randn(8, 2).astype(np.float32)
MODES: dict[str, dict[str, Any]] = {
    "async": {}, "stale": {"staleness": 1}, "sync": {}, "backup": {"backups": 1}, "quorum": {"quorum": 1, "grace_ms": 50},
    "local": {"steps": 2},
}  # fmt: skip


class Model:
    def __init__(self, wrap: Any) -> None:
        self.x = tf.placeholder(tf.float32, [None, 3])
        self.y = tf.placeholder(tf.float32, [None, 2])
        hidden = tf.tanh(tf.matmul(self.x, self.weights("first", [3, 5])))
        self.loss = tf.reduce_mean(tf.square(tf.matmul(hidden, self.weights("second", [5, 2])) - self.y))
        self.step = tf.train.get_or_create_global_step()
        self.optimizer = wrap(tf.train.AdamOptimizer(0.05))
        self.train = self.optimizer.minimize(self.loss, self.step)
        self.values = self.all = tf.trainable_variables()

    @staticmethod
    def weights(name: str, shape: list[int]) -> Any:
        return tf.get_variable(name, initializer=np.random.RandomState(len(name)).randn(*shape).astype(np.float32))

    def feeds(self, rows: slice = slice(None)) -> dict[Any, Any]:
        return {self.x: FEATURES[rows], self.y: LABELS[rows]}


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(2, 2) as cluster:
        yield cluster


class Job:
    """Workers in threads, each with a session on its own server."""

    def __init__(self, cluster: LocalCluster, mode: str, folder: str | None = None, dense: str = "servers") -> None:
        self.cluster, self.mode, self.folder, self.dense = cluster, mode, folder, dense
        self.ready = threading.Event()

    def work(self, index: int, body: Any) -> Any:
        device = f"/job:worker/task:{index}"
        setter = tf.train.replica_device_setter(cluster=self.cluster.spec, worker_device=device)
        with tf.Graph().as_default(), tf.device(setter):
            model = Model(lambda one: tf.train.replicas(one, self.mode, 2, dense=self.dense, **MODES[self.mode]))
            if index:
                assert self.ready.wait(WAIT_S)
            session = tf.train.MonitoredTrainingSession(
                self.cluster.target("worker", index), index == 0, self.folder if index == 0 else None,
                save_checkpoint_steps=1, save_summaries_steps=None, log_step_count_steps=None,
                config=tf.ConfigProto(device_filters=["/job:ps", device]),
            )  # fmt: skip
            with session:
                self.ready.set()
                return body(index, session, model)

    def run(self, body: Any) -> list[Any]:
        try:
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(self.work, range(2), [body] * 2))
        finally:
            tf.summary.FileWriterCache.clear()


def test_synchronous_workers_over_two_servers_equal_large_batches(cluster: LocalCluster) -> None:
    def body(index: int, session: Any, model: Model) -> Any:
        for _ in range(5):
            session.run(model.train, model.feeds(slice(index, None, 2)))
        return session.run(model.values)

    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile="off")) as session:
        model = Model(lambda one: one)
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(model.train, model.feeds())
        expected = session.run(model.values)
    for values in Job(cluster, "sync").run(body):
        for value, other in zip(values, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dense", ["servers", "all_reduce"])
def test_an_update_that_was_begun_on_one_of_two_servers_is_finished(cluster: LocalCluster, dense: str) -> None:
    """By the other worker, of the gradients of both: variables, slots and the step are those of one large batch.

    With "all_reduce" the gradients of the lost worker are at the servers only as a part of the mean.
    """

    def session(index: int) -> tuple[Any, Model, dict[str, list[Any]]]:
        device = f"/job:worker/task:{index}"
        setter = tf.train.replica_device_setter(cluster=cluster.spec, worker_device=device)
        with tf.Graph().as_default() as graph, tf.device(setter):
            model = Model(lambda one: tf.train.replicas(one, "sync", 2, dense=dense))
            init, join = tf.global_variables_initializer(), tf.local_variables_initializer()
            model.all = tf.global_variables()
        ops: dict[str, list[Any]] = {}
        for op in graph.get_operations():
            ops.setdefault(op.type, []).append(op)
        config = tf.ConfigProto(device_filters=["/job:ps", device], compile="off")
        made = tf.Session(cluster.target("worker", index), graph, config)
        if index == 0:
            made.run(init)
        made.run(join)
        return made, model, ops

    (first, model, ops), (second, other, others) = session(0), session(1)
    with first, second, ThreadPoolExecutor(2) as pool:
        lost = pool.submit(first.run, model.train, model.feeds(slice(0, None, 2)))
        trained = pool.submit(second.run, other.train, other.feeds(slice(1, None, 2)))
        assert not first.run(ops["_LeadReplicas"][0].outputs[0])
        (note,) = [op for op in ops["_NoteWritten"] if "update_first" in op.control_inputs[0].name]
        first.run(note)
        first.close()
        with pytest.raises(
            (tf.errors.OpError, RuntimeError)
        ):  # who notices first: the session, or a task that it has left
            lost.result(WAIT_S)
        assert second.run(others["_LeadReplicas"][0].outputs[0])
        second.run(others["_UpdateIsMade"][0])
        trained.result(WAIT_S)
        values = second.run(other.all)
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile="off")) as alone:
        model = Model(lambda one: one)
        alone.run(tf.global_variables_initializer())
        alone.run(model.train, model.feeds())
        expected = alone.run(tf.global_variables())
    assert len(values) == len(expected) == 9
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("worker_device", ["", "/job:worker"])
def test_workers_without_a_task_in_their_device_have_the_names_of_their_tasks(
    cluster: LocalCluster, worker_device: str
) -> None:
    setter = tf.train.replica_device_setter(cluster=cluster.spec, worker_device=worker_device)
    with tf.Graph().as_default(), tf.device(setter):
        model = Model(lambda one: tf.train.replicas(one, "async", 2))
        init, join = tf.global_variables_initializer(), tf.local_variables_initializer()
        sessions = [
            tf.Session(
                cluster.target("worker", i), config=tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{i}"])
            )
            for i in range(2)
        ]
        try:
            sessions[0].run(init)
            for session in sessions:
                session.run(join)
            report = model.optimizer.report(sessions[1])
        finally:
            for session in sessions:
                session.close()
    assert list(report["by_worker"]) == [f"/job:worker/replica:0/task:{i}" for i in range(2)]
    assert report["worker"] == "/job:worker/replica:0/task:1"


def test_all_reduce_equals_servers_bit_for_bit(cluster: LocalCluster) -> None:
    def body(index: int, session: Any, model: Model) -> Any:
        for _ in range(5):
            session.run(model.train, model.feeds(slice(index, None, 2)))
        return session.run(model.values)

    expected, *_ = Job(cluster, "sync").run(body)
    tf.Session.reset(cluster.target("ps", 0))
    for values in Job(cluster, "sync", dense="all_reduce").run(body):
        for value, other in zip(values, expected, strict=True):
            np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize(("dense", "times"), [("servers", 2), ("all_reduce", 1)])
def test_bytes_through_a_server_for_an_update(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, dense: str, times: int
) -> None:
    """With servers as many times the variable as there are workers, in and out; among workers once."""
    size, steps, everyone = 300_000, 4, threading.Barrier(2, timeout=WAIT_S)
    monkeypatch.setattr(Model, "weights", staticmethod(lambda name, shape: large(name, shape, size)))
    counts: list[tuple[int, int]] = []

    def count() -> None:
        links = cluster.server("ps", 1)._service.endpoint.links().values()
        counts.append((sum(one.received_bytes for one in links), sum(one.sent_bytes for one in links)))

    def body(index: int, session: Any, model: Model) -> None:
        session.run(model.train, model.feeds())
        for last in (False, True):
            if everyone.wait() == 0:
                count()
            everyone.wait()
            for _ in range(0 if last else steps):
                session.run(model.train, model.feeds())

    Job(cluster, "sync", dense=dense).run(body)
    (received, sent), (received_then, sent_then) = counts
    for passed in (received_then - received, sent_then - sent):
        assert passed == pytest.approx(times * steps * 4 * size, rel=0.1)


def large(name: str, shape: list[int], size: int) -> Any:
    """The first of the weights of a `Model` come from a variable with so many elements, on the second server."""
    if name != "first":
        return tf.get_variable(name, shape)
    with tf.device("/job:ps/task:1"):
        variable = tf.get_variable(name, [size])
    return tf.reshape((variable * 1.0)[: shape[0] * shape[1]], shape)


def test_a_worker_that_the_others_cannot_reach_is_told_so(
    cluster: LocalCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Its step ends with an error, and its monitored session joins again: the first update is of the other's gradients alone."""
    caplog.set_level("INFO")
    boxes, name = cluster.server("worker", 0)._worker.boxes, "/job:worker/task:1"
    ask, failures = boxes.elsewhere, ["the link is down"]
    assert ask is not None

    def ask_later(stop: Stop, query: ChunkQuery, given: Given) -> None:
        if failures:
            given(None, Failure(stop.box, failures.pop()))
        else:
            ask(stop, query, given)

    def body(index: int, session: Any, model: Model) -> Any:
        if index == 0:
            session.run(model.train, model.feeds())
            for _ in range(int(WAIT_S / 0.05)):
                report = model.optimizer.report(session)
                if report["workers"] == 2 and report["by_worker"][name]["sessions"] == 2:
                    break
                threading.Event().wait(0.05)
        session.run(model.train, model.feeds())
        return session.run(model.step), model.optimizer.report(session)["repeated"]

    boxes.elsewhere = ask_later
    assert Job(cluster, "sync", dense="all_reduce").run(body) == [(2, 1), (2, 1)]
    assert "go on without a worker whose gradients could not be added: the link is down" in caplog.text
    told = "is no member of replicas 'replicas' any more: the others could not add its gradients: the link is down"
    assert told in caplog.text


DENSE = [(mode, 1, "servers") for mode in MODES] + [("stale", 0, "servers"), ("sync", 0, "servers")]
DENSE += [("sync", 1, "all_reduce"), ("sync", 0, "all_reduce"), ("backup", 1, "all_reduce")]


@pytest.mark.parametrize(("mode", "lost", "dense"), DENSE)
def test_training_goes_on_when_a_server_is_started_again(
    cluster: LocalCluster, tmp_path: Any, mode: str, lost: int, dense: str
) -> None:
    """The first server has the global step and the aggregator.  In every mode both workers train, and the loss falls."""
    everyone = threading.Barrier(2, timeout=WAIT_S)

    def body(index: int, session: Any, model: Model) -> Any:
        first = session.run(model.loss, model.feeds())
        for _ in range(4):
            session.run(model.train, model.feeds(slice(index, None, 2)))
        everyone.wait()
        if index == 0:
            cluster.restart("ps", lost)
        everyone.wait()
        for _ in range(6):
            session.run(model.train, model.feeds(slice(index, None, 2)))
        return first, session.run(model.loss, model.feeds()), model.optimizer.report(session)

    for first, last, report in Job(cluster, mode, str(tmp_path), dense).run(body):
        assert last < first
        assert report["updates"] > 0


@pytest.fixture(params=["servers", "all_reduce"])
def processes(request: Any, tmp_path: Any) -> Iterator[list[Role]]:
    """Three synchronous workers and two parameter servers, each a process."""
    train = {"servers": _roles.train_as_replicas, "all_reduce": _roles.train_by_all_reduce}[request.param]
    preload()
    addresses = free_addresses(5)
    jobs = {"ps": addresses[:2], "worker": addresses[2:]}
    servers = [Role(_roles.serve, jobs, index, str(tmp_path)) for index in range(2)]
    workers = [Role(train, jobs, index, str(tmp_path)) for index in range(3)]
    try:
        for role in (*servers, *workers):
            role.start()
            assert role.answer() == "ready"
        yield [*workers, *servers]
    finally:
        for role in (*workers, *servers):
            role.kill()


@pytest.mark.allow_leaks(reason="the process that others are forked from outlives the test")
def test_a_synchronous_worker_that_is_killed_is_not_waited_for(processes: list[Role]) -> None:
    """Nor is the one that makes the updates, the first at the beginning: each of them is killed while the others wait for it.

    Started again, they join: each update is of the gradients of those that are there, and none is lost or made twice.
    """
    value, step = np.float32(0), 0

    def update(present: list[int]) -> None:
        nonlocal value, step
        value, step = value - np.float32(0.2) * (value - np.float32(np.mean(present))), step + 1
        for index in present:
            assert processes[index].answer() == step

    def ask(present: list[int], what: str = "step") -> None:
        for index in present:
            processes[index].ask(what)

    everybody = list(range(3))
    for lost in (1, 0, 2):
        ask(everybody)
        update(everybody)
        others = [index for index in everybody if index != lost]
        ask(others)
        processes[lost].kill()
        update(others)
        ask(others)
        update(others)
        processes[lost].start()
        assert processes[lost].answer() == "ready"
        ask(everybody)
        update(everybody)
        ask(everybody, "values")
        for index in everybody:
            np.testing.assert_allclose(processes[index].answer(), np.full((2, 4), value), rtol=1e-5)


@pytest.mark.allow_leaks(reason="the process that others are forked from outlives the test")
def test_a_worker_that_is_lost_in_the_same_moment_as_the_server_is_not_waited_for(processes: list[Role]) -> None:
    """The others know of three, and two come back.  Nobody else comes within the time of a silence."""
    *workers, lost, server, _ = processes
    for role in (*workers, lost):
        role.ask("step")
    assert [role.answer() for role in (*workers, lost)] == [1, 1, 1]
    lost.kill()
    server.start()
    assert server.answer() == "ready"
    for _ in range(2):
        for role in workers:
            role.ask("step")
        steps = [role.answer() for role in workers]
        assert steps[0] == steps[1] and isinstance(steps[0], int), steps
    lost.start()
    assert lost.answer() == "ready"
    for role in (*workers, lost):
        role.ask("step")
    assert len({role.answer() for role in (*workers, lost)}) == 1


@pytest.mark.allow_leaks(reason="the process that others are forked from outlives the test")
@pytest.mark.parametrize("processes", ["all_reduce"], indirect=True)
def test_a_worker_that_is_lost_while_others_ask_it_for_a_chunk(processes: list[Role]) -> None:
    """Lost in a sum, the update is made of the others' gradients; lost with new variables, the others get them elsewhere.

    The workers lead in the order in which they came: the first loses the one that leads after its update, the second while it
    sums; the others are asked by workers before and behind them.
    """
    value, step = np.float32(0), 0
    everybody = list(range(3))
    for what, lost in (("values", 0), ("sum", 1), ("sum", 0), ("values", 1), ("sum", 2)):
        processes[lost].ask(f"die for {what}")
        assert processes[lost].answer() is None
        for index in everybody:
            processes[index].ask("step")
        others = [index for index in everybody if index != lost]
        counted = everybody if what == "values" else others
        value, step = value - np.float32(0.2) * (value - np.float32(np.mean(counted))), step + 1
        assert [processes[index].answer() for index in others] == [step, step], (what, lost)
        processes[lost].start()
        assert processes[lost].answer() == "ready"
        for index in everybody:
            processes[index].ask("step")
        value, step = value - np.float32(0.2) * (value - np.float32(1)), step + 1
        assert [processes[index].answer() for index in everybody] == [step] * 3
        for index in everybody:
            processes[index].ask("values")
            np.testing.assert_allclose(processes[index].answer(), np.full((2, 4), value), rtol=1e-5)


@pytest.mark.allow_leaks(reason="the process that others are forked from outlives the test")
def test_a_server_that_is_started_again_waits_for_no_worker_that_was_lost_before(processes: list[Role]) -> None:
    """The aggregator was there.  The next one hears from the workers how many they were."""
    *workers, lost, server, _ = processes
    for role in (*workers, lost):
        role.ask("step")
    assert [role.answer() for role in (*workers, lost)] == [1, 1, 1]
    lost.kill()
    for _ in range(2):
        for role in workers:
            role.ask("step")
        assert len({role.answer() for role in workers}) == 1
        server.start()
        assert server.answer() == "ready"
    for role in workers:
        role.ask("step")
    steps = [role.answer() for role in workers]
    assert steps[0] == steps[1] and isinstance(steps[0], int), steps
