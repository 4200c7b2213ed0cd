"""Conditionals and loops lowered to primitives behave as the nodes they come from."""

import numpy as np
import pytest

import headrace as tf


def both(fetches, feeds=None):
    """The fetches, run as nodes that hold bodies, which must agree with the primitives."""
    results = []
    for lowered in (False, True):
        with tf.Session() as session:
            session._master.planner.lower = lowered
            session.run(tf.global_variables_initializer())
            results.append(session.run(fetches, feeds))
    np.testing.assert_equal(results[0], results[1])
    return results[1]


def types(fetch):
    with tf.Session() as session:
        session._master.planner.lower = True
        plan = session._master.plan([], [fetch], [])
        return {n.type for n in plan.graph.nodes}


def test_no_node_holds_a_body_any_more():
    y = tf.while_loop(lambda i: i < 3, lambda i: tf.cond(i > 1, lambda: i + 2, lambda: i + 1), [tf.constant(0)])
    assert {"Enter", "Exit", "NextIteration", "LoopCond", "Switch", "Merge"} <= types(y)
    assert not {"If", "While", "StatelessIf", "StatelessWhile"} & types(y)
    assert both(y) == 4


@pytest.mark.parametrize("taken", [True, False])
def test_effects_of_the_taken_branch(taken):
    v, w, p = tf.Variable(1.0), tf.Variable(2.0), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: v.assign_add(10.0), lambda: w.assign_add(10.0))
    with tf.control_dependencies([y]):
        after = [v.read_value(), w.read_value()]
    assert both([y, *after], {p: taken}) == ([11, 11, 2] if taken else [12, 1, 12])


def test_effects_of_every_iteration():
    v = tf.Variable(0.0)

    def body(i):
        with tf.control_dependencies([v.assign_add(2.0)]):
            return i + 1

    i = tf.while_loop(lambda i: i < 5, body, [0])
    with tf.control_dependencies([i]):
        after = v.read_value()
    assert both(after) == 10


def test_a_next_value_that_depends_on_nothing_in_the_loop():
    x = tf.placeholder(tf.float32, [])
    assert both(tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, x), (0, 1.0)), {x: 5.0}) == (3, 5)
    assert both(tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, x * x), (0, 1.0)), {x: 5.0}) == (3, 25)
    assert both(tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, 7.0), (0, 1.0))) == (3, 7)


def test_arrays_and_random_numbers(session):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert both(tf.map_fn(lambda r: tf.reduce_sum(r) * r, x)).tolist() == [[3, 6], [21, 28]]
    session._master.planner.lower = True
    drawn = session.run(tf.map_fn(lambda r: tf.random_uniform([]), tf.zeros([5])))
    assert len(set(drawn.tolist())) == 5


def test_a_loop_in_a_branch_that_is_not_taken():
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.while_loop(lambda i: i < 4, lambda i: i + 1, [0]), lambda: tf.constant(-1))
    assert [both(y, {p: True}), both(y, {p: False})] == [4, -1]


def test_nested_loops():
    def outer(i, s):
        _, t = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), (0, s))
        return i + 1, t

    assert both(tf.while_loop(lambda i, s: i < 5, outer, (0, 0))) == (5, 35)
