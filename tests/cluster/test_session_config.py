"""ConfigProto of sessions on a cluster: each option works on other tasks too, or is refused."""

import itertools
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from cluster.ports import free_addresses

import headrace as tf
from headrace.cluster.connection import close_client_endpoint
from headrace.cluster.service import _METHODS

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


class Cluster:
    """A parameter server and a worker in this process that speak over sockets."""

    def __init__(self) -> None:
        addresses = free_addresses(2)
        self.spec = tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
        config = tf.ConfigProto(compile="off")
        self.servers = [tf.train.Server(self.spec, job, 0, config=config) for job in ("ps", "worker")]

    def session(self, **options: Any) -> tf.Session:
        return tf.Session(self.servers[1].target, config=tf.ConfigProto(**options))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    one = Cluster()
    yield one
    for server in one.servers:
        server._stop()
    close_client_endpoint()


pytestmark = pytest.mark.allow_leaks(reason="the servers live as long as the module")


def on(device: str, make: Any) -> Any:
    with tf.device(device):
        return make()


def test_isolated_sessions_share_no_state_on_any_task(cluster: Cluster) -> None:
    v = on("/job:ps", lambda: tf.Variable(1.0, name="isolated"))
    queue = on("/job:ps", lambda: tf.FIFOQueue(3, tf.float32, [[]], shared_name="isolated_queue"))
    with cluster.session() as shared, cluster.session(isolate_session_state=True) as alone:
        shared.run([v.initializer, queue.enqueue(1.0)])
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
            alone.run(v)
        alone.run(v.initializer)
        alone.run(v.assign(7.0))
        assert shared.run([v, queue.size()]) == [1.0, 1]
        assert alone.run([v, queue.size()]) == [7.0, 0]
    with cluster.session(isolate_session_state=True) as another:
        assert not another.run(tf.is_variable_initialized(v))


def test_steps_end_in_time(cluster: Cluster) -> None:
    queue = on("/job:ps", lambda: tf.FIFOQueue(3, tf.float32, [[]]))
    y = on("/job:worker", lambda: on("/job:ps", queue.dequeue) * 2.0)
    late, says = tf.errors.DeadlineExceededError, "the step ran out of time"
    with cluster.session(operation_timeout_in_ms=300) as session, pytest.raises(late, match=says):
        session.run(y)
    with cluster.session() as session:
        options = tf.RunOptions(timeout_in_ms=300)
        with pytest.raises(late, match=says):
            session.run(y, options=options)
        session.run(queue.enqueue(4.0))
        assert session.run(y) == 8.0, "the step that was ended has taken nothing"


@pytest.mark.parametrize("method", ["register", "trace"])
@pytest.mark.parametrize("limit", ["session", "run"])
def test_tasks_register_steps_in_time(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, method: str, limit: str
) -> None:
    """A task that does not answer ends the step in time, and is named; the next step is registered anew."""
    y = on("/job:ps", lambda: tf.constant(1.0) + tf.random_uniform([]))
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE if method == "trace" else 0)
    if limit == "run":
        options.timeout_in_ms = 300
    unanswered: list[Any] = []
    with cluster.session(**({"operation_timeout_in_ms": 300} if limit == "session" else {})) as session:
        with monkeypatch.context() as patch:
            patch.setitem(_METHODS, method, lambda service, request, message: unanswered.append(message))
            late = (
                rf"(?s)the step ran out of time: {PS} at localhost:\d+ has not answered '{method}'.*test_session_config"
            )
            with pytest.raises(tf.errors.DeadlineExceededError, match=late):
                session.run(y, options=options, run_metadata=tf.RunMetadata())
        (message,) = unanswered
        message.answer()  # too late
        assert session.run(y) >= 1.0


