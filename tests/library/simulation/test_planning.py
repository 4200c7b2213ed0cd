"""Steps planned for clusters that are not there: partitions, messages, what waits."""

from dataclasses import asdict
from functools import partial

import numpy as np
import pytest

import headrace as tf
from headrace.library.simulation import plan as planner
from headrace.library.simulation.job import (
    RELEASE,
    UPDATE,
    WORKER,
    Job,
    Rules,
    Steps,
    computing,
    job_of,
    scaled,
    untaken,
)
from headrace.library.simulation.modes import build, instead, noting, own_rules, trained_by
from headrace.library.simulation.planning import MINE, Asked, Planning, servers_of
from headrace.library.train.replica.device_setter import replica_device_setter
from headrace.passes.cost.rates import USUAL

SIZE = 100 * 30 * 4
plan = partial(planner.plan, machine=USUAL)  # no machine is measured here


def model() -> tuple[tf.Tensor, tf.Tensor]:
    x = tf.placeholder(tf.float32, [None, 100])
    w = tf.get_variable("w", [100, 30])
    b = tf.get_variable("b", [30])
    return x, tf.reduce_mean(tf.square(tf.matmul(x, w) + b))


def tasks(steps: Steps) -> list[int]:
    return sorted(part.task for part in steps.partitions)


def waits(steps: Steps) -> list[str]:
    return [strand.waits for part in steps.partitions for strand in part.strands if strand.waits]


def sent(steps: Steps, source: int, destination: int) -> float:
    where = [part.task for part in steps.partitions]
    return sum(m.size for m in steps.messages if (where[m.source], where[m.destination]) == (source, destination))


def test_variables_go_to_servers_in_turn() -> None:
    x, loss = model()
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    job = plan([train, loss], {x: np.zeros([8, 100])}, servers=2)
    assert tasks(job.step) == [WORKER, 0, 1]
    assert job.state == (2 * SIZE, 2 * 120)  # slots are beside their variables
    assert job.gradients == (SIZE, 120)
    assert sent(job.step, 0, WORKER) == SIZE and sent(job.step, 1, WORKER) == 120
    assert sent(job.step, 0, 1) == 0
    assert not waits(job.step) and job.rules == Rules("async") and job.update is None


def test_one_task_has_all_of_it() -> None:
    x, loss = model()
    alone, apart = (plan(loss, {x: np.zeros([rows, 100])}, servers=0) for rows in (8, 8000))
    assert tasks(alone.step) == [WORKER] and not alone.step.messages
    assert computing(apart.step) > 10 * computing(alone.step)


def test_the_graph_is_as_before() -> None:
    x, loss = model()
    before = {op.name: op.device for op in tf.get_default_graph().get_operations()}
    plan(loss, {x: np.zeros([8, 100])}, servers=3)
    assert {op.name: op.device for op in tf.get_default_graph().get_operations()} == before


def test_devices_that_a_program_asks_for() -> None:
    with tf.device("/job:ps/task:1"):
        v = tf.get_variable("v", [10])
    with tf.device("/job:worker/task:3"):
        y = v * 2.0
    job = plan(y, servers=2)
    assert tasks(job.step) == [WORKER, 1]
    assert servers_of(tf.get_default_graph()) == 2


def test_a_device_of_another_job_is_refused() -> None:
    with tf.device("/job:evaluator/task:0"):
        y = tf.get_variable("v", [10]) * 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="no such task"):
        plan(y, servers=1)


@pytest.mark.parametrize(
    ("mode", "options", "rules"),
    [
        ("sync", {}, Rules("sync")), ("backup", {"backups": 2}, Rules("backup", backups=2)),
        ("backup", {"backups": "auto"}, Rules("backup", backups=-1)), ("stale", {"staleness": 3}, Rules("stale", staleness=3)),
        ("quorum", {"quorum": 3, "grace_ms": 5}, Rules("quorum", quorum=0.75, grace=0.005)),
    ],
)  # fmt: skip
def test_replicas_wait_at_the_server_of_the_global_step(mode: str, options: dict, rules: Rules) -> None:
    with tf.device(tf.train.replica_device_setter(2)):
        x, loss = model()
        sgd = tf.train.GradientDescentOptimizer(0.1)
        train = tf.train.replicas(sgd, mode, 4, **options).minimize(loss, tf.train.get_or_create_global_step())
    job = plan(train, {x: np.zeros([8, 100])}, servers=2)
    assert job.rules == rules
    assert waits(job.step) == [RELEASE]
    assert (job.update is not None) == rules.gathers
    if job.update is not None:
        assert waits(job.update) == [UPDATE]
        pieces = [piece for part in job.update.partitions for strand in part.strands for piece in strand.pieces]
        assert sum(piece.tells for piece in pieces) == 1 and sum(piece.gathered > 0 for piece in pieces) == 2


