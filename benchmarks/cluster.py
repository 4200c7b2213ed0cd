"""Null steps over a cluster of processes (Fig. 7 of the paper), beside TensorFlow over gRPC on the same cores in the same run.

In a step each worker reads parameters from the parameter servers, scales them, and the servers subtract the result: 16 scalars,
32 rows of a table, or all of a dense vector.  Both libraries' processes run all the time; they are asked in turn for a short
sample.  Beside that, how often a second one task runs a cached subgraph.

TensorFlow runs in an environment of its own: give its Python with `--tf-python` or $HEADRACE_TF_PYTHON.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from statistics import median

from benchmarks import _dispatches, _harness

MODULE = "benchmarks._peers.cluster_tf1"
CASES = ("scalar", "sparse_1024", "sparse_16384", "dense_10", "dense_100")
AIMS = {"scalar": 0.3, "sparse": 0.3, "dense": 0.6}
PAPER_MS = {"scalar": 1.85, "sparse_1024": 6.93, "sparse_16384": 5.36, "dense_100": 148.0}
"""The paper's median step with one worker and 16 parameter servers, each on a machine of its own, in 2016."""
DISPATCHES = {"in process": 10_000, "over sockets": 3_000}  # a second, at least
SCALE = {"cases": ("scalar", "sparse_1024", "dense_10"), "workers": (1, 2, 4, 8, 12), "servers": (1, 2, 4)}
RATES = {("scalar", 1): 2_500, ("scalar", 4): 6_000, ("sparse_1024", 1): 5_000, ("sparse_1024", 4): 8_000}
"""Steps a second of 12 workers, at least, by case and servers."""
TICKS = os.sysconf("SC_CLK_TCK")


