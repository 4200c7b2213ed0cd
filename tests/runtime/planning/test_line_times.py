"""Timing the lines of a program: it computes what it computed, and the times say what compiled code would save."""

import numpy as np
import pytest
import torch

import headrace as tf
from headrace.runtime.planning import line_times, tier
from headrace.runtime.planning.line_times import LineTimes


def run_timed(fetches, feeds, runs=3):
    """The results of a step, the results of its timed copy, and the times."""
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        session.run(tf.global_variables_initializer())
        expected = session.run(fetches, feeds)
        plan = session._master.plan(tuple(feeds), (fetches,), ())
        times = LineTimes()
        program = times.program(plan.programs[0])
        for _ in range(runs):
            (result,) = program.call(*[torch.tensor(v, dtype=torch.float32) for v in feeds.values()])
            times.end_run()
        return expected, np.asarray(result), times


def test_a_loop_computes_the_same_and_its_lines_count_once_for_each_iteration():
    x = tf.placeholder(tf.float32, [64, 64])
    y = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, tf.tanh(v) * 0.5 + tf.exp(-v)), [0, x])[1]
    expected, result, times = run_timed(y, {x: np.full([64, 64], 0.3)})
    np.testing.assert_array_equal(result, expected)
    lines = {node: lines for program in times._programs for node, lines in program.items()}
    calls = {node.type: noted // lines[node] for node, (_, noted) in times._best.items()}
    assert calls["Tanh"] == 5 and times.runs == 3
    assert len(times._programs) >= 2


def test_small_kernels_can_be_saved_and_products_cannot(monkeypatch):
    monkeypatch.setattr(line_times, "CALL", 0.0)
    x = tf.placeholder(tf.float32, [256, 256])
    product = run_timed(tf.matmul(x, tf.matmul(x, x)), {x: np.ones([256, 256])})[2]
    work = run_timed(tf.reduce_sum(tf.tanh(x) * tf.exp(x)), {x: np.ones([256, 256])})[2]
    assert product.saving() == 0.0
    seconds = sum(seconds for seconds, _ in work._best.values())
    assert 0.3 * seconds < work.saving() < seconds


def test_a_step_is_timed_while_it_runs(monkeypatch):
    """The lines of some warm runs are timed; results are the step's, and nothing is left of it afterwards."""
    monkeypatch.delenv("HEADRACE_COMPILE", raising=False)
    monkeypatch.setattr(tier.queue, "submit", lambda job: None)
    x = tf.placeholder(tf.float32, [None, 300])
    v = tf.Variable(np.ones([300, 4], np.float32))
    y = tf.assign_add(v, tf.matmul(tf.tanh(x), tf.exp(-tf.matmul(x, v)), transpose_a=True))
    results = {}
    for mode in ("auto", "off"):
        with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
            session.run(v.initializer)
            results[mode] = [session.run(y, {x: np.full([7, 300], 0.01 * i)}) for i in range(tier.WARM_FED + 5)]
            if mode == "auto":
                steps = session._master.plan((x,), (y,), ()).tier
                assert steps.worth.saving is not None and steps._timing is None and not steps.hot
                assert steps.worth.runs == tier.WARM_FED + 5
    np.testing.assert_array_equal(results["auto"], results["off"])
    assert pytest.approx(steps.worth.saved) == steps.worth.runs * steps.worth.saving
