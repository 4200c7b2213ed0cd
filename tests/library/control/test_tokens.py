"""A value that only orders: loops and branches wait for it, and for the effects before it, though nothing computes with it.

The results are TensorFlow's, with its control flow of primitives.
"""

from typing import Any

import pytest

import headrace as tf

FEED = 2.0


def after(value: Any, *before: Any) -> Any:
    with tf.control_dependencies(before):
        return tf.identity(value)


def read_after(v: Any, *before: Any) -> Any:
    with tf.control_dependencies(before):
        return v.read_value() + 0.0


def read_in_a_loop(v: Any, x: Any, token: Any) -> Any:
    def body(i: Any, h: Any, t: Any) -> Any:
        read = read_after(v, t)
        return i + 1, h * read, after(t, read)

    return tf.while_loop(lambda i, h, t: i < 2, body, (0, x + 1.0, token))[1]


def written_in_a_loop(v: Any, x: Any, token: Any) -> Any:
    """Only the token says that the variable grows before the next iteration reads it."""

    def body(i: Any, h: Any, t: Any) -> Any:
        read = read_after(v, t)
        with tf.control_dependencies([read]):
            grown = tf.assign_add(v, 1.0)
        return i + 1, h * read, after(t, grown)

    return tf.while_loop(lambda i, h, t: i < 3, body, (0, x, token))[1]


def loop_in_a_loop(v: Any, x: Any, token: Any) -> Any:
    def outer(i: Any, h: Any, t: Any) -> Any:
        def inner(j: Any, g: Any, s: Any) -> Any:
            read = read_after(v, s)
            return j + 1, g * read, after(s, read)

        _, g, s = tf.while_loop(lambda j, g, s: j < 2, inner, (0, h, t))
        return i + 1, g, s

    return tf.while_loop(lambda i, h, t: i < 2, outer, (0, x, token))[1]


def read_in_a_branch(v: Any, x: Any, token: Any) -> Any:
    return tf.cond(x > 0.0, lambda: x * read_after(v, tf.identity(token)), lambda: x)


def branch_in_a_loop(v: Any, x: Any, token: Any) -> Any:
    def body(i: Any, h: Any, t: Any) -> Any:
        return i + 1, tf.cond(i < 1, lambda: h * read_after(v, tf.identity(t)), lambda: h + 1.0), tf.identity(t)

    return tf.while_loop(lambda i, h, t: i < 2, body, (0, x, token))[1]


PROGRAMS = {
    read_in_a_loop: (12.0, 4.0),
    written_in_a_loop: (48.0, 24.0),
    loop_in_a_loop: (32.0, 16.0),
    read_in_a_branch: (4.0, 2.0),
    branch_in_a_loop: (5.0, 2.0),
}


@pytest.mark.parametrize("flow", ["auto", "lowered"])
@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_results_are_tensorflows(program: Any, use_resource: bool, flow: str) -> None:
    v = tf.get_variable("v", initializer=0.5, use_resource=use_resource)
    x = tf.placeholder(tf.float32, [])
    y = program(v, x, after(0.0, tf.assign(v, x)))
    (slope,) = tf.gradients(y, [x])
    with tf.Session(config=tf.ConfigProto(compile="off", control_flow=flow)) as sess:
        for fetches, wanted in ((y, PROGRAMS[program][0]), (slope, PROGRAMS[program][1])):
            sess.run(tf.global_variables_initializer())
            assert sess.run(fetches, {x: FEED}) == wanted


def test_a_loop_does_not_run_effects_that_nothing_waits_for(session: tf.Session) -> None:
    v = tf.get_variable("v", initializer=0.5)
    unused = after(0.0, tf.assign(v, 9.0))
    y = tf.while_loop(lambda i, h, t: i < 2, lambda i, h, t: (i + 1, h * 2.0, t), (0, 1.0, unused))[1]
    session.run(tf.global_variables_initializer())
    assert session.run(y) == 4.0 and session.run(v) == 0.5
