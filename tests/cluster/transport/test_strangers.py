"""A stranger on the port gets nowhere, is counted, and disturbs nobody."""

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cluster.transport import message as wire
from headrace.cluster.transport import sockets
from headrace.cluster.transport.endpoint import Endpoint
from headrace.cluster.transport.interface import DEFAULT_LIMITS
from headrace.cluster.transport.keys import cluster_keys, split_address
from headrace.core import errors

from .conftest import Answers, ask, until

KEY = "the key of this test"
LIMITS = replace(DEFAULT_LIMITS, handshake=0.5, message=1 << 26)
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + b"\0" + bytes(31)
NULL_GREETING = GREETING.replace(b"CURVE", b"NULL\0")


def echo(peer, method, payload, tensors, reply, fail):
    reply(payload, tensors)


class Job:
    """A server and a good client that keeps calling until the end."""

    def __init__(self):
        self.server = Endpoint(echo, "127.0.0.1:0", KEY, limits=LIMITS)
        self.client = Endpoint(key=KEY)
        self.peer = self.client.connect(self.server.address)
        ask(self.peer, "echo")
        self.calls, self.error = 0, None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._call)
        self._thread.start()

    def _call(self):
        try:
            while not self._stop.is_set():
                tensor = torch.full((self.calls % 3 * 20_000 + 1,), self.calls)
                payload, tensors = ask(self.peer, "echo", {"n": self.calls}, [tensor])
                assert payload == {"n": self.calls} and torch.equal(tensors[0], tensor)
                self.calls += 1
        except BaseException as e:
            self.error = e

    def check(self):
        """The good client has gone on calling."""
        calls = self.calls
        until(lambda: self.calls > calls + 2 or self.error, "a call")
        assert self.error is None
        until(lambda: len(self.server.links()) == 1, "the end of the connections of others")

    def close(self):
        self._stop.set()
        self._thread.join()
        self.client.close()
        self.server.close()


@pytest.fixture
def job():
    one = Job()
    yield one
    one.close()


def shout(socket, frames):
    """Sends without waiting: a socket that was refused has nobody to send to any more, and would wait for ever."""
    with suppress(zmq.Again):
        socket.send_multipart(frames, zmq.NOBLOCK)


@pytest.fixture
def context():
    """A ZeroMQ context whose sockets end with the test."""
    kept = []

    class Keeping(zmq.Context):
        def socket(self, *args, **keywords):
            kept.append(super().socket(*args, **keywords))
            return kept[-1]

    one = Keeping()
    yield one
    for made in kept:
        made.close(0)
    one.term()


def control_client(context, keys):
    """A socket of a member that does as it likes."""
    member = context.socket(zmq.DEALER)
    for option, value in sockets.as_control_client(keys).items():
        member.setsockopt(option, value)
    return member


def tcp(address, data, wait=0.0):
    """Connects, sends, and reads what comes until the far side closes or the time is up."""
    with socket.create_connection(split_address(address), 5) as connection:
        connection.settimeout(0.02)
        with suppress(OSError):
            connection.sendall(data)
        end = time.monotonic() + wait
        while time.monotonic() < end:
            with suppress(TimeoutError):
                try:
                    if not connection.recv(4096):
                        return True
                except ConnectionError:
                    return True
        return False


RAW = (
    st.binary(max_size=300)
    | st.binary(max_size=300).map(lambda data: GREETING + data)
    | st.binary(max_size=300).map(lambda data: NULL_GREETING + data)
    | st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 7)).map(
        lambda head: GREETING + bytes([head[1]]) + struct.pack(">Q", head[0])
    )
)


def test_garbage(job):
    @settings(max_examples=40)
    @given(RAW)
    def throw(data):
        for address in (job.server.address, job.server.bulk_address):
            tcp(address, data)
        job.check()

    throw()
    until(lambda: job.server.refused().get("handshake", 0) > 0)


