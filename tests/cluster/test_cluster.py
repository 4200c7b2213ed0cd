"""Clusters over sockets: sessions on several tasks, errors with their lines, lost tasks, programs of several processes."""

import logging
import os
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster.ports import free_addresses, free_ports

import headrace as tf
from benchmarks._proxy import Proxy
from headrace.cluster.connection import close_client_endpoint, forget_key, remember_key


class Cluster:
    """A parameter server and two workers, all in this process, that speak over sockets."""

    def __init__(self) -> None:
        ports = free_ports(3)
        self.addresses = [f"localhost:{port}" for port in ports]
        self.spec = tf.train.ClusterSpec({"ps": self.addresses[:1], "worker": self.addresses[1:]})
        config = tf.ConfigProto(compile="off")
        self.ps = tf.train.Server(self.spec, "ps", 0, config=config)
        self.workers = [tf.train.Server(self.spec, "worker", i, config=config) for i in range(2)]

    def stop(self) -> None:
        for server in (self.ps, *self.workers):
            server._stop()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    try:
        yield made
    finally:
        made.stop()
        close_client_endpoint()


def on(device: str, function: Any, *arguments: Any) -> Any:
    with tf.device(device):
        return function(*arguments)


def test_devices_of_all_tasks(cluster: Cluster) -> None:
    with tf.Session(cluster.workers[1].target) as session:
        names = [d.name for d in session.list_devices()]
    assert names == [
        "/job:worker/replica:0/task:1/device:CPU:0",
        "/job:ps/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:0/device:CPU:0",
    ]
    filtered = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:1"])
    with tf.Session(cluster.workers[1].target, config=filtered) as session:
        assert [d.name.split("/")[1] for d in session.list_devices()] == ["job:worker", "job:ps"]


def test_training_with_variables_on_the_parameter_server(cluster: Cluster) -> None:
    with tf.device(tf.train.replica_device_setter(cluster=cluster.spec, worker_device="/job:worker/task:0")):
        x, t = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
        w, b = tf.Variable(tf.zeros([4, 1])), tf.Variable(0.0)
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - t))
        train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
    assert w.device == "/job:ps/task:0"
    random = np.random.RandomState(0)
    with tf.Session(cluster.workers[0].target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(150):
            batch = random.randn(16, 4)
            session.run(train, {x: batch, t: batch.sum(1, keepdims=True) + 1.0})
        np.testing.assert_allclose(session.run(w), np.ones([4, 1]), atol=1e-2)
    with tf.Session(cluster.workers[1].target) as other:  # the state is the server's, not the session's
        np.testing.assert_allclose(other.run(b), 1.0, atol=1e-2)


def test_replicas_in_one_graph_train_as_one_session_does(cluster: Cluster) -> None:
    """In-graph replication: each worker has half of the batch, the parameter server applies the mean of the gradients."""

    def losses(devices: list[str], targets: str) -> list[float]:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [8, 3])
            with tf.device("/job:ps" if targets else ""):
                w = tf.get_variable("in_graph", [3], initializer=tf.zeros_initializer())
            parts = [on(d, lambda p: tf.reduce_mean((tf.reduce_sum(p * w, 1) - 1.0) ** 2), p)
                     for d, p in zip(devices, tf.split(x, len(devices)), strict=True)]  # fmt: skip
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            gradients = [optimizer.compute_gradients(loss, [w])[0][0] for loss in parts]
            train = optimizer.apply_gradients([(tf.add_n(gradients) / len(parts), w)])
            mean = tf.add_n(parts) / len(parts)
            random = np.random.RandomState(3)
            with tf.Session(targets) as session:
                session.run(tf.global_variables_initializer())
                return [session.run([mean, train], {x: random.rand(8, 3)})[0] for _ in range(20)]

    together = losses(["/job:worker/task:0", "/job:worker/task:1"], cluster.workers[0].target)
    np.testing.assert_allclose(together, losses([""], ""), rtol=1e-5)
    assert together[-1] < 0.2 * together[0]


