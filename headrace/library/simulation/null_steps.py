"""A process of `measure`: a parameter server, or the worker that runs null steps on two of them and says what they take.

    python -m headrace.library.simulation.null_steps JOB INDEX PS_HOSTS WORKER_HOSTS SECONDS

In a null step a worker reads a scalar of each server and has it subtracted there: what remains is what messages cost.  In a
chain a server is asked again and again within a step, each time for what comes of the answer before.  With nodes the server
has something to compute, whose time without messages is measured too.
"""

from __future__ import annotations

import itertools
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

import numpy as np

from headrace.client.session import Session
from headrace.cluster.server import Server
from headrace.core.config import ConfigProto
from headrace.core.dtypes import float32, int32
from headrace.graph import raw_ops
from headrace.graph.convert import constant
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.dependency import group
from headrace.library.scope import colocate_with, device
from headrace.library.simulation.cluster import LULL
from headrace.library.state.variable import Variable
from headrace.library.tensor.creation import zeros


@dataclass(frozen=True, slots=True)
class Case:
    """``servers``: of its variables.  ``shape``: of these.  ``rounds``: how often each is read, then changed.

    ``nodes``: the server computes `different_nodes` of each change.
    """

    servers: tuple[int, ...] = (0,)
    shape: tuple[int, ...] = ()
    rounds: int = 1
    nodes: bool = False


MANY: Final = 16
ROUNDS: Final = 4
SAMPLES: Final = 5
THREADS: Final = 3  # that keep a server busy
REST: Final = 2 * LULL
BUSY: Final = {
    "one": Case(), "two": Case((0, 1)), "many": Case((0,) * MANY), "chain": Case(rounds=ROUNDS),
    "block": Case(shape=(1 << 13,)),
}  # fmt: skip
"""Run by `THREADS` threads at the same time: no task sleeps.  32 KiB do not go within a message."""
RESTED: Final = {"one, rested": Case(), "large, rested": Case(shape=(1 << 20,)), "nodes, rested": Case(nodes=True)}
"""Run by one thread, which does something else for `REST` between steps.  4 MiB are large."""
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
        step = group(*(_changed(variable, case) for variable in variables))
        initialise = group(*(variable.initializer for variable in variables))
    session = Session(target, graph, ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"]))
    session.run(initialise)
    return session.make_callable(step)


def _changed(variable: Variable, case: Case) -> Operation:
    """The server's last change, each of what the worker makes of the one before."""
    value = variable.read_value()
    for _ in range(case.rounds):
        change = value * 1e-9
        with colocate_with(variable.op):
            value = variable.assign_sub(different_nodes(change) if case.nodes else change)
    return value.op


def different_nodes(x: Tensor) -> Tensor:
    """Some small nodes of different ops, of a number: what workers and servers do with rows of tables."""
    table = raw_ops.AddV2(constant(np.zeros((64, 32), np.float32)), x)
    numbers = raw_ops.Cast(raw_ops.Floor(raw_ops.Mul(raw_ops.Sum(table, constant(1)), constant(1.0))), DstT=int32)
    places = raw_ops.FloorMod(numbers, constant(2))
    parts = raw_ops.DynamicPartition(raw_ops.Range(constant(0), constant(64), constant(1)), places, num_partitions=2)
    rows = [raw_ops.GatherV2(table, part, constant(0)) for part in parts]
    joined = raw_ops.DynamicStitch(parts, rows)
    scaled = raw_ops.Sub(
        raw_ops.Relu(raw_ops.AddV2(joined, constant(1e-3))), raw_ops.Reshape(table, constant([64, 32]))
    )
    return raw_ops.Max(raw_ops.ConcatV2([raw_ops.Tanh(scaled), raw_ops.Square(table)], constant(0)), constant([0, 1]))


def warm_nodes(runs: int = 300) -> float:
    """Seconds of `different_nodes` in a loop of steps that do nothing else."""
    with Graph().as_default() as graph, device("/cpu:0"):
        number = raw_ops.RandomUniform(constant(np.zeros(0, np.int32)), dtype=float32)
        steps = raw_ops.Neg(number), raw_ops.Neg(different_nodes(number))
    with Session(graph=graph, config=ConfigProto(compile="off")) as session:
        few, many = (min(_times(session.make_callable(step), runs)) for step in steps)
        return max(many - few, 1e-6)


def _times(run: Callable[[], Any], runs: int) -> list[float]:
    moments = [time.perf_counter()]
    for _ in range(runs):
        run()
        moments.append(time.perf_counter())
    return [after - before for before, after in itertools.pairwise(moments)]


def measure(target: str, seconds: float, watched: Sequence[int]) -> dict[str, Any]:
    """Of each case the median step, and the processor time of a step.

    ``worker``: of this process; ``server``: of the thread of the first watched one that takes messages; ``sockets``: of the
    threads of ZeroMQ of both, which need no interpreter and are not in ``worker``.  ``warm``: seconds of `warm_nodes`.
    """
    runs = {name: prepare(target, name.replace(", ", "_"), case) for name, case in {**BUSY, **RESTED}.items()}
    found: dict[str, Any] = {name: [] for name in runs}
    part = seconds / (SAMPLES * len(found))
    for run in runs.values():
        for _ in range(30):
            run()
    for _ in range(SAMPLES):  # in turn, so that a slow moment of the machine hits all
        for name, run in runs.items():
            found[name].append(_sample(run, part, *((THREADS, 0.0) if name in BUSY else (1, REST)), watched))
    middle = {name: {key: median(one[key] for one in samples) for key in samples[0]} for name, samples in found.items()}
    return {**middle, "warm": warm_nodes()}


def _sample(
    run: Callable[[], Any], seconds: float, threads: int, rest: float, watched: Sequence[int]
) -> dict[str, float]:
    """``rest``: seconds before each step in which its thread does something else."""
    times: list[float] = []
    before = [processor_s(process) for process in (os.getpid(), watched[0])]
    begin = time.perf_counter()

    def repeat() -> None:
        last = time.perf_counter()
        while not times or last - begin < seconds:
            while (start := time.perf_counter()) - last < rest:
                pass
            run()
            last = time.perf_counter()
            times.append(last - start)

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
