"""How long training stands still while the variables of several parameter servers are saved.

Servers and workers are processes of this machine.  A step of a worker adds to a row of a variable on each server; each worker
notes when its steps end.  One more client saves all variables, in each mode in turn.  Of each save two times are told: the
longest time in which a worker ended no step, and how long its steps stood still in all, which is the time of the save less what
that many steps take without one.  `--folder` should be on the disk that checkpoints go to.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from contextlib import ExitStack
from typing import Any

from benchmarks import _harness

MODES: dict[str, dict[str, bool]] = {
    "plain": {}, "consistent": {"consistent": True}, "asynchronous": {"asynchronous": True},
    "consistent, asynchronous": {"consistent": True, "asynchronous": True},
}  # fmt: skip
ROW = 1024  # numbers of a row: 4 KB
PIECE_MB = 64  # of one variable
REST_S = 0.5  # before and after a save


# ---- the processes


def serve(pipe: Any, jobs: dict[str, list[str]], index: int) -> None:
    """A parameter server."""
    import headrace as tf

    server = tf.train.Server(tf.train.ClusterSpec(jobs), "ps", index)
    pipe.send("ready")
    pipe.recv()
    server._stop()


def train(pipe: Any, jobs: dict[str, list[str]], index: int, megabytes: int) -> None:
    """A worker: steps until it is asked, then the times at which they ended."""
    import headrace as tf

    server = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", index)
    variables = model(tf, len(jobs["ps"]), megabytes)
    ones = tf.ones([1, ROW])
    step = tf.group(
        *(tf.scatter_add(one, [index], ones, use_locking=True).op for one in variables[:: pieces(megabytes)])
    )
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    with tf.Session(server.target, config=config) as session:
        session.run(step)
        pipe.send("ready")
        while pipe.recv() == "steps":
            ends = []
            while not pipe.poll():
                session.run(step)
                ends.append(time.monotonic())
            pipe.recv()
            pipe.send(ends)
    server._stop()


def pieces(megabytes: int) -> int:
    """How many variables a server has."""
    return max(megabytes // PIECE_MB, 1)


def model(tf: Any, servers: int, megabytes: int) -> list[Any]:
    """The variables, those of the first server first."""
    made = []
    for server in range(servers):
        with tf.device(f"/job:ps/task:{server}"):
            for piece in range(pieces(megabytes)):
                rows = megabytes * 2**20 // pieces(megabytes) // (4 * ROW)
                made.append(tf.get_variable(f"v{server}_{piece}", [rows, ROW], initializer=tf.zeros_initializer()))
    return made


class Process:
    """A process with a pipe."""

    def __init__(self, target: Any, *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, end = context.Pipe()
        self._process = context.Process(target=target, args=(end, *arguments), daemon=True)
        self._process.start()

    def close(self) -> None:
        self.pipe.send("end")
        self._process.join()


# ---- the measurement


def main(argv: list[str] | None = None) -> None:
    """Prints the table, and saves it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--megabytes", type=int, default=256, help="of variables on each server (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="saves in each mode (default: %(default)s)")
    parser.add_argument("--folder", help="on the disk to save to (default: where temporary files are)")
    parser.add_argument("--no-save", action="store_true", help="do not write the result file")
    options = parser.parse_args(argv)
    os.environ["HEADRACE_COMPILE"] = "off"
    addresses = [f"localhost:{port}" for port in _harness.free_ports(options.servers + options.workers)]
    jobs = {"ps": addresses[: options.servers], "worker": addresses[options.servers :]}
    with ExitStack() as stack, tempfile.TemporaryDirectory(dir=options.folder) as folder:
        servers = [Process(serve, jobs, index) for index in range(options.servers)]
        for server in servers:
            stack.callback(server.close)
            server.pipe.recv()
        result = measure(stack, jobs, folder, options)
    print(_harness.table(*table(result)))
    if not options.no_save:
        print(f"saved to {_harness.save('saves', result)}")


def measure(stack: ExitStack, jobs: dict[str, list[str]], folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds of each save: its own, the longest gap of a worker, the time its steps stood still."""
    import headrace as tf

    variables = model(tf, options.servers, options.megabytes)
    savers = {mode: tf.train.Saver(variables, sharded=True, **how) for mode, how in MODES.items()}
    session = stack.enter_context(
        tf.Session(f"grpc://{jobs['ps'][0]}", config=tf.ConfigProto(device_filters=["/job:ps"]))
    )
    session.run(tf.global_variables_initializer())
    workers = [Process(train, jobs, index, options.megabytes) for index in range(options.workers)]
    for worker in workers:
        stack.callback(worker.close)
        worker.pipe.recv()
    samples: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
    for number in range(options.rounds + 1):
        for mode, saver in savers.items():
            sample = one_save(saver, session, workers, f"{folder}/{mode.replace(', ', '_')}")
            if number:  # the first one plans, and takes its memory
                samples[mode].append(sample)
            print(".", end="", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
    print()
    return {
        "servers": options.servers, "workers": options.workers, "megabytes": options.megabytes,
        "samples": samples,
    }  # fmt: skip


def one_save(saver: Any, session: Any, workers: list[Process], path: str) -> dict[str, float]:
    for worker in workers:
        worker.pipe.send("steps")
    time.sleep(REST_S)
    begin = time.monotonic()
    saver.save(session, path, write_meta_graph=False)
    returned = time.monotonic()
    saver.wait()
    end = time.monotonic()
    time.sleep(REST_S)
    gaps, still, steps = [], [], []
    for worker in workers:
        worker.pipe.send("times")
        ends = worker.pipe.recv()
        alone = [after - before for before, after in zip(ends, ends[1:], strict=False) if after < begin]
        meanwhile = [
            after - before for before, after in zip(ends, ends[1:], strict=False) if after > begin and before < end
        ]
        steps.append(statistics.median(alone))
        gaps.append(max(meanwhile))
        still.append(max(sum(meanwhile) - len(meanwhile) * steps[-1], 0.0))
    return {
        "save": returned - begin, "written": end - begin, "gap": max(gaps), "still": statistics.mean(still),
        "step": statistics.mean(steps),
    }  # fmt: skip


def table(result: dict[str, Any]) -> tuple[Any, Any]:
    """A saved result as a table: medians."""
    columns = {
        "save returns": "save", "on the disk": "written", "longest gap": "gap", "stands still": "still", "a step": "step",
    }  # fmt: skip
    lines = []
    for mode, samples in result["samples"].items():
        medians = [statistics.median(sample[key] for sample in samples) for key in columns.values()]
        lines.append((mode, *map(_harness.duration, medians)))
    return ("", *columns), lines


if __name__ == "__main__":
    main()
