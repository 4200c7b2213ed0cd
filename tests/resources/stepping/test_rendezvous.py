"""The rendezvous as a machine: who sends, who takes, in which order, and how a step ends."""

import pytest

from headrace.core.errors import AbortedError, ResourceExhaustedError
from headrace.resources.stepping.rendezvous import ENDED_STEPS, Rendezvous


class Taken:
    def __init__(self):
        self.calls = []

    def __call__(self, values, error):
        self.calls.append((values, error))


@pytest.fixture
def table():
    return Rendezvous()


@pytest.fixture
def done():
    return Taken()


def test_sent_before_taken(table, done):
    table.send(1, "a", [10])
    assert table.recv(1, ["a"], done) is None
    assert done.calls == [([10], None)]


def test_taken_before_sent(table, done):
    wait = table.recv(1, ["a"], done)
    assert not done.calls and "a" in wait.describe()
    table.send(1, "a", [10])
    assert done.calls == [([10], None)]


def test_several_keys_in_the_order_asked_for(table, done):
    table.send(1, "b", [2, 3])
    wait = table.recv(1, ["a", "b", "c"], done)
    assert wait.describe() == "another partition has not sent a, c"
    wait = Rendezvous().recv(1, ["/job:ps/task:0>/job:worker/task:0 1", "/job:ps/task:0>/job:worker/task:0 2"], print)
    assert wait is not None and wait.describe().startswith("/job:ps/task:0 has not sent /job:ps/task:0>")
    table.send(1, "c", [])
    table.send(1, "a", [1])
    assert done.calls == [([1, 2, 3], None)]


def test_messages_under_one_key_keep_their_order(table, done):
    for i in range(3):
        table.send(1, "a", [i])
    for _ in range(3):
        table.recv(1, ["a"], done)
    waits = [table.recv(1, ["a"], done) for _ in range(2)]
    table.send(1, "a", [3])
    table.send(1, "a", [4])
    assert [values for values, _ in done.calls] == [[0], [1], [2], [3], [4]] and all(waits)


def test_steps_do_not_meet(table, done):
    table.send(1, "a", [1])
    table.recv(2, ["a"], done)
    assert not done.calls and len(table) == 2


def test_aborting_ends_who_waits_and_who_comes(table, done):
    error = AbortedError(None, None, "over")
    table.recv(1, ["a"], done)
    table.abort(1, error)
    table.abort(1, AbortedError(None, None, "again"))
    table.recv(1, ["b"], done)
    table.send(1, "a", [1])
    assert done.calls == [(None, error), (None, error)]
    table.end(1)
    assert len(table) == 0


def test_cancelling_one_wait(table, done):
    wait = table.recv(1, ["a", "b"], done)
    table.send(1, "a", [1])
    error = AbortedError(None, None, "cancelled")
    wait.cancel(error)
    wait.cancel(error)
    table.send(1, "b", [2])
    assert done.calls == [(None, error)]


def test_what_comes_after_the_end_is_dropped(table, done):
    table.end(1)
    table.send(1, "a", [1])
    assert len(table) == 0
    table.recv(1, ["a"], done)
    ((values, error),) = done.calls
    assert values is None and "over" in error.message
    for step in range(2, ENDED_STEPS + 3):
        table.end(step)
    assert len(table._ended) == ENDED_STEPS


def test_a_step_that_sends_too_much_is_ended(done):
    table = Rendezvous(most=2)
    table.send(1, "a", [1.0])
    table.send(1, "b", [2.0])
    table.send(2, "c", [3.0])
    assert table.untaken == 2
    table.recv(2, ["c"], done)
    error = done.calls[0][1]
    assert isinstance(error, ResourceExhaustedError)
    assert "2 messages wait to be taken, so c was not accepted" in error.message
    table.recv(1, ["a", "b"], done)
    assert done.calls[1] == ([1.0, 2.0], None) and table.untaken == 0


def test_too_many_steps(done):
    table = Rendezvous(most=2)
    table.send(1, "a", [1.0])
    table.send(2, "a", [1.0])
    with pytest.raises(
        ResourceExhaustedError, match="2 steps have messages to be taken, so a of step 3 was not accepted"
    ):
        table.send(3, "a", [1.0])
    table.recv(3, ["a"], done)
    error = done.calls[0][1]
    assert "2 steps have messages to be taken, so step 3 was not accepted" in error.message
    table.end(1)
    assert table.untaken == 1
    table.abort(2, error)
    assert table.untaken == 0
    assert table.recv(3, ["a"], done) is not None
