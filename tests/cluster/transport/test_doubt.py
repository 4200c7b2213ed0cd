"""What comes after a long silence waits until the other end has proved that it is there: the machine, and connections with it."""

from collections import deque
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headrace.cluster.transport import link as link_module
from headrace.cluster.transport import message as wire
from headrace.cluster.transport.codec import MalformedError
from headrace.cluster.transport.doubt import Doubt
from headrace.cluster.transport.interface import DEFAULT_LIMITS
from headrace.core import errors

from .conftest import KINDS, Answers, ask, until

PATIENCE = 10


class Link:
    """A sender and a receiver with a machine, and what is under way between them.  Time is what the schedule says."""

    def __init__(self):
        self.time = self.awake_at = 0  # `awake_at`: when the receiver, or the network, was last there
        self.doubt = Doubt(most=1000)
        self.doubt.begin(PATIENCE, 0)
        self.to_receiver = deque()
        self.to_sender = deque()
        self.sent = 0
        self.given_up = False
        self.taken = []

    def send(self):
        if not self.given_up:
            self.sent += 1
            self.to_receiver.append(self.sent)

    def answer(self):
        """The sender reads its questions."""
        while self.to_sender and not self.given_up:
            self.to_receiver.append(("here", self.to_sender.popleft()))

    def receive(self):
        """The receiver takes one message."""
        self.awake_at = self.time
        if not self.to_receiver:
            return
        if question := self.doubt.hear(self.time):
            self.to_sender.append(question)
        message = self.to_receiver.popleft()
        if isinstance(message, tuple):
            self._take(*self.doubt.answered(message[1]))
        elif self.doubt.messages is not None:
            self.doubt.hold(message)
        else:
            self._take(message)

    def _take(self, *messages):
        assert not (messages and self.given_up), "a message was taken that its sender had given up"
        self.taken += messages

    def give_up(self):
        """The sender does so only after a silence longer than the receiver's patience."""
        self.given_up = self.given_up or self.time - self.awake_at > PATIENCE


ACTIONS = st.sampled_from([Link.send, Link.answer, Link.receive, Link.give_up])


@given(st.lists(st.one_of(ACTIONS, st.integers(1, 3 * PATIENCE)), max_size=60))
def test_nothing_is_taken_after_it_was_given_up_and_all_else_is_in_order(schedule):
    link = Link()
    for one in schedule:
        if isinstance(one, int):
            link.time += one
        else:
            one(link)
        assert link.taken == list(range(1, len(link.taken) + 1))
    while not link.given_up and len(link.taken) < link.sent:  # both are there: all arrives
        link.time += 1
        link.answer()
        link.receive()


def test_answers_to_earlier_questions_prove_nothing():
    doubt = Doubt(most=2)
    doubt.begin(PATIENCE, 0)
    assert [doubt.hear(10), doubt.hear(21), doubt.hear(22), doubt.hear(33)] == [0, 1, 0, 2]
    doubt.hold("a")
    assert not doubt.answered(1)
    doubt.hold("b")
    with pytest.raises(MalformedError, match="2 messages came, but no answer"):
        doubt.hold("c")
    with pytest.raises(MalformedError, match="question 3 was answered, and 2 were asked"):
        doubt.answered(3)
    assert list(doubt.answered(2)) == ["a", "b"]
    assert not doubt.answered(2) and doubt.messages is None


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves: both ends find that nothing has come for long."""

    class Clock:
        time = 0.0

    monkeypatch.setattr(link_module, "now", lambda: Clock.time)
    return Clock


@pytest.fixture
def questions(monkeypatch):
    """The questions that were asked."""
    asked, tell = [], link_module.Link.tell

    def listen(self, head):
        if isinstance(head, wire.Question):
            asked.append(self)
        tell(self, head)

    monkeypatch.setattr(link_module.Link, "tell", listen)
    return asked


@pytest.mark.parametrize("make_endpoint", KINDS, indirect=True)
def test_both_ends_ask_after_a_silence_and_all_arrives(make_endpoint, clock, questions):
    """Both processes may have been stopped: neither waits for the other's answer before it gives its own."""
    got = []

    def answer(peer, method, payload, tensors, reply, fail):
        if method == "back":
            server.peer(peer).call("echo", payload, tensors, lambda *told: reply(told[0], told[1]))
        elif method == "push":
            got.append((payload["i"], float(tensors[0].sum())))
        else:
            reply(payload, tensors)

    server = make_endpoint(answer, "localhost:0")
    peer = make_endpoint(answer).connect(server.address)
    ask(peer, "echo")
    assert not questions
    for silence in (1.0, 10.0):
        clock.time += silence
        for i, size in enumerate((3, 2_000_000, 5, 2_000_000)):
            peer.push("push", {"i": i}, [torch.ones(size)], order="one")
        payload, tensors = ask(peer, "back", {"a": 1}, [torch.ones(2_000_000)])
        assert payload == {"a": 1} and float(tensors[0].sum()) == 2_000_000
        until(lambda: len(got) == 4, "pushes")
        assert got == [(0, 3.0), (1, 2e6), (2, 5.0), (3, 2e6)]
        got.clear()
        assert len(set(questions)) == (0 if silence < DEFAULT_LIMITS.doubt else 2)


@pytest.mark.parametrize("make_endpoint", KINDS, indirect=True)
def test_answers_to_calls_are_not_held_back(make_endpoint, clock, monkeypatch):
    server = make_endpoint(lambda *a: a[4]({}, []), "localhost:0")
    peer = make_endpoint().connect(server.address)
    ask(peer, "echo")
    replies, answers = [], Answers()
    server.handler = lambda *a: replies.append(a[4])
    peer.call("echo", {}, [], answers)
    until(lambda: replies)
    clock.time += 10.0
    receive = link_module.Link.receive  # the server never answers a question
    monkeypatch.setattr(
        link_module.Link, "receive", lambda self, h, b: isinstance(h, wire.Question) or receive(self, h, b)
    )
    replies[0]({"a": 1}, [])
    assert answers.wait()[0][0] == {"a": 1}


@pytest.mark.parametrize("make_endpoint", KINDS, indirect=True)
def test_what_is_held_back_is_dropped_with_the_connection_and_bounded(make_endpoint, clock, monkeypatch, caplog):
    got = []
    server = make_endpoint(
        lambda *a: (got.append(a[1]), a[4]({}, [])), "localhost:0", limits=replace(DEFAULT_LIMITS, backlog=50)
    )
    client = make_endpoint()
    one, two, three = (client.connect(server.address) for _ in range(3))
    for peer in (one, two, three):
        ask(peer, "first")
    monkeypatch.setattr(wire, "Here", lambda number: wire.Forget([]))  # nobody answers
    clock.time += 10.0
    for _ in range(20):
        one.push("held", {}, [torch.ones(10_000)])
    for _ in range(51):
        two.push("flood", {}, [])
    answers = Answers()
    two.on_lost(lambda error: answers({}, [], error))
    assert isinstance(answers.wait()[0][2], errors.UnavailableError)
    one.close()
    until(lambda: len(server.links()) == 1, "the ends of two connections")
    assert "50 messages are dropped" in caplog.text  # and one more has ended the connection
    assert "20 messages are dropped" in caplog.text
    assert got == ["first"] * 3
