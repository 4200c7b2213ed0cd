"""The summaries of tf.train.replicas: they are among those of the graph, so whoever writes these writes them too."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from library.train.replica.test_replicas import Job, Model, mine, place, server

import headrace as tf

__all__ = ["server"]


def values(summary: bytes) -> dict[str, Any]:
    """The value of each tag."""
    found = tf.Summary.FromString(summary).value
    return {one.tag: one.histo if one.HasField("histo") else one.simple_value for one in found}


def test_late_gradients(server: Any) -> None:
    all_have_run, made = threading.Barrier(3, timeout=60), threading.Event()
    summaries = {}

    def hooks(worker: int, model: Model) -> list[Any]:
        summaries[worker] = tf.summary.merge_all()
        return []

    def body(worker: int, session: Any, model: Model) -> Any:
        session.run(model.step)
        all_have_run.wait()
        assert worker < 2 or made.wait(60)
        session.run(model.train, model.feeds(mine(worker, 3)))
        made.set()
        all_have_run.wait()
        found = [values(session.run(summaries[worker])) for _ in range(2)]
        all_have_run.wait()
        return found

    for found, again in Job(server, 3).run(
        lambda one: tf.train.replicas(one, "backup", 3, backups=1), body, hooks=hooks
    ):
        assert found["replicas/updates"] == 1 and found["replicas/workers"] == 3
        assert found["replicas/late"] == pytest.approx(1 / 3) and 0 <= found["replicas/waiting"] <= 1
        assert (found["replicas/staleness"].num, found["replicas/staleness"].max) == (2, 0)
        assert again.keys() == {"replicas/updates", "replicas/workers"}  # nothing is new


def test_the_chief_writes_them_unasked(server: Any, tmp_path: Path) -> None:
    """Three steps of one worker while the other computes: its gradient is three updates old when it counts."""
    joined, ahead = threading.Barrier(2, timeout=60), threading.Event()

    def work(worker: int) -> None:
        with tf.Graph().as_default(), tf.device(place(worker)):
            model = Model(lambda one: tf.train.replicas(one, "async", 2))
            folder = str(tmp_path) if worker == 0 else None
            if worker:
                joined.wait()
            with tf.train.MonitoredTrainingSession(
                server.target, worker == 0, folder, save_summaries_steps=1, save_checkpoint_steps=None,
                log_step_count_steps=None,
            ) as session:  # fmt: skip
                if worker == 0:
                    joined.wait()
                joined.wait()
                assert worker == 0 or ahead.wait(60)
                for _ in range(1 if worker else 3):
                    session.run(model.train, model.feeds(mine(worker, 2)))
                ahead.set()
                joined.wait()
                if worker == 0:
                    session.run(model.train, model.feeds(mine(worker, 2)))
                joined.wait()

    thread = threading.Thread(target=work, args=(1,))
    thread.start()
    work(0)
    thread.join()
    tf.summary.FileWriterCache.clear()
    (file,) = tmp_path.glob("events.*")
    found: dict[str, list[Any]] = {}
    for event in tf.train.summary_iterator(str(file)):
        for tag, value in values(event.summary.SerializeToString()).items():
            found.setdefault(tag, []).append(value)
    assert found["replicas/updates"][-1] >= 4 and found["replicas/workers"][-1] == 2
    stale = found["replicas/staleness"]
    assert sum(one.num for one in stale) >= 4 and max(one.max for one in stale) == 3


def test_one_worker_has_nothing_to_say(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        model = Model(lambda one: tf.train.replicas(one, "sync", 1))
        summary = tf.summary.merge_all()
        with tf.train.MonitoredTrainingSession() as session:
            session.run(model.train, model.feeds(slice(None)))
            assert session.run(summary) == b""


def test_two_in_one_graph_have_tags_of_their_own() -> None:
    """Merging refuses a tag that comes twice."""
    with tf.Graph().as_default() as graph:
        step, x, y = tf.train.get_or_create_global_step(), tf.Variable(1.0), tf.Variable(1.0)
        for loss in (x, y):
            tf.train.replicas(tf.train.GradientDescentOptimizer(0.1)).minimize(loss, step)
        tags = [op.get_attr("tag") for op in graph.get_operations() if op.type == "_ReplicasSummary"]
    assert tags == [b"replicas", b"replicas_1"]
