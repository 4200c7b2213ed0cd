"""Which partitions do nothing unless another one's condition says so."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import headrace as tf
from headrace.core.device import task_of
from headrace.passes.partition.partition import Partition, partition
from headrace.passes.partition.spare import Spared, spared
from headrace.passes.pipeline import Options
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.planning.plan import Request

WORKER = "/job:worker/replica:0/task:0/device:CPU:0"
SERVERS = [f"/job:ps/replica:0/task:{i}/device:CPU:0" for i in range(2)]


def cut(build: Callable[[Any, list[Any]], Any], fetch: bool = False) -> list[Partition]:
    """The partitions of a step that ``build`` makes of a condition on the worker and a variable on each server."""
    with tf.Graph().as_default():
        variables = []
        for server in SERVERS:
            with tf.device(server):
                variables.append(tf.Variable(0.0, name="v"))
        with tf.device(WORKER):
            count = tf.Variable(0, name="count")
            is_due = tf.equal(count.assign_add(1) % 3, 0)
            made = build(is_due, variables)
        target = made if isinstance(made, tf.Operation) else made.op
        request = Request((), (made,), ()) if fetch else Request((), (), (target,))
        with closing(LocalWorker(tf.ConfigProto())) as worker:
            graph = request.placed(Options([WORKER, *SERVERS], worker.evaluate, worker.has_kernel))
        return partition(graph, lambda device: device)


def found(parts: list[Partition]) -> list[Spared] | None:
    mine = [one for one in parts if task_of(one.name) == task_of(WORKER)]
    return spared(mine[0], [one for one in parts if one is not mine[0]]) if mine else None


def add(variables: list[Any], *indices: int) -> Any:
    return tf.group(*(variables[i].assign_add(1.0) for i in indices))


def test_an_exchange_that_is_not_always_due() -> None:
    parts = cut(lambda is_due, v: tf.cond(is_due, lambda: add(v, 0, 1), tf.no_op))
    assert len(parts) == 3
    when = found(parts)
    assert when is not None and [one.value for one in when] == [False, False] and len({one.key for one in when}) == 2
    assert all(one.key.startswith(f"{WORKER}>") for one in when)


def test_the_other_branch() -> None:
    when = found(cut(lambda is_due, v: tf.cond(is_due, tf.no_op, lambda: add(v, 0))))
    assert when is not None and [one.value for one in when] == [True]


def test_two_conditionals_with_one_condition() -> None:
    when = found(cut(lambda is_due, v: tf.group(
        tf.cond(is_due, lambda: add(v, 0), tf.no_op), tf.cond(is_due, lambda: add(v, 0, 1), tf.no_op)
    )))  # fmt: skip
    assert when is not None and [one.value for one in when] == [False, False]


def test_what_is_not_spared() -> None:
    """A server that always does something; two conditions; something on both branches; what comes out of a conditional."""
    forms: list[Callable[[Any, list[Any]], Any]] = [
        lambda is_due, v: tf.group(tf.cond(is_due, lambda: add(v, 0), tf.no_op), v[1].assign_add(1.0)),
        lambda is_due, v: tf.group(
            tf.cond(is_due, lambda: add(v, 0), tf.no_op), tf.cond(tf.logical_not(is_due), lambda: add(v, 1), tf.no_op)
        ),
        lambda is_due, v: tf.cond(is_due, lambda: add(v, 0), lambda: add(v, 1, 0)),
        lambda is_due, v: add(v, 0),
    ]
    for build in forms:
        assert found(cut(build)) is None
    assert (
        found(cut(lambda is_due, v: tf.cond(is_due, lambda: v[0].assign_add(1.0), lambda: v[0] + 0.0), fetch=True))
        is None
    )
    assert found(cut(lambda is_due, v: v[0] + v[1], fetch=True)) is None
