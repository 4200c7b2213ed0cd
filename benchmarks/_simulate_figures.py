"""Figs. 7, 8(b), 8(c) and 9 of the paper, simulated: the same settings, with the machine and network that the paper implies.

What is taken from the paper, and nowhere fitted to more than one point of a curve:

- Fig. 7: 16 servers, each task on a machine of its own, 1 GB/s in each direction (the plateau of its dense steps).
- Fig. 8(b): Inception-v3 in batches of 32; a worker computes for 1.68 s, and slows down now and then as its step times at 25
  workers say; 17 servers.
- Fig. 8(c): 50 workers and their backups; the spread of a worker's time as in `_replica_curve.py`, its middle from the step
  without backups.
- Fig. 9: an LSTM with 512 cells, a vocabulary of 40,000; batches and machines are not stated: 128 x 20 words, and the speed of
  a machine is what one point says (4 workers, 32 servers, sampled softmax).
"""

import json
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks import _simulate_jobs
from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import (
    RELEASE,
    UPDATE,
    WORKER,
    Job,
    Message,
    Partition,
    Piece,
    Rules,
    Steps,
    Strand,
)
from headrace.library.simulation.law import Slow
from headrace.library.simulation.simulate import run
from headrace.passes.cost.rates import Link

NETWORK = Link(1e-4, 1e9)
EVENTS = 200_000  # for each point
INCEPTION = 95e6  # bytes of its parameters


def figures():
    """All of them: the paper's points and ours."""
    paper = json.loads((Path(__file__).parent / "results" / "paper.json").read_text())
    return {name: figure(paper) for name, figure in FIGURES.items()}


def fig7(paper):
    """Null steps on 16 servers: batches a second."""
    rows = []
    sizes = {"scalar": "scalar", "sparse_1GB": "sparse_1024", "dense_100MB": "dense_100", "dense_1GB": "dense_1024"}
    machine = _simulate_jobs.measured_cpu()
    for name, case in sizes.items():
        job = _simulate_jobs.null_job(case, 16, machine)
        for point in paper["fig7_null_step_batches_per_s"][name]:
            rows.append(_point(name, point, run(job, Cluster(point["x"], 16, NETWORK), events=EVENTS).steps))
    return rows


def fig8b(paper):
    """Inception-v3: images a second, asynchronous and synchronous."""
    rows = []
    slow = Slow("lognormal", 0.03)
    for mode, name in (("async", "asynchronous"), ("sync", "synchronous")):
        job = dense_job(INCEPTION, 17, 1.68, Rules(mode))
        for point in paper["fig8b_images_per_s"][name]:
            outcome = run(job, Cluster(point["x"], 17, NETWORK, slow=slow), events=EVENTS)
            rows.append(_point(name, point, outcome.steps * 32))
    return rows


def fig8c(paper):
    """Seconds of a synchronous step with backup workers."""
    law = json.loads((Path(__file__).parent / "results" / "replicas_curve.json").read_text())["law"]
    points = paper["fig8c_backup_workers_step_s"]
    slow = Slow("lognormal", law["spread"])

    def seconds(computes, backups):
        rules = Rules("backup", backups=backups) if backups else Rules("sync")
        job = dense_job(INCEPTION, 17, computes, rules)
        return 1 / run(job, Cluster(50 + backups, 17, NETWORK, slow=slow), events=EVENTS).updates

    # The law is that of whole steps: what travelling takes is taken off, so that the first point is the paper's.
    computes = law["middle_s"] - (seconds(law["middle_s"], 0) - points[0]["median"])
    return [_point("step_s", point, seconds(computes, point["x"])) for point in points]


