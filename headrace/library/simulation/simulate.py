"""One job on one cluster, simulated: what it does, how much of that is left when tasks fail, and the memory it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Final

from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import WORKER, Job
from headrace.library.simulation.law import Slow
from headrace.library.simulation.machine import Simulation
from headrace.library.simulation.outcome import Outcome, outcome_of
from headrace.resources.state.replicas.machine import LOOK_EVERY

ROUNDS: Final = 40  # steps of each worker that are counted
EVENTS: Final = 200_000  # of one cluster; what is larger is looked at for fewer steps
STALLED: Final = 6  # rounds after which a job that waits for a lost worker has stopped


def run(job: Job, cluster: Cluster, seed: int = 0, rounds: int = 0, events: int = EVENTS) -> Outcome:
    """What a job does on a cluster, once it runs evenly.

    Args:
      job: A planned step, as `plan` gives it.
      cluster: The cluster; it has as many servers as the job was planned for.
      seed: Of all that is random; the same one gives the same outcome.
      rounds: How many steps of each worker are counted; 0 for as many as `events` allow, at most 40.
      events: How many events are simulated, about; a large cluster is looked at for fewer steps, at least for four.

    Returns:
      An `Outcome`: steps a second, times of steps, what these go into, what is used.

    >>> from headrace import simulate
    >>> loss = tf.square(tf.get_variable("x", [1000]))
    >>> job = simulate.plan(tf.train.GradientDescentOptimizer(0.1).minimize(loss))
    >>> few, many = (simulate.run(job, simulate.Cluster(workers, 1)) for workers in (1, 100))
    >>> 10 * few.steps > many.steps, many.busy["server"] > 0.95  # the server is the limit
    (True, True)
    """
    parts = len(job.step.partitions) + len(job.step.messages) * 2
    least = 4 * job.every
    if not rounds:
        rounds = max(least, min(ROUNDS * job.every, events // (parts * 2 * cluster.workers)))
    follows = job.rules.backups is not None and job.rules.backups < 0
    before = LOOK_EVERY + 2 if follows else 2  # until the number of backups is chosen
    counts = Simulation(job, cluster, seed).run(rounds, max(before, rounds // 8))
    return outcome_of(counts, memory_of(job, cluster, counts.most), goodput_of(job, cluster), job.rules.gathers)


def goodput_of(job: Job, cluster: Cluster) -> float:
    """The share of the work that is left when tasks fail, each now and then and by itself.

    A worker that is lost is missing until it works again; whether all others stop until it is known is tried, with the
    aggregator.  A server is waited for by all, and what its variables have learned since the last copy or checkpoint is lost;
    where gradients are gathered all servers go back with it (docs/what_happens_when.md).
    """
    failures = cluster.failures
    if not failures.rate:
        return 1.0
    stop = failures.noticed if cluster.workers > 1 and stops(job, cluster) else 0.0
    worker = stop + max(failures.restart - stop, 0.0) / cluster.workers
    share = 1.0 if job.rules.gathers else 1 / max(cluster.servers, 1)  # of the variables, those that go back
    server = failures.restart + share * (failures.copies or failures.save) / 2
    return 1 / (1 + failures.rate * (cluster.workers * worker + cluster.servers * server))


def stops(job: Job, cluster: Cluster) -> bool:
    """Whether the job stops while a worker is lost and nobody knows: the aggregator is asked, on a small cluster."""
    workers = min(cluster.workers, 8)
    spare = job.rules.backups
    if spare is not None and spare > 0:  # the same share of spare workers
        workers = max(workers, min(cluster.workers, spare + 2))
    never = replace(cluster.failures, noticed=inf)
    small = replace(cluster, workers=workers, slow=Slow(), failures=never)
    alone = Simulation(job, small, 1).run(STALLED * job.every, 1)
    losing = Simulation(job, small, 1).run(STALLED * job.every, 1, lose=[(alone.until / 2, workers - 1)])
    return losing.ended < (1 + STALLED * job.every) * workers


def memory_of(job: Job, cluster: Cluster, under_way: Sequence[float]) -> dict[str, float]:
    """The most bytes on the fullest server, and on a worker.  ``under_way``: of each server, values of steps that it is at."""
    waiting = cluster.workers if job.rules.gathers else 0  # gradients that wait until it is known which count
    servers = [
        state + waiting * gradient + live
        for state, gradient, live in zip(job.state, job.gradients, under_way, strict=False)
    ]
    own = [part.live for part in job.step.partitions if part.task == WORKER]
    return {"server": max(servers, default=0.0), "worker": max(own, default=0.0)}
