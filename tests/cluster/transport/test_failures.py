"""What goes wrong inside an endpoint: an exception in an action, an I/O thread that ends, strangers, no descriptors."""

import os
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import pytest
import torch

from headrace.cluster.transport.channel import Channel
from headrace.cluster.transport.interface import DEFAULT_LIMITS
from headrace.cluster.transport.io_loop import IOLoop
from headrace.cluster.transport.keys import split_address
from headrace.core import errors

from .conftest import Answers, ask, until


def echo(peer, method, payload, tensors, reply, fail):
    if method == "die":
        raise SystemExit("on purpose")
    if method != "silence":
        reply(payload, tensors)


def die():
    raise SystemExit("on purpose")


def mistake():
    raise ValueError("on purpose")


class Broken:
    """Stands for an epoll that cannot be asked."""

    def __init__(self, real):
        self._real = real

    def poll(self, timeout):
        raise SystemExit("on purpose")

    def __getattr__(self, name):
        return getattr(self._real, name)


def break_poll(endpoint, peer):
    endpoint.loop._epoll = Broken(endpoint.loop._epoll)
    endpoint.later(0.0, lambda: None)


def break_receive(endpoint, peer):
    endpoint.loop.take_from = lambda *arguments: die()
    peer.push("echo", {}, [])


PLACES = {
    "an action": lambda endpoint, peer: endpoint.loop.submit(die),
    "a timer": lambda endpoint, peer: endpoint.later(0.0, die),
    "a handler": lambda endpoint, peer: peer.push("die", {}, []),
    "the poll": break_poll,
    "a socket": break_receive,
    "a connection": lambda endpoint, peer: next(iter(endpoint.control.connections.values())).submit(die),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_io_thread_that_ends_tells_everybody(make_endpoint, place):
    """Nobody waits for ever: neither who listens here, nor who calls from here, nor who calls this process."""
    failures, lost = [], []
    far = make_endpoint(echo, "localhost:0")
    server = make_endpoint(echo, "localhost:0", failed=failures.append)
    peer, own = make_endpoint().connect(server.address), server.connect(far.address)
    ask(peer, "echo")
    ask(own, "echo")
    answers = Answers()
    own.on_lost(lost.append)
    for one in (peer, own):
        one.call("silence", {}, [], answers)
    PLACES[place](server, peer)
    assert all(isinstance(error, errors.UnavailableError) for _, _, error in answers.wait(2))
    until(lambda: failures and lost, "that it has failed")
    assert failures[0].message == "the I/O thread of this process has ended: SystemExit: on purpose"
    assert lost[0].message == failures[0].message
    with pytest.raises(errors.UnavailableError, match="has ended: SystemExit"):
        ask(own, "echo")
    with pytest.raises(errors.CancelledError):
        server.connect(far.address)
    assert not server.loop.thread.is_alive() or server.loop.thread.join(20) is None


def test_a_mistake_in_one_action_ends_no_other(make_endpoint, caplog):
    server = make_endpoint(echo, "localhost:0")
    peer = make_endpoint().connect(server.address)
    ask(peer, "echo")
    server.loop.submit(mistake)
    server.later(0.0, mistake)
    assert ask(peer, "echo", {"n": 1}, [torch.ones(100_000)])[0] == {"n": 1}
    until(lambda: caplog.text.count("an action of the I/O thread has failed") == 2, "two lines")


def test_the_error_of_an_action_goes_to_who_asked(make_endpoint, monkeypatch):
    server, client = make_endpoint(echo, "localhost:0"), make_endpoint()
    peer, real = client.connect(server.address), Channel.dial
    ask(peer, "echo")

    def no_descriptor(self, ip, port, dial, options):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Channel, "dial", no_descriptor)
    with pytest.raises(errors.InternalError, match=r"failed here: OSError: .*Too many open files"):
        ask(client.connect(server.address), "echo")
    monkeypatch.setattr(Channel, "dial", real)
    assert ask(peer, "echo", {"n": 1})[0] == {"n": 1}
    assert ask(client.connect(server.address), "echo", {"n": 2})[0] == {"n": 2}


def test_what_a_thread_that_failed_did_not_come_to_is_told():
    told = []
    loop = IOLoop("test", lambda failure: told.append(str(failure)))
    loop.submit(die)
    loop.submit(lambda: told.append("action"))
    loop.thread.start()
    loop.thread.join(20)
    assert told == ["on purpose", "action"] and not loop.submit(die)


def test_strangers_are_few(make_endpoint):
    """The newest in place of the oldest; members are not disturbed."""
    server = make_endpoint(echo, "localhost:0", limits=replace(DEFAULT_LIMITS, strangers=20, handshake=60.0))
    peer = make_endpoint().connect(server.address)
    ask(peer, "echo")
    strangers = [socket.create_connection(split_address(server.address), 5) for _ in range(100)]
    try:
        for one in strangers:
            one.setblocking(False)

        def gone():
            count = 0
            for one in strangers:
                with suppress(BlockingIOError):
                    try:
                        count += not (one.recv(1000) and one.recv(1000))
                    except ConnectionError:
                        count += 1
            return count

        until(lambda: gone() >= 80, "the end of 80 strangers")
        assert server.refused()["too many strangers"] == 80
        assert ask(peer, "echo", {"n": 1})[0] == {"n": 1}
        assert ask(make_endpoint().connect(server.address), "echo", {"n": 2})[0] == {"n": 2}
    finally:
        for one in strangers:
            one.close()


def test_who_goes_costs_the_others_nothing(make_endpoint, monkeypatch):
    """No message is sent to anybody because a stranger, or a member, is gone."""
    lost = []
    server = make_endpoint(echo, "localhost:0", lost=lambda peer, error: lost.append(peer))
    client, other = make_endpoint(), make_endpoint()
    peers = [client.connect(server.address) for _ in range(20)]
    for peer in peers:
        ask(peer, "echo")
    leaving = other.connect(server.address)
    ask(leaving, "echo")
    sent, real = [], Channel.send

    def send(self, frames):
        if self is server.control:
            sent.append(frames)
        real(self, frames)

    monkeypatch.setattr(Channel, "send", send)
    for _ in range(50):
        socket.create_connection(split_address(server.address), 5).close()
    leaving.close()
    until(lambda: lost and server.refused().get("handshake", 0) >= 50, "the end of all")
    assert len(lost) == 1 and not sent


SERVER = """
import resource, sys
from headrace.cluster.transport.endpoint import Endpoint
def answer(peer, method, payload, tensors, reply, fail):
    if method == "limit":
        resource.setrlimit(resource.RLIMIT_NOFILE, (payload["n"], payload["n"]))
    reply(payload, tensors)
endpoint = Endpoint(answer, "localhost:0")
print(endpoint.address, flush=True)
sys.stdin.read()
endpoint.close()
"""


def test_a_server_without_descriptors_refuses_newcomers_only(make_endpoint):
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip()
        peer = make_endpoint().connect(address)
        ask(peer, "limit", {"n": len(os.listdir(f"/proc/{process.pid}/fd")) + 10})
        crowd = [socket.create_connection(split_address(address), 5) for _ in range(60)]
        try:
            for n in range(20):
                assert ask(peer, "echo", {"n": n})[0] == {"n": n}
        finally:
            for one in crowd:
                one.close()
        assert ask(make_endpoint().connect(address), "echo", {"n": -1})[0] == {"n": -1}
        process.stdin.close()
        assert process.wait(20) == 0
