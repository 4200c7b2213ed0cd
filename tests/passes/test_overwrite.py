"""Assignments that write into the memory of their variable (overwrite), and so are part of a compiled region; first values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.passes.overwrite import overwrite

pytestmark = pytest.mark.usefixtures("accelerator")


def plan(session: tf.Session, *targets: Any) -> Any:
    graph = session._master.plan([], [], list(targets)).graph
    return overwrite(graph)


def types(graph: Any) -> set[str]:
    return {node.type for node in graph.nodes}


@pytest.mark.parametrize("resource", [False, True])
def test_a_variable_that_was_read_is_written_in_place(resource: bool) -> None:
    v = tf.get_variable("v", [4, 3], initializer=tf.ones_initializer(), use_resource=resource)
    change = v.assign(v * 0.5)
    with tf.Session() as session:
        found = types(plan(session, change.op))
    assert "_Overwrite" in found and "Assign" not in found


def test_first_values_and_other_shapes_stay_assignments() -> None:
    v = tf.get_variable("v", [4, 3], initializer=tf.ones_initializer())
    w = tf.get_variable("w", initializer=tf.ones([2]), validate_shape=False)
    with tf.device("/cpu:0"):
        u = tf.get_variable("u", [4, 3], initializer=tf.ones_initializer())
    s = tf.get_variable("s", [4, 3], initializer=tf.ones_initializer())
    for change in (
        v.initializer,
        tf.assign(w, tf.concat([w, w], 0), validate_shape=False),
        tf.assign(u, u * 2.0),
        tf.assign(s, s * 2.0, validate_shape=False),  # another step may have given it another shape
    ):
        with tf.Session() as session:
            assert "_Overwrite" not in types(plan(session, change.op if hasattr(change, "op") else change))


def moments(mode: str) -> list[Any]:
    """An optimizer as programs of 2019 write it: all is assigned."""
    with tf.Graph().as_default():
        v = tf.get_variable("v", [8, 8], initializer=tf.glorot_uniform_initializer(seed=1))
        m = tf.get_variable("m", [8, 8], initializer=tf.zeros_initializer())
        x = tf.placeholder(tf.float32, [8, 8])
        (gradient,) = tf.gradients(tf.reduce_sum(tf.square(tf.matmul(v, x))), [v])
        next_m = m * 0.9 + gradient * 0.1
        train = tf.group(v.assign(v - 0.01 * next_m), m.assign(next_m))
        with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
            session.run(tf.global_variables_initializer())
            for i in range(4):
                before = session.run([v, m])
                kept = [array.copy() for array in before]
                session.run(train, {x: np.eye(8) * i})
                for array, old in zip(before, kept, strict=True):
                    np.testing.assert_array_equal(array, old)  # what was fetched is the caller's
            return list(session.run([v, m]))


def test_an_optimizer_that_assigns_computes_the_same() -> None:
    for compiled, plain in zip(moments("always"), moments("off"), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-6)


def test_two_variables_change_places() -> None:
    a = tf.get_variable("a", [64], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [64], initializer=tf.ones_initializer())
    old_a, old_b = a + 0.0, b + 0.0
    with tf.control_dependencies([old_a, old_b]):
        swap = tf.group(a.assign(old_b * 1.0), b.assign(old_a * 1.0))
    with tf.Session(config=tf.ConfigProto(compile="always")) as session:
        session.run(tf.global_variables_initializer())
        for i in range(3):
            session.run(swap)
            found = session.run([a, b])
            assert [array[0] for array in found] == [1 - i % 2, i % 2]


def rearranged(v: Any, rows: int = 16) -> Any:
    """The same numbers in other places, without a copy in between."""
    if isinstance(v, np.ndarray):
        return v.reshape(rows, -1).T.reshape(v.shape)
    return tf.reshape(tf.transpose(tf.reshape(v, [rows, -1])), v.shape)


@pytest.mark.parametrize("mode", ["off", "always"])
@pytest.mark.parametrize(
    "change",
    [
        rearranged,
        lambda v: rearranged(rearranged(v)),
        lambda v: rearranged(v) * 0.5,
        lambda v: v * 0.5 + rearranged(v * 2.0),
        lambda v: v[::-1],
        lambda v: v,
    ],
)
def test_a_variable_whose_own_numbers_are_moved(change: Any, mode: str) -> None:
    """None is read where a new one has been written already."""
    first = np.arange(64.0 * 64.0, dtype=np.float32).reshape(64, 64)
    v = tf.get_variable("v", initializer=tf.constant(first))
    train = v.assign(change(v.read_value())).op
    with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
        session.run(tf.global_variables_initializer())
        expected = first
        for _ in range(2):
            session.run(train)
            expected = change(expected)
        np.testing.assert_allclose(session.run(v), expected)


def test_first_values_are_not_kept() -> None:
    """The plan that assigns them would hold them beside the variable."""
    filled = tf.fill([200, 200], 0.5)
    v = tf.get_variable("v", initializer=filled)
    with tf.Session() as session:
        for change, is_kept in ((v.initializer, False), (tf.assign_add(v, filled).op, True)):
            graph = session._master.plan([], [], [change]).graph
            most = max((n.attrs["value"].nbytes for n in graph.nodes if n.op_def.traits.constant), default=0)
            assert (most > 1 << 16) == is_kept
