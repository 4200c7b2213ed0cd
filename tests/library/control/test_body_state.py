"""Variables that loops, branches and functions read and write: the order of TensorFlow, in every way to run them."""

import functools
from typing import Any

import numpy as np
import pytest
from golden import program
from golden.state_programs import PROGRAMS

import headrace as tf

golden = functools.cache(lambda: program.load("state"))
WAYS = {"interpreted": tf.ConfigProto(compile="off"), "lowered": tf.ConfigProto(control_flow="lowered")}
COMPILED = (
    "sum_ref", "condition_by_name_ref", "branch_writes_ref", "gradient_of_loop_resource", "rows_gathered_ref",
    "function_after_a_write_resource",
)  # fmt: skip


def check(name: str, config: tf.ConfigProto) -> None:
    values, _ = program.run(tf, PROGRAMS[name], config=config)
    wanted = [program.decode(v) for v in golden()[name]["values"]]
    for found, expected in zip(values, wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_tensorflow(name: str, way: str) -> None:
    check(name, WAYS[way])


@pytest.mark.parametrize("name", COMPILED)
def test_same_as_tensorflow_compiled(name: str) -> None:
    check(name, tf.ConfigProto(compile="always"))


def test_effects_in_a_function_run_at_once_in_their_order() -> None:
    with tf.eager_mode():
        a, b = tf.Variable(0), tf.Variable(0)

        @tf.function
        def run(n: Any) -> Any:
            def step(i: Any) -> Any:
                a.assign_add(1)
                b.assign_add(a)
                return (i + 1,)

            tf.while_loop(lambda i: (i < n) & (a < 8), step, [tf.constant(0)])
            return b + 0

        assert run(tf.constant(10)).numpy() == 36
        assert (a.numpy(), b.numpy()) == (8, 36)


def test_a_read_that_no_body_writes_stays_outside() -> None:
    a, b = tf.Variable(2.0), tf.Variable(0.0)

    def step(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(b, a)]):
            return i + 1

    count = tf.while_loop(lambda i: i < 3, step, [0])
    loop = count.op.inputs[0].op
    assert a.value() in loop.inputs
    assert a.op.outputs[0] not in loop.inputs  # no handle
    assert b.value() not in loop.inputs


def test_a_write_behind_a_constant_in_a_loop_runs(session: tf.Session) -> None:
    a = tf.Variable(2.0)
    x = tf.placeholder(tf.float32, [])

    def step(i: Any, s: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(a, 1.0)]):
            return i + 1, s + x * 2.0  # the product waits only through its constant

    found = tf.while_loop(lambda i, s: i < 4, step, [0, 0.0])
    session.run(a.initializer)
    assert session.run(found, {x: 3.0}) == (4, 24.0)
    assert session.run(a) == 6.0


@pytest.mark.parametrize("way", WAYS)
def test_results_do_not_pull_in_what_other_nodes_of_a_branch_wait_for(way: str) -> None:
    x = tf.placeholder(tf.float32, [])
    checked = tf.assert_greater(x, 1.0)

    def then() -> Any:
        with tf.control_dependencies([checked]):
            unused = tf.constant(1.0) + 2.0
            used = tf.constant(3.0) + 4.0
        del unused
        return used if needed else tf.constant(5.0)

    with tf.Session(config=WAYS[way]) as session:
        needed = False
        assert session.run(tf.cond(tf.constant(True), then, lambda: tf.constant(1.0))) == 5.0
        needed = True
        found = tf.cond(tf.constant(True), then, lambda: tf.constant(1.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
            session.run(found)
        assert session.run(found, {x: 2.0}) == 7.0


@pytest.mark.parametrize("way", WAYS)
def test_a_loop_waits_for_what_its_nodes_wait_for(way: str) -> None:
    """Also where its variables come from elsewhere."""
    a = tf.Variable(1.0)
    x = tf.placeholder(tf.float32, [])
    write = tf.assign(a, 10.0)

    def step(s: Any) -> Any:
        with tf.control_dependencies([write]):
            return s + a.read_value()

    found = tf.while_loop(lambda s: s < 25.0, step, [x])
    with tf.Session(config=WAYS[way]) as session:
        session.run(a.initializer)
        assert session.run(found, {x: 0.0}) == 30.0


def test_a_resource_variable_that_no_body_writes_is_read_once_outside(session: tf.Session) -> None:
    a, b = tf.Variable(2.0, use_resource=True), tf.Variable(0.0, use_resource=True)

    def step(i: Any, total: Any) -> Any:
        product = total * a
        with tf.control_dependencies([b.assign_add(a, read_value=False)]):
            return i + 1, product + tf.cond(i > 0, lambda: tf.identity(product) * 0.0 + 4.0, lambda: b * 0.0)

    loop = tf.while_loop(lambda i, t: tf.less(t, 100.0 * a), step, [0, 1.0], parallel_iterations=1)
    node = loop[0].op
    while node.type != "While":
        node = node.inputs[0].op
    reads = [t for t in node.inputs if t.op.type == "ReadVariableOp"]
    assert [t.op.inputs[0] for t in reads] == [a.handle]
    assert not [op for op in node.attrs["body"]._nodes if op.type == "ReadVariableOp"]
    session.run(tf.global_variables_initializer())
    found = session.run([*loop, *tf.gradients(loop[1], a)])
    total = 1.0
    for i in range(found[0]):
        total = total * 2.0 + (4.0 if i else 0.0)
    assert found[1] == total and session.run(b) == 2.0 * found[0]


def test_a_read_in_a_loop_that_waits_for_a_write_outside_stays(session: tf.Session) -> None:
    a = tf.Variable(2.0, use_resource=True)
    write = a.assign(5.0, read_value=False)

    def step(i: Any, total: Any) -> Any:
        with tf.control_dependencies([write]):
            return i + 1, total + a

    total = tf.while_loop(lambda i, _: i < 3, step, [0, 0.0])[1]
    session.run(a.initializer)
    assert session.run(total) == 15.0


def test_a_read_moved_out_of_a_loop_waits_for_what_the_loop_waits_for(session: tf.Session) -> None:
    a = tf.Variable(2.0, use_resource=True)
    with tf.control_dependencies([a.assign(5.0, read_value=False)]):
        start = tf.constant(0.0)
    total = tf.while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, t + a), [0, start])[1]
    session.run(a.initializer)
    assert session.run(total) == 15.0


def test_a_read_moved_out_of_a_loop_is_not_waited_for_inside(session: tf.Session) -> None:
    a = tf.Variable(2.0, use_resource=True)

    @tf.function
    def three_times(x: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            product = x * a
            with tf.control_dependencies(
                [o for o in tf.get_default_graph().get_operations() if o.type == "ReadVariableOp"]
            ):
                return i + 1, tf.identity(total + product)

        return tf.while_loop(lambda i, _: i < 3, step, [0, 0.0])[1]

    total = three_times(tf.constant(5.0))
    session.run(a.initializer)
    assert session.run(total) == 30.0
