"""``headrace launch --auto``: a program's step is profiled, a policy chosen, and said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.core.policy import policy_of
from headrace.library.simulation.job import Rules
from headrace.library.train.replica.auto import Auto
from headrace.tools.auto import Told, cluster_of, question_of
from headrace.tools.simulate_program import Plans
from tests.library.simulation.jobs import plain

PROGRAM = """
import sys
import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "")
flags.DEFINE_string("worker_hosts", "", "")
flags.DEFINE_string("job_name", "", "")
flags.DEFINE_integer("task_index", 0, "")
F = flags.FLAGS


def main(_):
    jobs = {"ps": F.ps_hosts.split(","), "worker": F.worker_hosts.split(",")}
    server = tf.train.Server(tf.train.ClusterSpec(jobs), F.job_name, F.task_index)
    worker = f"/job:worker/task:{F.task_index}"
    with tf.device(tf.train.replica_device_setter(cluster=jobs, worker_device=worker)):
        x = tf.placeholder(tf.float32, [None, 50])
        loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 20)))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.replicas(tf.train.AdamOptimizer(), "auto", len(jobs["worker"]), allow="async")
        train = optimizer.minimize(loss, step)
    with tf.train.MonitoredTrainingSession(server.target, F.task_index == 0) as sess:
        while not sess.should_stop():
            sess.run([train, loss], {x: np.ones([8, 50])})


tf.app.run(main)
"""


def test_a_program_is_profiled(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "launch", "--auto", "--workers", "2", "--no-measure", "--dry-run", "--policy",
         "policy.json", "program.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
        env={**os.environ, "HEADRACE_COMPILE": "off"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "not timed here" not in done.stderr  # its step ran by itself
    policy = policy_of((tmp_path / "policy.json").read_text())
    assert policy.servers in (1, 2) and policy.mode in ("backup", "async") and policy.allow == ("async",)
    lines = done.stderr.splitlines()
    chosen = next(line for line in lines if line.startswith("chosen for 2 workers: "))
    assert f"{policy.servers} server" in chosen and f"mode '{policy.mode}'" in chosen
    assert {"other servers:", "other modes:"} <= set(lines)
    assert lines[-1].startswith("not tried") and lines[-1].endswith("--allow stale,local,lossy,partition allows them")


def plans(**given: Any) -> Plans:
    return Plans({1: plain()}, clustered=True, trains=1, **given)


def test_questions() -> None:
    auto = question_of(
        plans(own=Rules("backup", backups=-1), auto=Auto(("stale",), {"staleness": 3})), Told(6), ("stale",)
    )
    assert auto.servers == (1, 2, 4, 6) and auto.modes == ("sync", "backup", "quorum", "stale") and auto.own is None
    assert auto.given == {"staleness": 3} and not auto.lossy and not auto.slow_is_known and auto.step > 0
    more = question_of(plans(auto=Auto()), Told(100, slow="none"), ("async", "lossy", "partition"))
    assert more.servers == (1, 2, 4, 8, 16) and "async" in more.modes and more.lossy and more.partition
    assert more.slow_is_known
    own = question_of(plans(own=Rules("sync")), Told(6, ps=3), ("lossy",))
    assert own.servers == (3,) and own.own == Rules("sync") and not own.lossy  # as the program and the user say
    with pytest.raises(SystemExit, match="the program trains on one machine"):
        question_of(Plans({1: plain()}), Told(6), ())


def test_clusters() -> None:
    here = cluster_of(Told(6, measures=False))
    assert here.together and here.cores == len(os.sched_getaffinity(0)) and here.workers == 6
    there = cluster_of(Told(6, slow="one:4", link="1Gbit,1ms", here=False, measures=False))
    assert not there.together and there.link.bandwidth == 1.25e8 and there.slow.number == 4.0