def test_what_one_node_changes_is_on_one_server() -> None:
    """Slots of Keras are colocated with nothing."""
    x, loss = model()
    weights = tf.trainable_variables()
    updates = tf.group(*tf.keras.optimizers.Adam().get_updates(loss, weights))
    planning = Planning(tf.get_default_graph(), USUAL)
    try:
        with planning.placed_for(2):
            homes = {v.op.name: v.op.device for v in tf.global_variables()}
        steps = planning.plan(Asked(((x, (8, 100)),), (), (updates,)), 2).steps
    finally:
        planning.close()
    assert len({homes[v.op.name] for v in weights}) == 2
    for variable in weights:
        slots = [name for name in homes if name.startswith(f"training/Adam/{variable.op.name}/")]
        assert {homes[name] for name in slots} <= {homes[variable.op.name]}
    assert {part.task for part in steps.partitions} == {WORKER, 0, 1}


def test_replicas_without_servers_are_refused() -> None:
    _, loss = model()
    sgd = tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), "sync", 2)
    train = sgd.minimize(loss, tf.train.get_or_create_global_step())
    with pytest.raises(ValueError, match="replica_device_setter"):
        plan(train, servers=1)


@pytest.mark.parametrize("mode", ["async", "stale", "quorum", "local"])
def test_another_mode_for_a_program(mode: str) -> None:
    """What waits for the step of the program waits for the new one."""
    with noting() as noted:
        x, loss = model()
        train = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.control_dependencies([train]):
        done = tf.no_op("done")
    asked = Asked(((x, (8, 100)),), (loss,), (done,))
    (applied,) = trained_by(noted.applied, asked)
    assert own_rules(applied) == Rules("async")
    planning = Planning(tf.get_default_graph(), USUAL)
    try:
        with planning.placed_for(2):
            variant = build(applied, mode, 5, replica_device_setter(2, worker_device=MINE))
        planned = planning.plan(instead(asked, {train}, variant.train), 2)
        update = None if variant.update is None else planning.plan(variant.update, 2).steps
    finally:
        planning.close()
    assert waits(planned.steps) == [RELEASE]
    assert (update is not None) == (mode in ("quorum", "local"))
    assert update is None or waits(update) == [UPDATE]
    if mode == "local":
        between = untaken(planned.steps)
        assert variant.every == 5 and not waits(between)
        assert [part.task for part in between.partitions] == [WORKER] and not between.messages
        assert computing(between) == computing(planned.steps) > 0 < sent(planned.steps, WORKER, 0)


def test_what_programs_say_of_themselves() -> None:
    with noting() as noted:
        _, loss = model()
        sgd = tf.train.GradientDescentOptimizer(0.1)
        step = tf.train.get_or_create_global_step()
        tf.train.SyncReplicasOptimizer(sgd, 3, total_num_replicas=5).minimize(loss, step)
        tf.train.SyncReplicasOptimizer(sgd, 3).minimize(loss, step)
        tf.train.replicas(sgd, "backup", 4).minimize(loss, step)
    assert [own_rules(one).mode for one in noted.applied] == ["backup", "sync", "backup"]
    assert [own_rules(one).backups for one in noted.applied] == [2, None, 1]
    assert tf.train.Optimizer.minimize is type(sgd).minimize


def test_plain_data() -> None:
    x, loss = model()
    job = plan(tf.train.GradientDescentOptimizer(0.1).minimize(loss), {x: np.zeros([8, 100])}, servers=2)
    assert job_of(asdict(job)) == job
    twice = scaled(job.step, 2.0)
    assert computing(twice) == pytest.approx(2 * computing(job.step))
    assert computing(scaled(job.step, 2.0, 0)) == computing(job.step)
    assert isinstance(job, Job)
