"""Functions that call themselves a thousand times and more, and those that never come to an end."""

import sys
import threading
from functools import partial

import numpy as np
import pytest
from resources.calls import run_threads
from running import modes

import headrace as tf
from headrace.runtime.code import depth

DEEP = 1500
COMPILER = 2000  # the limit of nested calls that torch's compiler leaves behind


def summed(decorator=tf.function):
    """1.001 x summed n times, by recursion."""

    @decorator
    def add(n, x):
        return tf.cond(n > 0, lambda: add(n - 1, x) + x * 1.001, lambda: x * 0.0)

    return add


@modes
@pytest.mark.parametrize("decorator", [tf.function, tf.Defun(tf.int32, tf.float64)], ids=["function", "Defun"])
def test_a_thousand_calls_deep_with_gradients(config, decorator):
    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float64, [2])
    y = summed(decorator)(n, x) * x
    (slope,) = tf.gradients(y, x)
    (curvature,) = tf.gradients(slope, x)
    before = sys.getrecursionlimit()
    with tf.Session(config=config) as session:
        found = session.run([y, slope, curvature], {n: DEEP, x: [2.0, 3.0]})
    a = DEEP * 1.001
    np.testing.assert_allclose(found, [[4 * a, 9 * a], [4 * a, 6 * a], [2 * a, 2 * a]], rtol=1e-9)
    assert sys.getrecursionlimit() in (before, COMPILER)


def test_two_functions_that_call_each_other(session):
    @tf.function
    def even(n):
        return tf.cond(n > 0, lambda: odd(n - 1) + 1.0, lambda: tf.constant(0.0))

    @tf.function
    def odd(n):
        return tf.cond(n > 0, lambda: even(n - 1) + 2.0, lambda: tf.constant(0.0))

    n = tf.placeholder(tf.int32, [])
    y = even(n)
    assert session.run(y, {n: DEEP}) == 1.5 * DEEP
    with pytest.raises(tf.errors.ResourceExhaustedError, match="the function (even|odd) .* called itself"):
        session.run(y, {n: 10**9})


def test_at_once():
    with tf.eager_mode():
        assert float(summed()(tf.constant(DEEP), tf.constant(1.0, tf.float64))) == pytest.approx(DEEP * 1.001)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="the function add .* called itself"):
            summed()(tf.constant(10**9), tf.constant(1.0, tf.float64))


@modes
def test_one_that_never_ends_names_the_function_and_its_line(config):
    f = summed()
    n, x = tf.placeholder(tf.int32, []), tf.constant(1.0, tf.float64)
    y = f(n, x)
    before = sys.getrecursionlimit()
    with tf.Session(config=config) as session:
        with pytest.raises(tf.errors.ResourceExhaustedError) as e:
            session.run(y, {n: 10**9})
        line = f.python_function.__code__.co_firstlineno
        assert e.value.message.startswith(f"the function add ({__file__}:{line}) called itself ")
        assert f"made at {__file__}:{y.op.traceback[-1][1]}" in e.value.message
        assert e.value.__cause__ is None or not isinstance(e.value.__cause__, RecursionError)
        assert sys.getrecursionlimit() in (before, COMPILER)
        assert session.run(y, {n: 3}) == pytest.approx(3.003)  # the session goes on


def test_several_threads_at_a_time(session):
    n, x = tf.placeholder(tf.int32, []), tf.constant(1.0, tf.float64)
    y = summed()(n, x)
    found, before = {}, sys.getrecursionlimit()
    session.run(y, {n: 1})

    def work(i):
        found[i] = [session.run(y, {n: DEEP - i}) for _ in range(3)]

    run_threads(*(partial(work, i) for i in range(4)))
    assert {i: v == pytest.approx([(DEEP - i) * 1.001] * 3) for i, v in found.items()} == dict.fromkeys(range(4), True)
    assert sys.getrecursionlimit() in (before, COMPILER)


class TestRoom:
    def test_the_limit_is_raised_and_put_back(self):
        room, before = depth._Room(), sys.getrecursionlimit()
        with room:
            raised = sys.getrecursionlimit()
            with room:
                assert sys.getrecursionlimit() == raised > before
            assert sys.getrecursionlimit() == raised
        assert sys.getrecursionlimit() == before

    def test_a_higher_limit_is_left_alone(self):
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(50_000)
        try:
            with depth._Room():
                assert sys.getrecursionlimit() == 50_000
            assert sys.getrecursionlimit() == 50_000
        finally:
            sys.setrecursionlimit(before)

    def test_a_limit_set_meanwhile_stays(self):
        before = sys.getrecursionlimit()
        try:
            with depth._Room():
                sys.setrecursionlimit(20_000)
            assert sys.getrecursionlimit() == 20_000
        finally:
            sys.setrecursionlimit(before)

    @pytest.mark.parametrize(("stack", "frames"), [(2**20, 1310), (2**18, 1000), (2**23, 10_000), (2**26, 10_000)])
    def test_small_stacks_have_less_room(self, stack, frames):
        before = threading.stack_size(stack)
        try:
            assert depth._frames() == frames
            assert threading.stack_size(stack) == stack  # asking has not changed it
        finally:
            threading.stack_size(before)