def test_a_client_that_is_no_task(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without a server of its own; here the targets of this process are hidden."""
    monkeypatch.setattr("headrace.client.session.find", lambda target: None)
    v = on("/job:ps", tf.Variable, [1.0, 2.0])
    y = on("/job:worker/task:1", lambda: v * 3.0)
    total = tf.reduce_sum(y)
    with tf.Session(f"grpc://{cluster.addresses[1]}") as session:
        session.run(v.initializer)
        assert session.run([y, total])[0].tolist() == [3.0, 6.0]
        devices = {n.device for n in session._master.plan([], [total], []).graph.nodes if n.type == "Sum"}
        assert devices == {"/job:worker/replica:0/task:0/device:CPU:0"}
        tf.Session.reset(f"grpc://{cluster.addresses[1]}")
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
            session.run(total)


def test_a_worker_that_came_later(cluster: Cluster) -> None:
    """The parameter server was started without knowing it; the session tells where it is."""
    spec = {"ps": cluster.addresses[:1], "worker": {7: free_addresses(1)[0]}}
    later = tf.train.Server(spec, "worker", 7, config=tf.ConfigProto(compile="off"))
    try:
        v = on("/job:ps", tf.Variable, 2.0)
        y = on("/job:worker/task:7", lambda: v * 3.0)
        z = on("/job:ps", lambda: y + 1.0)
        with tf.Session(later.target) as session:
            session.run(v.initializer)
            assert session.run([y, z]) == [6.0, 7.0]
    finally:
        later._stop()


def test_what_a_server_loses_with_its_process() -> None:
    """A server that is started again at its address has no variable, no element of a queue and no table."""
    address = free_addresses(1)[0]
    v, queue = tf.Variable(1.0), tf.FIFOQueue(5, tf.float32, [[]])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    fill = [v.initializer, table.initializer, queue.enqueue(2.0)]
    size, found = queue.size(), table.lookup(tf.constant("a"))
    server = tf.train.Server({"ps": [address]})
    with tf.Session(server.target) as session:
        session.run(fill)
        assert session.run([v, size, found]) == [1.0, 1, 1]
    server._stop()
    server = tf.train.Server({"ps": [address]})
    try:
        with tf.Session(server.target) as session:
            assert session.run(size) == 0
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
                session.run(v)
            with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
                session.run(found)
    finally:
        server._stop()


def test_a_key_for_one_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has started a cluster under a key of its own reaches it, and keeps its own key for others."""
    address = free_addresses(1)[0]
    monkeypatch.setenv("HEADRACE_CLUSTER_KEY", "the key of that cluster")
    server = tf.train.Server({"worker": [address]})
    monkeypatch.setenv("HEADRACE_CLUSTER_KEY", "the key of this process")
    monkeypatch.setattr("headrace.client.session.find", lambda target: None)
    target, short = f"grpc://{address}", tf.ConfigProto(operation_timeout_in_ms=500)
    try:
        with pytest.raises(tf.errors.OpError):
            tf.Session(target, config=short)
        remember_key([address], "the key of that cluster")
        with tf.Session(target) as session:
            assert session.run(tf.constant(2) + 1) == 3
        forget_key("the key of that cluster")
        with pytest.raises(tf.errors.OpError):
            tf.Session(target, config=short)
    finally:
        forget_key("the key of that cluster")
        server._stop()
        close_client_endpoint()


def test_loops_and_conditionals_over_tasks(cluster: Cluster) -> None:
    x = tf.placeholder(tf.float64, [3])

    def body(i: Any, a: Any) -> Any:
        b = on("/job:ps", tf.sin, a)
        c = tf.cond(tf.reduce_sum(b) > 0.5, lambda: on("/job:worker/task:1", tf.cos, b), lambda: b * 0.5)
        return i + 1, c + a * 0.1

    y = tf.while_loop(lambda i, a: i < 5, body, [0, x])[1]
    (slope,) = tf.gradients(y, x)
    feed = {x: [0.1, 0.7, -0.3]}
    with tf.Session(cluster.workers[0].target) as session:
        found = session.run([y, slope], feed)
    with tf.Graph().as_default():
        x2 = tf.placeholder(tf.float64, [3])

        def plain(i: Any, a: Any) -> Any:
            b = tf.sin(a)
            return i + 1, tf.cond(tf.reduce_sum(b) > 0.5, lambda: tf.cos(b), lambda: b * 0.5) + a * 0.1

        y2 = tf.while_loop(lambda i, a: i < 5, plain, [0, x2])[1]
        with tf.Session() as local:
            expected = local.run([y2, tf.gradients(y2, x2)[0]], {x2: feed[x]})
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_an_error_of_another_task_names_the_users_line(cluster: Cluster) -> None:
    i = tf.placeholder(tf.int32, [])
    found = on("/job:ps", lambda: tf.gather([1.0, 2.0], i, name="look_up"))
    y = on("/job:worker/task:0", tf.negative, found)
    with tf.Session(cluster.workers[0].target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"look_up.*test_cluster\.py:\d+.*job:ps") as e:
            session.run(y, {i: 7})
        assert e.value.op is found.op
        assert re.search(r"run at .*test_cluster\.py:\d+", str(e.value)), "the line that runs the step, not a thread"
        assert session.run(y, {i: 1}) == -2.0


def test_a_task_that_is_not_there_is_told_apart_from_a_device(cluster: Cluster) -> None:
    for device, says in (
        ("/job:pss/task:0", "the session has no such task.*those of the ClusterSpec that device_filters leave"),
        ("/job:worker/task:1", "the session has no such task"),  # left out by the filters
        ("/job:ps/task:0/gpu:0", "no such device is registered.*allow_soft_placement"),
    ):
        config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
        with tf.Graph().as_default():  # all nodes of a graph need a device
            x = tf.placeholder(tf.float32, [])
            y = on(device, tf.square, x)
            task = tf.Session(cluster.workers[0].target, config=config)
            with task as session, pytest.raises(tf.errors.InvalidArgumentError, match=says):
                session.run(y, {x: 1.0})
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as alone, pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.Session\(server\.target\)"):
        alone.run(on("/job:ps", tf.square, x), {x: 1.0})


def test_a_client_that_ends_without_closing_its_session_is_no_warning(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("headrace.client.session.find", lambda target: None)
    with caplog.at_level(logging.INFO, "headrace.cluster"):
        session = tf.Session(f"grpc://{cluster.addresses[0]}")
        session.run(tf.random_uniform([]))
        close_client_endpoint()  # as a process does that ends
        for _ in range(500):
            if told := [r for r in caplog.records if "the client of session" in r.getMessage()]:
                break
            threading.Event().wait(0.01)
    session.close()
    assert {r.levelname for r in told} == {"INFO"}


def test_a_task_that_ends_is_no_warning(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    y = on("/job:ps", lambda: tf.constant(1.0) + on("/job:worker/task:1", tf.random_uniform, []))
    with caplog.at_level(logging.INFO, "headrace.cluster"), tf.Session(cluster.workers[0].target) as session:
        session.run(y)
        cluster.workers[1]._stop()
        for _ in range(500):
            if told := [r for r in caplog.records if "task:1 cannot be reached" in r.getMessage()]:
                break
            threading.Event().wait(0.01)
        assert {r.levelname for r in told} == {"INFO"}
        with pytest.raises(tf.errors.UnavailableError, match=r"worker/replica:0/task:1.*test_cluster\.py"):
            session.run(y)  # it tells who needs the task


def test_a_python_function_cannot_go_to_another_task(cluster: Cluster) -> None:
    y = on("/job:ps", lambda: tf.py_func(lambda: np.float32(1.0), [], tf.float32))
    task = tf.Session(cluster.workers[0].target)
    with task as session, pytest.raises(tf.errors.InvalidArgumentError, match="stays on the client's task"):
        session.run(y)


def test_a_lost_task_ends_the_step_with_its_name(cluster: Cluster) -> None:
    queue = on("/job:ps", lambda: tf.FIFOQueue(3, tf.float32, [[]]))
    y = on("/job:worker/task:0", tf.negative, on("/job:ps", queue.dequeue))
    with tf.Session(cluster.workers[0].target) as session:
        ended: list[Exception] = []

        def work() -> None:
            try:
                session.run(y)
            except tf.errors.OpError as e:
                ended.append(e)

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(500):
            if "has not sent" in session.waiting():
                break
            threading.Event().wait(0.01)
        cluster.ps._stop()
        thread.join(30)
        assert isinstance(ended[0], (tf.errors.UnavailableError, tf.errors.AbortedError))
        assert "/job:ps/replica:0/task:0" in str(ended[0])
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
            session.run(y)
        assert session.run(on("/job:worker/task:0", tf.square, tf.constant(3.0))) == 9.0  # the rest is there


def test_a_client_says_on_which_task_its_step_waits(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.client.session.find", lambda target: None)
    queue = on("/job:ps", lambda: tf.FIFOQueue(3, tf.float32, [[]]))
    take, put = on("/job:ps", queue.dequeue), on("/job:ps", queue.enqueue, 1.0)
    with tf.Session(f"grpc://{cluster.addresses[0]}") as session, ThreadPoolExecutor(1) as pool:
        call = pool.submit(session.run, take)
        for _ in range(1000):
            if said := session.waiting():
                break
            threading.Event().wait(0.01)
        assert "partitions that have not ended: /job:ps/replica:0/task:0" in said
        session.run(put)
        assert call.result(30) == 1.0
        assert session.waiting() == ""


def test_the_end_of_a_session_is_no_loss_for_another(cluster: Cluster) -> None:
    """Two sessions of one process, which take and put over the same tasks."""
    queue = on("/job:ps", lambda: tf.FIFOQueue(3, tf.float32, [[]], shared_name="q"))
    y = on("/job:worker/task:0", tf.negative, on("/job:ps", queue.dequeue))
    put = on("/job:ps", queue.enqueue, on("/job:worker/task:0", tf.identity, tf.constant(2.0)))
    with tf.Session(cluster.workers[0].target) as session, ThreadPoolExecutor(1) as pool:
        call = pool.submit(session.run, y)
        for _ in range(1000):
            if session.waiting():
                break
            threading.Event().wait(0.01)
        with tf.Session(cluster.workers[0].target) as other:
            assert other.run(on("/job:ps", tf.square, on("/job:worker/task:0", tf.constant, 3.0))) == 9.0
        assert not call.done()
        session.run(put)
        assert call.result(30) == -2.0


def test_tasks_that_do_not_answer_are_named() -> None:
    ports = free_ports(2)
    spec = tf.train.ClusterSpec({"ps": [f"localhost:{ports[0]}"], "worker": [f"localhost:{ports[1]}"]})
    server = tf.train.Server(spec, "worker", 0)
    try:
        with pytest.raises(tf.errors.DeadlineExceededError, match="/job:ps/replica:0/task:0 at localhost"):
            tf.Session(server.target, config=tf.ConfigProto(operation_timeout_in_ms=300))
    finally:
        server._stop()


def test_two_tasks_that_lose_each_other_end_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client reaches both, but what one sends to the other does not arrive."""
    monkeypatch.setenv("HEADRACE_LOST_SECONDS", "1")
    addresses = free_addresses(3)
    proxy = Proxy(addresses[2])
    spec = tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
    of_ps = tf.train.ClusterSpec({"ps": addresses[:1], "worker": [addresses[1], proxy.address]})
    x = tf.placeholder(tf.float32, [])
    y = on("/job:worker/task:1", tf.negative, on("/job:ps", tf.square, x))
    with ExitStack() as stack:
        stack.callback(proxy.close)
        for where, job, index in ((of_ps, "ps", 0), (spec, "worker", 1), (spec, "worker", 0)):
            server = tf.train.Server(where, job, index, config=tf.ConfigProto(compile="off"))
            stack.callback(server._stop)
        with tf.Session(server.target) as session:
            assert session.run(y, {x: 3.0}) == -9.0
            proxy.cut()
            for _ in range(2):  # the second step finds out sooner
                with pytest.raises(
                    tf.errors.UnavailableError, match=r"(?s)job:worker/replica:0/task:1 .*test_cluster\.py"
                ):
                    session.run(y, {x: 3.0})
            assert session.run(on("/job:ps", tf.square, x), {x: 3.0}) == 9.0
        proxy.mend()
        with tf.Session(server.target) as session:
            assert session.run(y, {x: 2.0}) == -4.0


def test_a_step_after_the_loss_of_its_sender_does_not_wait(cluster: Cluster) -> None:
    """The sender has not noticed yet that nothing arrives: its part of the step ends well."""
    x = tf.placeholder(tf.float32, [])
    y = on("/job:worker/task:1", tf.negative, on("/job:ps", tf.square, x))
    with tf.Session(cluster.workers[0].target) as session:
        assert session.run(y, {x: 3.0}) == -9.0
        lost = tf.errors.UnavailableError(None, None, "/job:ps/replica:0/task:0 can send nothing any more")
        cluster.workers[1]._service._task_lost("/job:ps/replica:0/task:0", lost)
        for _ in range(2):
            with pytest.raises(
                tf.errors.UnavailableError, match=r"ps/replica:0/task:0 can send nothing.*test_cluster\.py"
            ):
                session.run(y, {x: 3.0})
    with tf.Session(cluster.workers[0].target) as session:
        assert session.run(y, {x: 2.0}) == -4.0


def test_a_step_runs_at_most_once(cluster: Cluster) -> None:
    v = on("/job:ps", lambda: tf.Variable(0.0))
    add = on("/job:ps", v.assign_add, 1.0)
    with tf.Session(cluster.workers[0].target) as session:
        session.run(v.initializer)
        assert session.run(add) == 1.0
        (remote,) = cluster.ps._service._sessions.values()
        handle = max(remote.partitions._partitions)
        ended: list[Any] = []
        for again in (False, True):
            if again:
                remote.partitions.end(7)
            for _ in range(2):
                remote.partitions.run_here(handle, 7, [], lambda results, error: ended.append(error), None)
        assert session.run(v) == 2.0
    assert ended[0] is None
    assert all(isinstance(e, tf.errors.AbortedError) and "at most once" in str(e) for e in ended[1:])


@pytest.mark.parametrize("setting", ["soon", "0", "-1", "inf"])
def test_the_time_until_a_task_is_lost_is_checked(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_LOST_SECONDS", setting)
    with pytest.raises(ValueError, match=f"HEADRACE_LOST_SECONDS must be a number of seconds above 0, got '{setting}'"):
        Cluster()


PROGRAM = """
    import sys
    import numpy as np
    import tensorflow as tf

    job, index, ps, workers = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(","), sys.argv[4].split(",")
    cluster = tf.train.ClusterSpec({"ps": ps, "worker": workers})
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
        sys.exit()
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % index)):
        x, t = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
        loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - t))
        step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
    random = np.random.RandomState(index)
    hooks = [tf.train.StopAtStepHook(last_step=400)]
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
    with tf.train.MonitoredTrainingSession(server.target, index == 0, hooks=hooks, config=config) as sess:
        while not sess.should_stop():
            batch = random.randn(32, 4)
            value = sess.run([loss, train], {x: batch, t: batch.sum(1, keepdims=True)})[0]
    print("loss", value)
