"""Moving work out of loops: projected inputs, deferred sums, what is fixed.  Each as graphs, and by its numbers."""

import numpy as np
import pytest

import headrace as tf

REWRITES = {"project_inputs", "defer_sums"}
STEPS, BATCH, WIDTH, UNITS = 5, 3, 64, 64


def planned(session, fetches, feeds):
    """The graph of the step, and the bodies of its loops by the name of the loop's last part."""
    plan = session._master.plan(list(feeds), list(fetches), [])
    return plan.graph, {n.type: n.attrs["body"] for n in plan.graph.nodes if "body" in n.attrs}


def types(graph):
    return [n.type for n in graph.nodes]


def both(monkeypatch, fetches, feeds):
    """The values with the rewrites, which must be those without them; the session that has them."""
    found = []
    for off in (REWRITES, ()):
        monkeypatch.setenv("HEADRACE_PASSES_OFF", ",".join(off))
        session = tf.Session(config=tf.ConfigProto(compile="off"))
        session.run(tf.global_variables_initializer())
        found.append(session.run(fetches, feeds))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=3e-5 * max(np.abs(b).max(), 1e-3))
    return session


def weights(*shape, seed=0):
    return tf.Variable(np.random.RandomState(seed).standard_normal(shape).astype(np.float32) * 0.2)


def recurrent(x, cell, steps=None):
    rows = tf.TensorArray(tf.float32, STEPS).unstack(x)
    outputs = tf.TensorArray(tf.float32, STEPS)

    def body(i, h, outputs):
        h = cell(rows.read(i), h)
        return i + 1, h, outputs.write(i, h)

    bound = STEPS if steps is None else steps
    _, _, outputs = tf.while_loop(lambda i, *_: i < bound, body, (0, tf.zeros([BATCH, UNITS]), outputs))
    return outputs


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])


def feed(x):
    return {x: np.random.RandomState(5).standard_normal(x.shape.as_list()).astype(np.float32)}


@pytest.mark.parametrize("order", [1, -1])
def test_rows_are_projected_before_the_loop(monkeypatch, x, order):
    w, b = weights(WIDTH + UNITS, UNITS), weights(UNITS, seed=1)
    parts = [lambda row, h: row, lambda row, h: h][::order]
    y = recurrent(x, lambda row, h: tf.tanh(tf.nn.bias_add(tf.matmul(tf.concat([p(row, h) for p in parts], 1), w), b)))
    session = both(monkeypatch, [y.stack()], feed(x))
    graph, bodies = planned(session, [y.stack()], [x])
    assert types(graph).count("BatchMatMulV2") == 1
    inside = types(bodies["StatelessWhile"])
    assert "_AddProduct" in inside
    assert not {"MatMul", "ConcatV2", "BiasAdd"} & set(inside)


def test_a_product_of_rows_alone_leaves_the_loop(monkeypatch, x):
    w, u = weights(WIDTH, UNITS), weights(UNITS, UNITS, seed=1)
    y = recurrent(x, lambda row, h: tf.tanh(tf.matmul(row, w) + tf.matmul(h, u))).stack()
    session = both(monkeypatch, [y], feed(x))
    _, bodies = planned(session, [y], [x])
    assert types(bodies["StatelessWhile"]).count("MatMul") == 1


def test_a_loop_that_may_stop_early_is_left_alone(monkeypatch, x):
    w = weights(WIDTH, UNITS)
    rows = tf.TensorArray(tf.float32, STEPS).unstack(x)

    def body(i, h):
        return i + 1, h + tf.matmul(rows.read(i), w)

    _, y = tf.while_loop(
        lambda i, h: tf.logical_and(i < STEPS, tf.reduce_sum(h) < 1e3), body, (0, tf.zeros([BATCH, UNITS]))
    )
    session = both(monkeypatch, [y], feed(x))
    graph, _ = planned(session, [y], [x])
    assert "BatchMatMulV2" not in types(graph)


def test_gradients_of_weights_are_one_product_after_the_loop(monkeypatch, x):
    w, b = weights(WIDTH + UNITS, UNITS), weights(UNITS, seed=1)
    y = recurrent(x, lambda row, h: tf.tanh(tf.nn.bias_add(tf.matmul(tf.concat([row, h], 1), w), b))).stack()
    fetches = tf.gradients(tf.reduce_sum(y * y), [x, w, b])
    session = both(monkeypatch, fetches, feed(x))
    graph, bodies = planned(session, fetches, [x])
    backward = types(bodies["_StatelessRepeat"])
    assert backward.count("MatMul") == 1  # the state's; that of the rows is done for all together
    assert "BiasAddGrad" not in backward
    assert types(graph).count("_JoinRows") == 2  # the factor that both need is collected once
    product = next(n for n in bodies["_StatelessRepeat"].nodes if n.type == "MatMul")
    assert product.inputs[1].shape.as_list() == [UNITS, UNITS]


