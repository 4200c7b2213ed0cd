"""Members that ask for too much: calls under way, sessions, and messages that nobody takes are bounded."""

import re
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cluster.ports import free_addresses

import headrace as tf
from headrace.cluster import sessions as sessions_module
from headrace.cluster.admission import Admission
from headrace.cluster.connection import close_client_endpoint
from headrace.cluster.request import Abort, Close, Hello, Open, Run, Send, Statistics, Status, Trace, ask
from headrace.cluster.service import Message
from headrace.cluster.session_config import to_plain
from headrace.cluster.transport import open_endpoint


class TestAdmission:
    def test_each_has_a_share(self) -> None:
        admission = Admission(of_one=2, of_all=3)
        assert not admission.admit("a") and not admission.admit("a")
        assert admission.admit("a") == "2 calls of a are under way, and more of one client are not accepted"
        assert not admission.admit("b")
        assert admission.admit("c") == "3 calls are under way, and more are not accepted"
        assert (len(admission), admission.refused) == (3, 2)
        admission.leave("a")
        assert not admission.admit("a")
        assert len(admission) == 3

    def test_nothing_is_kept_of_those_that_are_gone(self) -> None:
        admission = Admission()
        for peer in range(100):
            admission.admit(f"peer {peer}")
            admission.leave(f"peer {peer}")
        assert not admission._under_way and len(admission) == 0

    def test_an_answer_counts_once_and_only_if_it_was_given(self) -> None:
        admission = Admission()
        admission.admit("a"), admission.admit("a")
        service: Any = SimpleNamespace(admission=admission, incarnation=1)

        def reply(answer: Any, tensors: Any) -> None:
            if tensors:
                raise TypeError("too large")

        message = Message(service, "a", [], reply, lambda *arguments: None)
        message.under_way.append(None)
        with pytest.raises(TypeError):
            message.answer(tensors=[1])
        assert len(admission) == 2
        message.refuse(TypeError("too large"))
        message.answer()
        assert len(admission) == 1


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tf.train.Server]:
    made = tf.train.Server({"worker": free_addresses(1)}, config=tf.ConfigProto(compile="off"))
    yield made
    made._stop()
    close_client_endpoint()


@pytest.fixture
def connect(server: tf.train.Server) -> Iterator[Callable[[], Any]]:
    """Connections of a member, each of its own."""
    endpoint = open_endpoint()
    yield lambda: endpoint.connect(server.target.partition("://")[2])
    endpoint.close()


class Answers:
    def __init__(self) -> None:
        self.errors: list[Any] = []
        self._changed = threading.Condition()

    def __call__(self, reply: Any, values: Any, error: Any) -> None:
        with self._changed:
            self.errors.append(error)
            self._changed.notify_all()

    def wait(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.errors) >= count, 30), len(self.errors)


def test_calls_that_are_not_answered(server: tf.train.Server, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service, held = server._service, []
    service.admission = Admission(of_one=20, of_all=30)
    pool = service.worker.pool
    submit = pool.submit
    monkeypatch.setattr(pool, "submit", held.append)
    flooding, other, answers, others = connect(), connect(), Answers(), Answers()
    for _ in range(500):
        flooding.call("status", Status(), [], answers)
    answers.wait(480)
    assert len(held) == len(service.admission) == 20
    assert all(isinstance(error, tf.errors.ResourceExhaustedError) for error in answers.errors)
    assert "/job:worker/replica:0/task:0 refuses 'status': 20 calls of" in answers.errors[0].message
    ask(other, Hello(), seconds=30)  # others are served
    for _ in range(12):
        other.call("status", Status(), [], others)
    others.wait(2)
    assert "30 calls are under way" in others.errors[0].message
    monkeypatch.setattr(pool, "submit", submit)
    for work in held:
        work()
    answers.wait(500)
    others.wait(12)
    assert len(service.admission) == 0
    assert ask(flooding, Status(), seconds=30).status["refused"] == {"too many calls": 482}


def test_sessions(server: tf.train.Server, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "SESSIONS", 3)
    peer, config = connect(), to_plain(tf.ConfigProto())
    for i in range(3):
        ask(peer, Open(f"s{i}", config, {}), seconds=30)
    with pytest.raises(tf.errors.AlreadyExistsError, match="has a session s1 already"):
        ask(peer, Open("s1", config, {}), seconds=30)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="has 3 sessions, and more are not accepted"):
        ask(peer, Open("s3", config, {}), seconds=30)
    assert len(server._worker.sessions()) == 3
    ask(peer, Close("s0"), seconds=30)
    ask(peer, Open("s3", config, {}), seconds=30)


