"""The step of a graph as a job, for people who simulate in Python: what `headrace simulate` does with a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.client.feed import expand_feeds
from headrace.client.fetch import Fetches
from headrace.core.device import DeviceSpec
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.body import ancestors
from headrace.graph.graph import Graph
from headrace.library.simulation.job import Job, Rules
from headrace.library.simulation.machines import machine as machine_here
from headrace.library.simulation.modes import rules_of
from headrace.library.simulation.planning import Asked, Planning, update_of
from headrace.passes.cost.rates import Machine


def plan(
    fetches: Any, feed_dict: Any = None, servers: int = 1, graph: Graph | None = None, machine: Machine | None = None
) -> Job:
    """The step that ``session.run(fetches, feed_dict)`` would run, planned for a cluster, so that it can be simulated there.

    Nothing runs, and no server is needed.  Variables without a device are put on servers in turn, as by
    `tf.train.replica_device_setter`; the rest of the step is the worker's.  A graph with `tf.train.replicas` must be built in
    that device scope; who waits for whom is then as it says.

    Args:
      fetches: What a worker runs again and again: a tensor or operation, or a nested structure of these.
      feed_dict: What it feeds; of the values only the shapes count.
      servers: The number of parameter servers.
      graph: The graph; None for the default graph.
      machine: How fast devices are; None for this machine, as far as that was measured.

    Returns:
      A `Job`, which `run` simulates.

    >>> from headrace import simulate
    >>> x = tf.placeholder(tf.float32, [None, 100])
    >>> loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - 1.0))
    >>> train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    >>> job = simulate.plan(train, {x: np.zeros([32, 100])}, servers=2)
    >>> job.servers, sum(job.state)
    (2, 404.0)
    """
    graph = context.get_default_graph() if graph is None else graph
    flat = Fetches(graph, fetches)
    feeds = tuple((tensor, np.shape(value)) for tensor, value in expand_feeds(graph, feed_dict or {}))
    asked = Asked(feeds, tuple(flat.tensors), tuple(flat.targets))
    rules, update = _who_waits(asked, graph)
    planning = Planning(graph, machine or machine_here())
    try:
        planned = planning.plan(asked, servers)
        updates = None if update is None else planning.plan(update, servers).steps
    finally:
        planning.close()
    return Job(planned.steps, servers, rules, updates, state=planned.state, gradients=planned.gradients)


def _who_waits(asked: Asked, graph: Graph) -> tuple[Rules, Asked | None]:
    """What the `tf.train.replicas` of a step say, and what updates run."""
    needed = ancestors([tensor.op for tensor in asked.fetches] + list(asked.targets))
    found = [op for op in needed if op.type == "_Replica"]
    if not found:
        return Rules(), None
    if found[0].attrs["copies"]:
        raise ValueError(f"a step of mode 'local' is two different steps; headrace simulate plans them both {at()}")
    if DeviceSpec.from_string(found[0].device).job != "ps":
        raise ValueError(
            "build a graph with tf.train.replicas in tf.device(tf.train.replica_device_setter(ps_tasks=...)), so that what "
            f"workers share is on servers; {found[0].name} is on {found[0].device or 'no device'!r} {at()}"
        )
    return rules_of(found[0].attrs), update_of(graph)
