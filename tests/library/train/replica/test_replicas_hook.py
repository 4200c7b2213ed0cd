"""The hook of tf.train.replicas: what was counted, in the log; who is slow, and what it does."""

from __future__ import annotations

import logging
import re
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from library.train.replica.test_replicas import Job, Model, mine, server

import headrace as tf
from headrace.library.train.replica import replicas_hook

__all__ = ["server"]

NAMES = [f"/job:localhost/task:0/device:CPU:{i}" for i in (1, 2, 3)]


class _AtEnd(tf.train.SessionRunHook):
    """Says when the hooks before it have ended."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def end(self, session: Any) -> None:
        self.over.set()


def test_the_job_in_a_line_at_the_end(server: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    all_have_run, made, end = threading.Barrier(3, timeout=60), threading.Event(), _AtEnd()

    def hooks(worker: int, model: Model) -> list[Any]:
        return [] if worker else [model.optimizer.make_session_run_hook(3600), end]

    def body(worker: int, session: Any, model: Model) -> None:
        session.run(model.step)
        all_have_run.wait()
        assert worker < 2 or made.wait(60)
        session.run(model.train, model.feeds(mine(worker, 3)))
        made.set()
        all_have_run.wait()
        assert worker == 0 or end.over.wait(60)

    Job(server, 3).run(lambda one: tf.train.replicas(one, "backup", 3, backups=1), body, hooks=hooks)
    (line,) = [message for message in caplog.messages if message.startswith("replicas: ")]
    assert "replicas: updates: 1; gradients: 2 counted, 1 late; staleness: 0 on average, 0 at most" in line
    assert all(
        f"{name} " in line.partition("waiting: ")[2]
        for name in ("localhost 0/device:CPU:1", "localhost 0/device:CPU:3")
    )


def test_one_worker_has_nothing_to_say(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    with tf.Graph().as_default():
        model = Model(lambda one: tf.train.replicas(one, "sync", 1))
        hook = model.optimizer.make_session_run_hook(1e-9)
        with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
            for _ in range(3):
                session.run(model.train, model.feeds(slice(None)))
    assert "replicas: " not in caplog.text


# ---- by the clock: a script of reports


def report(updates: int, slow: dict[int, float], waiting: float = 0.0) -> dict[str, Any]:
    tally = {"counted": updates, "late": 0, "sessions": 1, "working": 2.0 * updates, "waiting": waiting}
    return {
        "updates": updates, "workers": 3, "staleness": {0: 3 * updates},
        "slow": [[NAMES[worker], times] for worker, times in slow.items()], "by_worker": dict.fromkeys(NAMES, tally),
        "worker": NAMES[2],
    }  # fmt: skip


class _Script:
    """A worker whose looks at the job, and whose times, are given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *reports: dict[str, Any]) -> None:
        self.now, self.reports = 0.0, iter(reports)
        monkeypatch.setattr(replicas_hook, "monotonic", lambda: self.now)
        self.hook = replicas_hook.ReplicasHook(self, 10)
        self.hook.begin()
        self.hook.after_create_session(None, None)

    def _check_is_applied(self, what: str) -> None:
        pass

    def _look(self, session: Any) -> tuple[int, dict[str, Any]]:
        one = next(self.reports)
        return 100 + one["updates"], one

    def run(self, inside: float, outside: float) -> None:
        context: Any = SimpleNamespace(session=None)
        self.hook.before_run(context)
        self.now += inside
        self.hook.after_run(context, None)  # type: ignore[arg-type]
        self.now += outside


def test_who_becomes_slow_and_who_is_not_any_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    script = _Script(
        monkeypatch, report(0, {}), report(1, {0: 4.13}), report(2, {0: 3.0}), report(3, {1: 2.0}), report(4, {})
    )
    for _ in range(4):
        script.run(10.0, 0.0)
    one, other = "localhost 0/device:CPU:1", "localhost 0/device:CPU:2"
    assert caplog.messages == [
        f"step 101: {one} takes 4.1 times the median", f"step 103: {other} takes 2.0 times the median",
        f"step 103: {one} is no longer slow, or has left", f"step 104: {other} is no longer slow, or has left",
    ]  # fmt: skip


