"""Gradients of conditionals and loops made of primitives: Switch, Merge, Enter, Exit, NextIteration."""

import numpy as np
import pytest
from passes.test_raise_primitives import cond, loop, way  # noqa: F401 - a fixture
from running import initialized_session, run

import headrace as tf
from headrace import raw_ops


def slopes(config, y, xs, feeds):
    grads = tf.gradients(y, xs)
    with initialized_session(config=config) as session:
        return session.run(grads, feeds)


@pytest.mark.parametrize(("given", "expected"), [(True, 12.0), (False, 2.0)])
def test_conditional(way, given, expected):  # noqa: F811
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    y = cond(p, lambda x: x * x, lambda x: x, x)
    assert slopes(way, y * 2.0, [x], {p: given, x: 3.0}) == [expected]


def test_a_branch_that_does_not_depend(way):  # noqa: F811
    """The gradient is zero there, not dead."""
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])
    y = cond(p, lambda x: x * 3.0, lambda x: tf.zeros_like(x) + 7.0, x)
    for given, expected in ((True, [3, 3]), (False, [0, 0])):
        (got,) = slopes(way, y, [x], {p: given, x: [1, 2]})
        assert got.tolist() == expected


def test_a_value_that_no_switch_guards(way):  # noqa: F811
    """A node is on one side by one of its inputs; the other comes straight from outside, and is used outside, too."""
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    outer = raw_ops.Switch(x, p)
    inner = raw_ops.Switch(outer.output_true, q)
    merged = raw_ops.Merge([inner.output_false * y, inner.output_true + y * 2.0]).output
    result = raw_ops.Merge([outer.output_false, merged]).output + y * 100.0
    expected = {(False, False): [1, 100], (False, True): [1, 100], (True, False): [5, 103], (True, True): [1, 102]}
    for (a, b), wanted in expected.items():
        assert slopes(way, result, [x, y], {p: a, q: b, x: 3, y: 5}) == wanted


def test_a_merge_of_three(way):  # noqa: F811
    p, q, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    outer = raw_ops.Switch(x, p)
    inner = raw_ops.Switch(outer.output_true, q)
    merged = raw_ops.Merge([outer.output_false, inner.output_false * 2.0, inner.output_true * 3.0]).output
    for a, b, wanted in ((False, False, 1), (True, False, 2), (True, True, 3)):
        assert slopes(way, merged, [x], {p: a, q: b, x: 1}) == [wanted]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_loop(way, n):  # noqa: F811
    limit, x, k = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    y = loop(limit, x, lambda a, k: a * k, k)
    feeds = {limit: n, x: 2.0, k: 3.0}
    np.testing.assert_allclose(slopes(way, y, [x, k], feeds), [3.0**n, 2.0 * n * 3.0 ** (n - 1)], rtol=1e-6)
    assert tf.get_default_graph().get_operation_by_name("Exit").type == "Identity"  # of what leaves a While


def test_what_leaves_a_loop_keeps_its_name(way):  # noqa: F811
    x = tf.placeholder(tf.float32, [])
    y = loop(tf.constant(2), x, lambda a: a * a)
    with tf.Session(config=way) as session:
        before = session.run(y, {x: 3})
        tf.gradients(y, x)
        assert session.run("Exit:0", {x: 3}) == before == 81


def test_nested(way):  # noqa: F811
    n, p, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])

    def body(a, p):
        inner = loop(tf.constant(2), a, lambda b: b * 3.0, frame="inner")
        return cond(p, lambda a, b: a * a, lambda a, b: b, a, inner)

    y = loop(n, x, body, p)
    assert slopes(way, y, [x], {n: 2, p: True, x: 2.0}) == [32]
    assert slopes(way, y, [x], {n: 2, p: False, x: 2.0}) == [81]


def test_a_loop_in_a_branch(way):  # noqa: F811
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    y = cond(p, lambda x: loop(tf.constant(2), x, lambda a: a * a), lambda x: x * 5.0, x)
    assert slopes(way, y, [x], {p: True, x: 2.0}) == [32]
    assert slopes(way, y, [x], {p: False, x: 2.0}) == [5]


