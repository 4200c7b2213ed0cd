"""What every transport does: calls, errors, pushes in order, loss, ends."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from headrace.cluster.transport.interface import DEFAULT_LIMITS
from headrace.core import errors

from .conftest import KINDS, Answers, ask, until

ALL = pytest.mark.parametrize("make_endpoint", KINDS, indirect=True)


def echo(peer, method, payload, tensors, reply, fail):
    if method == "fail":
        fail(payload["code"], "on purpose", "the/node")
    elif method == "raise":
        raise errors.OutOfRangeError(None, None, "no more")
    elif method == "bug":
        raise KeyError("bug")
    elif method != "silence":
        reply(payload, tensors)


@pytest.fixture
def pair(make_endpoint):
    server = make_endpoint(echo, "localhost:0")
    return server, make_endpoint().connect(server.address)


@ALL
@pytest.mark.parametrize("elements", [0, 10, 5_000, 300_000, 3_000_000])
def test_call_returns_what_it_was_sent(pair, elements):
    tensors = [torch.arange(elements).float(), None, np.array([b"a", b""], object), torch.tensor(3), np.float32(2)]
    payload = {"a": [1, None, "x", b"\0", 2.5, {"b": True}]}
    got, values = ask(pair[1], "echo", payload, tensors)
    assert got == payload
    assert torch.equal(values[0], tensors[0]) and values[1] is None
    assert values[2].tolist() == [b"a", b""] and values[3] == 3 and values[4] == 2


@ALL
def test_many_connect_at_the_same_time(make_endpoint):
    """No handshake is overlooked: the answer to one may use up what the socket tells of the next."""
    servers = [make_endpoint(echo, "localhost:0") for _ in range(3)]
    clients = [make_endpoint() for _ in range(3)]
    for _ in range(5):
        answers = Answers()
        peers = [client.connect(server.address) for client in clients for server in servers for _ in range(3)]
        for peer in peers:
            peer.call("echo", {}, [], answers)
        assert [error for _, _, error in answers.wait(len(peers)) if error is not None] == []
        for peer in peers:
            peer.close()


@ALL
def test_a_large_payload_needs_no_tensors(pair):
    payload = {"text": "x" * 3_000_000}
    assert ask(pair[1], "echo", payload)[0] == payload
    assert ask(pair[1], "echo", payload, [torch.ones(500_000)])[0] == payload


@ALL
def test_sent_tensors_may_change_and_received_ones_too(pair):
    tensor = torch.zeros(500_000)
    answers = Answers()
    for i in range(4):
        tensor.fill_(i)
        pair[1].call("echo", {}, [tensor], answers)
        tensor.fill_(-1)
    received = [values[0] for _, values, error in answers.wait(4) if error is None]
    assert sorted(float(t.max()) for t in received) == [0, 1, 2, 3]
    received[0].fill_(7)
    assert all(float(t.min()) == float(t.max()) for t in received)


@ALL
def test_errors_come_by_code_with_the_node(pair):
    with pytest.raises(errors.NotFoundError, match="on purpose") as caught:
        ask(pair[1], "fail", {"code": errors.NOT_FOUND})
    assert caught.value.op.name == "the/node"
    with pytest.raises(errors.OutOfRangeError, match="no more"):
        ask(pair[1], "raise")
    with pytest.raises(errors.InternalError, match="'bug' failed: KeyError"):
        ask(pair[1], "bug")


@ALL
def test_a_call_without_an_answer_ends_after_its_timeout(pair):
    with pytest.raises(errors.UnavailableError, match="has not answered 'silence' within 0.1 s"):
        ask(pair[1], "silence", timeout=0.1)
    assert ask(pair[1], "echo", {"a": 1})[0] == {"a": 1}


@ALL
def test_pushes_of_one_order_arrive_in_order(make_endpoint):
    received, lock = {"a": [], "b": []}, threading.Lock()

    def take(peer, method, payload, tensors, reply, fail):
        with lock:
            received[payload["order"]].append((payload["n"], int(tensors[0][0])))

    server = make_endpoint(take, "localhost:0")
    peer = make_endpoint().connect(server.address)
    for n in range(30):
        for order in "ab":
            size = 700_000 if n % 3 == 0 else 10
            peer.push("p", {"order": order, "n": n}, [torch.full((size,), n)], order)
    until(lambda: all(len(one) == 30 for one in received.values()))
    assert received["a"] == received["b"] == [(n, n) for n in range(30)]


@ALL
def test_a_peer_that_is_not_there_yet_is_found(make_endpoint):
    first = make_endpoint(echo, "localhost:0")
    address = first.address
    first.close()
    peer = make_endpoint().connect(address)
    answers = Answers()
    peer.call("echo", {"n": 1}, [torch.ones(1_000_000)], answers)
    peer.push("echo", {}, [])
    make_endpoint(echo, address)
    payload, tensors, error = answers.wait()[0]
    assert error is None and payload == {"n": 1} and tensors[0].sum() == 1_000_000


@ALL
def test_connecting_gives_up(make_endpoint):
    closed = make_endpoint(echo, "localhost:0")
    closed.close()
    peer = make_endpoint().connect(closed.address, timeout=0.2)
    with pytest.raises(errors.UnavailableError, match="could not be reached"):
        ask(peer, "echo")
    assert isinstance(peer.lost, errors.UnavailableError)


@ALL
def test_loss_ends_calls_on_both_sides_and_is_told_once(make_endpoint):
    lost, told = [], []
    server = make_endpoint(echo, "localhost:0", lost=lambda peer, error: lost.append((peer, error)))
    client, other = make_endpoint(), make_endpoint()
    peer, third = client.connect(server.address), other.connect(server.address)
    peer.on_lost(told.append)
    assert ask(peer, "echo", {"a": 1}) and ask(third, "echo", {"a": 1})
    other.close()
    until(lambda: lost, "loss at the server")
    answers = Answers()
    peer.call("silence", {}, [], answers)
    ask(peer, "echo")
    server.close()
    assert isinstance(answers.wait()[0][2], errors.UnavailableError)
    assert server.address in str(answers.told[0][2])
    with pytest.raises(errors.UnavailableError):
        ask(peer, "echo")
    peer.push("echo", {}, [])  # goes nowhere
    peer.on_lost(told.append)
    until(lambda: len(told) == 2)
    assert len(lost) == 1 and len(answers.told) == 1


@ALL
def test_closing_answers_what_is_under_way(pair, make_endpoint):
    client = make_endpoint()
    peer, second = client.connect(pair[0].address), client.connect(pair[0].address)
    answers, told = Answers(), []
    peer.on_lost(told.append)
    ask(peer, "echo")
    peer.call("silence", {}, [], answers)
    second.call("silence", {}, [], answers)
    peer.close()
    assert isinstance(answers.wait()[0][2], errors.CancelledError)
    client.close()
    assert isinstance(answers.wait(2)[1][2], errors.CancelledError)
    peer.call("echo", {}, [], answers)
    assert isinstance(answers.wait(3)[2][2], errors.CancelledError)
    with pytest.raises(errors.CancelledError):
        client.connect(pair[0].address)
    client.close()
    assert not told


@ALL
def test_a_last_reply_arrives_though_the_server_closes(make_endpoint):
    over = threading.Event()

    def last(peer, method, payload, tensors, reply, fail):
        reply({"last": True}, [])
        over.set()

    server = make_endpoint(last, "localhost:0")
    answers = Answers()
    make_endpoint().connect(server.address).call("end", {}, [], answers)
    assert over.wait(20)
    server.close()
    assert answers.wait()[0][0] == {"last": True}


@ALL
def test_statistics_count_both_ways(pair):
    ask(pair[1], "echo", {}, [torch.zeros(1_000_000)])
    mine = pair[1].statistics
    (theirs,) = pair[0].links().values()
    assert mine.sent_messages == mine.received_messages == 1
    assert 4_000_000 <= mine.sent_bytes == theirs.received_bytes <= 4_001_000
    assert pair[0].refused() == {}


@ALL
def test_what_cannot_be_sent_is_refused_where_it_is_sent(pair, make_endpoint):
    with pytest.raises(TypeError, match="plain data"):
        pair[1].call("echo", {"a": object()}, [], Answers())
    with pytest.raises(TypeError, match="torch tensor"):
        pair[1].push("echo", {}, [3])
    small = make_endpoint(limits=replace(DEFAULT_LIMITS, message=1000)).connect(pair[0].address)
    with pytest.raises(TypeError, match="at most 1000 bytes"):
        small.push("echo", {}, [torch.zeros(1000)])
    assert ask(pair[1], "echo", {"a": 1})[0] == {"a": 1}


@ALL
def test_many_threads_may_call(pair):
    def call_many(n):
        for i in range(50):
            got, values = ask(pair[1], "echo", {"n": n, "i": i}, [torch.full((n * 3000 + 1,), i)])
            assert got == {"n": n, "i": i} and values[0][-1] == i
        done.append(n)

    done: list[int] = []
    threads = [threading.Thread(target=call_many, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(done) == [0, 1, 2, 3]


@pytest.mark.parametrize("make_endpoint", ["bulk"], indirect=True)
def test_a_large_message_does_not_hold_up_small_ones(pair):
    answers = Answers()
    pair[1].call("echo", {}, [torch.zeros(30_000_000)], answers)
    count = 0
    while not answers.told:
        ask(pair[1], "echo", {"n": count})
        count += 1
    assert answers.wait()[0][2] is None
    assert count > 5  # many small ones in the time of a large one


@ALL
def test_closing_with_an_error_is_a_loss_for_who_waits(pair):
    peer, answers, told = pair[1], Answers(), []
    peer.on_lost(told.append)
    ask(peer, "echo")
    peer.call("silence", {}, [], answers)
    error = errors.UnavailableError(None, None, "too slow")
    peer.close(error)
    assert answers.wait()[0][2] is error
    until(lambda: told == [error], "loss")
    assert peer.lost is error


@ALL
def test_actions_for_later_run_on_the_thread_of_the_endpoint(pair):
    ran: list[str] = []
    pair[0].later(0.01, lambda: ran.append(threading.current_thread().name))
    until(lambda: ran, "the action")
    assert ran[0].startswith("headrace-")
