"""``replicas(mode="auto")``: what was chosen for the job is done, and nothing that nobody has allowed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.core.policy import Policy
from headrace.graph.added_attr import LOSSY
from headrace.library.train.replica.auto import Auto, settle


@pytest.mark.parametrize(
    ("policy", "auto", "workers", "mode", "arguments"),
    [
        (None, Auto(), 8, "backup", {"backups": "auto"}),
        (None, Auto(("async",)), 8, "backup", {"backups": "auto"}),
        (None, Auto(given={"backups": 2}), 8, "backup", {"backups": 2}),
        (Policy(mode="sync"), Auto(), 8, "sync", {}),
        (Policy(mode="backup", backups=-1), Auto(), 8, "backup", {"backups": "auto"}),
        (Policy(mode="backup", backups=2), Auto(given={"backups": 1}), 8, "backup", {"backups": 1}),
        (Policy(mode="backup", backups=5), Auto(), 4, "backup", {"backups": 3}),  # fewer workers than were thought of
        (Policy(mode="quorum", quorum=0.75, grace_ms=2.0), Auto(), 10, "quorum", {"quorum": 8, "grace_ms": 2.0}),
        (Policy(mode="quorum", quorum=0.75), Auto(given={"grace_ms": 5}), 1, "quorum", {"quorum": 1, "grace_ms": 5}),
        (Policy(mode="async", allow=("async",)), Auto(), 8, "async", {}),
        (Policy(mode="stale", staleness=2), Auto(("stale",)), 8, "stale", {"staleness": 2}),
        (Policy(mode="local", steps=8), Auto(("local",), {"steps": 3}), 8, "local", {"steps": 3}),
    ],
)  # fmt: skip
def test_settled(policy: Policy | None, auto: Auto, workers: int, mode: str, arguments: dict[str, Any]) -> None:
    settled = settle(auto, workers, policy)
    assert (settled.mode, settled.arguments) == (mode, arguments)


def test_what_nobody_has_allowed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"says mode 'async', and mode='auto' may choose sync, backup, quorum"):
        settle(Auto(), 8, Policy(mode="async"))
    with pytest.raises(ValueError, match="says mode 'async'"):  # sums among workers have no such mode
        settle(Auto(("async",), sums=True), 8, Policy(mode="async"))
    assert not settle(Auto(), 8, Policy(lossy=True)).lossy
    assert settle(Auto(("lossy",)), 8, Policy(lossy=True)).lossy


def trained(policy: Policy | None, monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> tuple[Any, Any, Any]:
    monkeypatch.delenv("HEADRACE_POLICY", raising=False)
    if policy is not None:
        monkeypatch.setenv("HEADRACE_POLICY", policy.to_json())
    with tf.Graph().as_default():
        x = tf.get_variable("x", initializer=np.float32(4.0))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.replicas(tf.train.GradientDescentOptimizer(0.25), "auto", **arguments)
        train = optimizer.minimize(tf.square(x), step)
        with tf.train.MonitoredTrainingSession() as session:
            for _ in range(2):
                session.run(train)
            return optimizer, session.run(x), x.op


@pytest.mark.parametrize("policy", [None, Policy(), Policy(mode="async", allow=("async",), lossy=True)])
def test_one_worker(policy: Policy | None, monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer, x, op = trained(policy, monkeypatch)
    assert x == 1.0 and optimizer._auto == Auto()
    assert f"mode={policy.mode if policy else 'backup'!r}" in optimizer._rule["said"]
    assert LOSSY not in op.attrs  # "lossy" is not in what the policy allows


def test_sixteen_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    _, x, op = trained(Policy(lossy=True, allow=("lossy",)), monkeypatch)
    assert x == 1.0 and op.attrs[LOSSY]  # nothing crosses to another device here


def test_mistakes() -> None:
    sgd = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="allow takes some of 'async'.*got 'fast'"):
        tf.train.replicas(sgd, "auto", allow=("async", "fast"))
    with pytest.raises(ValueError, match="allow is an argument of mode 'auto', and the mode is 'sync'"):
        tf.train.replicas(sgd, "sync", allow="async")


def test_large_variables_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_POLICY", Policy(2, slices=2, allow=("partition",)).to_json())
    with tf.Graph().as_default():
        large = tf.get_variable("large", [1024, 512])
        small = tf.get_variable("small", [10, 10])
        asked = tf.get_variable("asked", [1024, 512], partitioner=tf.fixed_size_partitioner(4))
        with tf.variable_scope("whole", partitioner=tf.fixed_size_partitioner(1)):
            whole = tf.get_variable("large", [1024, 512])
        assert [v.op.name for v in large] == ["large/part_0", "large/part_1"]
        assert small.op.name == "small" and len(list(asked)) == 4 and len(list(whole)) == 1
        train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.matmul(large, tf.ones([512, 1]))))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
    monkeypatch.setenv("HEADRACE_POLICY", Policy(2, slices=2).to_json())
    with tf.Graph().as_default():
        assert isinstance(tf.get_variable("large", [1024, 512]), tf.Variable)  # nobody has allowed it


def test_two_workers_agree_and_one_that_was_told_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    server = tf.train.Server.create_local_server(tf.ConfigProto(device_count={"CPU": 3}, compile="off"))
    ready = threading.Event()

    def work(worker: int, told: Policy, steps: int) -> Any:
        monkeypatch.setenv("HEADRACE_POLICY", told.to_json())
        put = tf.train.replica_device_setter(
            ps_tasks=1, ps_device="/job:localhost/cpu:0", worker_device=f"/job:localhost/task:0/cpu:{worker + 1}"
        )
        with tf.Graph().as_default(), tf.device(put):
            x = tf.get_variable("x", initializer=np.float32(4.0))
            step = tf.train.get_or_create_global_step()
            optimizer = tf.train.replicas(tf.train.GradientDescentOptimizer(0.25), "auto", 2)
            train = optimizer.minimize(tf.square(x), step)
            with tf.train.MonitoredTrainingSession(server.target, worker == 0) as session:
                ready.set()
                for _ in range(steps):
                    session.run(train)
                return session.run(x), optimizer.report(session)

    policy = Policy(mode="quorum", quorum=1.0, grace_ms=1.0)
    try:
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(work, 0, policy, 2)
            assert ready.wait(60)
            with pytest.raises(tf.errors.InvalidArgumentError, match="all workers must pass the same"):
                work(1, Policy(mode="sync"), 0)
            work(1, policy, 2)
            x, report = first.result(60)
    finally:
        tf.Session.reset(server.target)
    assert x == 1.0 and report["updates"] == 2 and report["needed"] >= 1
    assert sum(one["counted"] for one in report["by_worker"].values()) == 4
