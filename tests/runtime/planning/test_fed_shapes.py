"""Steps fed through placeholders of open shapes: planned again for the shapes that keep coming."""

import numpy as np
import pytest

import headrace as tf
from headrace.runtime.planning import fed_shapes

OFF = tf.ConfigProto(compile="off")


def plan_of(session, fetches, feeds):
    return session._master.plan(feeds, fetches, [])


def on_arrays(plan):
    return {n.type for program in plan.programs for n in program.on_arrays}


def chosen(session, y, x, value):
    plan = plan_of(session, [y], [x])
    return plan.fed_shapes.choose([value])


def test_small_batches_run_on_arrays_after_a_while():
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.tanh(x * 2.0) + 1.0
    small, large = np.ones((2, 3), np.float32), np.ones((12000, 3), np.float32)
    with tf.Session(config=OFF) as session:
        wanted = session.run(y, {x: small})
        for _ in range(fed_shapes.RUNS):
            np.testing.assert_allclose(session.run(y, {x: small}), wanted, rtol=1e-6)
            session.run(y, {x: large})
        assert on_arrays(chosen(session, y, x, small)) >= {"Mul", "Tanh"}
        general = plan_of(session, [y], [x])
        assert chosen(session, y, x, large) is general and not on_arrays(general)
        np.testing.assert_allclose(session.run(y, {x: 2 * small}), np.tanh(4 * small) + 1, rtol=1e-6)


def test_known_shapes_need_no_second_plan():
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.Session(config=OFF) as session:
        assert plan_of(session, [x * 2.0], [x]).fed_shapes is None


def test_no_more_plans_than_a_few():
    x = tf.placeholder(tf.float32, [None])
    y = tf.exp(x) * 3.0 - x
    with tf.Session(config=OFF) as session:
        for size in range(1, fed_shapes.PLANS + 3):
            for _ in range(fed_shapes.RUNS + 1):
                found = session.run(y, {x: np.zeros(size, np.float32)})
            assert found.tolist() == [3.0] * size
        plans = plan_of(session, [y], [x]).fed_shapes
        assert len(plans._plans) == fed_shapes.PLANS
        assert plans.choose([np.zeros(fed_shapes.PLANS + 2)]) is plan_of(session, [y], [x])


def test_feeds_of_ever_new_shapes_are_forgotten():
    x = tf.placeholder(tf.float32, [None])
    y = tf.exp(x) * 3.0
    with tf.Session(config=OFF) as session:
        for size in range(1, 40 * fed_shapes.PLANS):
            session.run(y, {x: np.zeros(size, np.float32)})
        assert len(plan_of(session, [y], [x]).fed_shapes._runs) <= 16 * fed_shapes.PLANS


def test_what_becomes_a_constant_is_not_lent():
    """The number of rows is a constant of the second plan: changing the result must not change the next one."""
    x = tf.placeholder(tf.float32, [None, 3])
    rows = tf.cast(tf.shape(x)[0], tf.float32) + tf.zeros([2])
    total = tf.reduce_sum(tf.exp(x) * 2.0)
    value = np.zeros((4, 3), np.float32)
    with tf.Session(config=OFF) as session:
        for _ in range(fed_shapes.RUNS + 3):
            found, _ = session.run([rows, total], {x: value})
            assert found.tolist() == [4.0, 4.0]
            found[0] = 99.0


@pytest.mark.parametrize("batch", [1, 5])
def test_training_agrees_with_tensors(batch, monkeypatch):
    def train():
        with tf.Graph().as_default():
            x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
            w, b = tf.Variable(np.full((4, 3), 0.1, np.float32)), tf.Variable(np.zeros(3, np.float32))
            logits = tf.matmul(tf.nn.relu(x), w) + b
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            step = tf.train.AdamOptimizer(0.1).minimize(loss)
            random = np.random.RandomState(0)
            feed = {x: random.randn(batch, 4).astype(np.float32), y: random.randint(0, 3, batch)}
            with tf.Session(config=OFF) as session:
                session.run(tf.global_variables_initializer())
                return [session.run([loss, step], feed)[0] for _ in range(fed_shapes.RUNS + 20)]

    found = train()
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays")
    np.testing.assert_allclose(found, train(), rtol=1e-3, atol=1e-5)


def test_a_label_out_of_range_is_named_by_either_plan():
    y = tf.placeholder(tf.int32, [None])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.zeros([2, 3]) + tf.Variable(0.0))
    with tf.Session(config=OFF) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(fed_shapes.RUNS + 2):
            session.run(loss, {y: [0, 1]})
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"label value of 3 .* valid range of \[0, 3\)"):
                session.run(loss, {y: [0, 3]})


def test_a_branch_that_does_not_fit_the_fed_shape_is_no_news(caplog):
    """A branch that guards against such shapes is not taken; the step runs as before, and nothing is logged."""
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.cond(tf.shape(x)[0] > 3, lambda: x[:4] + tf.ones([4, 2]), lambda: x * 3.0)
    with tf.Session() as session:
        for _ in range(fed_shapes.RUNS + 2):
            np.testing.assert_array_equal(session.run(y, {x: np.ones((2, 2))}), 3 * np.ones((2, 2)))
    assert not caplog.records


def test_shapes_are_known_in_bodies_too(monkeypatch):
    """The gradient of a loop asks for no shapes and undoes no broadcasting where the fed shapes tell that there was none."""
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "unroll")  # the loop would be gone
    x = tf.placeholder(tf.float32, [None, 3])
    rows = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x + y), (0, x))[1]
    (slope,) = tf.gradients(tf.reduce_sum(rows), [x])
    value = np.full((2, 3), 2.0, np.float32)
    with tf.Session(config=OFF) as session:
        for _ in range(fed_shapes.RUNS + 3):
            np.testing.assert_allclose(session.run(slope, {x: value}), np.full((2, 3), 81.0))  # of x (x + 1)^3
        plan = chosen(session, slope, x, value)
        left = {n.type for body in plan.programs[0].bodies for n in body.lines.values()}
        assert "Mul" in left and not left & {"Shape", "_SumToShape"}
