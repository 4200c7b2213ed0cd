"""The L-BFGS optimizer: few steps on problems where gradient descent needs many."""

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace.library.train.optimizer.lbfgs import LBFGSOptimizer


def minimize(loss, steps: int, **options) -> float:
    op = LBFGSOptimizer(**options).minimize(loss, global_step=tf.train.get_or_create_global_step())
    with initialized_session() as session:
        for _ in range(steps):
            session.run(op)
        assert session.run(tf.train.get_global_step()) == steps
        return float(session.run(loss))


def test_quadratic_in_several_variables() -> None:
    scales = tf.constant([1.0, 10.0, 100.0], tf.float64)
    v = tf.get_variable("v", initializer=np.array([1.0, 2.0, 3.0]))
    w = tf.get_variable("w", initializer=np.ones((2, 2)))
    loss = tf.reduce_sum(scales * v * v) + tf.reduce_sum(tf.square(w - 3.0))
    assert minimize(loss, 30) < 1e-12


@pytest.mark.parametrize("history", [1, 5])
def test_rosenbrock(history: int) -> None:
    v = tf.get_variable("v", initializer=np.array([-1.2, 1.0]))
    loss = tf.square(1.0 - v[0]) + 100.0 * tf.square(v[1] - tf.square(v[0]))
    assert minimize(loss, 150, history=history, max_step=0.3) < 1e-8


def test_logistic_regression_beats_gradient_descent() -> None:
    state = np.random.RandomState(0)
    x = state.randn(60, 4).astype(np.float32) * [1, 5, 0.2, 1]
    y = (x @ [1.0, -0.5, 2.0, 0.0] > 0).astype(np.float32)
    found = []
    for make in (LBFGSOptimizer, lambda: tf.train.GradientDescentOptimizer(0.1)):
        tf.reset_default_graph()
        w = tf.get_variable("w", [4], initializer=tf.zeros_initializer())
        logits = tf.reduce_sum(tf.constant(x, tf.float32) * w, 1)
        loss = tf.losses.sigmoid_cross_entropy(y, logits) + 0.01 * tf.nn.l2_loss(w)
        op = make().minimize(loss)
        with initialized_session() as session:
            for _ in range(25):
                session.run(op)
            found.append(session.run([loss, tf.norm(tf.gradients(loss, w)[0])]))
    assert found[0][0] < found[1][0]
    assert found[0][1] < 1e-3


def test_sparse_gradients_and_state() -> None:
    table = tf.get_variable("table", initializer=tf.ones([4, 2]))
    loss = tf.reduce_sum(tf.square(tf.gather(table, [1, 2, 1]) - 2.0))
    assert minimize(loss, 20) < 1e-10
    assert [v.name for v in tf.global_variables() if v.name.startswith("LBFGS")][:2] == [
        "LBFGS/point:0",
        "LBFGS/gradient:0",
    ]
    assert tf.trainable_variables() == [table]


def test_errors() -> None:
    with pytest.raises(ValueError, match="history"):
        LBFGSOptimizer(history=0)
    a, b = tf.get_variable("a", initializer=1.0), tf.get_variable("b", initializer=np.float64(1.0))
    with pytest.raises(ValueError, match="one dtype"):
        LBFGSOptimizer().minimize(tf.square(a) + tf.cast(tf.square(b), tf.float32))