def test_gradients_when_the_loop_does_not_run_or_runs_less(monkeypatch, x):
    w, n = weights(WIDTH + UNITS, UNITS), tf.placeholder(tf.int32, [])
    rows = tf.TensorArray(tf.float32, STEPS).unstack(x)

    def body(i, h):
        return i + 1, tf.tanh(tf.matmul(tf.concat([rows.read(i), h], 1), w))

    _, y = tf.while_loop(lambda i, *_: i < n, body, (0, tf.ones([BATCH, UNITS])))
    fetches = tf.gradients(tf.reduce_sum(y * y), [x, w])
    session = both(monkeypatch, fetches, {**feed(x), n: 3})
    both(monkeypatch, fetches, {**feed(x), n: 0})
    assert not session.run(fetches[1], {**feed(x), n: 0}).any()


def test_a_batch_of_unknown_size(monkeypatch):
    x = tf.placeholder(tf.float32, [STEPS, None, WIDTH])
    w = weights(WIDTH + UNITS, UNITS)
    rows = tf.TensorArray(tf.float32, STEPS).unstack(x)
    start = tf.zeros([tf.shape(x)[1], UNITS])

    def body(i, h):
        return i + 1, tf.tanh(tf.matmul(tf.concat([rows.read(i), h], 1), w))

    shapes = (tf.TensorShape([]), tf.TensorShape([None, UNITS]))
    _, y = tf.while_loop(lambda i, *_: i < STEPS, body, (0, start), shape_invariants=shapes)
    fetches = [y, *tf.gradients(tf.reduce_sum(y * y), [x, w])]
    for batch in (2, 7):
        both(monkeypatch, fetches, {x: np.random.RandomState(batch).randn(STEPS, batch, WIDTH) * 0.3})


def test_second_order(monkeypatch, x):
    w = weights(WIDTH + UNITS, UNITS)
    y = recurrent(x, lambda row, h: tf.tanh(tf.matmul(tf.concat([row, h], 1), w))).stack()
    (first,) = tf.gradients(tf.reduce_sum(y * y), [w])
    both(monkeypatch, tf.gradients(tf.reduce_sum(first * first), [w, x]), feed(x))


def test_sums_that_something_else_sees_stay(monkeypatch):
    """A running sum that is used in each iteration is not a sum at the end."""
    a = tf.placeholder(tf.float32, [2, 32])

    def body(i, s, seen):
        s = s + tf.matmul(a * tf.cast(i, tf.float32), a, transpose_a=True)
        return i + 1, s, seen + tf.reduce_max(s)

    found = tf.while_loop(lambda i, *_: i < 3, body, (0, tf.zeros([32, 32]), 0.0))
    both(monkeypatch, list(found[1:]), {a: np.random.RandomState(0).randn(2, 32)})


def test_a_running_sum_starts_where_it_did(monkeypatch):
    a, start = tf.placeholder(tf.float32, [2, 32]), tf.placeholder(tf.float32, [32, 32])

    def body(i, h, s):
        return i + 1, h * 0.5, s + tf.matmul(h, tf.sin(h), transpose_a=True)

    _, _, s = tf.while_loop(lambda i, *_: i < 4, body, (0, a, start))
    session = both(monkeypatch, [s], {a: np.random.RandomState(0).randn(2, 32), start: np.eye(32)})
    graph, _ = planned(session, [s], [a, start])
    assert types(graph).count("_JoinRows") == 2


def test_what_may_fail_stays_inside(interpreted):
    """A loop that does not run does not fail."""
    index = tf.placeholder(tf.int32, [])
    table, n = tf.constant([1.0, 2.0]), tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tf.gather(table, index)), (0, 0.0))[1]
    assert interpreted.run(y, {n: 0, index: 99}) == 0
    assert interpreted.run(y, {n: 2, index: 1}) == 4
    with pytest.raises(tf.errors.InvalidArgumentError):
        interpreted.run(y, {n: 1, index: 99})
