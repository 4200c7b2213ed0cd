"""Steps of many clients on one server: short ones stay on the thread that takes messages, and nobody's long one stops them."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf
from headrace import extend
from headrace.runtime.host import turn

PS = "/job:ps/task:0"
WARM = 60  # steps after which a server knows that a partition is short: the first ones make plans
CLIENTS = 6
STEPS = 50


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=2) as made:
        yield made


@pytest.fixture
def handed(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the server gives to other threads from the first `clear` on."""
    pool, calls = cluster.server("ps", 0)._worker.pool, []
    submit = pool.submit

    def noted(call: Callable[[], Any]) -> None:
        calls.append(call)
        submit(call)

    monkeypatch.setattr(pool, "submit", noted)
    return calls


def warm(session: Any, step: Any) -> None:
    for _ in range(WARM):
        session.run(step)


def test_a_short_step_needs_no_other_thread(cluster: LocalCluster, handed: list[Any]) -> None:
    with tf.device(PS):
        v = tf.Variable([1.0, 2.0])
    with tf.device("/job:worker/task:0"):
        change = v * 2.0
    with tf.device(PS):
        step = v.assign_sub(change).op  # waits for what the worker sends
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        warm(session, step)
        handed.clear()
        for _ in range(20):
            session.run(step)
        assert not handed
        assert session.run(v).tolist() == [1.0, 2.0]  # 80 times its sign has changed


def test_an_error_names_the_line_that_runs_the_step(cluster: LocalCluster) -> None:
    index = tf.placeholder(tf.int32, [])
    with tf.device(PS):
        table = tf.Variable([1.0, 2.0])
        row = tf.gather(table, index)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(table.initializer)
        for _ in range(WARM):
            session.run(row, {index: 1})
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"run at .*test_short_steps.py:\d+"):
                session.run(row, {index: 7})
        assert session.run(row, {index: 0}) == 1.0


def test_many_small_kernels_take_turns(
    cluster: LocalCluster, handed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "SHORT", 0.0)
    with tf.device(PS):
        v = tf.Variable(0.0)
        x = v.read_value()
        for i in range(40):
            x = tf.sin(x + float(i))
    lane, alone = cluster.server("ps", 0)._worker.lane, []
    submit = lane.submit
    monkeypatch.setattr(lane, "submit", lambda call: (alone.append(call), submit(call)))
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        first = session.run(x)
        warm(session, x)
        handed.clear()
        alone.clear()
        assert session.run(x) == first
        assert len(alone) == 1 and not handed


def messages(cluster: LocalCluster, session: Any, step: Any) -> list[tuple[int, int]]:
    """How many messages each server gets and sends in a step."""

    def counts() -> list[tuple[int, int]]:
        services = [cluster.server("ps", i)._service for i in cluster.spec.task_indices("ps")]
        links = [one.endpoint.links().values() for one in services]
        return [(sum(x.received_messages for x in of), sum(x.sent_messages for x in of)) for of in links]

    before = counts()
    for _ in range(STEPS):
        session.run(step)
    now = counts()  # a ping now and then does not count
    return [tuple(round((b - a) / STEPS) for a, b in zip(*pair, strict=True)) for pair in zip(before, now, strict=True)]


