"""The transport between two processes of one machine: round trips, calls per second, and the time of large tensors.

Rows are measured in turn, in rounds: shared memory, the bulk channel (chunks under AES-GCM over TCP), frames over the control
channel (CURVE), and the in-process transport; beside them one copy of the same bytes in memory.
"""

import argparse
import subprocess
import sys
import threading
import time
from dataclasses import replace
from statistics import median

import torch

from benchmarks import _harness
from headrace.cluster.transport.endpoint import Endpoint
from headrace.cluster.transport.in_process import InProcessEndpoint
from headrace.cluster.transport.interface import DEFAULT_LIMITS

PATIENCE_S = 60.0
CALLS = 500
PIPELINED = 2000
MEGABYTE = 1 << 20
CURVE_LIMITS = replace(DEFAULT_LIMITS, inline=1 << 30, frame=1 << 30)
KINDS = ("shared memory", "bulk", "CURVE frames", "in process")


def answer(peer, method, payload, tensors, reply, fail):
    """Returns what it is sent, or nothing."""
    reply(payload, tensors if method == "echo" else [])


def serve(kind):
    """Serves until the standard input ends."""
    limits = CURVE_LIMITS if kind == "CURVE frames" else DEFAULT_LIMITS
    endpoint = Endpoint(answer, "localhost:0", limits=limits, shared_memory=kind == "shared memory")
    print(endpoint.address, flush=True)
    sys.stdin.read()
    endpoint.close()


class Link:
    """A connection of one kind, with a server in another process (or in this one)."""

    def __init__(self, kind):
        self._process = self._server = None
        if kind == "in process":
            network = {}
            self._server = InProcessEndpoint(answer, network, "localhost:0")
            self._endpoint = InProcessEndpoint(None, network)
            self.peer = self._endpoint.connect(self._server.address)
            return
        command = [sys.executable, "-m", "benchmarks.transport", "--serve", kind]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        limits = CURVE_LIMITS if kind == "CURVE frames" else DEFAULT_LIMITS
        self._endpoint = Endpoint(limits=limits, shared_memory=kind == "shared memory")
        self.peer = self._endpoint.connect(self._process.stdout.readline().strip())

    def ask(self, method="echo", tensors=()):
        """Calls and waits."""
        over, errors = threading.Event(), []

        def done(payload, tensors, error):
            errors.append(error)
            over.set()

        self.peer.call(method, {"step": 1}, tensors, done)
        if not over.wait(PATIENCE_S) or errors[0] is not None:
            raise RuntimeError(f"no answer: {errors}")

    def round_trip(self):
        """Seconds of a small call, one after the other."""
        start = time.perf_counter()
        for _ in range(CALLS):
            self.ask()
        return (time.perf_counter() - start) / CALLS

    def pipelined(self):
        """Seconds of a small call when many are under way."""
        left, over = [PIPELINED], threading.Event()

        def done(payload, tensors, error):
            left[0] -= 1
            if not left[0]:
                over.set()

        start = time.perf_counter()
        for _ in range(PIPELINED):
            self.peer.call("echo", {"step": 1}, [], done)
        if not over.wait(PATIENCE_S):
            raise RuntimeError(f"{left[0]} calls are not answered")
        return (time.perf_counter() - start) / PIPELINED

    def transfer(self, tensor):
        """Seconds until a tensor is there, one way, and a small answer is back."""
        start = time.perf_counter()
        self.ask("take", [tensor])
        return time.perf_counter() - start

    def close(self):
        self._endpoint.close()
        if self._server is not None:
            self._server.close()
        if self._process is not None:
            self._process.communicate()


def main(argv=None):
    """Prints the table and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=7, help="samples of each row (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=100, help="of the large tensor (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.serve:
        serve(options.serve)
        return
    rows = measure(options.rounds, options.megabytes)
    header = ("transport", "round trip", "small calls/s", f"{options.megabytes} MB", "1 MB", "16 KB")
    lines = [
        (kind, *(_figure(name, samples) for name, samples in row.items()))
        for kind, row in rows.items()
        if kind != "memcpy"
    ]
    lines.append(("memcpy", "", "", *(_figure(name, samples) for name, samples in rows["memcpy"].items())))
    print(_harness.table(header, lines))
    print(f"saved to {_harness.save('transport', {'rows': rows, 'megabytes': options.megabytes})}")


def _figure(name, samples):
    value = median(samples)
    return f"{1 / value:,.0f}" if name == "pipelined" else _harness.duration(value)


def measure(rounds, megabytes):
    """The samples by kind and row, in seconds."""
    sizes = {"large": megabytes * MEGABYTE, "1 MB": MEGABYTE, "16 KB": 16 << 10}
    tensors = {name: torch.ones(size, dtype=torch.uint8) for name, size in sizes.items()}
    room = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
    links = {kind: Link(kind) for kind in KINDS}
    rows = {kind: {name: [] for name in ("round trip", "pipelined", *sizes)} for kind in KINDS}
    rows["memcpy"] = {name: [] for name in sizes}
    try:
        for number in range(rounds + 1):  # the first warms up
            for kind, link in links.items():
                samples = {"round trip": link.round_trip(), "pipelined": link.pipelined()}
                samples |= {name: link.transfer(tensor) for name, tensor in tensors.items()}
                for name, value in samples.items() if number else ():
                    rows[kind][name].append(value)
            for name, tensor in tensors.items():
                start = time.perf_counter()
                room[name].copy_(tensor)
                if number:
                    rows["memcpy"][name].append(time.perf_counter() - start)
    finally:
        for link in links.values():
            link.close()
    return rows


if __name__ == "__main__":
    main()