def test_slow_handshakes_are_cut_off(job):
    slow = [socket.create_connection(split_address(job.server.address), 5) for _ in range(30)]
    try:
        for connection in slow:
            connection.sendall(GREETING[:20])
        assert tcp(job.server.address, GREETING, wait=10), "the server waits for ever"
        for connection in slow:
            connection.settimeout(10)
            with suppress(ConnectionError):
                while connection.recv(4096):
                    pass
        job.check()
        assert job.server.refused()["handshake"] >= 10
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.parametrize("channel", ["address", "bulk_address"])
def test_a_peer_without_a_key_gets_no_answer(job, context, channel):
    stranger = context.socket(zmq.DEALER)
    stranger.connect(f"tcp://{getattr(job.server, channel)}")
    for _ in range(100):
        shout(stranger, [wire.encode_head(wire.Hello(wire.VERSION, "stranger", None)), b""])
    assert not stranger.poll(300)
    job.check()


def test_a_wrong_key_is_an_error_that_says_so(job):
    stranger = Endpoint(key="another key of this test")
    try:
        with pytest.raises(errors.UnauthenticatedError, match=f"{job.server.address}.*another cluster key"):
            ask(stranger.connect(job.server.address), "echo")
    finally:
        stranger.close()
    job.check()
    assert job.server.refused()["handshake"] > 0


def test_the_servers_key_alone_does_not_let_a_client_in(job, context):
    stranger = context.socket(zmq.DEALER)
    stranger.curve_serverkey = sockets.CurveKeys(cluster_keys(KEY)[0]).server[0]
    stranger.curve_publickey, stranger.curve_secretkey = zmq.curve_keypair()
    stranger.connect(f"tcp://{job.server.address}")
    shout(stranger, [wire.encode_head(wire.Hello(wire.VERSION, "stranger", None)), b""])
    assert not stranger.poll(300)
    until(lambda: job.server.refused().get("wrong key"))
    job.check()


PROBES = st.builds(wire.Probe, st.integers(-1, 99), st.integers(-1, 99), st.binary(min_size=32, max_size=32))
HEADS = st.one_of(
    st.binary(max_size=100),
    st.builds(wire.Hello, st.integers(0, wire.VERSION), st.text(max_size=300), st.none() | PROBES),
    st.builds(wire.Ready, st.booleans()),
    st.builds(wire.Grant, st.integers(-1, 5), st.integers(-5, 2**63 - 1)),
    st.builds(wire.Forget, st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)),
    st.builds(wire.Failure, st.integers(0, 5), st.integers(-5, 50), st.text(max_size=5), st.text(max_size=5)),
    st.builds(
        wire.Call, st.integers(0, 5), st.text(max_size=5),
        st.builds(
            wire.Cargo, st.integers(-1, 100) | st.just(2**62), st.just([]),
            st.none() | st.builds(wire.Segment, st.integers(-1, 5), st.integers(-1, 20), st.integers(-1, 2**62)),
            st.integers(-1, 3), st.booleans(),
        ),
    ),
)  # fmt: skip


def test_frames_of_a_member_that_makes_no_sense(job, context):
    """Even who has the key cannot disturb the others by what is malformed."""
    keys = sockets.CurveKeys(cluster_keys(KEY)[0])

    @settings(max_examples=40)
    @given(
        st.booleans(), st.lists(st.tuples(HEADS, st.binary(max_size=100)), min_size=1, max_size=6), st.integers(0, 2)
    )
    def throw(greets, messages, more):
        member = control_client(context, keys)
        try:
            member.connect(f"tcp://{job.server.address}")
            if greets:
                shout(member, [wire.encode_head(wire.Hello(wire.VERSION, "member", None)), b""])
                shout(member, [wire.encode_head(wire.Ready(False)), b""])
            for head, body in messages:
                data = head if isinstance(head, bytes) else wire.encode_head(head)
                shout(member, [data, body, *[b"more"] * more])
            member.poll(20)
        finally:
            member.close(100)
        until(lambda: len(job.server.links()) == 1, "the end of the member's connection")
        job.check()

    throw()
    refused = job.server.refused()
    assert refused["malformed"] > 0 and refused["no hello"] > 0


def test_a_frame_that_is_too_large_ends_its_connection_only(job):
    limits = replace(DEFAULT_LIMITS, inline=1 << 26)
    member = Endpoint(key=KEY, limits=limits, shared_memory=False)
    try:
        answers = Answers()
        member.connect(job.server.address).call("echo", {}, [torch.zeros(8 << 20, dtype=torch.uint8)], answers)
        assert isinstance(answers.wait()[0][2], errors.UnavailableError)
    finally:
        member.close()
    job.check()


