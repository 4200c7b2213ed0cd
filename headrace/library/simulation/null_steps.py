"""A process of `measure`: a parameter server, or the worker that runs null steps on two of them and says what they take.

    python -m headrace.library.simulation.null_steps JOB INDEX PS_HOSTS WORKER_HOSTS SECONDS

In a null step a worker reads a scalar of each server and has it subtracted there: what remains is what messages cost.  In a
chain a server is asked again and again within a step, each time for what comes of the answer before.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from headrace.client.session import Session
from headrace.cluster.server import Server
from headrace.core.config import ConfigProto
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation
from headrace.library.control.dependency import group
from headrace.library.scope import colocate_with, device
from headrace.library.state.variable import Variable
from headrace.library.tensor.creation import zeros


@dataclass(frozen=True, slots=True)
class Case:
    """``servers``: of its variables.  ``shape``: of these.  ``rounds``: how often each is read, then changed."""

    servers: tuple[int, ...] = (0,)
    shape: tuple[int, ...] = ()
    rounds: int = 1


MANY: Final = 16
ROUNDS: Final = 4
CASES: Final = {
    "one": Case(), "two": Case((0, 1)), "many": Case((0,) * MANY), "chain": Case(rounds=ROUNDS),
    "block": Case(shape=(1 << 13,)), "large": Case(shape=(1 << 20,)),
}  # fmt: skip
"""32 KiB do not go within a message; 4 MiB are large."""
THREADS: Final = 3  # that keep a server busy
SOCKETS: Final = "ZMQ"  # how the names of threads begin that need no interpreter


def processor_s(process: int) -> dict[tuple[str, str], float]:
    """The processor time that each thread of a process, by name and number, has used so far."""
    used = {}
    for thread in os.listdir(f"/proc/{process}/task"):
        folder = f"/proc/{process}/task/{thread}"
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            name = Path(f"{folder}/comm").read_text().strip()
            used[name, thread] = int(Path(f"{folder}/schedstat").read_text().split()[0]) / 1e9
    return used


def prepare(target: str, name: str, case: Case) -> Callable[[], Any]:
    """What runs the step of one case."""
    with Graph().as_default() as graph, device("/job:worker/task:0"):
        variables = []
        for number in case.servers:
            with device(f"/job:ps/task:{number}"):
                variables.append(Variable(zeros(case.shape), trainable=False, name=name))
        step = group(*(_changed(variable, case.rounds) for variable in variables))
        initialise = group(*(variable.initializer for variable in variables))
    session = Session(target, graph, ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"]))
    session.run(initialise)
    return session.make_callable(step)


def _changed(variable: Variable, rounds: int) -> Operation:
    """The server's last change, each of what the worker makes of the one before."""
    value = variable.read_value()
    for _ in range(rounds):
        change = value * 1e-9
        with colocate_with(variable.op):
            value = variable.assign_sub(change)
    return value.op


def measure(target: str, seconds: float, watched: Sequence[int]) -> dict[str, Any]:
    """Of each case the median step, and the processor time of a step.

    ``worker``: of this process; ``server``: of the thread of the first watched one that takes messages; ``sockets``: of the
    threads of ZeroMQ of both, which need no interpreter and are not in ``worker``.
    """
    runs = {name: prepare(target, name, case) for name, case in CASES.items()}
    found: dict[str, Any] = {name: [] for name in (*CASES, "busy")}
    part = seconds / (3 * len(found))
    for run in runs.values():
        for _ in range(30):
            run()
    for _ in range(3):  # in turn, so that a slow moment of the machine hits all
        for name, run in runs.items():
            found[name].append(_sample(run, part, 1, watched))
        found["busy"].append(_sample(runs["one"], part, THREADS, watched))
    return {name: {key: median(one[key] for one in samples) for key in samples[0]} for name, samples in found.items()}


def _sample(run: Callable[[], Any], seconds: float, threads: int, watched: Sequence[int]) -> dict[str, float]:
    times: list[float] = []
    before = [processor_s(process) for process in (os.getpid(), watched[0])]
    begin = time.perf_counter()

    def repeat() -> None:
        last = time.perf_counter()
        while last - begin < seconds:
            run()
            now = time.perf_counter()
            times.append(now - last)
            last = now

    helpers = [threading.Thread(target=repeat) for _ in range(threads - 1)]
    for thread in helpers:
        thread.start()
    repeat()
    for thread in helpers:
        thread.join()
    own, server = (
        {thread: used - earlier.get(thread, 0.0) for thread, used in processor_s(process).items()}
        for process, earlier in zip((os.getpid(), watched[0]), before, strict=True)
    )
    worker = sum(used for (name, _), used in own.items() if not name.startswith(SOCKETS))
    sockets = sum(used for part in (own, server) for (name, _), used in part.items() if name.startswith(SOCKETS))
    taken = {"worker": worker, "server": max(server.values()), "sockets": sockets}
    return {"step": median(times), **{name: seconds / len(times) for name, seconds in taken.items()}}


def main(argv: Sequence[str]) -> int:
    """Runs the task; a server until its standard input ends."""
    job, index, ps, workers, seconds = argv
    hosts = {"ps": ps.split(","), "worker": workers.split(",")}
    server = Server(hosts, job_name=job, task_index=int(index))
    print("ready", flush=True)
    said = sys.stdin.readline()  # of the worker: the processes of the servers
    if job == "worker":
        found = measure(server.target, float(seconds), [int(one) for one in said.split()])
        print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
