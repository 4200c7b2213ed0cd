"""Which tasks connect to which, who they say they are, and what ends when a server's I/O thread does."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.ports import free_addresses, free_ports

import headrace as tf
from benchmarks._proxy import Proxy
from headrace.cluster.addresses import Addresses
from headrace.cluster.connection import close_client_endpoint
from headrace.cluster.request import Introduction, Ping, ask
from headrace.cluster.service import TaskService
from headrace.cluster.status import worker_status
from headrace.cluster.transport import open_endpoint

CONFIG = tf.ConfigProto(compile="off")
W0, W1 = "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tf.train.Server]]:
    """Makes servers of one task each, which end with the test."""
    made: list[tf.train.Server] = []
    monkeypatch.setenv("HEADRACE_LOST_SECONDS", "2")

    def make_one(cluster: Any, job: str, index: int) -> tf.train.Server:
        made.append(tf.train.Server(cluster, job, index, config=CONFIG))
        return made[-1]

    yield make_one
    for server in made:
        server._stop()
    close_client_endpoint()


def until(condition: Callable[[], Any]) -> None:
    """Waits until the condition holds."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def links(server: tf.train.Server) -> dict[str, Any]:
    return server._service.endpoint.links()


def dialed(server: tf.train.Server) -> set[str]:
    """The addresses that a server has dialed: who connected there is numbered."""
    return {name for name in links(server) if "#" not in name}


def train_on(cluster: Any, server: tf.train.Server, index: int) -> tuple[tf.Session, Any]:
    with tf.Graph().as_default():
        worker = f"/job:worker/task:{index}"
        with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=worker)):
            v = tf.get_variable("v", [100], initializer=tf.zeros_initializer())
            train = v.assign_add(tf.ones([100]) * 1.0)
            with tf.device(worker):
                seen = tf.reduce_sum(train)
        config = tf.ConfigProto(device_filters=["/job:ps", worker])
        session = tf.Session(server.target, config=config)
        session.run(tf.global_variables_initializer())
        return session, seen


def test_a_parameter_server_dials_nobody(make: Any) -> None:
    """It sends back over the connections that the workers have made: one each."""
    addresses = free_addresses(3)
    cluster = tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
    ps = make(cluster, "ps", 0)
    workers = [make(cluster, "worker", i) for i in range(2)]
    sessions = [train_on(cluster, server, i) for i, server in enumerate(workers)]
    for session, seen in sessions:
        assert session.run(seen) >= 0
    assert dialed(ps) == set() and len(links(ps)) == 2
    assert [dialed(server) for server in workers] == [{addresses[0]}] * 2
    for session, _ in sessions:
        session.close()


def test_tasks_that_exchange_nothing_do_not_connect(make: Any) -> None:
    """One client, four tasks in a chain: only neighbours connect, and the loss of others does not end a step."""
    addresses = free_addresses(4)
    cluster = tf.train.ClusterSpec({"worker": addresses})
    servers = [make(cluster, "worker", i) for i in range(4)]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y = x
        for i in range(3):
            with tf.device(f"/job:worker/task:{i}"):
                y = tf.identity(y + 1.0)
        with tf.device("/job:worker/task:3"):
            alone = tf.identity(x * 2.0)
        with tf.Session(servers[3].target) as session:
            assert session.run([y, alone], {x: 1.0}) == [4.0, 2.0]
            assert dialed(servers[0]) == {addresses[1]} and dialed(servers[1]) == {addresses[2]}
            assert dialed(servers[2]) == set() and dialed(servers[3]) == set(addresses[:3])  # the client's
            service = servers[0]._service
            service._task_lost("/job:worker/replica:0/task:3", tf.errors.UnavailableError(None, None, "cut off"))
            assert session.run([y, alone], {x: 2.0}) == [5.0, 4.0]
            service._task_lost(W1, tf.errors.UnavailableError(None, None, "cut off"))
            with pytest.raises(tf.errors.UnavailableError, match="cut off"):
                session.run([y, alone], {x: 2.0})


def test_both_directions_use_one_connection(make: Any) -> None:
    """Who is sent to first sends back over that connection."""
    addresses = free_addresses(2)
    cluster = tf.train.ClusterSpec({"worker": addresses})
    servers = [make(cluster, "worker", i) for i in range(2)]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device("/job:worker/task:0"):
            a = tf.identity(x + 1.0)
        with tf.device("/job:worker/task:1"):
            b = tf.identity(a * 2.0)
        with tf.device("/job:worker/task:0"):
            c = tf.identity(b + 1.0)
        with tf.Session(servers[0].target) as session:
            assert session.run(c, {x: 1.0}) == 5.0
            assert dialed(servers[0]) == {addresses[1]} and dialed(servers[1]) == set()


