"""Who is dialed and how: names that move, proxies that hang up, refusals with reasons, many peers, calls both ways."""

import logging
import os
import socket
import threading
from dataclasses import replace

import pytest
import torch

from benchmarks._proxy import Proxy
from headrace.cluster.transport import lookups
from headrace.cluster.transport import message as wire
from headrace.cluster.transport.endpoint import Endpoint
from headrace.cluster.transport.interface import DEFAULT_LIMITS, data_port_of
from headrace.cluster.transport.keys import split_address
from headrace.core import errors

from .conftest import KINDS, Answers, ask, until

ALL = pytest.mark.parametrize("make_endpoint", KINDS, indirect=True)


def echo(peer, method, payload, tensors, reply, fail):
    reply(payload, tensors)


class HangingUp:
    """Accepts connections and closes them, as a proxy without its server does; or answers them with a few bytes."""

    def __init__(self, answer=b""):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.count = 0
        self._answer = answer
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.count += 1
            if self._answer:
                near.recv(10)
                near.sendall(self._answer)
            near.close()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@ALL
def test_who_was_connected_to_calls_back(make_endpoint):
    """A server calls and pushes over the connection that its client has made."""
    heard, names = [], []

    def note(peer, method, payload, tensors, reply, fail):
        names.append(peer)
        reply({}, [])

    def at_client(peer, method, payload, tensors, reply, fail):
        heard.append((method, payload, float(tensors[0].sum())))
        reply({"thanks": payload["n"]}, tensors)

    server = make_endpoint(note, "localhost:0")
    ask(make_endpoint(at_client).connect(server.address), "note")
    back = server.peer(names[0])
    for n, size in enumerate((1, 3000, 500_000)):
        payload, tensors = ask(back, "to client", {"n": n}, [torch.ones(size)])
        assert payload == {"thanks": n} and tensors[0].sum() == size
        back.push("pushed", {"n": n}, [torch.ones(size)], "order")
    until(lambda: len(heard) == 6, "the last push")
    assert [one for one in heard if one[0] == "pushed"] == [
        ("pushed", {"n": n}, float(s)) for n, s in enumerate((1, 3000, 500_000))
    ]
    assert server.peer("nobody") is None


@ALL
def test_the_way_back_ends_with_the_connection(make_endpoint):
    names, told = [], []
    server = make_endpoint(lambda *a: (names.append(a[0]), a[4]({}, [])), "localhost:0")
    client = make_endpoint(lambda *a: None)  # never answers
    peer = client.connect(server.address)
    ask(peer, "note")
    back = server.peer(names[0])
    back.on_lost(told.append)
    answers = Answers()
    back.call("x", {}, [], answers)
    peer.close()
    assert isinstance(answers.wait()[0][2], errors.UnavailableError)
    until(lambda: told, "loss")
    assert server.peer(names[0]) is None


def test_a_proxy_without_its_server_is_waited_for(make_endpoint):
    """Nobody there yet is not a wrong key."""
    proxy = HangingUp()
    peer = make_endpoint().connect(proxy.address)
    answers = Answers()
    peer.call("echo", {"n": 1}, [], answers)
    try:
        until(lambda: proxy.count > 8, "several tries")
        assert peer.lost is None
    finally:
        proxy.close()
    make_endpoint(echo, proxy.address)
    assert answers.wait()[0] == ({"n": 1}, [], None)