def fig9(paper):
    """Words a second of the language model, full and sampled softmax."""
    words = 128 * 20
    gathered, softmax = 2 * words * 512 * 4.0, 40_000 * 512 * 4.0
    wanted = next(p for p in paper["fig9b_sampled_softmax_words_per_s"]["4_workers"] if p["x"] == 32)["median"]
    lstm = 4 * words / wanted  # seconds of a worker's step, nearly all of it the LSTM
    product = 3 * 2.0 * words * 512 * 40_000 / 2e10  # forward, and both gradients, at 20 GFLOPS of a server
    rows = []
    for name, key, serves, held in (
        ("full", "fig9a_full_softmax_words_per_s", product, softmax),
        ("sampled", "fig9b_sampled_softmax_words_per_s", product / 78, softmax / 78),
    ):
        for column, points in paper[key].items():
            workers = int(column.partition("_")[0])
            for point in points:
                job = dense_job(gathered + held / 10, point["x"], lstm, Rules("async"), serves=serves / point["x"])
                outcome = run(job, Cluster(workers, point["x"], NETWORK, cores=8), events=EVENTS)
                rows.append(_point(f"{name}, {workers} workers", point, outcome.steps * words))
    return rows


FIGURES = {"fig7": fig7, "fig8b": fig8b, "fig8c": fig8c, "fig9": fig9}


def dense_job(size, servers, computes, rules, serves=0.0):
    """A worker reads ``size`` bytes from the servers, computes, and sends as many back; servers compute for each step too."""
    each = size / servers
    apply = 3 * each / 1e10  # read the variable and the gradient, write the variable
    gathers, count = rules.gathers, range(servers)
    messages = [Message(1 + k, 0, each) for k in count] + [Message(0, 1 + k, each) for k in count]
    own = [
        Strand(takes=tuple(count)),
        Strand((Piece(kernels=computes, sends=tuple(servers + k for k in count)),), after=(0,)),
    ]
    partitions = [Partition(WORKER, tuple(own))]
    for k in count:
        takes = Strand(takes=(servers + k,))
        done = Strand((Piece(kernels=serves, moves=each / 1e10 if gathers else apply),), after=(1,))
        strands = [Strand((Piece(sends=(k,)),)), takes, done]
        if gathers and k == 0:
            heard = []
            for other in range(1, servers):  # what the others say when they have the gradient
                heard.append(len(messages))
                messages.append(Message(1 + other, 1, 0.0))
            strands += [Strand(takes=tuple(heard)), Strand(waits=RELEASE, after=(2, 3))]
        elif gathers:
            strands[2] = Strand((Piece(moves=each / 1e10, sends=(len(messages_before(servers)) + k - 1,)),), after=(1,))
        partitions.append(Partition(k, tuple(strands)))
    update = _update(servers, each, apply) if gathers else None
    return Job(Steps(tuple(partitions), tuple(messages)), servers, rules, update, state=(each,) * servers)


def messages_before(servers):
    """The numbers of the messages with values and gradients."""
    return range(2 * servers)


def _update(servers, each, apply):
    """The first server is told of an update and tells the others; each takes the mean and applies it."""
    mean = Piece(moves=apply, gathered=2 * each / 1e10)
    messages = [Message(0, k, 24.0) for k in range(1, servers)] + [Message(k, 0, 0.0) for k in range(1, servers)]
    told = tuple(range(servers - 1))
    heard = tuple(range(servers - 1, 2 * servers - 2))
    first = Partition(0, (
        Strand(waits=UPDATE), Strand((Piece(sends=told), mean), after=(0,)), Strand(takes=heard),
        Strand((Piece(tells=True),), after=(1, 2)),
    ))  # fmt: skip
    others = [
        Partition(k, (Strand(takes=(k - 1,)), Strand((replace(mean, sends=(servers - 2 + k,)),), after=(0,))))
        for k in range(1, servers)
    ]
    return Steps((first, *others), tuple(messages))


def _point(series, point, ours):
    row = {"series": series, "x": point["x"], "paper": point["median"], "simulated": ours}
    print(row, flush=True)
    return row


def shape(rows):
    """How far the curves are apart once each begins at 1: the median ratio."""
    firsts = {}
    ratios = []
    for row in rows:
        first = firsts.setdefault(row["series"], row)
        ratios.append((row["simulated"] / first["simulated"]) / (row["paper"] / first["paper"]))
    return median(ratios)
