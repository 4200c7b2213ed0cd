"""StopAtStepHook, GlobalStepWaiterHook, StepCounterHook, SecondOrStepTimer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as tf
from headrace.library.train.hook import step as step_hooks
from headrace.library.train.hook import timer as timers

HOOKS: list[Callable[[], Any]] = [
    lambda: tf.train.StopAtStepHook(last_step=1),
    lambda: tf.train.CheckpointSaverHook("/nowhere", save_steps=1),
    lambda: tf.train.StepCounterHook(),
    lambda: tf.train.SummarySaverHook(save_steps=1, summary_op=tf.constant("")),
    lambda: tf.train.GlobalStepWaiterHook(3),
    lambda: tf.train.ProfilerHook(save_steps=1, output_dir="/nowhere"),
    lambda: tf.train.ProgressHook(),
]


@pytest.mark.parametrize("make", HOOKS)
def test_a_hook_needs_a_global_step(make: Any) -> None:
    hook = make()
    with pytest.raises(
        RuntimeError, match=rf"Global step should be created to use {type(hook).__name__}\..*get_or_create"
    ):
        hook.begin()


# ---- StopAtStepHook


def steps(hooks: list[Any], train: Any) -> list[int]:
    values = []
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        while not sess.should_stop():
            values.append(int(sess.run(train)))
    return values


def test_stop_at_the_last_step(train: Any) -> None:
    assert steps([tf.train.StopAtStepHook(last_step=3)], train) == [1, 2, 3]


def test_stop_after_a_number_of_steps(train: Any, tmp_path: Path) -> None:
    values = []
    for _ in range(2):
        hook = tf.train.StopAtStepHook(num_steps=2)
        with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), hooks=[hook]) as sess:
            while not sess.should_stop():
                values.append(int(sess.run(train)))
    tf.summary.FileWriterCache.clear()
    assert values == [1, 2, 3, 4]


def test_a_run_that_counts_nothing_does_not_stop() -> None:
    step = tf.train.get_or_create_global_step()
    train = step.assign_add(1)
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=1)]) as sess:
        sess.run(step)
        sess.run(step)
        assert not sess.should_stop()
        sess.run(train)
        assert sess.should_stop()


def test_stop_needs_one_number() -> None:
    with pytest.raises(ValueError, match="One of num_steps or last_step must be specified"):
        tf.train.StopAtStepHook()
    with pytest.raises(ValueError, match="Only one of num_steps or last_step can be specified"):
        tf.train.StopAtStepHook(1, 2)


# ---- GlobalStepWaiterHook


def test_a_worker_waits_for_the_global_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_hooks, "_WAITER_POLL_SECS", 0.001)
    step = tf.train.get_or_create_global_step()
    train = step.assign_add(1)
    began = threading.Event()

    class Began(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            began.set()

    with tf.train.SingularMonitoredSession(hooks=[Began(), tf.train.GlobalStepWaiterHook(3)]) as sess:
        values: list[int] = []
        worker = threading.Thread(target=lambda: values.append(int(sess.run(step))))
        worker.start()
        assert began.wait(10)
        for _ in range(3):
            assert not values
            sess.raw_session().run(train)
        worker.join(10)
        assert values == [3]
        assert sess.run(step) == 3  # waits only once


def test_a_worker_may_begin_immediately(train: Any) -> None:
    with tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(0)]) as sess:
        assert sess.run(train) == 1


# ---- StepCounterHook


def events(folder: Path) -> list[tuple[int, list[str]]]:
    tf.summary.FileWriterCache.clear()
    (path,) = folder.glob("events*")
    return [(e.step, [v.tag for v in e.summary.value]) for e in tf.train.summary_iterator(str(path)) if e.summary.value]


def test_steps_per_second_are_logged_and_written(train: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "tensorflow"):
        hook = tf.train.StepCounterHook(every_n_steps=2, output_dir=str(tmp_path))
        with tf.train.MonitoredSession(hooks=[hook]) as sess:
            for _ in range(5):
                sess.run(train)
    assert sum(r.getMessage().startswith("global_step/sec: ") for r in caplog.records) == 2
    assert events(tmp_path) == [(3, ["global_step/sec"]), (5, ["global_step/sec"])]


def test_a_step_that_nobody_counts_is_said(caplog: pytest.LogCaptureFixture) -> None:
    step = tf.train.get_or_create_global_step()
    with tf.train.MonitoredSession(hooks=[tf.train.StepCounterHook(every_n_steps=2)]) as sess:
        for _ in range(20):
            sess.run(step)
    warnings = [r for r in caplog.records if "has not been increased" in r.getMessage()]
    assert len(warnings) == 5


def test_a_counter_needs_one_interval() -> None:
    for arguments in ({"every_n_steps": None}, {"every_n_steps": 1, "every_n_secs": 1}):
        with pytest.raises(ValueError, match="exactly one of every_n_steps and every_n_secs should be provided"):
            tf.train.StepCounterHook(**arguments)


# ---- SecondOrStepTimer


def test_a_timer_of_steps() -> None:
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    assert timer.should_trigger_for_step(0)
    assert timer.update_last_triggered_step(0) == (None, None)
    assert [timer.should_trigger_for_step(s) for s in range(5)] == [False, False, False, True, True]
    seconds, number = timer.update_last_triggered_step(4)
    assert seconds >= 0
    assert number == 4
    assert timer.last_triggered_step() == 4
    timer.reset()
    assert timer.last_triggered_step() is None
    assert timer.should_trigger_for_step(4)


def test_a_timer_of_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(timers.time, "time", lambda: now[0])
    timer = tf.train.SecondOrStepTimer(every_secs=10)
    timer.update_last_triggered_step(1)
    now[0] = 109.0
    assert not timer.should_trigger_for_step(2)
    now[0] = 110.0
    assert timer.should_trigger_for_step(2)
    assert not timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(2) == (10.0, 1)


def test_a_timer_needs_one_interval() -> None:
    with pytest.raises(ValueError, match="Either every_secs or every_steps should be provided"):
        tf.train.SecondOrStepTimer()
    with pytest.raises(ValueError, match="Can not provide both every_secs and every_steps"):
        tf.train.SecondOrStepTimer(1, 1)