"""


def test_a_program_of_three_processes(tmp_path: Path) -> None:
    """TensorFlow's own way, unmodified: a parameter server and two workers on one machine.  The server ends by itself."""
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(PROGRAM))
    addresses = free_addresses(3)
    environment = {**os.environ, "HEADRACE_COMPILE": "off", "HEADRACE_JOIN_SECONDS": "10"}

    def start(job: str, index: int) -> subprocess.Popen[str]:
        arguments = [str(script), job, str(index), addresses[0], ",".join(addresses[1:])]
        return subprocess.Popen(
            [sys.executable, "-m", "headrace.tensorflow", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        )  # fmt: skip

    with ExitStack() as stack:
        processes = []
        for job, index in (("ps", 0), ("worker", 0), ("worker", 1)):
            processes.append(stack.enter_context(start(job, index)))
            stack.callback(processes[-1].kill)
        outputs = [process.communicate(timeout=100)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], "\n".join(outputs)
    for output in outputs[1:]:
        assert float(output.split("loss")[-1]) < 0.01


def test_a_parameter_server_writes_its_own_shard(cluster: Cluster, tmp_path: Path) -> None:
    a = on("/job:ps", lambda: tf.Variable([1.0, 2.0], name="a"))
    b = on("/job:worker/task:0", lambda: tf.Variable([3.0], name="b"))
    saver = tf.train.Saver(sharded=True)
    with tf.Session(cluster.workers[0].target) as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"), global_step=1)
        assert sorted(p.name for p in tmp_path.glob("*.data-*")) == [f"model-1.data-0000{i}-of-00002" for i in range(2)]
        session.run([a.assign([0.0, 0.0]), b.assign([0.0])])
        saver.restore(session, path)
        assert [v.tolist() for v in session.run([a, b])] == [[1.0, 2.0], [3.0]]
    assert tf.train.list_variables(path) == [("a", [2]), ("b", [1])]
    saves = {op.device for op in tf.get_default_graph().get_operations() if op.type == "SaveV2"}
    assert len(saves) == 2


def test_a_client_of_one_task_that_is_elsewhere(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """All devices that the session sees are on one task, which is not this process."""
    monkeypatch.setattr("headrace.client.session.find", lambda target: None)
    config = tf.ConfigProto(device_filters=["/job:ps"])
    with tf.Session(f"grpc://{cluster.addresses[0]}", config=config) as session:
        assert session.run(tf.constant(2.0) * 3.0) == 6.0
