"""Loops and conditionals of primitives, as TensorFlow 1 wrote them: what is dead stays dead, and most of them are raised."""

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace import raw_ops

WAYS = {
    "raised": tf.ConfigProto(compile="off"),
    "compiled": tf.ConfigProto(compile="always"),
    "lowered": tf.ConfigProto(control_flow="lowered"),
    "primitives": tf.ConfigProto(compile="off"),
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    if request.param == "primitives":
        monkeypatch.setenv("HEADRACE_PASSES_OFF", "raise_primitives")
    return WAYS[request.param]


def cond(predicate, then_branch, else_branch, *captured):
    """As `tf.cond` of TensorFlow 1 builds it: branches get their captured values, and what has no inputs waits for the pivot."""
    sides = raw_ops.Switch(predicate, predicate)
    pivots = tf.identity(sides.output_false), tf.identity(sides.output_true)
    predicate = tf.identity(predicate)
    switches = [raw_ops.Switch(value, predicate) for value in captured]
    results = []
    for side, branch in ((0, else_branch), (1, then_branch)):
        with tf.control_dependencies([pivots[side]]):
            results.append(tf.identity(branch(*(s[side] for s in switches))))
    return raw_ops.Merge(results).output


def loop(limit, start, body, *captured, frame="loop"):
    """As `tf.while_loop` builds one of a counter and a value."""
    i, a = (raw_ops.Enter(t, frame_name=frame) for t in (tf.constant(0), start))
    limit, *captured = (raw_ops.Enter(t, frame_name=frame, is_constant=True) for t in (limit, *captured))
    with tf.control_dependencies(None):  # what is around the loop is not in its frame
        i, a = (raw_ops.Merge([t, t]) for t in (i, a))
        go_on = raw_ops.LoopCond(i.output < limit)
        i_switch, a_switch = raw_ops.Switch(i.output, go_on), raw_ops.Switch(a.output, go_on)
        pivot = tf.identity(i_switch.output_true)
        with tf.control_dependencies([pivot]):
            following = pivot + tf.constant(1), body(tf.identity(a_switch.output_true), *captured)
        for merge, value in zip((i, a), following, strict=True):
            merge.output.op._update_input(1, raw_ops.NextIteration(value))
        return raw_ops.Exit(a_switch.output_false)


def is_raised(session, fetches, feeds):
    return session._master.plan(list(feeds), list(fetches), []).framed is None


def test_constants_that_wait_for_dead_values(way):
    p = tf.placeholder(tf.bool, [])
    sides = raw_ops.Switch(p, p)
    with tf.control_dependencies([tf.identity(sides.output_true)]):
        one = tf.constant(1)
    with tf.control_dependencies([tf.identity(sides.output_false)]):
        two = tf.constant(2)
    merged = raw_ops.Merge([one, two]).output
    with tf.Session(config=way) as session:
        assert [session.run(merged, {p: given}) for given in (True, False)] == [1, 2]
        for value, given in ((one, False), (two, True)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="has no value in this step"):
                session.run(value, {p: given})


def test_a_conditional_of_constants(way):
    training, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    keep = cond(training, lambda: tf.constant(0.5), lambda: tf.constant(1.0))
    result = x * keep
    with tf.Session(config=way) as session:
        assert [session.run(result, {x: 3.0, training: t}) for t in (True, False)] == [1.5, 3.0]


@pytest.mark.parametrize("resource", [True, False])
def test_a_write_in_a_dead_branch(way, resource):
    v = tf.get_variable("v", initializer=1.0, use_resource=resource)
    p = tf.placeholder(tf.bool, [])

    def write():
        with tf.control_dependencies([v.assign_add(10.0)]):
            return tf.constant(7)

    result = cond(p, write, lambda: tf.constant(0))
    with initialized_session(config=way) as session:
        assert session.run(result, {p: False}) == 0
        assert session.run(v) == 1
        assert session.run(result, {p: True}) == 7
        assert session.run(v) == 11


def test_a_loop_that_draws(way):
    n = tf.placeholder(tf.int32, [])
    last = loop(n, tf.zeros([3]), lambda a: a + tf.floor(tf.random_uniform([3])) + 1.0)
    with tf.Session(config=way) as session:
        assert session.run(last, {n: 4}).tolist() == [4, 4, 4]
        assert session.run(last, {n: 0}).tolist() == [0, 0, 0]


def test_what_the_shape_of_a_dead_value_tells(way):
    """Shapes are known without the value, but not whether it is there."""
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])
    sides = raw_ops.Switch(x, p)
    sizes = [raw_ops.Size(sides.output_false), raw_ops.Size(sides.output_true) * 10]
    merged = raw_ops.Merge(sizes)
    with tf.Session(config=way) as session:
        assert [session.run(merged.output, {p: given, x: [1, 2]}) for given in (False, True)] == [2, 20]


