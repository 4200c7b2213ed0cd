"""Session.observe and Session.watch: what tensors of a step were, wherever they are."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture
def session():
    with tf.Session() as sess:
        yield sess


def _values(seen):
    return [(one.name, one.value.tolist()) for one in seen]


def test_a_watch_is_told_each_time_and_results_stay(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.reduce_sum(tf.square(x, name="square"))
    seen = []
    with session.watch("square", seen.append):
        assert session.run(y, {x: [1.0, 2.0]}) == 5.0
        assert session.run({"y": y, "x": x}, {x: [0.0, 2.0]})["y"] == 4.0
    assert session.run(y, {x: [3.0, 3.0]}) == 18.0
    assert _values(seen) == [("square:0", [1.0, 4.0]), ("square:0", [0.0, 4.0])]
    assert seen[0].op_type == "Square"
    assert "test_observe.py:" in seen[0].line
    assert seen[0].device.endswith("device:CPU:0")


def test_a_callable_made_before_the_watch_is_watched(session):
    x = tf.placeholder(tf.float32, [], name="x")
    double = session.make_callable(x * 2.0, [x])
    assert double(1.0) == 2.0
    seen = []
    watch = session.watch(x, seen.append)
    assert double(3.0) == 6.0
    watch.stop()
    assert double(4.0) == 8.0
    assert _values(seen) == [("x:0", 3.0)]


def test_one_of_several_steps(session):
    x = tf.placeholder(tf.float32, [], name="x")
    y = x + 1.0
    seen = []
    with session.watch(x, seen.append, every=3):
        for i in range(7):
            session.run(y, {x: i})
    assert [one.value.tolist() for one in seen] == [0.0, 3.0, 6.0]


def test_in_loops_conditionals_and_functions(session):
    @tf.contrib.eager.defun
    def grow(value):
        return tf.multiply(value, 3.0, name="tripled")

    x = tf.placeholder(tf.float32, [], name="x")
    loop = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.multiply(v, 2.0, name="doubled")), [0, x])
    branch = tf.cond(x > 0.0, lambda: tf.add(x, 1.0, name="up"), lambda: tf.subtract(x, 1.0, name="down"))
    called = grow(x)
    seen = []
    with session.watch([".*doubled", ".*/up", ".*/down", ".*tripled"], seen.append):
        session.run([loop, branch, called], {x: 1.0})
    assert sorted(_values(seen), key=str) == [
        ("PartitionedCall/tripled:0", 3.0), ("cond/up:0", 2.0),
        ("while/doubled:0", 2.0), ("while/doubled:0", 4.0), ("while/doubled:0", 8.0),
    ]  # fmt: skip


@pytest.mark.parametrize("resource", [False, True])
def test_a_variable_is_what_steps_read_of_it(session, resource):
    w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    y = tf.reduce_sum(w * 2.0)
    session.run(w.initializer)
    seen = []
    with session.watch(w, seen.append):
        session.run(y)
    assert [one.value.tolist() for one in seen] == [[1.0, 2.0]]


def test_training_goes_the_same_way_with_a_watch():
    def train(watched):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(1)
            x = tf.constant(np.linspace(-1.0, 1.0, 12).reshape(4, 3), tf.float32)
            loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.dense(x, 5, tf.nn.relu), 1) - 1.0))
            step = tf.train.AdamOptimizer(0.1).minimize(loss)
            sess.run(tf.global_variables_initializer())
            if watched:
                sess.watch("dense.*", lambda one: None)
            return [sess.run([loss, step])[0] for _ in range(5)]

    np.testing.assert_allclose(train(True), train(False), rtol=1e-6)


def test_all_tensors_of_a_step_are_observed(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    text = tf.constant(["a", "b"], name="text")
    y = tf.add(x * 1.0, 0.0, name="kept")
    seen = session.observe([y, text], {x: [1.0, 2.0]})
    assert seen.fetched[0].tolist() == [1.0, 2.0]
    assert {"x:0", "mul:0", "kept:0", "text:0"} <= {one.name for one in seen.tensors}
    assert dict(_values(seen.tensors))["text:0"] == [b"a", b"b"]


def test_compiled_steps_and_two_devices():
    config = tf.ConfigProto(compile="always", device_count={"CPU": 2})
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/cpu:1"):
        there = tf.exp(x, name="there") + 1.0
    with tf.device("/cpu:0"), tf.Session(config=config) as sess:
        here = tf.multiply(there, 2.0, name="here")
        seen = []
        with sess.watch("here|there", seen.append):
            sess.run(here, {x: [0.0, 0.0]})
    assert _values(seen) == [("there:0", [1.0, 1.0]), ("here:0", [4.0, 4.0])]
    assert [one.device[-5:] for one in seen] == ["CPU:1", "CPU:0"]


def test_a_step_that_fails_leaves_nothing_behind(session):
    x = tf.placeholder(tf.float32, [None], name="x")
    first = tf.negative(x, name="first")
    y = tf.reshape(first, [2])
    seen = []
    with session.watch("first", seen.append):
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(y, {x: [1.0]})
        session.run(y, {x: [1.0, 2.0]})
    assert _values(seen) == [("first:0", [-1.0, -2.0])]


def test_the_line_that_is_printed(session, capsys):
    x = tf.placeholder(tf.float32, [None], name="x")
    with session.watch(x):
        session.run(x * 2.0, {x: [0.0, 1.0, 2.0, 3.0, np.nan, np.inf]})
        session.run(x * 2.0, {x: [0.5]})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("x:0 float32[6] min 0 max 3 mean 1.5 NaN 1 infinite 1  (Placeholder at ")
    assert lines[1].startswith("x:0 float32[1] 0.5  (Placeholder at ")


def test_what_is_refused(session):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.Graph().as_default():
        other = tf.constant(1.0, name="other")
    with pytest.raises(ValueError, match=r"no tensor of the graph is called 'y'.*such as x:0"):
        session.watch("y")
    with pytest.raises(ValueError, match=r"other:0 \(made at .*\) is not in the graph of this session"):
        session.watch(other)
    with pytest.raises(ValueError, match="is no regular expression"):
        session.watch("x(")
    with pytest.raises(ValueError, match="every must be a number of steps, 1 or more, got 0"):
        session.watch(x, every=0)
    with pytest.raises(TypeError, match="call must be a function"):
        session.watch(x, "print")


def test_what_was_observed_prints_as_a_table(session):
    x = tf.placeholder(tf.float32, [8], name="x")
    lines = str(session.observe(tf.sqrt(x, name="root"), {x: np.arange(8.0)})).splitlines()
    assert lines[0] == "2 tensors" and lines[1].split() == ["tensor", "op", "value", "line"]
    assert lines[3].startswith("root:0  Sqrt") and " min 0 max 2.64575 " in lines[3] and "test_observe.py:" in lines[3]