class Task:
    """A process of one library's cluster."""

    def __init__(self, python, library, job, index, hosts, environment):
        command = [python, "-m", MODULE, library, job, str(index), ",".join(hosts["ps"]), ",".join(hosts["worker"])]
        env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "GRPC_VERBOSITY": "NONE", **environment}
        self.process = subprocess.Popen(
            command, cwd=_harness.ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=None if os.environ.get("HEADRACE_BENCH_ERRORS") else subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a task stopped: {' '.join(self.process.args)}")
        return json.loads(line)

    def processor_s(self):
        """The processor time it has used so far."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def switches(self):
        """How often its threads have let a core go so far."""
        total = 0
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with (
                contextlib.suppress(FileNotFoundError),
                open(f"/proc/{self.process.pid}/task/{thread}/status") as status,
            ):
                total += sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)
        return total

    def close(self):
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Cluster:
    """The processes of one library: parameter servers, and workers of which some are used."""

    def __init__(self, python, library, servers, workers, environment):
        ports = _harness.free_ports(servers + workers)
        hosts = {
            "ps": [f"localhost:{port}" for port in ports[:servers]],
            "worker": [f"localhost:{port}" for port in ports[servers:]],
        }
        self.tasks = [
            Task(python, library, job, index, hosts, environment) for job in hosts for index in range(len(hosts[job]))
        ]
        self.servers, self.workers = self.tasks[:servers], self.tasks[servers:]
        self.version = [task.answer()["version"] for task in self.tasks][0]

    def prepare(self, case, together=False):
        """Gets the case ready everywhere; the first worker initialises it.  ``together``: the others at the same time."""
        first, *others = self.workers
        for group in [[first], others] if together else [[worker] for worker in self.workers]:
            for worker in group:
                worker.ask(f"prepare {case}")
            for worker in group:
                worker.answer()

    def sample(self, case, workers, seconds):
        """The time of a step, and the processor time of all processes for a step, in seconds."""
        before = sum(task.processor_s() for task in self.tasks)
        for worker in self.workers[:workers]:
            worker.ask(f"run {case} {seconds}")
        answers = [worker.answer() for worker in self.workers[:workers]]
        used = sum(task.processor_s() for task in self.tasks) - before
        steps = sum(answer["steps"] for answer in answers)
        return sum(answer["seconds"] for answer in answers) / steps, used / steps

    def rates(self, case, workers, seconds):
        """Steps a second of that many workers together, their times, and what each role needs for a step."""
        roles = {"server": self.servers, "worker": self.workers[:workers]}

        def spent():
            return {
                role: (sum(t.processor_s() for t in tasks), sum(t.switches() for t in tasks))
                for role, tasks in roles.items()
            }

        before = spent()
        for worker in roles["worker"]:
            worker.ask(f"run {case} {seconds}")
        answers = [worker.answer() for worker in roles["worker"]]
        after = spent()
        steps = sum(answer["steps"] for answer in answers)
        result = {
            "steps_per_s": sum(answer["steps"] / answer["seconds"] for answer in answers),
            "median_s": median(answer["median"] for answer in answers),
            "p99_s": max(answer["p99"] for answer in answers),
        }
        for role, tasks in roles.items():
            processor, switches = (b - a for a, b in zip(before[role], after[role], strict=True))
            result[role] = {
                "processor_s": processor / steps, "switches": switches / steps, "cores": processor / seconds / len(tasks),
            }  # fmt: skip
        return result

    def close(self):
        for task in reversed(self.tasks):
            task.close()


def measure(python, servers, options):
    """All points with that many parameter servers."""
    points = []
    most = max(options.workers)
    with contextlib.ExitStack() as stack:
        clusters = {}
        for library, executable in (("headrace", sys.executable), ("tensorflow", python)):
            if library == "headrace" or python:
                clusters[library] = Cluster(executable, library, servers, most, {"HEADRACE_COMPILE": "off"})
                stack.callback(clusters[library].close)
        for case in options.cases:
            for cluster in clusters.values():
                cluster.prepare(case)
            for workers in options.workers:
                points.append(_point(clusters, case, servers, workers, options))
                print(".", end="", flush=True)
    print()
    return points


def _point(clusters, case, servers, workers, options):
    samples = {library: {"step": [], "processor": []} for library in clusters}
    for i in range(-1, options.rounds):  # the first warms up
        order = list(clusters)
        for library in order if i % 2 else reversed(order):
            step, processor = clusters[library].sample(case, workers, options.seconds)
            if i >= 0:
                samples[library]["step"].append(step)
                samples[library]["processor"].append(processor)
    return {"case": case, "servers": servers, "workers": workers, **samples}


def main(argv=None):
    """Prints the table and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tf-python", help="a Python that has TensorFlow")
    parser.add_argument("--alone", action="store_true", help="without TensorFlow")
    parser.add_argument("--rounds", type=int, default=5, help="samples of each point (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a sample (default: %(default)s)")
    parser.add_argument("--cases", nargs="*", help="(default: all)")
    parser.add_argument("--workers", nargs="*", type=int, help="(default: 1 2 4)")
    parser.add_argument("--servers", nargs="*", type=int, help="(default: 1 2)")
    parser.add_argument(
        "--parts", nargs="*", default=("dispatches", "steps"), help="or scale, startup (default: %(default)s)"
    )
    parser.add_argument("--cores", type=int, help="let all processes use so many cores only")
    options = parser.parse_args(argv)
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    if "startup" in options.parts:
        _fill(options, {"workers": (10, 50, 96), "servers": (4,)})
        _measure_startup(options)
        return
    if "scale" in options.parts:
        _fill(options, SCALE)
        print(f"saved to {_harness.save('cluster_scale', _measure_scale(options))}")
        return
    _fill(options, {"cases": CASES, "workers": (1, 2, 4), "servers": (1, 2)})
    result = {}
    if "dispatches" in options.parts:
        result["dispatches"] = _measure_dispatches(options.rounds)
    if "steps" in options.parts:
        result["points"] = _measure_steps(options)
    if set(options.parts) >= {"dispatches", "steps"} and not options.alone and tuple(options.cases) == CASES:
        print(f"saved to {_harness.save('cluster', result)}")


def _fill(options, defaults):
    for name, value in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, value)