@pytest.mark.parametrize("resource", [True, False])
def test_variables(way, resource):  # noqa: F811
    v = tf.get_variable("v", initializer=2.0, use_resource=resource)
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    y = cond(p, lambda x, w: x * w * w, lambda x, w: x, x, v.read_value()) + v
    train = tf.train.GradientDescentOptimizer(0.5).minimize(y)
    with initialized_session(config=way) as session:
        session.run(train, {p: False, x: 3.0})
        assert session.run(v) == 1.5
        session.run(train, {p: True, x: 3.0})
        assert session.run(v) == 1.5 - 0.5 * (2 * 3 * 1.5 + 1)


def test_second_order(way):  # noqa: F811
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    y = cond(p, lambda x: x * x * x, lambda x: x * x, x) + loop(tf.constant(2), x, lambda a: a * a)
    (slope,) = tf.gradients(y, x)
    (curvature,) = tf.gradients(slope, x)
    with tf.Session(config=way) as session:
        assert session.run([slope, curvature], {p: True, x: 2.0}) == [3 * 4 + 4 * 8, 6 * 2 + 12 * 4]
        assert session.run([slope, curvature], {p: False, x: 2.0}) == [2 * 2 + 4 * 8, 2 + 12 * 4]


def test_inside_a_branch(way):  # noqa: F811
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    sides = raw_ops.Switch(x, p)
    inner = sides.output_true * 2.0
    y = raw_ops.Merge([sides.output_false, inner * inner]).output
    assert slopes(way, y, [inner], {p: True, x: 3.0}) == [12]


def test_what_only_an_unused_input_of_a_loop_waits_for(way):  # noqa: F811
    """TensorFlow prunes the Enter, with what it waits for."""
    x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.control_dependencies([v.assign_add(10.0)]):
        before = tf.identity(x)

    def body(a):
        with tf.control_dependencies(None), tf.control_dependencies([before]):  # it is in the frame around
            raw_ops.Enter(x, frame_name="loop", is_constant=True)
        return a * 2.0

    (slope,) = tf.gradients(loop(n, x, body), x)
    with initialized_session(config=way) as session:
        assert session.run(slope, {x: 3, n: 2}) == 4
        assert session.run(v) == 1


def conditional_within(a, k):
    return tf.cond(a > 2.0, lambda: a * k, lambda: a * a + k)


def conditional_within_another(a, k):
    return tf.cond(a > 2.0, lambda: tf.cond(k > 2.0, lambda: a * k, lambda: a), lambda: a + k)


def loop_within(a, k):
    return tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b * k), (0, a))[1]


WITHIN = [(conditional_within, [18, 33]), (conditional_within_another, [9, 33]), (loop_within, [729, 1458])]


@pytest.mark.parametrize(("body", "expected"), WITHIN)
@pytest.mark.parametrize("variable", [False, True])
def test_nodes_that_hold_bodies_in_a_loop(way, body, expected, variable):  # noqa: F811
    """Their bodies take what is in the loop's frame, or the variable itself."""
    x = tf.placeholder(tf.float32, [])
    if variable:
        k = tf.get_variable("k", initializer=3.0, use_resource=True)
        y = loop(tf.constant(3), x, lambda a: body(a, k))
    else:
        k = tf.constant(3.0)
        y = loop(tf.constant(3), x, body, k)
    assert slopes(way, y, [x, k], {x: 1}) == expected


def test_another_form_of_loop():
    """What leaves it is no variable of it: the error says so, and names the line."""
    x = tf.placeholder(tf.float32, [])
    a = raw_ops.Enter(x, frame_name="odd")
    merge = raw_ops.Merge([a, a])
    go_on = raw_ops.LoopCond(merge.output < 10.0)
    switch = raw_ops.Switch(merge.output, go_on)
    merge.output.op._update_input(1, raw_ops.NextIteration(switch.output_true * 2.0))
    y = raw_ops.Exit(switch.output_false * 3.0)
    assert run(y, {x: 1}) == 48
    with pytest.raises(
        LookupError, match=r"loop of primitives that has not the form of tf.while_loop. the loop 'odd': Exit "
    ):
        tf.gradients(y, x)


def test_after_export_and_import():
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.identity(loop(tf.constant(2), x, lambda a: a * a), name="y")
    tf.identity(tf.gradients(y, x)[0], name="slope")
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(definition, name="")
        assert run(["y:0", "slope:0"], {"x:0": 2.0}) == [16, 32]
