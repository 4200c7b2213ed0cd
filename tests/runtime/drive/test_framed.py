"""Steps made of the primitives of control flow: Switch, Merge, Enter, Exit, NextIteration, LoopCond."""

import threading

import numpy as np
import pytest

import headrace as tf
from headrace import raw_ops


def loop(n, x, frame, parallel=10, step=lambda a, k: a * k):
    """while i < n: a = step(a, x); gives (i, a)."""
    options = {"frame_name": frame, "parallel_iterations": parallel}
    i = raw_ops.Merge([raw_ops.Enter(tf.constant(0), **options)] * 2)
    a = raw_ops.Merge([raw_ops.Enter(x, **options)] * 2)
    limit, k = (raw_ops.Enter(t, is_constant=True, **options) for t in (n, x))
    go_on = raw_ops.LoopCond(i.output < limit)
    i_switch, a_switch = raw_ops.Switch(i.output, go_on), raw_ops.Switch(a.output, go_on)
    i.output.op._update_input(1, raw_ops.NextIteration(i_switch.output_true + 1))
    a.output.op._update_input(1, raw_ops.NextIteration(step(a_switch.output_true, k)))
    return raw_ops.Exit(i_switch.output_false), raw_ops.Exit(a_switch.output_false)


def run(fetches, feeds=None, **options):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds, **options)


def test_conditional():
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    sides = raw_ops.Switch(x, p)
    merged = raw_ops.Merge([sides.output_false * 10.0, sides.output_true + 1.0])
    assert run(merged, {x: 3, p: True}) == (4, 1)
    assert run(merged, {x: 3, p: False}) == (30, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no value in this step"):
        run(sides.output_true, {x: 3, p: False})


@pytest.mark.parametrize("parallel", [1, 10])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_loop(parallel, n):
    limit, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [2])
    i, a = run(loop(limit, x, "f", parallel), {limit: n, x: [2, 3]})
    assert i == n
    assert a.tolist() == [2 ** (n + 1), 3 ** (n + 1)]


def test_a_loop_in_a_conditional():
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    n, data = raw_ops.Switch(tf.constant(3), p), raw_ops.Switch(x, p)
    merged = raw_ops.Merge([data.output_false - 1.0, loop(n.output_true, data.output_true, "f")[1]])
    assert run(merged, {x: 3, p: True}) == (81, 1)
    assert run(merged, {x: 3, p: False}) == (2, 0)


def test_beside_functional_nodes_and_variables():
    v = tf.Variable(2.0)
    _, a = loop(tf.constant(3), v * 1.0, "f", step=lambda a, k: tf.cond(a > 4.0, lambda: a + k, lambda: a * k))
    assert run(a) == 10


def test_a_value_that_did_not_enter_the_loop():
    v = tf.Variable(2.0)
    _, a = loop(tf.constant(3), v * 1.0, "f", step=lambda a, k: a * v)
    with pytest.raises(tf.errors.InvalidArgumentError, match="mul.* has inputs from different frames: .*'f'"):
        run(a)


def test_iterations_overlap():
    """Each call waits for the next iteration's: they can only meet if two iterations are under way at the same time."""
    both = threading.Barrier(2)

    def slow(value):
        both.wait(timeout=20)
        return value

    def step(a, k):
        met = tf.py_func(slow, [a], tf.float32)
        met.set_shape([])
        seen.append(met)
        return a + k

    seen = []
    i, a = loop(tf.constant(2), tf.constant(1.0), "f", 10, step)
    out = raw_ops.Exit(raw_ops.Switch(seen[0], seen[0] > 100.0).output_true)  # makes the slow node part of the step
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no value"):
        run([i, a, out])
    assert both.n_waiting == 0


def test_timeout():
    _, a = loop(tf.constant(2**30), tf.constant(np.ones(2, np.float32)), "f")
    with pytest.raises(
        tf.errors.DeadlineExceededError, match=r"ran out of time .*of the loop made at .*test_framed.py"
    ):
        run(a, options=tf.RunOptions(timeout_in_ms=50))