def test_an_announcement_that_is_too_large_ends_its_connection_only(job):
    member = Endpoint(key=KEY, shared_memory=False)
    try:
        answers = Answers()
        member.connect(job.server.address).call("echo", {}, [torch.zeros(1 << 27, dtype=torch.uint8)], answers)
        assert isinstance(answers.wait()[0][2], errors.UnavailableError)
    finally:
        member.close()
    job.check()
    assert job.server.refused()["malformed"] == 1


def test_a_client_that_is_gone_before_its_welcome_is_forgotten(job, context):
    keys = sockets.CurveKeys(cluster_keys(KEY)[0])
    for _ in range(50):
        member = control_client(context, keys)
        member.connect(f"tcp://{job.server.address}")
        for _ in range(3):  # the second ends the connection, the third begins another
            shout(member, [wire.encode_head(wire.Hello(wire.VERSION, "member", None)), b""])
        member.close(50)
    until(lambda: len(job.server.links()) == 1, "the end of the members' connections")
    job.check()


def test_too_many_peers_are_refused(job):
    server = Endpoint(echo, "127.0.0.1:0", KEY, limits=replace(LIMITS, peers=2))
    clients = [Endpoint(key=KEY) for _ in range(3)]
    try:
        peers = [client.connect(server.address) for client in clients]
        outcomes = []
        for peer in peers:
            try:
                ask(peer, "echo")
                outcomes.append("answer")
            except errors.ResourceExhaustedError as e:
                assert "it has 2 connections, and more are not accepted" in e.message
                outcomes.append("refused")
        assert sorted(outcomes) == ["answer", "answer", "refused"]
        assert server.refused() == {"too many peers": 1}
    finally:
        for client in clients:
            client.close()
        server.close()


class Recorder:
    """Passes bytes between a client and a server, and keeps those of the client."""

    def __init__(self, address):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.heard = b""
        self._far = split_address(address)
        self._sockets = []
        self._threads = [threading.Thread(target=self._pass)]
        self._threads[0].start()

    def _pass(self):
        near, _ = self._listener.accept()
        far = socket.create_connection(self._far)
        self._sockets += [near, far]
        back = threading.Thread(target=self._copy, args=(far, near, False))
        self._threads.append(back)
        back.start()
        self._copy(near, far, True)

    def _copy(self, source, target, keep):
        with suppress(OSError):
            while data := source.recv(65_536):
                self.heard += data if keep else b""
                target.sendall(data)

    def close(self):
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in (*self._sockets, self._listener):
            one.close()


def test_a_recorded_conversation_cannot_be_replayed():
    received = []
    server = Endpoint(lambda *a: (received.append(a[1]), a[4]({}, [])), "127.0.0.1:0", KEY, limits=LIMITS)
    client = Endpoint(key=KEY, shared_memory=False)
    recorder = Recorder(server.address)
    try:
        ask(client.connect(recorder.address), "transfer")
        assert received == ["transfer"] and len(recorder.heard) > 300
        for _ in range(5):
            assert tcp(server.address, recorder.heard, wait=10)
        assert received == ["transfer"]
        until(lambda: sum(server.refused().values()) >= 5)
    finally:
        recorder.close()
        client.close()
        server.close()


def test_the_identity_for_a_bulk_channel_is_good_once(job, context):
    welcomes = []
    member = Endpoint(key=KEY, shared_memory=False)
    try:
        peer = member.connect(job.server.address)
        ask(peer, "echo", {}, [torch.zeros(1_000_000)])
        welcomes.append(peer._welcome)
        thief = context.socket(zmq.DEALER)
        for option, value in sockets.as_bulk_client(welcomes[0].bulk_identity).items():
            thief.setsockopt(option, value)
        thief.connect(f"tcp://{job.server.bulk_address}")
        shout(thief, [bytes(24), bytes(100)])
        until(lambda: job.server.refused().get("wrong key"))
        assert ask(peer, "echo", {}, [torch.ones(1_000_000)])[1][0].sum() == 1_000_000
    finally:
        member.close()
    until(lambda: len(job.server.links()) == 1)
    job.check()
