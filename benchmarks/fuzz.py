"""Strangers on the port of a running server: `--messages 1000000` of garbage, while a good client keeps calling.

Nothing is timed but the good client's slowest call.  Fails when the client is disturbed, when memory grows, or when a stranger
gets an answer.  Strangers have no key and speak raw TCP or ZeroMQ, or have the key and send what makes no sense.

`--files 10000` reads changed files of each kind instead (images, sound, records, checkpoints, graphs), in processes of their own.
"""

import argparse
import logging
import random
import resource
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace

import torch
import zmq

from benchmarks import _hostile_files
from headrace.cluster.transport import message as wire
from headrace.cluster.transport import sockets
from headrace.cluster.transport.endpoint import Endpoint
from headrace.cluster.transport.interface import DEFAULT_LIMITS
from headrace.cluster.transport.keys import cluster_keys, split_address

KEY = "a key for the fuzzer only"
LIMITS = replace(DEFAULT_LIMITS, handshake=1.0, message=1 << 26)
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + b"\0" + bytes(31)
PATIENCE_S = 30.0
BATCH = 200
GROWTH = 300 << 20
OPEN = 16  # sockets of strangers


class GoodClient:
    """Calls until it is stopped; keeps its slowest call, and what went wrong."""

    def __init__(self, address):
        self.endpoint = Endpoint(key=KEY)
        self.peer = self.endpoint.connect(address)
        self.calls, self.slowest, self.error = 0, 0.0, None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            while not self._stop.is_set():
                start = time.monotonic()
                self._call(torch.full((self.calls % 4 * 30_000 + 1,), self.calls))
                self.slowest = max(self.slowest, time.monotonic() - start)
                self.calls += 1
                time.sleep(0.002)
        except BaseException as e:  # noqa: BLE001 - the main thread reports it
            self.error = e

    def _call(self, tensor):
        over, answers = threading.Event(), []

        def done(*answer):
            answers.append(answer)
            over.set()

        self.peer.call("echo", {"n": self.calls}, [tensor], done)
        if not over.wait(PATIENCE_S):
            raise RuntimeError("a call has no answer")
        payload, tensors, error = answers[0]
        if error is not None:
            raise error
        if payload != {"n": self.calls} or not torch.equal(tensors[0], tensor):
            raise RuntimeError("an answer is wrong")

    def close(self):
        self._stop.set()
        self._thread.join()
        self.endpoint.close()


