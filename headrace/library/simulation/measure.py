"""Finds on this machine what steps cost beside their nodes: null steps of one worker on two servers, each a process.

A chain of equations, with *m* for a message, *v* for a value that it carries, *p* for a partition, *r* for going on with one,
*s* for a step, *w* for a task that wakes:

- 32 KiB in place of a scalar cost the server twice what a message with memory of its own takes longer;
- 15 more scalars cost the server 30 *v*, beside their kernels;
- one server more costs the worker 4 messages: its processor time with two servers and with one gives *m*; but a busy server,
  which has 4 as well, spends at least a third of its time on the rest;
- each further answer within a step costs the server 2 *m*, 2 *v* and *r*;
- a server that is kept busy has *p*, *r*, 2 *v* and 4 messages for each step: the processor time of its thread gives *p*;
- of one step after the other all is in line: its time, less the processor time of the worker and of a busy server, is 2 *w*
  (of the 4 times that a task wakes 2 are the worker's own, and in its processor time);
- what is left of the worker's processor time is *s*;
- on one or two cores, where these threads and those of the sockets cannot all run at once, `crowding` says how much longer work
  takes.

Nodes that run between two messages find the caches cold: `coldness` runs a step of different nodes, in a loop and with other
memory read in between.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final

import numpy as np

from headrace.client.session import Session
from headrace.core.config import ConfigProto
from headrace.core.dtypes import float32, int32
from headrace.graph import raw_ops
from headrace.graph.convert import constant
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.library.simulation.cluster import Tolls
from headrace.library.simulation.null_steps import MANY, ROUNDS, THREADS
from headrace.passes.cost.rates import Machine, Rates
from headrace.passes.cost.work import Work

SECONDS: Final = 6.0
LARGE: Final = 4 << 20  # bytes of the large variable
OTHER: Final = 1 << 24  # bytes that are read between two steps, so that they find nothing in the caches of a core
PROGRAM: Final = "headrace.library.simulation.null_steps"


def measure(seconds: float = SECONDS, machine: Machine | None = None) -> Tolls:
    """Starts three processes for so many seconds, and some more to begin.  ``machine``: the rates of kernels."""
    rates = None if machine is None else machine.rates_of("CPU")
    found = null_steps(seconds)
    return replace(tolls_of(found, rates, cold=coldness()), crowded=crowding(found["busy"], os.sched_getaffinity(0)))


def crowding(busy: Mapping[str, float], cores: Collection[int]) -> float:
    """How many times as long work takes where more threads want cores than there are.

    Three threads that ask, those that take messages and those of the sockets are more than two cores have room for: what the
    cores could do in the time of a step, beside what they did.  With more cores they have room, and nothing is known.
    """
    step = busy["step"] / THREADS
    if len(cores) > 2 or max(busy["worker"], busy["server"]) > 0.8 * step:
        return 1.0
    return max(1.0, len(cores) * step / (busy["worker"] + busy["server"] + busy["sockets"]))


def tolls_of(
    found: Mapping[str, Mapping[str, float]], rates: Rates | None = None, kernels: tuple[float, float] | None = None,
    cold: float = Tolls().cold,
) -> Tolls:  # fmt: skip
    """What the samples of `null_steps.measure` say.  ``rates``: of kernels, whose time is no toll.

    ``kernels``: seconds of those in a step of one server, on it and on the worker, where it was another step; in a loop.
    """
    usual = Tolls()
    launch = 2e-6 if rates is None else rates.calling(Work(1.0), on_array=True)
    bandwidth = 1e10 if rates is None else rates.bandwidth
    one, two, busy, large = (found[name] for name in ("one", "two", "busy", "large"))
    many, chain, block = (found.get(name, one) for name in ("many", "chain", "block"))
    serves, computes = (cold * one for one in kernels or (2 * launch, launch))  # a read and a subtraction; a product
    value = max((many["server"] - one["server"]) / (MANY - 1) / 2 - launch, 0.0)
    mapped = max((block["server"] - one["server"]) / 2, 0.0)
    message = min(max((two["worker"] - one["worker"]) / 4, 1e-6), busy["server"] / 6)
    answer = (chain["server"] - one["server"]) / (ROUNDS - 1)
    resume = min(max(answer - 2 * (message + value) - cold * launch, 0.0), busy["server"] / 3)
    inside = 4 * message + 2 * value + resume
    partition = max(busy["server"] - inside - serves, 1e-6)
    wake = max((one["step"] - one["worker"] - busy["server"]) / 2, 0.0)
    step = max(one["worker"] - inside - 2 * wake - computes, 1e-6)
    moved = 5 * LARGE / bandwidth  # the product reads and writes, the subtraction reads two and writes
    copied = large["step"] - one["step"] - moved - 4 * mapped
    copy = 2 * LARGE / copied if copied > 2 * LARGE / 1e12 else usual.copy
    return Tolls(message, partition, step, wake, copy, usual.cipher, cold, resume, value, mapped)


def null_steps(seconds: float = SECONDS) -> dict[str, Any]:
    """Runs the processes; the samples of the worker."""
    ports = _free_ports(3)
    ps, worker = (",".join(f"localhost:{port}" for port in some) for some in (ports[:2], ports[2:]))
    environment = {**os.environ, "HEADRACE_THREADS": "1"}
    tasks = [
        subprocess.Popen(
            [sys.executable, "-m", PROGRAM, job, str(index), ps, worker, str(seconds)], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for job, index in (("ps", 0), ("ps", 1), ("worker", 0))
    ]  # fmt: skip
    try:
        for task in tasks:
            _line(task)
        measuring = tasks[-1]
        assert measuring.stdin is not None
        measuring.stdin.write(" ".join(str(task.pid) for task in tasks[:2]) + "\n")
        measuring.stdin.flush()
        found: dict[str, Any] = json.loads(_line(measuring))
        return found
    finally:
        for task in tasks:
            task.kill()
            task.communicate()


def _line(task: subprocess.Popen[str]) -> str:
    assert task.stdout is not None
    line = task.stdout.readline()
    if not line:
        raise RuntimeError(f"a process that measures messages has ended with {task.wait()}")
    return line


def _free_ports(count: int) -> list[int]:
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def coldness(runs: int = 200) -> float:
    """How many times as long a small step takes whose code other work has driven out of the caches."""
    with Graph().as_default() as graph:
        step = _different_nodes()
    other = np.ones(OTHER >> 3)

    def best(drive_out: bool) -> float:
        times = []
        for _ in range(runs):
            if drive_out:
                other.sum()
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        return float(np.percentile(times, 25))

    with Session(graph=graph, config=ConfigProto(compile="off")) as session:
        run = session.make_callable(step)
        for _ in range(runs):
            run()
        return max(1.0, best(True) / best(False))


def _different_nodes() -> Tensor:
    """Some small nodes of different ops: what workers and servers do with rows of tables."""
    table = raw_ops.RandomUniform(constant([64, 32]), dtype=float32)
    numbers = raw_ops.Cast(raw_ops.Floor(raw_ops.Mul(raw_ops.Sum(table, constant(1)), constant(1.0))), DstT=int32)
    places = raw_ops.FloorMod(numbers, constant(2))
    parts = raw_ops.DynamicPartition(raw_ops.Range(constant(0), constant(64), constant(1)), places, num_partitions=2)
    rows = [raw_ops.GatherV2(table, part, constant(0)) for part in parts]
    joined = raw_ops.DynamicStitch(parts, rows)
    scaled = raw_ops.Sub(
        raw_ops.Relu(raw_ops.AddV2(joined, constant(1e-3))), raw_ops.Reshape(table, constant([64, 32]))
    )
    return raw_ops.Max(raw_ops.ConcatV2([raw_ops.Tanh(scaled), raw_ops.Square(table)], constant(0)), constant([0, 1]))


def movers(threads: int | None = None, size: int = 1 << 25) -> float:
    """How many threads of this machine can move bytes at full speed at the same time."""
    count = threads or len(os.sched_getaffinity(0))
    alone = min(_copying(1, size) for _ in range(3))
    together = min(_copying(count, size) for _ in range(3))
    return max(1.0, min(float(count), count * alone / together))


def bandwidth_of_copies(size: int = 1 << 25) -> float:
    """Bytes that one thread reads and writes a second."""
    return 4 * 2 * size / min(_copying(1, size) for _ in range(3))


def _copying(threads: int, size: int) -> float:
    """Seconds in which each of so many threads copies so many bytes four times."""
    arrays = [(np.ones(size, np.uint8), np.empty(size, np.uint8)) for _ in range(threads)]
    for source, target in arrays:
        np.copyto(target, source)
    ready = threading.Barrier(threads + 1)

    def copy(source: Any, target: Any) -> None:
        ready.wait()
        for _ in range(4):
            np.copyto(target, source)

    moving = [threading.Thread(target=copy, args=pair) for pair in arrays]
    for one in moving:
        one.start()
    ready.wait()
    begin = time.perf_counter()
    for one in moving:
        one.join()
    return time.perf_counter() - begin
