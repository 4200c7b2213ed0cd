"""Finds on this machine what steps cost beside their nodes: null steps of one worker on two servers, each a process.

Where three threads ask, no task sleeps, and the processor time of a step tells, with *m* for a message, *v* for a value that it
carries, *p* for a partition, *r* for going on with one, *s* for a step:

- one server more costs the worker 4 *m*; but a server, which has 4 as well, spends at least a third of its time on the rest;
- 15 more scalars cost the server 30 *v*, beside their kernels;
- each further answer within a step costs the server 2 *m*, 2 *v* and *r*;
- 32 KiB in place of a scalar cost the server twice what a message with memory of its own takes longer;
- a server has *p*, *r*, 2 *v* and 4 *m* for each step, which gives *p*; the worker has *s* in place of *p*;
- on one or two cores, where these threads and those of the sockets cannot all run at once, `crowding` says how much longer work
  takes.

One thread that does something else between steps finds everybody asleep.  Such a step takes longer by what it takes to wake five
times: twice the server, twice the worker for an answer, and the worker for itself; three of them after a quarter of the step.
Nodes of a server, which run in a loop without messages too, tell how cold the caches are then; 4 MiB how fast bytes are copied.
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

from headrace.library.simulation.cluster import LULL, WARM, Tolls
from headrace.library.simulation.null_steps import MANY, ROUNDS, THREADS
from headrace.passes.cost.rates import Machine, Rates
from headrace.passes.cost.work import Work

SECONDS: Final = 10.0
LARGE: Final = 4 << 20  # bytes of the large variable
PROGRAM: Final = "headrace.library.simulation.null_steps"


def measure(seconds: float = SECONDS, machine: Machine | None = None) -> Tolls:
    """Starts three processes for so many seconds, and some more to begin.  ``machine``: the rates of kernels."""
    rates = None if machine is None else machine.rates_of("CPU")
    found = null_steps(seconds)
    return replace(
        tolls_of(found, rates, cold=coldness(found)), crowded=crowding(found["one"], os.sched_getaffinity(0))
    )


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
    one, two, rested, large = (found[name] for name in ("one", "two", "one, rested", "large, rested"))
    many, chain, block = (found.get(name, one) for name in ("many", "chain", "block"))
    serves, computes = (
        (cold * part for part in kernels) if kernels else (2 * launch, launch)
    )  # read, subtract; multiply
    value = max((many["server"] - one["server"]) / (MANY - 1) / 2 - launch, 0.0)
    mapped = max((block["server"] - one["server"]) / 2, 0.0)
    message = min(max((two["worker"] - one["worker"]) / 4, 1e-6), one["server"] / 6)
    answer = (chain["server"] - one["server"]) / (ROUNDS - 1)
    resume = min(max(answer - 2 * (message + value) - launch, 0.0), one["server"] / 3)
    inside = 4 * message + 2 * value + resume
    partition = max(one["server"] - inside - serves, 1e-6)
    step = max(one["worker"] - inside - computes, 1e-6)
    quarter = min(rested["step"] / 4 / LULL, 1.0)
    wake = max((rested["step"] - one["worker"] - one["server"]) / (2 + 3 * quarter), 0.0)
    moved = 5 * LARGE / bandwidth  # the product reads and writes, the subtraction reads two and writes
    copied = large["step"] - rested["step"] - moved - 4 * mapped
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


def coldness(found: Mapping[str, Any]) -> float:
    """How many times as long nodes of a server take as in a loop, until the caches have their code."""
    warm: float = found["warm"]
    taken = found["nodes, rested"]["server"] - found["one, rested"]["server"]
    return max(1.0, 1.0 + (taken - warm) / min(warm, WARM))


def moving(threads: int | None = None, size: int = 1 << 25) -> tuple[float, float]:
    """Bytes that one thread reads and writes a second, and how many threads can do so at the same time."""
    count = threads or len(os.sched_getaffinity(0))
    alone = min(_copying(1, size) for _ in range(5))
    together = min(_copying(count, size) for _ in range(5))
    return 4 * 2 * size / alone, max(1.0, min(float(count), count * alone / together))


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