class Strangers:
    """Ways to send garbage.  Each takes how many messages to send at most, and returns how many it sent."""

    def __init__(self, server, seed):
        self._server = server
        self._random = random.Random(seed)
        self._context = zmq.Context()
        self._open = []
        self._keys = sockets.CurveKeys(cluster_keys(KEY)[0])

    def raw(self, count):
        """Bytes over TCP: garbage, a good greeting and garbage, a huge length, or half a greeting that is left open."""
        draw = self._random
        address = draw.choice((self._server.address, self._server.bulk_address))
        data = draw.choice((b"", GREETING, GREETING[:20])) + draw.randbytes(draw.randrange(200))
        if draw.random() < 0.2:
            data = GREETING + bytes([draw.randrange(8)]) + draw.choice((b"\xff" * 8, draw.randbytes(8)))
        with suppress(OSError), socket.create_connection(split_address(address), 5) as connection:
            connection.sendall(data)
        return 1

    def without_key(self, count):
        """ZeroMQ without a key."""
        stranger = self._context.socket(zmq.DEALER)
        return self._send(stranger, self._server.address, count, True)

    def member(self, count):
        """ZeroMQ with the key, and frames without sense."""
        member = self._context.socket(zmq.DEALER)
        for option, value in sockets.as_control_client(self._keys).items():
            member.setsockopt(option, value)
        return self._send(member, self._server.address, count, False)

    def _send(self, stranger, address, count, refused):
        count, sent = min(count, BATCH), 0
        stranger.sndhwm = 0
        stranger.connect(f"tcp://{address}")
        try:
            with suppress(zmq.Again):  # a stranger who is refused has no connection to send over
                for i in range(count):
                    if i % 4 == 0 and self._random.random() < 0.5:  # well until now
                        stranger.send_multipart(
                            [wire.encode_head(wire.Hello(wire.VERSION, "x", None)), b""], zmq.NOBLOCK
                        )
                        stranger.send_multipart([wire.encode_head(wire.Ready(False)), b""], zmq.NOBLOCK)
                    stranger.send_multipart(self._frames(), zmq.NOBLOCK)
                    sent += 1
            if refused and stranger.poll(20):
                raise RuntimeError("a stranger has an answer")
            wait = 0 if refused else 1000
            while stranger.poll(wait):  # a member is told goodbye: the server has come so far
                stranger.recv_multipart()
                wait = 10
        finally:
            self._open.append(stranger)
            if len(self._open) > OPEN:  # until then the server can answer
                self._open.pop(0).close(0)
        return sent

    def _frames(self):
        draw = self._random
        number = draw.choice((-1, 0, 1, 7, 1 << 40, (1 << 63) - 1))
        segment = wire.Segment(number, draw.randrange(-1, 30), draw.choice((0, 4096, 1 << 50)))
        cargo = wire.Cargo(draw.choice((0, 3, number)), [], draw.choice((None, segment)), draw.choice((0, 0, number)))
        heads = (
            wire.Hello(wire.VERSION, "x" * draw.randrange(300), wire.Probe(1, 2, draw.randbytes(32))),
            wire.Hello(wire.VERSION, "x", None),
            wire.Ready(draw.random() < 0.5),
            wire.Call(number, "echo", cargo),
            wire.Push("echo", "", cargo),
            wire.Reply(number, cargo),
            wire.Grant(number, number),
            wire.Forget([number]),
            wire.Goodbye(),
            wire.Question(number),
            wire.Here(number),
        )
        head = bytearray(wire.encode_head(draw.choice(heads)))
        if draw.random() < 0.5:
            head[draw.randrange(len(head))] = draw.randrange(256)
        return [bytes(head), draw.randbytes(draw.choice((0, 0, 3, 100))), *[b"more"] * (draw.random() < 0.05)]

    def close(self):
        """Ends what is still open."""
        for stranger in self._open:
            stranger.close(0)
        self._context.term()


def echo(peer, method, payload, tensors, reply, fail):
    """Returns what it is sent."""
    reply(payload, tensors)


def main(argv=None):
    """Throws garbage; returns 1 if it has an effect."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=1_000_000, help="how many (default: %(default)s)")
    parser.add_argument("--files", type=int, default=0, help="changed files of each kind to read, and no messages")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    if options.files:
        return _hostile_files.main(["--files", str(options.files), "--seed", str(options.seed)])
    logging.getLogger("headrace.cluster").setLevel(logging.ERROR)  # each refusal is a warning
    server = Endpoint(echo, "127.0.0.1:0", KEY, limits=LIMITS)
    client, strangers = GoodClient(server.address), Strangers(server, options.seed)
    ways = (strangers.raw, strangers.raw, strangers.without_key, *[strangers.member] * 6)
    draw = random.Random(options.seed)
    sent, before = 0, None
    start = time.monotonic()
    try:
        while sent < options.messages and client.error is None:
            sent += draw.choice(ways)(options.messages - sent)
            if before is None and sent > options.messages // 10:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    finally:
        strangers.close()
        end = time.monotonic() + PATIENCE_S
        while len(server.links()) > 1 and time.monotonic() < end:
            time.sleep(0.1)
        links = len(server.links())
        client.close()
        server.close()
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - (before or 0)
    print(
        f"{sent:,} messages in {time.monotonic() - start:.0f} s; refused: {server.refused()}; the good client called "
        f"{client.calls:,} times, at worst {client.slowest * 1000:.0f} ms; {links} connections left; memory grew by "
        f"{growth >> 20} MB over the last nine tenths"
    )
    faults = [str(client.error)] if client.error else []
    faults += ["a stranger is still connected"] if links != 1 else []
    faults += ["memory grows"] if growth > GROWTH else []
    print("\n".join(faults) or "nothing was disturbed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
