"""tf.debugging.compare_runs: the op where two runs begin to differ."""

import numpy as np

import headrace as tf


def _model(scale):
    x = tf.placeholder(tf.float32, [3], name="x")
    hidden = tf.multiply(x, scale, name="hidden")
    return x, tf.reduce_sum(tf.exp(hidden, name="grown"), name="loss")


def test_equal_sessions():
    x, loss = _model(2.0)
    with tf.Session() as a, tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as b:
        found = tf.debugging.compare_runs(a, b, loss, {x: [1.0, 2.0, 3.0]}, rtol=1e-4)
    assert not found
    assert found.first is None
    assert found.compared >= 4
    assert "0 differ" in str(found)


def test_two_graphs_are_compared_by_name():
    graphs = [tf.Graph(), tf.Graph()]
    for graph, scale in zip(graphs, (2.0, 2.5), strict=True):
        with graph.as_default():
            x, loss = _model(scale)
            if scale == 2.0:
                first_x, first_loss = x, loss
            else:
                tf.constant(1.0)
    with tf.Session(graph=graphs[0]) as a, tf.Session(graph=graphs[1]) as b:
        found = tf.debugging.compare_runs(a, b, first_loss, {first_x: [1.0, 0.0, 0.0]}, tensors="hidden|grown|loss")
    assert [one.name for one in found.differences] == ["hidden:0", "grown:0", "loss:0"]
    assert found.first.by == 0.5
    assert "test_run_difference.py:" in str(found)
    assert "Mul hidden:0 differs by 0.5" in str(found)


def test_in_a_loop_the_iteration_is_named():
    v = tf.get_variable("v", initializer=[1.0, 1.0, 1.0])

    def body(i, total):
        return i + 1, tf.add(total, tf.gather(v, i), name="added")

    loop = tf.while_loop(lambda i, total: i < 3, body, [0, 0.0])[1]
    with tf.Session() as a, tf.Session() as b:
        a.run(v.initializer)
        b.run(v.assign([1.0, 2.0, 1.0]).op)
        found = tf.debugging.compare_runs(a, b, loop, tensors=".*added")
    assert [(one.name, one.time, one.by) for one in found.differences] == [
        ("while/added:0", 1, 1.0), ("while/added:0", 2, 1.0),
    ]  # fmt: skip
    assert "the 2. time" in str(found.first)


def test_another_number_of_iterations_or_another_shape_is_a_difference():
    n = tf.get_variable("n", initializer=2)
    loop = tf.while_loop(lambda i: i < n, lambda i: tf.add(i, 1, name="next"), [0])
    row = tf.fill([n], 1.0, name="row")
    with tf.Session() as a, tf.Session() as b:
        a.run(n.initializer)
        b.run(n.assign(3).op)
        found = tf.debugging.compare_runs(a, b, [loop, row], tensors=".*next|row")
    assert {(one.name, one.by) for one in found.differences} == {("while/next:0", None), ("row:0", None)}


def test_a_branch_that_only_one_takes():
    v = tf.get_variable("v", initializer=1.0)
    y = tf.cond(v > 0.0, lambda: tf.negative(v, name="up"), lambda: tf.abs(v, name="down"))
    with tf.Session() as a, tf.Session() as b:
        a.run(v.initializer)
        b.run(v.assign(-1.0).op)
        found = tf.debugging.compare_runs(a, b, y, tensors="cond/(up|down)")
    assert (found.only_first, found.only_second) == (["cond/up:0"], ["cond/down:0"])
    assert found
    np.testing.assert_equal(found.compared, 0)
