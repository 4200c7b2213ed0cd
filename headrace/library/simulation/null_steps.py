"""A process of `measure`: a parameter server, or the worker that runs null steps on two of them and says what they take.

    python -m headrace.library.simulation.null_steps JOB INDEX PS_HOSTS WORKER_HOSTS SECONDS

In a null step a worker reads a scalar of each server and has it subtracted there: what remains is what messages cost.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from statistics import median
from typing import Any, Final

from headrace.client.session import Session
from headrace.cluster.server import Server
from headrace.core.config import ConfigProto
from headrace.graph.graph import Graph
from headrace.library.control.dependency import group
from headrace.library.scope import colocate_with, device
from headrace.library.state.variable import Variable
from headrace.library.tensor.creation import zeros

CASES: Final = {"one": ((0,), ()), "two": ((0, 1), ()), "large": ((0,), (1 << 20,))}
"""Of each case: the servers of its variables, and the shape of these; 4 MiB are large."""
THREADS: Final = 3  # that keep a server busy


def processor_s(process: int) -> dict[str, float]:
    """The processor time that each thread of a process has used so far."""
    used = {}
    for thread in os.listdir(f"/proc/{process}/task"):
        with suppress(FileNotFoundError), open(f"/proc/{process}/task/{thread}/schedstat") as file:
            used[thread] = int(file.read().split()[0]) / 1e9
    return used


def prepare(target: str, name: str, servers: Sequence[int], shape: Sequence[int]) -> Callable[[], Any]:
    """What runs the step of one case."""
    with Graph().as_default() as graph, device("/job:worker/task:0"):
        variables = []
        for number in servers:
            with device(f"/job:ps/task:{number}"):
                variables.append(Variable(zeros(shape), trainable=False, name=name))
        updates = []
        for variable in variables:
            change = variable.read_value() * 1e-9
            with colocate_with(variable.op):
                updates.append(variable.assign_sub(change).op)
        step = group(*updates)
        initialise = group(*(variable.initializer for variable in variables))
    session = Session(target, graph, ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"]))
    session.run(initialise)
    return session.make_callable(step)


def measure(target: str, seconds: float, watched: Sequence[int]) -> dict[str, Any]:
    """Of each case the median step, and the processor time of a step.

    ``worker``: of this process; ``server``: of the thread of the first watched one that takes messages.  Its other busy thread
    is ZeroMQ's, which needs no interpreter.
    """
    runs = {name: prepare(target, name, *case) for name, case in CASES.items()}
    found: dict[str, Any] = {name: [] for name in (*CASES, "busy")}
    for run in runs.values():
        for _ in range(30):
            run()
    for _ in range(3):  # in turn, so that a slow moment of the machine hits all
        for name, run in runs.items():
            found[name].append(_sample(run, seconds / 12, 1, watched))
        found["busy"].append(_sample(runs["one"], seconds / 12, THREADS, watched))
    return {name: {key: min(one[key] for one in samples) for key in samples[0]} for name, samples in found.items()}


def _sample(run: Callable[[], Any], seconds: float, threads: int, watched: Sequence[int]) -> dict[str, float]:
    times: list[float] = []
    begin, processor, others = time.perf_counter(), time.process_time(), [processor_s(one) for one in watched]

    def repeat() -> None:
        last = time.perf_counter()
        while last - begin < seconds:
            run()
            now = time.perf_counter()
            times.append(now - last)
            last = now

    beside = [threading.Thread(target=repeat) for _ in range(threads - 1)]
    for thread in beside:
        thread.start()
    repeat()
    for thread in beside:
        thread.join()
    used = time.process_time() - processor
    after = processor_s(watched[0])
    server = max(seconds - others[0].get(thread, 0.0) for thread, seconds in after.items())
    return {"step": median(times), "worker": used / len(times), "server": server / len(times)}


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