def test_a_slow_worker_says_what_it_does(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    script = _Script(monkeypatch, report(0, {}, 5.0), report(1, {2: 4.0}, 6.0))
    script.run(1.5, 7.0)
    script.run(1.5, 0.0)  # ten seconds: seven outside, one of the others waiting
    assert caplog.messages == [
        "step 101: localhost 0/device:CPU:3 takes 4.0 times the median: 78 % of its time is outside of session.run"
    ]


def test_it_does_not_look_in_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    script = _Script(monkeypatch, report(0, {}), report(1, {}))
    for _ in range(12):  # a third look would end the script's reports
        script.run(0.5, 0.5)
    with pytest.raises(StopIteration):
        script.hook.end(None)


def test_those_that_are_done_are_not_slow(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    _Script(monkeypatch, report(0, {}), report(5, {0: 4.0}, 10.0)).hook.end(None)
    names = [f"localhost 0/device:CPU:{i} 50 %" for i in (1, 2, 3)]
    assert caplog.messages == [
        "replicas: updates: 5; gradients: 15 counted, 0 late; staleness: 0 on average, 0 at most; "
        f"waiting: {', '.join(names)}"
    ]


def test_staleness_in_words() -> None:
    one = {**report(200, {}), "staleness": {0: 1, 246: 1, 123: 1, 124: 1}}
    assert "; staleness: 123.25 on average, 246 at most; " in replicas_hook.in_words(one)


def test_a_job_whose_servers_are_gone_ends(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    script = _Script(monkeypatch, report(0, {}))

    def gone(session: Any) -> Any:
        raise tf.errors.UnavailableError(None, None, "ps 0 was stopped")

    monkeypatch.setattr(script, "_look", gone)
    script.hook.end(None)
    assert "counted at the end is not known: ps 0 was stopped" in caplog.text


def test_a_failed_run_is_not_outside(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    script = _Script(monkeypatch, report(0, {}), report(1, {2: 2.0}))
    script.run(5.0, 5.0)
    script.hook.before_run(None)  # type: ignore[arg-type]
    script.now += 100.0  # no after_run
    script.run(10.0, 0.0)
    assert "25 % of its time is outside" in caplog.text


def test_mistakes() -> None:
    with tf.Graph().as_default():
        optimizer = tf.train.replicas(tf.train.GradientDescentOptimizer(0.1))
        with pytest.raises(ValueError, match="every_secs must be positive, got 0 .*test_replicas_hook.py"):
            optimizer.make_session_run_hook(0)
        hook = optimizer.make_session_run_hook()
        with pytest.raises(ValueError, match=r"can begin after apply_gradients\(\) or minimize\(\)"):
            tf.train.MonitoredTrainingSession(hooks=[hook])


def test_a_slow_worker_names_the_queue_that_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    script = _Script(monkeypatch, report(0, {}), report(1, {2: 4.0}), report(2, {2: 4.0}))
    monkeypatch.setattr(script.hook, "after_create_session", lambda session, coord: None)
    queue = tf.FIFOQueue(1, tf.float32, [[]], name="examples")
    taken, large = queue.dequeue() * 2.0, tf.random_uniform([700, 700])
    fill = queue.enqueue(tf.reduce_sum(tf.matmul(tf.matmul(large, large), large)))  # much slower than what takes it
    with tf.train.MonitoredSession(hooks=[script.hook]) as session:
        script.now += 10.0
        for _ in range(3):
            feed = threading.Thread(target=session._tf_sess().run, args=(fill,))
            feed.start()
            session.run(taken)
            feed.join()
    (why,) = [message for message in caplog.messages if "is slow" in message]
    assert re.search(r"it waits for queue examples \(.*test_replicas_hook.py:\d+\) for \d+ % of its own time", why)