def test_a_conditional_that_waits_for_the_switch_before_it(way):
    """To wait for a Switch says nothing about which of its outputs is dead."""
    p, q, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    outer = raw_ops.Switch(x, q)
    inner = raw_ops.Switch(outer.output_false, p)
    sizes = [raw_ops.Size(inner.output_false) * 3, raw_ops.Size(inner.output_true) * 2]
    with tf.control_dependencies([outer.output_false.op]):
        merged = raw_ops.Merge(sizes)
    with tf.Session(config=way) as session:
        assert [session.run(merged.output, {p: given, q: False, x: 1.0}) for given in (False, True)] == [3, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="has no value in this step"):
            session.run(merged.output, {p: True, q: True, x: 1.0})


def test_a_call_in_a_dead_branch(way):
    @tf.function
    def seven(x):
        return tf.constant(7.0)

    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    sides = raw_ops.Switch(x, p)
    call = seven(sides.output_true)
    merged = raw_ops.Merge([call, sides.output_false]).output
    with tf.Session(config=way) as session:
        assert [session.run(merged, {p: given, x: 3}) for given in (False, True)] == [3, 7]
        with pytest.raises(tf.errors.InvalidArgumentError, match="has no value in this step"):
            session.run(call, {p: False, x: 3})


def test_a_functional_conditional_in_a_frame(way):
    """What its branches do not use still says in which iteration it runs."""
    one = loop(tf.constant(3), tf.constant(1.0), lambda a: a + tf.cond(a > 2.0, lambda: 10.0, lambda: 1.0))
    with tf.Session(config=way) as session:
        assert session.run(one) == 13


def test_an_effect_before_what_a_loop_does_not_need(way):
    """TensorFlow prunes the loop's variables that neither its condition nor what is fetched depends on."""
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    sides = raw_ops.Switch(x, p)
    with tf.control_dependencies([v.assign_add(sides.output_true)]):
        token = tf.identity(sides.output_true)

    def outer(i, a, t):
        _, a, t = tf.while_loop(lambda j, a, t: j < 2, lambda j, a, t: (j + 1, a * 2.0, t + 1.0), (0, a, t))
        return i + 1, a, t

    _, a, t = tf.while_loop(lambda i, a, t: i < 2, outer, (0, sides.output_true, token))
    values = [raw_ops.Merge([sides.output_false, one]).output for one in (a, t)]
    with initialized_session(config=way) as session:
        assert [session.run(values[0], {p: given, x: 3}) for given in (True, False)] == [48, 3]
        assert session.run(v) == 1
        assert [session.run(values[1], {p: given, x: 3}) for given in (False, True)] == [3, 7]
        assert session.run(v) == 4


def test_nested(way):
    n, p = tf.placeholder(tf.int32, []), tf.placeholder(tf.bool, [])

    def body(a, p):
        inner = loop(tf.constant(2), a, lambda b: b + 1.0, frame="inner")
        return cond(p, lambda a, b: a * 2.0, lambda a, b: b, a, inner)

    last = loop(n, tf.constant(1.0), body, p)
    with tf.Session(config=way) as session:
        assert [session.run(last, {n: 3, p: given}) for given in (True, False)] == [8, 7]


def test_a_variable_in_a_loop(way):
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    def body(a):
        with tf.control_dependencies([v.assign_add(a)]):
            return a + 1.0

    last = loop(tf.constant(3), tf.constant(1.0), body)
    with initialized_session(config=way) as session:
        assert session.run(last) == 4
        assert session.run(v) == 7


def test_a_trigger_waits_for_the_dead_too(way):
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=0.0, use_resource=True)
    sides = raw_ops.Switch(x, p)
    write = v.assign_add(sides.output_true, read_value=False)
    with tf.control_dependencies([write]):
        trigger = raw_ops.ControlTrigger()
    with tf.control_dependencies([trigger]):
        after = v.read_value() + 100.0
    with initialized_session(config=way) as session:
        assert session.run(after, {p: False, x: 5}) == 100
        assert session.run(after, {p: True, x: 5}) == 105


# ---- what is raised


