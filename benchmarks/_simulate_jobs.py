"""The jobs of `simulate.py`: the steps of `cluster.py` and `replicas.py`, planned for the simulator, not run."""

import json
import time
from dataclasses import replace
from statistics import median

from benchmarks import _harness, _replica_task
from benchmarks._peers.cluster_tf1 import Builder
from headrace.library.simulation.job import Job, Rules, computing, scaled, untaken
from headrace.library.simulation.modes import Applied, build, instead, noting
from headrace.library.simulation.planning import MINE, Asked, Planning
from headrace.passes.cost.rates import USUAL, Machine, Rates

MODES = {
    "async": Rules("async"), "stale 2": Rules("stale", staleness=2), "sync": Rules("sync"), "backup": Rules("backup", backups=1),
    "quorum": Rules("quorum", quorum=0.75, grace=0.002), "local 8": Rules("local"),
}  # fmt: skip
EVERY = 8


def measured_cpu():
    """A CPU as `costs.py` has measured one, for clusters of whose kernels nothing is known."""
    saved = json.loads((_harness.RESULTS / "simulate_machine.json").read_text())["costs"]
    return Machine({name: Rates(**rates) for name, rates in saved["rates"].items()}, USUAL.links)


def null_job(case, servers, machine):
    """A null step of `cluster.py`: its variables name their servers."""
    import headrace as tf

    with tf.Graph().as_default() as graph:
        builder = Builder(tf, servers, 0)
        with tf.device("/job:worker/task:0"):
            step = builder.build(case)
    planned = _planned(Planning(graph, machine), Asked((), (), (step,)), servers)
    return Job(planned.steps, servers, state=planned.state, gradients=planned.gradients)


def model_job(model, mode, servers, machine):
    """A step of a model of `replicas.py` in one of MODES; ``costs`` are those of a step that is timed here."""
    import headrace as tf

    make, data, rate, size = _replica_task.MODELS[model]
    with noting() as noted, tf.Graph().as_default() as graph:
        x, y, loss, _ = make(tf)
        train = tf.train.GradientDescentOptimizer(rate, use_locking=True).minimize(
            loss, tf.train.get_or_create_global_step()
        )
    images, labels = data(tf)[0]
    feeds = ((x, images[:size].shape), (y, labels[:size].shape))
    asked, planning = Asked(feeds, (), (train,)), Planning(graph, machine)
    factor = _local_step(tf, graph, train, {x: images[:size], y: labels[:size]}) / computing(
        planning.plan(asked, 0).steps
    )
    rules = MODES[mode]
    applied = Applied(noted.applied[0].optimizer, noted.applied[0].pairs, noted.applied[0].global_step, train, loss)
    from headrace.library.train.replica.device_setter import replica_device_setter

    with planning.placed_for(servers):
        variant = build(applied, rules.mode, EVERY, replica_device_setter(servers, worker_device=MINE))
    update = None
    if variant.update is not None:
        update = scaled(planning.plan(variant.update, servers).steps, factor)
    planned = _planned(planning, instead(asked, {train}, variant.train), servers)
    step = scaled(planned.steps, factor)
    between = untaken(step) if variant.every > 1 else None
    return Job(step, servers, rules, update, between, variant.every, planned.state, planned.gradients)


def with_cores(cluster, cores, movers):
    """The cluster on one host."""
    return replace(cluster, together=True, cores=cores, movers=movers)


def _planned(planning, asked, servers):
    try:
        return planning.plan(asked, servers)
    finally:
        planning.close()


def _local_step(tf, graph, train, feeds):
    """Seconds of the step in a session of one process, as the loop of `replicas.py` runs it."""
    with graph.as_default(), tf.Session() as session:
        session.run(tf.global_variables_initializer())
        run = session.make_callable(train, list(feeds))
        times = []
        for _ in range(200):
            begin = time.perf_counter()
            run(*feeds.values())
            times.append(time.perf_counter() - begin)
    return median(times[50:])
