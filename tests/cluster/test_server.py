"""Servers of one task in this process: how they are made, their devices, `start`, `join`, their configuration."""

import signal
import socket
import threading
from collections.abc import Callable

import pytest

import headrace as tf
from headrace.cluster.connection import close_client_endpoint

MakeServer = Callable[..., tf.train.Server]


class TestMaking:
    def test_a_local_server(self, server: tf.train.Server) -> None:
        assert server.target.startswith("grpc://localhost:") and int(server.target.rpartition(":")[2]) > 0
        definition = server.server_def
        assert (definition.job_name, definition.task_index, definition.protocol) == ("localhost", 0, "grpc")
        assert tf.train.ClusterSpec(definition.cluster).as_dict() == {"localhost": ["localhost:0"]}

    def test_each_has_an_address_of_its_own(self, make_server: MakeServer) -> None:
        assert len({make_server().target for _ in range(3)}) == 3

    def test_a_port_that_is_named(self, make_server: MakeServer) -> None:
        assert make_server({"worker": ["localhost:2222"]}).target == "grpc://localhost:2222"
        with pytest.raises(tf.errors.UnknownError, match=r"another server of this process; use port 0.*test_server.py"):
            tf.train.Server({"worker": ["localhost:2222"]})

    @pytest.mark.parametrize(
        "form",
        [
            {"ps": {3: "localhost:0"}},
            tf.train.ClusterSpec({"ps": {3: "localhost:0"}}),
            tf.train.ClusterSpec({"ps": {3: "localhost:0"}}).as_cluster_def(),
            tf.train.ServerDef(
                cluster={"job": [{"name": "ps", "tasks": {3: "localhost:0"}}]}, job_name="ps", task_index=3
            ),
        ],
    )
    def test_every_form_of_a_cluster(self, make_server: MakeServer, form: object) -> None:
        server = make_server(form)
        assert (server.server_def.job_name, server.server_def.task_index, server.server_def.protocol) == (
            "ps",
            3,
            "grpc",
        )
        with tf.Session(server.target) as sess:
            assert [d.name for d in sess.list_devices()] == ["/job:ps/replica:0/task:3/device:CPU:0"]

    def test_arguments_win_over_a_definition(self, make_server: MakeServer) -> None:
        definition = tf.train.ServerDef(cluster={"job": [{"name": "a", "tasks": {0: "localhost:0"}}]}, job_name="b")
        assert make_server(definition, job_name="a").server_def.job_name == "a"
        assert definition.job_name == "b", "the argument is not changed"

    @pytest.mark.parametrize(
        "arguments, error, message",
        [
            ((3,), TypeError, "Could not convert `server_or_cluster_def`"),
            (({"a": 3},), TypeError, "The tasks for job 'a'"),
            (({},), ValueError, "Must specify an explicit `job_name`"),
            (({"a": ["h:1"], "b": ["h:2"]},), ValueError, r"explicit `job_name`: the jobs of the cluster are \['a', 'b'\]"),
            (({"a": ["h:1", "h:2"]},), ValueError, r"explicit `task_index`: the tasks of 'a' are \[0, 1\]"),
            (({"a": ["h:1"]}, "b"), ValueError, "No such job in cluster: 'b'"),
            (({"a": ["h:1"]}, "a", 1), tf.errors.InternalError, "Task 1 was not defined in job 'a'"),
            (({"a": ["h:1"]}, "a", 0, "mpi"), tf.errors.NotFoundError, "No server factory registered.*'mpi'; known: 'grpc'"),
            (({"a": ["h"]},), tf.errors.InvalidArgumentError, 'Could not parse port for local server from "h"'),
            (({"a": ["h:p"]},), tf.errors.InvalidArgumentError, "accepted is host:port"),
            (({"a": ["h:1"]}, "a", 0, None, 3), TypeError, "config must be a tf.ConfigProto, but got int"),
            ((tf.train.ServerDef(job_name="a"),), tf.errors.InternalError, "Job 'a' was not defined in cluster"),
        ],
    )  # fmt: skip
    def test_what_makes_no_server(self, arguments: tuple[object, ...], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            tf.train.Server(*arguments)


class TestStarting:
    def test_sessions_find_a_started_server(self, make_server: MakeServer) -> None:
        server = make_server(start=False)
        with pytest.raises(tf.errors.UnavailableError, match="localhost:.* has not answered"):
            tf.Session(server.target, config=tf.ConfigProto(operation_timeout_in_ms=200))
        with pytest.raises(tf.errors.NotFoundError, match="No session factory"):
            tf.Session("nonsense://localhost:1")
        close_client_endpoint()
        server.start()
        server.start()
        with tf.Session(server.target) as sess:
            assert sess.run(tf.constant(1) + 1) == 2
            assert sess.sess_str == server.target

    def test_an_address_that_cannot_be_had_names_the_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HEADRACE_CLUSTER_KEY", "the key of this test")
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            for address, error, says in (
                (
                    f"localhost:{port}",
                    tf.errors.AlreadyExistsError,
                    f"localhost:{port} .*another process listens there",
                ),
                (
                    "192.0.2.77:2222",
                    tf.errors.InvalidArgumentError,
                    "no network interface of this machine has the address",
                ),
                ("no-such-host.invalid:2222", tf.errors.InvalidArgumentError, "'no-such-host.invalid' is not known"),
            ):
                with pytest.raises(error, match=rf"{says}.* \(at .*test_server\.py:\d+\)"):
                    tf.train.Server({"ps": [address]})

    def test_a_server_that_is_not_there_is_told_with_the_line(self) -> None:
        short = tf.ConfigProto(operation_timeout_in_ms=200)
        try:
            for call in (lambda: tf.Session("grpc://localhost:9", config=short),
                         lambda: tf.Session.reset("grpc://localhost:9", config=short)):  # fmt: skip
                with pytest.raises(
                    tf.errors.UnavailableError, match=r"no server listens there.*\(at .*test_server\.py:\d+\)"
                ):
                    call()
        finally:
            close_client_endpoint()

    def test_a_server_that_ends_while_a_session_begins_is_told_with_the_line(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def ask(*arguments: object, **options: object) -> None:
            raise tf.errors.UnavailableError(None, None, "localhost:9 has closed the connection")

        monkeypatch.setattr("headrace.cluster.connection.ask", ask)
        with pytest.raises(tf.errors.UnavailableError, match=r"has closed the connection \(at .*test_server\.py:\d+\)"):
            tf.Session("grpc://localhost:9")
        close_client_endpoint()

    def test_a_server_that_is_not_kept(self) -> None:
        """TensorFlow's servers live until the process ends, and programs make sessions on them in one line."""
        with tf.Session(tf.train.Server.create_local_server().target) as sess:
            assert sess.run(tf.constant(1) + 1) == 2


class TestJoining:
    @pytest.fixture(autouse=True)
    def returns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Has `join` return, which it does on request only."""
        monkeypatch.setenv("HEADRACE_JOIN_SECONDS", "0")

    def test_never_returns_by_default(self, make_server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("HEADRACE_JOIN_SECONDS")
        waits: list[float | None] = []
        server = make_server()
        monkeypatch.setattr(server._worker, "wait_for_sessions", waits.append)
        server.join()
        for setting in ("inf", "7"):
            monkeypatch.setenv("HEADRACE_JOIN_SECONDS", setting)
            server.join()
        assert waits == [None, None, 7.0]

    def test_returns_when_all_sessions_are_closed(self, server: tf.train.Server) -> None:
        first, second = tf.Session(server.target), tf.Session(server.target)
        joined = threading.Event()

        def join() -> None:
            server.join()
            joined.set()

        thread = threading.Thread(target=join)
        thread.start()
        first.close()
        first.close()
        assert not joined.wait(0.05)
        second.close()
        assert joined.wait(10)
        thread.join()

    def test_waits_for_a_first_session(self, server: tf.train.Server) -> None:
        thread = threading.Thread(target=server.join)
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        tf.Session(server.target).close()
        thread.join(10)
        assert not thread.is_alive()

    def test_a_dropped_session_counts_as_closed(self, server: tf.train.Server) -> None:
        sess = tf.Session(server.target)
        sess.run(tf.constant(1))
        del sess
        server.join()

    def test_a_server_that_is_not_started(self, make_server: MakeServer) -> None:
        make_server(start=False).join()

    def test_interrupted_by_control_c(self, server: tf.train.Server) -> None:
        main = threading.main_thread()
        timer = threading.Timer(0.05, lambda: signal.pthread_kill(main.ident or 0, signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            server.join()
        timer.join()


class TestDevices:
    @pytest.mark.parametrize(
        "device", ["", "/cpu:0", "/job:local", "/job:localhost/task:0", "/job:local/replica:0/task:0/cpu:0"]
    )
    def test_names_of_the_local_job(self, server: tf.train.Server, device: str) -> None:
        with tf.device(device):
            v = tf.Variable(2.0)
        with tf.Session(server.target) as sess:
            sess.run(v.initializer)
            assert sess.run(v + 1.0) == 3
            assert [d.name for d in sess.list_devices()] == ["/job:localhost/replica:0/task:0/device:CPU:0"]

    def test_both_names_in_one_group(self, server: tf.train.Server) -> None:
        with tf.device("/job:local"):
            v = tf.Variable(2.0)
        with tf.device("/job:localhost"), tf.colocate_with(v.op):
            w = tf.identity(v)
        with tf.Session(server.target) as sess:
            sess.run(v.initializer)
            assert sess.run(w) == 2

    def test_another_job(self, make_server: MakeServer) -> None:
        server = make_server({"worker": ["localhost:0"]})
        with tf.device("/job:worker/task:0"):
            here = tf.constant(1) + 1
        with tf.Session(server.target) as sess:
            assert sess.run(here) == 2
        with tf.device("/job:ps"):
            there = tf.constant(1) + 1
        for wanted in (there, here):  # the whole graph is placed, as in TensorFlow
            refused = pytest.raises(tf.errors.InvalidArgumentError, match=r"assigned to /job:ps .*device:CPU:0 \]")
            with tf.Session(server.target) as sess, refused:
                sess.run(wanted)


class TestConfiguration:
    def test_holds_for_sessions_without_their_own(self, make_server: MakeServer) -> None:
        config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
        server = make_server(config=config)
        assert server.server_def.default_session_config == config
        with tf.device("/gpu:7"):
            x = tf.constant(1) + 1
        for own in (None, tf.ConfigProto(operation_timeout_in_ms=50_000)):  # merged with the server's, as in TensorFlow
            with tf.Session(server.target, config=own) as sess:
                assert len(sess.list_devices()) == 2
                assert sess.run(x) == 2

    def test_a_sessions_own_does_not_reach_others(self, server: tf.train.Server) -> None:
        with tf.device("/gpu:7"):
            x = tf.constant(1) + 1
        soft = tf.ConfigProto(allow_soft_placement=True)
        with tf.Session(server.target, config=soft) as sess, tf.Session(server.target) as strict:
            assert sess.run(x) == 2
            with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
                strict.run(x)