def test_messages_that_nobody_takes(server: tf.train.Server, connect: Any) -> None:
    rendezvous = server._worker.rendezvous
    rendezvous._most = 50
    peer = connect()
    for i in range(400):
        peer.push("send", Send(i % 40, f"key {i}"), [])
    for i in range(400):
        peer.push("abort", Abort("none", i, 1, ""), [])
    ask(peer, Hello(), seconds=30)  # it comes after the pushes
    assert rendezvous.untaken <= 50 and len(rendezvous) == 40
    x = tf.placeholder(tf.float32, [])
    with tf.Session(server.target) as session:  # what sends nothing goes on
        assert session.run(x * 2.0, {x: 4.0}) == 8.0


def test_a_message_that_cannot_be_kept_ends_the_connection_of_its_sender(server: tf.train.Server, connect: Any) -> None:
    """Nobody waits for the answer to a message, so the sender hears of it in this way."""
    server._worker.rendezvous._most = 50
    peer, other, told = connect(), connect(), Answers()
    peer.on_lost(lambda error: told(None, None, error))
    for step in range(51):
        peer.push("send", Send(step, f"key {step}"), [])
    told.wait(1)
    assert isinstance(told.errors[0], tf.errors.ResourceExhaustedError)
    why = "/job:worker/replica:0/task:0: 50 steps have messages to be taken, so key 50 of step 50 was not accepted"
    assert why in told.errors[0].message
    ask(other, Hello(), seconds=30)  # others are served


@pytest.mark.parametrize("along", [-1, 0, 2])
def test_tensors_that_go_along_are_counted(connect: Any, along: int) -> None:
    peer = connect()
    ask(peer, Open("s", to_plain(tf.ConfigProto()), {}), seconds=30)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{along} of 1 tensors are said to go along"):
        ask(peer, Run("s", 7, 1, None, [], "key", along), [np.float32(1.0)], seconds=30)


@pytest.mark.parametrize("request_", [Run("s", 7, 1, None, []), Trace("s", None, 7), Statistics("s", None, 7)])
def test_a_partition_that_the_session_has_not_registered(connect: Any, request_: Any) -> None:
    peer = connect()
    ask(peer, Open("s", to_plain(tf.ConfigProto()), {}), seconds=30)
    with pytest.raises(tf.errors.AbortedError, match="Graph handle is not found: 7.*on /job:worker/replica:0/task:0"):
        ask(peer, request_, seconds=30)


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({}, "missing required field `session`"),
        ({"session": "s", "handle": "7", "step": 1, "seconds": None, "ended": []}, "Expected `int`, got `str`.*handle"),
        ({"session": "s", "handle": 7, "step": 1, "seconds": None, "ended": [], "more": 1}, "unknown field `more`"),
    ],
)
def test_a_request_without_its_fields_is_refused(connect: Any, payload: dict[str, Any], problem: str) -> None:
    answers = Answers()
    connect().call("run", payload, [], answers)
    answers.wait(1)
    assert isinstance(answers.errors[0], tf.errors.InvalidArgumentError)
    assert re.search(f"what came from .* does not have the fields of Run: .*{problem}", answers.errors[0].message)


def test_an_answer_without_its_fields_is_an_error() -> None:
    def answer(peer: str, method: str, payload: Any, tensors: Any, reply: Any, fail: Any) -> None:
        reply({"incarnation": 1, "handle": "none"}, [])

    endpoint = open_endpoint(answer, "localhost:0")
    client = open_endpoint()
    try:
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match="what came from localhost:.* does not have the fields of Handle: .*`int`",
        ):
            ask(client.connect(endpoint.address or ""), Trace("s", None, 7), seconds=30)
    finally:
        client.close()
        endpoint.close()
