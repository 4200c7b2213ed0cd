"""Stacks and temporary variables of one step; tests/library/state/test_resource_variable.py compares them with TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as tf

raw = tf.raw_ops


def after(before: Any, make: Any) -> Any:
    with tf.control_dependencies([before]):
        return make()


@pytest.mark.parametrize("version", ["", "V2"])
def test_last_in_first_out(session: Any, version: str) -> None:
    limit = {"max_size": 5} if version else {}
    stack = getattr(raw, f"Stack{version}")(elem_type=tf.float32, **limit)
    push, pop = getattr(raw, f"StackPush{version}"), getattr(raw, f"StackPop{version}")
    one = push(stack, [1.0])
    two = after(one, lambda: push(stack, [[2.0]], swap_memory=True))
    first = after(two, lambda: pop(stack, elem_type=tf.float32))
    second = after(first, lambda: pop(stack, elem_type=tf.float32))
    done = after(second, lambda: getattr(raw, f"StackClose{version}")(stack))
    for _ in range(3):  # each step has a stack of its own
        found = session.run([one, two, first, second, done])
        assert [np.asarray(v).tolist() for v in found[:4]] == [[1.0], [[2.0]], [[2.0]], [1.0]]


def test_a_pushed_value_does_not_change(session: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    stack = raw.StackV2(max_size=-1, elem_type=tf.float32)
    push = raw.StackPushV2(stack, v.read_value())
    write = after(push, lambda: v.assign_add([10.0, 10.0]))
    pop = after(write, lambda: raw.StackPopV2(stack, elem_type=tf.float32))
    session.run(v.initializer)
    assert session.run([pop, write])[0].tolist() == [1.0, 2.0]


def test_strings(session: Any) -> None:
    stack = raw.StackV2(max_size=-1, elem_type=tf.string)
    push = raw.StackPushV2(stack, ["a", "b"])
    assert session.run(after(push, lambda: raw.StackPopV2(stack, elem_type=tf.string))).tolist() == [b"a", b"b"]


def test_in_a_loop(session: Any) -> None:
    stack = raw.StackV2(max_size=-1, elem_type=tf.int32)

    def push(i: Any) -> Any:
        with tf.control_dependencies([raw.StackPushV2(stack, i * i)]):
            return i + 1

    def pop(i: Any, total: Any) -> Any:
        value = raw.StackPopV2(stack, elem_type=tf.int32)
        value.set_shape([])
        return i - 1, total * 10 + value

    filled = tf.while_loop(lambda i: i < 4, push, [0], parallel_iterations=1)
    total = tf.while_loop(lambda i, _: i > 0, pop, [filled, 0], parallel_iterations=1)[1]
    assert session.run(total) == 9410


def test_errors(session: Any) -> None:
    stack = raw.StackV2(max_size=1, elem_type=tf.float32, stack_name="s")
    one = raw.StackPushV2(stack, 1.0)
    closed = raw.StackCloseV2(stack)
    wrong = {
        "overflowed its max_size": after(one, lambda: raw.StackPushV2(stack, 2.0)),
        "is empty when calling Pop": raw.StackPopV2(stack, elem_type=tf.float32),
        "has already been closed": after(closed, lambda: raw.StackPopV2(stack, elem_type=tf.float32)),
        "holds float32 values, not int32": raw.StackPushV2(stack, 2),
    }
    for message, node in wrong.items():
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"Stack\[s\] {message}"):
            session.run(node)


def test_a_temporary_variable_is_of_one_step(session: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    made = raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="t")
    total = tf.assign_add(tf.assign_add(made, x), x)
    value = raw.DestroyTemporaryVariable(ref=total, var_name="t")
    for i in range(3):
        assert session.run(value * 2.0, {x: [i, 1.0]}).tolist() == [4.0 * i, 4.0]


def test_a_temporary_variable_has_one_name(session: Any) -> None:
    made = raw.TemporaryVariable(shape=[], dtype=tf.float32, name="made")
    assert session.run(raw.DestroyTemporaryVariable(ref=tf.assign(made, 3.0), var_name="made")) == 3.0
    with pytest.raises(tf.errors.NotFoundError, match="'made', not 'other'"):
        session.run(raw.DestroyTemporaryVariable(ref=made, var_name="other"))


def test_a_temporary_variable_is_not_compiled(caplog: pytest.LogCaptureFixture) -> None:
    x = tf.placeholder(tf.float32, [64])
    total = tf.assign_add(raw.TemporaryVariable(shape=[64], dtype=tf.float32, var_name="t"), tf.tanh(x) * 2.0)
    value = raw.DestroyTemporaryVariable(ref=total, var_name="t") * 2.0
    fed = np.linspace(0.0, 1.0, 64, dtype=np.float32)
    with tf.Session(config=tf.ConfigProto(compile="always")) as session:
        for _ in range(2):
            np.testing.assert_allclose(session.run(value, {x: fed}), 4.0 * np.tanh(fed), rtol=1e-5)
    assert "not compiled" not in caplog.text