def _measure_scale(options):
    """Steps a second as workers and servers are added: with the defaults, so with what `auto` compiles."""
    points = []
    for servers in options.servers:
        with contextlib.closing(Cluster(sys.executable, "headrace", servers, max(options.workers), {})) as cluster:
            for case in options.cases:
                cluster.prepare(case)
                cluster.rates(case, max(options.workers), options.seconds)  # warms up
                for workers in options.workers:
                    samples = [cluster.rates(case, workers, options.seconds) for _ in range(options.rounds)]
                    sample = sorted(samples, key=lambda one: one["steps_per_s"])[len(samples) // 2]
                    points.append({"case": case, "servers": servers, "workers": workers, **sample})
                    print(_scale_line(points), flush=True)
    return {"cores": len(os.sched_getaffinity(0)), "points": points}


def _measure_startup(options):
    """How long it takes until many tasks that start at the same time have run their first step."""
    for servers in options.servers:
        for workers in options.workers:
            begin = time.perf_counter()
            with contextlib.closing(Cluster(sys.executable, "headrace", servers, workers, {})) as cluster:
                listening = time.perf_counter()
                cluster.prepare("scalar", together=True)
                print(
                    f"{servers} ps, {workers} workers: {listening - begin:.1f} s until all listen, most of it Python's imports; "
                    f"{time.perf_counter() - listening:.1f} s more until all have a session and have run a step",
                    flush=True,
                )


def _scale_line(points):
    """The last point in words; a star: fewer steps a second than with fewer workers, or than the aim."""
    point, before = points[-1], points[-2] if len(points) > 1 else None
    same = before is not None and all(before[name] == point[name] for name in ("case", "servers"))
    fell = same and point["steps_per_s"] < 0.95 * before["steps_per_s"]
    aim = RATES.get((point["case"], point["servers"]), 0) if point["workers"] == 12 else 0
    server, worker = point["server"], point["worker"]
    return (
        f"{point['case']:12s} {point['servers']} ps {point['workers']:2d} workers: {point['steps_per_s']:7,.0f} steps/s"
        f"{' * fell' if fell else ''}{f' * aim {aim:,}' if point['steps_per_s'] < aim else ''}, "
        f"median {point['median_s'] * 1e3:.2f} ms, 99 % {point['p99_s'] * 1e3:.2f} ms; a step: "
        f"server {server['processor_s'] * 1e6:.0f} us, {server['switches']:.1f} switches, {server['cores']:.2f} cores each; "
        f"worker {worker['processor_s'] * 1e6:.0f} us, {worker['switches']:.1f} switches"
    )


def _measure_dispatches(rounds):
    samples = {name: [] for name in DISPATCHES}
    for _ in range(rounds):
        samples["in process"].append(_dispatches.in_process())
        samples["over sockets"].append(_dispatches.over_sockets(f"localhost:{_harness.free_ports(1)[0]}"))
    for name, rates in samples.items():
        rate, processor = (median(sample[clock] for sample in rates) for clock in ("elapsed", "processor"))
        missed = "" if rate >= DISPATCHES[name] else f"  * aim: {DISPATCHES[name]:,}"
        print(f"cached subgraphs {name}: {rate:,.0f} a second, {processor:,.0f} a second of processor time{missed}")
    return samples


def _measure_steps(options):
    python = None if options.alone else _harness.tensorflow_python(options.tf_python)
    begin = time.perf_counter()
    points = [point for servers in options.servers for point in measure(python, servers, options)]
    print(_report(points))
    print(f"{time.perf_counter() - begin:.0f} s")
    return points


def _report(points):
    rows = []
    for point in points:
        ours, theirs = point["headrace"], point.get("tensorflow")
        cells = [_harness.duration(median(ours["step"])), _harness.duration(median(ours["processor"]))]
        if theirs:
            ratios = {
                name: [a / b for a, b in zip(ours[name], theirs[name], strict=True)] for name in ("step", "processor")
            }
            aim = AIMS[point["case"].partition("_")[0]]
            ratio = median(ratios["step"])
            cells += [
                _harness.duration(median(theirs["step"])), _harness.duration(median(theirs["processor"])),
                f"{ratio:.2f}{'' if ratio <= aim else '*'}", f"{min(ratios['step']):.2f}-{max(ratios['step']):.2f}",
                f"{median(ratios['processor']):.2f}",
            ]  # fmt: skip
        paper = PAPER_MS.get(point["case"]) if point["workers"] == 1 else None
        cells.append("" if paper is None else _harness.duration(paper / 1e3))
        rows.append((f"{point['case']}, {point['workers']} workers, {point['servers']} ps", *cells))
    header = ["", "step", "processor"]
    if any("tensorflow" in point for point in points):
        header += ["TensorFlow", "processor", "ratio", "range", "processor ratio"]
    header.append("paper")
    return _harness.table(header, rows)


if __name__ == "__main__":
    main()
