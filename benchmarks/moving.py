"""How long training stops while the task of a parameter server moves to another process.

    python -m benchmarks.moving [--megabytes 256] [--variables 2] [--moves 4]

The server, the processes that it moves to and the worker are processes of this machine.  The worker's steps add 1 to a small
variable on the server; the others lie beside it.  What is measured is the longest time between the ends of two steps.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from statistics import median
from typing import Any

import headrace as tf
from benchmarks._harness import duration, save, table
from headrace.cluster.moving import move_task
from tests.cluster.ports import free_addresses

SERVE = [sys.executable, "-m", "headrace.cluster.serve"]
SPARE = [sys.executable, "-c", "import sys; from headrace.tools.move import serve; serve(sys.argv[1])"]


class Steps(threading.Thread):
    """A monitored session that trains in the background, and when each of its steps ended."""

    def __init__(self, session: Any, step: Any) -> None:
        super().__init__()
        self.ends: list[float] = []
        self._session, self._step = session, step
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.is_set():
            self._session.run(self._step)
            self.ends.append(time.perf_counter())

    def stop(self) -> None:
        self._enough.set()
        self.join()

    def gaps_since(self, begin: float) -> list[float]:
        ends = [end for end in list(self.ends) if end >= begin]
        return [after - before for before, after in zip(ends, ends[1:], strict=False)]


def start(command: list[str], **environment: str) -> subprocess.Popen[str]:
    """A server's process, once it has said that it is ready."""
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError(f"{' '.join(command)} has ended")
    return process


def measure(megabytes: int, variables: int, moves: int) -> dict[str, Any]:
    """Seconds of each move, the longest stop in it, and a step without one."""
    ps, worker, *spares = free_addresses(4)
    jobs = {"ps": [ps], "worker": [worker]}
    config = json.dumps({"cluster": jobs, "task": {"type": "ps", "index": 0}})
    processes = [start(SERVE, TF_CONFIG=config), *(start([*SPARE, address]) for address in spares)]
    server = tf.train.Server(jobs, "worker", 0)
    try:
        with tf.device("/job:ps/task:0"):
            for i in range(variables):
                tf.get_variable(f"large{i}", [megabytes << 18], initializer=tf.zeros_initializer())
            step = tf.get_variable("small", [], initializer=tf.zeros_initializer()).assign_add(1.0)
        with tf.train.MonitoredTrainingSession(server.target, log_step_count_steps=None) as session:
            steps = Steps(session, step)
            steps.start()
            try:
                rows = [_move(steps, server.target, spares[i % 2]) for i in range(moves)]
            finally:
                steps.stop()
    finally:
        server._stop()
        for process in processes:
            process.terminate()
            process.wait()
    return {"megabytes": megabytes, "variables": variables, "moves": rows}


def _move(steps: Steps, target: str, to: str) -> dict[str, float]:
    time.sleep(1.0)  # steps as they are without a move
    begin = time.perf_counter()
    move_task(target, "ps:0", to)
    seconds = time.perf_counter() - begin
    time.sleep(1.0)
    return {"seconds": seconds, "stop": max(steps.gaps_since(begin)), "step": median(steps.gaps_since(begin - 1.0))}


def main(argv: list[str]) -> int:
    """Prints a table of the moves."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moving", description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--variables", type=int, default=2)
    parser.add_argument("--moves", type=int, default=4)
    options = parser.parse_args(argv)
    result = measure(options.megabytes, options.variables, options.moves)
    rows = [[duration(row[key]) for key in ("seconds", "stop", "step")] for row in result["moves"]]
    print(f"{options.variables} variables of {options.megabytes} MB")
    print(table(["the whole move", "steps stop for", "a step else"], rows))
    save("moving", result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