def test_swapped_tasks_are_an_error_with_both_names(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A session, and a task that sends, find out; the other side logs it."""
    first, second, ps = free_addresses(3)
    right = tf.train.ClusterSpec({"ps": [ps], "worker": [first, second]})
    swapped = tf.train.ClusterSpec({"ps": [ps], "worker": [second, first]})
    make(right, "worker", 0)
    make(right, "worker", 1)
    server = make(swapped, "ps", 0)
    says = f"{W0} is said to be at {second}, but {W1} answers there"
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        tf.Session(server.target, config=tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        server._service._send_to(server._service.addresses, "s", None, "", W0)
    told = f"{W1} is taken for {W0} by /job:ps/replica:0/task:0 at {ps}: their cluster specs differ"
    assert caplog.text.count(told) >= 2


def test_a_worker_that_comes_back_elsewhere_is_served(make: Any) -> None:
    old, new, ps = free_addresses(3)
    before = tf.train.ClusterSpec({"ps": [ps], "worker": [old]})
    after = tf.train.ClusterSpec({"ps": [ps], "worker": [new]})
    make(before, "ps", 0)
    worker = make(before, "worker", 0)
    session, seen = train_on(before, worker, 0)
    assert session.run(seen) == 100.0
    again = make(after, "worker", 0)  # the one before is still there, and cut off
    second, seen_again = train_on(after, again, 0)
    assert second.run(seen_again) == 100.0
    replaced = f"{W0} is the process at {new} now, which came after the one at {old}"
    with pytest.raises((tf.errors.AlreadyExistsError, tf.errors.UnavailableError), match=replaced):
        session.run(seen)
    with pytest.raises(tf.errors.AlreadyExistsError, match=f"{W0} is the process at {new} now"):
        train_on(before, worker, 0)  # it must not take the place back
    assert second.run(seen_again) == 200.0
    session.close()
    second.close()


def test_the_newest_is_told_where_it_can_be_dialed(make: Any) -> None:
    address = free_addresses(1)[0]
    service: TaskService = make({"worker": {0: address}}, "worker", 0)._service
    endpoint = open_endpoint()
    try:
        for incarnation, where in ((1, "127.0.0.1:1"), (2, "10.1.2.3:2222"), (2, "10.1.2.3:2222"), (3, "0.0.0.0:2222")):
            ask(endpoint.connect(address), Ping(W0, Introduction(W1, incarnation, where)), seconds=20)
            assert service.visitors.of_task(W1).can_be_dialed == where.startswith("10.")
    finally:
        endpoint.close()


def test_a_deadline_holds_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's process is cut off, and would be lost only after a minute."""
    monkeypatch.setenv("HEADRACE_LOST_SECONDS", "60")
    server = tf.train.Server({"worker": free_addresses(1)}, config=CONFIG)
    proxy = Proxy(server.server_def.cluster.job[0].tasks[0])
    try:
        x = tf.placeholder(tf.float32, [])
        y, z = x + 1.0, x + 2.0
        server._service.addresses = Addresses({W0: proxy.address})  # what it tells clients
        session = tf.Session(f"grpc://{proxy.address}")
        assert session.run(y, {x: 1.0}) == 2.0
        proxy.cut()
        short = tf.RunOptions(timeout_in_ms=300)
        with pytest.raises(tf.errors.DeadlineExceededError, match="partitions that have not ended: /job:worker"):
            session.run(y, {x: 1.0}, options=short)
        with pytest.raises(tf.errors.DeadlineExceededError, match="has not answered 'register'"):
            session.run(z, {x: 1.0}, options=short)
        proxy.mend()
        assert session.run(y, {x: 2.0}) == 3.0
        session.close()
    finally:
        proxy.close()
        server._stop()
        close_client_endpoint()


def test_what_waits_for_another_process_holds_no_thread_there(
    make: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty dequeues at an empty queue of another task; each gets its element, a deadline, or the end of the session."""
    monkeypatch.setattr("headrace.resources.stepping.step.REPORT_AFTER", 0.3)
    addresses = free_addresses(2)
    cluster = tf.train.ClusterSpec({"worker": addresses})
    far, near = make(cluster, "worker", 0), make(cluster, "worker", 1)
    with tf.Graph().as_default():
        with tf.device("/job:worker/task:0"):
            queue = tf.FIFOQueue(100, tf.float32, shapes=[[]])
            element = queue.dequeue() * 10.0
            fill = queue.enqueue_many([tf.range(20.0)])
        session = tf.Session(near.target)
        taken: list[Any] = []

        def take(options: Any = None) -> None:
            try:
                taken.append(session.run(element, options=options))
            except tf.errors.OpError as e:
                taken.append(type(e))

        threads = [threading.Thread(target=take) for _ in range(20)]
        for thread in threads:
            thread.start()
        until(lambda: sum(one["waiting_to_take"] for one in worker_status(far._worker)["queues"]) == 20)
        until(lambda: far._worker.pool.threads == 0)
        assert "/job:worker/replica:0/task:0" in session.waiting() and not taken
        until(
            lambda: caplog.text.count("\t fifo_queue_Dequeue (") == 20
        )  # the task's own; those that ask it repeat them
        assert "FIFOQueue 'fifo_queue' has 0 of 100 elements, 1 is asked for" in caplog.text
        session.run(fill)
        for thread in threads:
            thread.join(20)
        assert sorted(taken) == [10.0 * i for i in range(20)]
        taken.clear()
        take(tf.RunOptions(timeout_in_ms=300))
        assert taken == [tf.errors.DeadlineExceededError]
        last = threading.Thread(target=take)
        last.start()
        until(lambda: sum(one["waiting_to_take"] for one in worker_status(far._worker)["queues"]) == 1)
        until(lambda: far._worker.pool.threads == 0)
        session.close()
        last.join(20)
        assert len(taken) == 2 and issubclass(taken[1], tf.errors.OpError)
        until(lambda: sum(one["waiting_to_take"] for one in worker_status(far._worker)["queues"]) == 0)


def test_join_raises_when_the_io_thread_has_ended(make: Any) -> None:
    addresses = free_addresses(2)
    server = make({"ps": addresses[:1], "worker": addresses[1:]}, "ps", 0)
    raised: list[BaseException] = []

    def join() -> None:
        try:
            server.join()
        except tf.errors.OpError as e:
            raised.append(e)

    thread = threading.Thread(target=join)
    thread.start()

    def die() -> None:
        raise SystemExit("on purpose")

    server._service.endpoint.later(0.0, die)
    thread.join(20)
    assert not thread.is_alive()
    assert isinstance(raised[0], tf.errors.UnavailableError)
    assert "the I/O thread of this process has ended: SystemExit: on purpose" in raised[0].message


def test_each_row_of_the_docs_has_its_test() -> None:
    root = Path(__file__).parents[2]
    rows = re.findall(
        r"`(tests/cluster/\S+\.py)::(test_\w+)` \|$", (root / "docs/what_happens_when.md").read_text(), re.MULTILINE
    )
    assert len(rows) >= 15
    for path, name in rows:
        assert f"def {name}(" in (root / path).read_text(), name


def test_the_data_port_is_a_setting(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    declared, data = free_addresses(2)
    monkeypatch.setenv("HEADRACE_DATA_PORT", data.partition(":")[2])
    server = make({"worker": [declared]}, "worker", 0)
    assert server._service.endpoint.bulk_address == data
    for bad in ("0", "65536", "12a", "-1"):
        monkeypatch.setenv("HEADRACE_DATA_PORT", bad)
        with pytest.raises(
            ValueError, match=f"HEADRACE_DATA_PORT must be the number of a port, from 1 to 65535, got '{bad}'"
        ):
            make({"worker": free_addresses(1)}, "worker", 0)


def test_the_port_for_large_tensors_is_never_that_of_another_task(caplog: pytest.LogCaptureFixture) -> None:
    """Whichever of the two starts first, the other finds its declared port free."""
    first = next(port for port in free_ports(20) if port < 50_000)
    spec = tf.train.ClusterSpec({"ps": [f"localhost:{first}"], "worker": [f"localhost:{first + 10_000}"]})
    servers = []
    try:
        for job in ("ps", "worker"):
            servers.append(tf.train.Server(spec, job, 0, config=tf.ConfigProto(compile="off")))
        assert f"localhost:{first + 10_000} is another task's" in caplog.text
        with tf.device("/job:ps"):
            large = tf.random_uniform([200_000])
        with tf.Session(servers[1].target) as session:
            assert session.run(large).shape == (200_000,)
    finally:
        for server in servers:
            server._stop()