@pytest.mark.parametrize("rows", [2, 4000])
def test_what_a_worker_sends_first_goes_along(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is large: then messages may overtake it."""
    monkeypatch.setattr(turn, "SHORT", 10.0)
    with local_cluster(ps=2, workers=1) as cluster:
        tables = []
        for i in range(2):
            with tf.device(f"/job:ps/task:{i}"):
                tables.append(tf.Variable(tf.zeros([8, 2])))
        with tf.device("/job:worker/task:0"):
            ids = tf.random_uniform([rows], maxval=8, dtype=tf.int64)
            updates = []
            for table in tables:
                read = tf.gather(table, ids)
                with tf.colocate_with(table):
                    updates.append(tf.scatter_add(table, ids, read * 0.0 + 1.0).op)
            step = tf.group(*updates)
        with tf.Session(cluster.target("worker", 0)) as session:
            session.run([table.initializer for table in tables])
            warm(session, step)
            assert messages(cluster, session, step) == [(2, 2) if rows == 2 else (3, 2)] * 2
            assert [value.sum() for value in session.run(tables)] == [rows * 2.0 * (WARM + STEPS)] * 2


def test_the_group_at_the_end_of_a_step_sends_nothing() -> None:
    with local_cluster(ps=2, workers=1) as cluster:
        updates, variables = [], []
        for i in range(2):
            with tf.device(f"/job:ps/task:{i}"):
                variables.append(tf.Variable(1.0))
            with tf.device("/job:worker/task:0"):
                change = variables[-1] * 1.0
            with tf.colocate_with(variables[-1]):
                updates.append(variables[-1].assign_add(change).op)
        with tf.device("/job:worker/task:0"):
            step = tf.group(*updates)
        with tf.Session(cluster.target("worker", 0)) as session:
            session.run([v.initializer for v in variables])
            warm(session, step)
            session.run([v.initializer for v in variables])
            assert messages(cluster, session, step) == [(2, 2)] * 2  # it sends the value, and the answer
            assert session.run(variables) == [2.0**STEPS] * 2


def test_tasks_of_a_host_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: range(16))
    addresses = [f"localhost:{port}" for port in (0, 0, 0, 0, 0)]
    spec = {"ps": addresses[:1], "worker": [*addresses[1:], "elsewhere:2222"]}

    def threads(**config: Any) -> int:
        server = tf.train.Server(spec, "worker", 0, config=tf.ConfigProto(**config), start=False)
        return server._worker.threads

    assert threads() == 3
    assert threads(intra_op_parallelism_threads=7) == 7
    monkeypatch.setenv("HEADRACE_THREADS", "5")
    assert threads() == 5


def test_a_long_kernel_has_a_thread_of_its_own(cluster: LocalCluster, handed: list[Any]) -> None:
    with tf.device(PS):
        large = tf.Variable(tf.random_uniform([1500, 1500]))
        product = tf.matmul(large, large)[0, 0]
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(large.initializer)
        session.run(product)  # registers it
        for _ in range(3):
            handed.clear()
            assert session.run(product) > 0.0
            assert len(handed) == 1


def test_a_loop_is_never_taken_for_short(cluster: LocalCluster, handed: list[Any]) -> None:
    with tf.device(PS):
        n = tf.Variable(1)
        total = tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x + 2.0), [0, 0.0])[1]
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(n.initializer)
        warm(session, total)
        handed.clear()
        assert session.run(total) == 2.0
        assert handed


def test_steps_of_others_go_on_while_a_kernel_holds_its_thread(cluster: LocalCluster) -> None:
    entered, go_on = threading.Event(), threading.Event()
    blocks = extend.op("Blocks(x: T) -> (y: T)", stateful=True)
    blocks.shape(lambda x: x)

    @blocks.kernel
    def _(x: Any) -> Any:
        entered.set()
        assert go_on.wait(60)
        return x

    try:
        with tf.device(PS):
            held = extend.raw_ops.Blocks(x=tf.constant(3.0))
            v = tf.Variable(0.0, name="b")
            add = v.assign_add(1.0)
        with ThreadPoolExecutor(1) as pool, tf.Session(cluster.target("worker", 1)) as other:
            other.run(v.initializer)
            warm(other, add.op)
            with tf.Session(cluster.target("worker", 0)) as session:
                answer = pool.submit(session.run, held)
                try:
                    assert entered.wait(60)
                    for i in range(20):
                        assert other.run(add) == WARM + i + 1
                    assert not answer.done()
                finally:
                    go_on.set()
                assert answer.result(60) == 3.0
    finally:
        extend.remove_op("Blocks")


def test_threads_do_not_grow_with_clients(cluster: LocalCluster) -> None:
    with tf.device(PS):
        v = tf.Variable(0.0)
    with tf.device("/job:worker/task:0"):
        change = v * 0.0 + 1.0
    with tf.device(PS):
        add = v.assign_add(change).op
    ready = threading.Barrier(CLIENTS + 1)
    pool = cluster.server("ps", 0)._worker.pool

    def client() -> None:
        with tf.Session(cluster.target("worker", 0), graph=add.graph) as session:
            warm(session, add)
            ready.wait(60)
            ready.wait(60)
            for _ in range(STEPS):
                session.run(add)
            ready.wait(60)
            ready.wait(60)  # to close a session takes a thread

    with ThreadPoolExecutor(CLIENTS) as clients, tf.Session(cluster.target("worker", 1)) as session:
        session.run(v.initializer)
        ended = [clients.submit(client) for _ in range(CLIENTS)]
        ready.wait(60)
        before = pool.threads
        ready.wait(60)
        ready.wait(60)
        after = pool.threads
        ready.wait(60)
        for one in ended:
            one.result(60)
        assert after <= before
        assert session.run(v) == CLIENTS * (WARM + STEPS)