def test_another_kind_of_server_is_an_error(make_endpoint):
    other = HangingUp(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    try:
        with pytest.raises(
            errors.UnauthenticatedError, match=f"{other.address} refuses this process.*no Headrace server"
        ):
            ask(make_endpoint().connect(other.address), "echo")
    finally:
        other.close()


def test_a_host_that_moves_is_found_again(make_endpoint, monkeypatch):
    """Names are asked for before each try, and not on the I/O thread."""
    server = make_endpoint(echo, "127.0.0.1:0")
    port = split_address(server.address)[1]
    here, threads = ["127.0.0.77"], set()

    def numeric(host):
        threads.add(threading.current_thread().name)
        if host == "pod.test" and here[0] is None:
            raise errors.InvalidArgumentError(None, None, "not known")
        return here[0]

    monkeypatch.setattr(lookups, "numeric", numeric)
    peer = make_endpoint(key="somebody has given this key to all").connect(f"pod.test:{port}")
    keyed = make_endpoint(key="somebody has given this key to all")
    for address in (None, "127.0.0.77"):
        here[0] = address
        with pytest.raises(errors.UnavailableError, match="has not answered"):
            ask(peer, "echo", timeout=0.3)
    new = make_endpoint(echo, "127.0.0.1:0", key="somebody has given this key to all")
    moved = keyed.connect(f"pod.test:{split_address(new.address)[1]}")
    here[0] = "127.0.0.1"
    assert ask(moved, "echo", {"n": 2})[0] == {"n": 2}
    assert threads and all(name.startswith("headrace-lookup-") for name in threads)


def test_a_slow_resolver_stops_nobody(make_endpoint, monkeypatch):
    answered, go_on = threading.Event(), threading.Event()

    def slow(host):
        if host == "slow.test":
            answered.set()
            go_on.wait(20)
        return "127.0.0.1"

    monkeypatch.setattr(lookups, "numeric", slow)
    key = "somebody has given this key to all"
    server = make_endpoint(echo, "127.0.0.1:0", key=key)
    client = make_endpoint(key=key)
    peer = client.connect(server.address)
    ask(peer, "echo")
    late = client.connect(f"slow.test:{split_address(server.address)[1]}")
    assert answered.wait(20)
    for n in range(20):
        assert ask(peer, "echo", {"n": n})[0] == {"n": n}
    go_on.set()
    assert ask(late, "echo", {"n": -1})[0] == {"n": -1}


def test_a_mistyped_host_is_told_and_ends_nothing(make_endpoint, caplog):
    key = "somebody has given this key to all"
    server = make_endpoint(echo, "127.0.0.1:0", key=key)
    client = make_endpoint(key=key)
    for host in ("no_such host!", "a..b", "x" * 300):
        with pytest.raises(errors.UnavailableError, match="has not answered 'echo' within"):
            ask(client.connect(f"{host}:2222"), "echo", timeout=0.3)
        assert f"the host {host!r} is not known" in caplog.text
    assert ask(client.connect(server.address), "echo", {"n": 1})[0] == {"n": 1}


def test_another_version_is_refused_with_the_reason(make_endpoint, monkeypatch):
    server = make_endpoint(echo, "127.0.0.1:0")
    client = make_endpoint()
    real = wire.encode_head

    def of_another_version(head):
        if isinstance(head, wire.Hello):
            import msgspec

            return msgspec.msgpack.encode([1, 77, "a", "field", "more"])
        return real(head)

    monkeypatch.setattr(wire, "encode_head", of_another_version)
    with pytest.raises(
        errors.FailedPreconditionError,
        match=rf"refuses this process: it speaks version 77 .* this is version {wire.VERSION}",
    ):
        ask(client.connect(server.address), "echo")
    assert server.refused() == {"other version": 1}


@pytest.mark.parametrize("make_endpoint", ["bulk"], indirect=True)
@pytest.mark.parametrize("drops", [False, True])
def test_large_tensors_where_only_the_declared_port_is_open(make_endpoint, caplog, drops):
    """They go over the control channel, with one warning that names the port."""
    names, silent = [], socket.create_server(("127.0.0.1", 0))
    limits = replace(DEFAULT_LIMITS, silence=0.5)

    def note(peer, method, payload, tensors, reply, fail):
        names.append(peer)
        reply(payload, tensors)

    server = make_endpoint(note, "127.0.0.1:0")
    server.bulk_address = f"127.0.0.1:{silent.getsockname()[1] if drops else 1}"
    proxy = Proxy(server.address)
    try:
        peer = make_endpoint(echo, limits=limits).connect(proxy.address)
        for n in range(3):
            tensor = torch.full((1_500_000,), float(n))
            assert torch.equal(ask(peer, "echo", {}, [tensor])[1][0], tensor)
        tensor = torch.rand(700_000)
        assert torch.equal(ask(server.peer(names[0]), "back", {}, [tensor])[1][0], tensor)
        port = server.bulk_address.partition(":")[2]
        told = [record.getMessage() for record in caplog.records if "slower way" in record.getMessage()]
        assert len(told) == 1 and told[0].startswith(f"port {port} of localhost cannot be reached")
    finally:
        silent.close()
        proxy.close()


def test_the_port_for_large_tensors_follows_from_the_declared_one(make_endpoint, caplog):
    assert [data_port_of(port) for port in (2222, 55_535, 55_536, 65_535)] == [12_222, 65_535, 45_536, 55_535]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        declared = port - 10_000
        server = make_endpoint(echo, f"127.0.0.1:{declared}")
        assert split_address(server.bulk_address)[1] not in (port, declared)
        assert f"port {port}, for large tensors to 127.0.0.1:{declared}, is taken" in caplog.text
        with pytest.raises(errors.AlreadyExistsError, match=f"127.0.0.1:{port} cannot be bound"):
            make_endpoint(echo, "127.0.0.1:0", data_port=port)
    with_port = make_endpoint(echo, "127.0.0.1:0", data_port=port)
    assert with_port.bulk_address == f"127.0.0.1:{port}"


PEERS = 2000


@pytest.mark.usefixtures("full_length")
def test_many_peers_take_a_descriptor_each(make_endpoint):
    """On both sides: a server with 2,000 connections, and a client with as many."""
    server = make_endpoint(echo, "0.0.0.0:0", key="somebody has given this key to all")
    client = make_endpoint(key="somebody has given this key to all")
    port = split_address(server.address)[1]
    before = len(os.listdir("/proc/self/fd"))
    peers = []
    for wave in range(0, PEERS, 200):
        answers = Answers()
        new = [client.connect(f"127.0.{i // 250}.{i % 250 + 1}:{port}") for i in range(wave, wave + 200)]
        for peer in new:
            peer.call("echo", {}, [], answers)
        assert not any(error for _, _, error in answers.wait(200))
        peers += new
    assert len(os.listdir("/proc/self/fd")) - before <= 2 * PEERS  # one here, one there
    assert len(server.links()) == PEERS
    names = [server.peer(name) for name in server.links()]
    assert all(names)
    for peer in peers:
        peer.close()
    until(lambda: not server.links(), "the end of all")


def test_many_connections_to_one_address(make_endpoint):
    """Each is known apart from the others, and ends alone."""
    server, client = make_endpoint(echo, "127.0.0.1:0"), make_endpoint()
    peers = [client.connect(server.address) for _ in range(150)]
    for peer in peers:
        ask(peer, "echo")
    for peer in peers[::2]:
        peer.close()
    until(lambda: len(server.links()) == 75, "the end of half of them")
    for n, peer in enumerate(peers[1::2]):
        assert ask(peer, "echo", {"n": n})[0] == {"n": n}


def test_a_server_is_reached_by_either_of_two_keys(make_endpoint):
    old, new = "the key that all have had so far", "the key that all will have soon"
    for shown in (f"{old}\n{new}", f"{new}\n{old}\n"):
        server = make_endpoint(echo, "127.0.0.1:0", key=shown)
        for key in (f"{old}\n{new}", f"{new}\n{old}", shown.split("\n")[0]):
            assert ask(make_endpoint(key=key).connect(server.address), "echo", {"n": 1})[0] == {"n": 1}
        with pytest.raises(errors.UnauthenticatedError):
            ask(
                make_endpoint(key="the key of some other cluster, nobody's\nand one more of that kind").connect(
                    server.address
                ),
                "echo",
            )
    before = make_endpoint(echo, "127.0.0.1:0", key=old)
    assert ask(make_endpoint(key=f"{new}\n{old}").connect(before.address), "echo", {"n": 1})[0] == {"n": 1}


def test_nothing_is_logged_of_usual_connections(make_endpoint, caplog):
    caplog.set_level(logging.WARNING)
    server = make_endpoint(echo, "localhost:0")
    peer = make_endpoint().connect(server.address)
    ask(peer, "echo", {}, [torch.ones(300_000)])
    peer.close()
    until(lambda: not server.links(), "the end")
    assert not caplog.records
    assert isinstance(server, Endpoint)