def test_usual_forms_are_raised():
    n, p, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])
    last = loop(n, x, lambda a, p: cond(p, lambda a: a * 2.0, lambda a: a + 1.0, a), p)
    chosen = cond(p, lambda x: loop(tf.constant(2), x, lambda b: b * b, frame="other"), lambda x: x, x)
    with tf.Session(config=WAYS["raised"]) as session:
        feeds = {n: 2, p: True, x: [1, 2]}
        for value, expected in ((last, [4, 8]), (chosen, [1, 16])):
            assert session.run(value, feeds).tolist() == expected
            assert is_raised(session, [value], feeds)


def test_what_is_fetched_inside_stays():
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    sides = raw_ops.Switch(x, p)
    inner = sides.output_true * 2.0
    merge = raw_ops.Merge([sides.output_false, inner])
    with tf.Session(config=WAYS["raised"]) as session:
        assert session.run([merge.output, inner], {p: True, x: 3}) == [6, 6]
        assert session.run(merge, {p: False, x: 3}) == (3, 0)
        assert is_raised(session, [merge.output, merge.value_index], {p: 0, x: 0})
        assert session.run(merge.output, {p: True, x: 3, inner: 5.0}) == 5


@pytest.mark.parametrize("again", [False, True])
def test_two_conditionals_of_one_predicate(way, again):
    """The second needs what the first gives: they cannot be one."""
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    sides = raw_ops.Switch(x, p)
    first = raw_ops.Merge([sides.output_false + 1.0, sides.output_true * 2.0]).output
    others = raw_ops.Switch(first * 10.0, p)
    taken = (others if again else sides).output_true + others.output_true
    second = raw_ops.Merge([others.output_false, taken]).output
    with tf.Session(config=way) as session:
        assert session.run(second, {p: False, x: 3}) == 40
        assert session.run(second, {p: True, x: 3}) == (120 if again else 63)


def test_a_merge_of_three(way):
    p, q, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    outer = raw_ops.Switch(x, p)
    inner = raw_ops.Switch(outer.output_true, q)
    merged = raw_ops.Merge([outer.output_false, inner.output_false * 2.0, inner.output_true * 3.0])
    with tf.Session(config=way) as session:
        given = [(False, False), (False, True), (True, False), (True, True)]
        assert [session.run(merged, {p: a, q: b, x: 1}) for a, b in given] == [(1, 0), (1, 0), (2, 1), (3, 2)]


def test_reads_of_a_variable_that_a_dead_branch_writes(way):
    v = tf.Variable(1.0)
    p = tf.placeholder(tf.bool, [])

    def write():
        with tf.control_dependencies([v.assign_add(10.0)]):
            return tf.constant(0.0)

    done = cond(p, write, lambda: tf.constant(0.0))
    with tf.control_dependencies([done]):
        after = v + 0.0
    with initialized_session(config=way) as session:
        assert session.run(after, {p: False}) == 1
        assert session.run(after, {p: True}) == 11


def test_a_shape_that_changes(way):
    """An iteration makes the value longer: the size that entered holds in none of the others."""
    x = tf.placeholder(tf.float32, [1])
    graph = tf.Graph()
    with graph.as_default():
        inner = tf.placeholder(tf.float32, [1], name="x")
        tf.identity(
            loop(tf.constant(3), inner, lambda a: tf.concat([a, a + tf.cast(raw_ops.Size(a), tf.float32)], 0)), name="y"
        )
    (y,) = tf.import_graph_def(graph.as_graph_def(), {"x:0": x}, ["y:0"])
    assert y.shape.as_list() == [None]
    with tf.Session(config=way) as session:
        np.testing.assert_array_equal(session.run(y, {x: [1.0]}), [1, 2, 3, 4, 5, 6, 7, 8])


def test_the_shape_that_one_loop_gives_another():
    """What is known of the first holds in the second; in both it was unknown, as what comes back is built last."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        same = loop(tf.constant(3), x, lambda a: a * 2.0)
        tf.identity(loop(tf.constant(3), same, lambda a: a + 1.0, frame="second"), name="same")
        longer = loop(tf.constant(3), x, lambda a: tf.concat([a, a], 0), frame="longer")
        tf.identity(loop(tf.constant(3), longer, lambda a: a + 1.0, frame="after"), name="longer")
    same, longer = tf.import_graph_def(graph.as_graph_def(), return_elements=["same:0", "longer:0"])
    assert same.shape.as_list() == [2]
    assert longer.shape.as_list() == [None]