def test_a_task_keeps_nothing_that_it_registers_too_late(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    y = on("/job:ps", lambda: tf.constant(1.0) + tf.random_uniform([]))
    with cluster.session(operation_timeout_in_ms=20_000) as session:
        with monkeypatch.context() as patch:
            clock = itertools.count(0, 100)  # a minute and a half goes by whenever the task looks
            patch.setattr("headrace.cluster.service.monotonic", lambda: next(clock))
            late = rf"{PS} has registered it in more than (20|19\.\d) s"
            with pytest.raises(tf.errors.DeadlineExceededError, match=late):
                session.run(y)
        (there,) = cluster.servers[0]._service._sessions.values()
        assert not there.partitions._partitions
        assert session.run(y) >= 1.0
        assert len(there.partitions._partitions) == 1


def test_soft_placement_stays_on_the_task(cluster: Cluster) -> None:
    x = tf.placeholder(tf.float32, [])
    y = on("/job:ps/device:NULL:7", lambda: tf.square(x, name="far"))
    with cluster.session(allow_soft_placement=True) as session:
        assert session.run(y, {x: 3.0}) == 9.0
        (node,) = [n for n in session.explain(y, feeds=[x]).nodes if n.name == "far"]
        assert node.device == f"{PS}/device:CPU:0"
    with cluster.session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="far.*NULL:7") as e:
        session.run(y, {x: 3.0})
    assert "test_session_config.py" in str(e.value)


def test_a_task_that_is_not_there_is_an_error_even_softly(cluster: Cluster) -> None:
    y = on("/job:worker/task:5", lambda: tf.constant(1.0, name="lost") + 1.0)
    softly = cluster.session(allow_soft_placement=True)
    with softly as session, pytest.raises(tf.errors.InvalidArgumentError, match="/job:worker/task:5"):
        session.run(y)


def test_placements_are_logged_with_their_tasks(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    x = tf.placeholder(tf.float32, [])
    y = on("/job:worker", lambda: tf.negative(on("/job:ps", lambda: tf.square(x, name="first")), name="second"))
    with caplog.at_level(logging.INFO, "headrace.place"), cluster.session(log_device_placement=True) as session:
        session.run(y, {x: 2.0})
    assert f"first: (Square): {PS}/device:CPU:0" in caplog.messages
    assert f"second: (Neg): {WORKER}/device:CPU:0" in caplog.messages


def test_filters_hide_tasks(cluster: Cluster) -> None:
    y = on("/job:ps", lambda: tf.constant(1.0) + 1.0)
    with cluster.session(device_filters=["/job:worker"]) as session:
        assert [d.name for d in session.list_devices()] == [f"{WORKER}/device:CPU:0"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="/job:ps"):
            session.run(y)
    with pytest.raises(tf.errors.InvalidArgumentError, match="device_filters.*test_session_config.py"):
        cluster.session(device_filters=["/job:nobody"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="device_filters.*test_session_config.py"):
        cluster.session(device_filters=["what is this"])
    assert not any(server._worker.sessions() for server in cluster.servers), "a session that failed is nowhere"


@pytest.mark.parametrize("where", ["config", "experimental"])
def test_every_session_sees_the_devices_of_the_cluster(cluster: Cluster, where: str) -> None:
    options: dict[str, Any] = {"share_cluster_devices_in_session": True}
    if where == "experimental":
        options = {"experimental": tf.ConfigProto.Experimental(**options)}
    with cluster.session(**options) as session:
        assert {d.name for d in session.list_devices()} == {f"{PS}/device:CPU:0", f"{WORKER}/device:CPU:0"}


def test_another_cluster_is_refused(cluster: Cluster) -> None:
    says = (
        r"cluster_def=...\) is not supported: the cluster of grpc://localhost:\d+ is the one its servers were made with"
    )
    with pytest.raises(tf.errors.UnimplementedError, match=says) as raised:
        cluster.session(cluster_def=cluster.spec.as_cluster_def())
    assert "test_session_config.py" in str(raised.value)
    with tf.Session(config=tf.ConfigProto(cluster_def=cluster.spec.as_cluster_def())) as local:
        assert local.run(tf.constant(1.0) + 1.0) == 2.0, "no target, no cluster"
