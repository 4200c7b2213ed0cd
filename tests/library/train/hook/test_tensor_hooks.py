"""LoggingTensorHook, NanTensorHook, FinalOpsHook, FeedFnHook, ProfilerHook."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf


@pytest.fixture
def info(caplog: pytest.LogCaptureFixture) -> Any:
    """The lines that were logged about values, without seconds."""
    with caplog.at_level("INFO", "tensorflow"):
        yield lambda: [
            r.getMessage().split(" (0.")[0] for r in caplog.records if "=" in r.getMessage() or "!" in r.getMessage()
        ]


def run(count: int, fetches: Any, *hooks: Any) -> None:
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        for _ in range(count):
            sess.run(fetches)


# ---- LoggingTensorHook


def test_values_are_logged_every_few_runs_by_sorted_tag(info: Any) -> None:
    v = tf.Variable(0)
    add = v.assign_add(1)
    x = tf.constant([1.5, 2.25], name="x")
    run(4, add, tf.train.LoggingTensorHook({"b": add, "a": "x:0"}, every_n_iter=2))
    assert x.name == "x:0"
    assert info() == ["a = [1.5  2.25], b = 1", "a = [1.5  2.25], b = 3"]


def test_a_list_is_logged_in_its_order_and_at_the_end(info: Any) -> None:
    tf.constant(1, name="z")
    tf.constant(2, name="y")
    run(3, "z:0", tf.train.LoggingTensorHook(["z:0", "y:0"], at_end=True))
    assert info() == ["z:0 = 1, y:0 = 2"]


def test_a_formatter_gets_the_values_by_what_was_passed(info: Any) -> None:
    x = tf.constant(3)
    run(2, x, tf.train.LoggingTensorHook([x], every_n_iter=1, formatter=lambda values: f"{values[x]}!"))
    assert info() == ["3!", "3!"]


def test_seconds_between_lines(info: Any) -> None:
    x = tf.constant(3)
    run(3, x, tf.train.LoggingTensorHook({"x": x}, every_n_secs=1000))
    assert info() == ["x = 3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of every_n_iter and every_n_secs"),
        ({"every_n_iter": 1, "every_n_secs": 1}, "exactly one of every_n_iter and every_n_secs"),
        ({"every_n_iter": 0}, "invalid every_n_iter=0"),
    ],
)
def test_bad_intervals_of_logs(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.train.LoggingTensorHook({}, **arguments)


def test_bad_tensors_of_logs() -> None:
    for tensors in (3, "x:0"):
        with pytest.raises(TypeError, match="tensors must be a list or dict"):
            tf.train.LoggingTensorHook(tensors, every_n_iter=1)
    with pytest.raises(KeyError, match="nothing"):
        tf.train.LoggingTensorHook(["nothing:0"], every_n_iter=1).begin()


# ---- NanTensorHook


def test_nan_is_an_error() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x)]) as sess:
        sess.run(x, {x: math.inf})
        with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
            sess.run(x, {x: math.nan})


def test_nan_ends_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x, fail_on_nan_loss=False)]) as sess:
        sess.run(x, {x: [1.0, 2.0]})
        assert not sess.should_stop()
        sess.run(x, {x: [1.0, math.nan]})
        assert sess.should_stop()
    assert "Model diverged with loss = NaN." in caplog.text


# ---- FinalOpsHook


def test_final_ops_are_evaluated_at_the_end() -> None:
    v = tf.Variable(1.0)
    add = v.assign_add(1.0)
    first, second = tf.train.FinalOpsHook({"v": v}), tf.train.FinalOpsHook(v * 2, {v: 4.0})
    nothing = tf.train.FinalOpsHook(None)
    assert first.final_ops_values is None
    run(2, add, first, second, nothing)
    assert first.final_ops_values == {"v": 3.0}
    assert second.final_ops_values == 8.0
    assert nothing.final_ops_values is None


def test_final_ops_must_not_need_input(caplog: pytest.LogCaptureFixture) -> None:
    queue = tf.FIFOQueue(1, tf.float32)
    element, close = queue.dequeue(), queue.close()
    with pytest.raises(tf.errors.OutOfRangeError):
        run(1, close, tf.train.FinalOpsHook(element))
    assert "dependency back to some input source" in caplog.text


# ---- FeedFnHook


def test_a_function_feeds_every_run() -> None:
    p = tf.placeholder(tf.int32, [])
    numbers = iter(range(5, 10))
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {p: next(numbers)})]) as sess:
        assert [int(sess.run(p)) for _ in range(2)] == [5, 6]


def test_the_end_of_what_a_function_feeds_ends_the_block() -> None:
    p = tf.placeholder(tf.int32, [])
    numbers = iter(range(2))
    values = []
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {p: next(numbers)})]) as sess:
        while not sess.should_stop():
            values.append(int(sess.run(p)))
    assert values == [0, 1]


def test_bad_feed_functions() -> None:
    p = tf.placeholder(tf.int32, [])
    with pytest.raises(TypeError, match="feed_fn must be a function"):
        tf.train.FeedFnHook({p: 1})
    hook = tf.train.FeedFnHook(lambda: np.zeros(1))
    with tf.train.MonitoredSession(hooks=[hook]) as sess, pytest.raises(TypeError, match="feed_fn must return a dict"):
        sess.run(p)


# ---- ProfilerHook


def test_one_run_of_several_is_traced(tmp_path: Path) -> None:
    train = tf.train.get_or_create_global_step().assign_add(1)
    run(5, train, tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path)))
    tf.summary.FileWriterCache.clear()
    assert sorted(p.name for p in tmp_path.glob("*.json")) == ["timeline-2.json", "timeline-4.json"]
    trace = json.loads((tmp_path / "timeline-2.json").read_text())
    assert any(e.get("args", {}).get("name") == "AssignAdd" for e in trace["traceEvents"])
    (path,) = tmp_path.glob("events*")
    tagged = [e.tagged_run_metadata.tag for e in tf.train.summary_iterator(str(path))]
    assert [tag for tag in tagged if tag] == ["step_2", "step_4"]
