"""Session.find_nan and HEADRACE_CHECK_NUMERICS: the first op whose result is NaN or infinite, wherever it is."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture
def session():
    with tf.Session() as sess:
        yield sess


def _network():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    weights = tf.get_variable("w", initializer=[[1.0, 0.0], [0.0, 1.0]])
    with tf.name_scope("layer3"):
        hidden = tf.sqrt(tf.matmul(x, weights), name="root")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 3)))
    return x, loss


def test_the_op_where_it_began_is_named_and_nothing_is_updated(session):
    x, loss = _network()
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer().minimize(loss, step)
    session.run(tf.global_variables_initializer())
    error = session.find_nan(train, {x: [[1.0, -1.0]]})
    assert error.op.name == "layer3/root"
    assert "Sqrt layer3/root gives 1 times NaN in 2 numbers" in error.message
    assert "layer3/MatMul:0: float32[1, 2], -1 to 1" in error.message
    assert "test_check_numbers.py:" in error.message
    assert session.run(step) == 0


def test_a_step_of_finite_numbers_runs_to_its_end(session):
    x, loss = _network()
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer().minimize(loss, step)
    session.run(tf.global_variables_initializer())
    assert session.find_nan(train, {x: [[1.0, 4.0]]}) is None
    assert session.run(step) == 1


def test_a_fed_value_and_a_variable_that_are_nan_already(session):
    x = tf.placeholder(tf.float32, [2], name="fed")
    w = tf.get_variable("w", initializer=[1.0, float("inf")])
    session.run(w.initializer)
    assert session.find_nan(tf.exp(x), {x: [1.0, np.nan]}).op.name == "fed"
    assert session.find_nan(tf.exp(-w)).op.name == "w/read"


def test_inside_a_loop(session):
    def body(i, value):
        return i + 1, tf.sqrt(value - 1.0, name="shrink")

    loop = tf.while_loop(lambda i, value: i < 5, body, [0, tf.constant(2.0)])
    assert session.find_nan(loop).op.name == "while/shrink"


def test_inside_a_conditional_the_branch_that_runs(session):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(x > 0.0, lambda: tf.log(-x, name="wrong"), lambda: tf.log(-x, name="right"))
    assert session.find_nan(y, {x: 1.0}).op.name == "cond/wrong"
    assert session.find_nan(y, {x: -1.0}) is None


def test_inside_a_function(session):
    @tf.contrib.eager.defun
    def shrink(value):
        return tf.log(value - 1.0, name="inner")

    assert session.find_nan(shrink(tf.constant(1.0))).op.name.endswith("inner")


def test_in_a_gradient(session):
    x = tf.Variable(0.0)
    session.run(x.initializer)
    error = session.find_nan(tf.gradients(tf.sqrt(x), x))
    assert "gradients" in error.op.name


def test_half_precision_and_whole_numbers(session):
    big = tf.constant([60000.0], tf.float16)
    error = session.find_nan(big * 2.0 + tf.cast(tf.constant(3), tf.float16))
    assert error.op.name == "mul"
    assert session.find_nan(tf.constant([1, 2]) + 3) is None


def test_with_a_compiler():
    x = tf.placeholder(tf.float32, [2])
    y = tf.log(x, name="log") * 2.0
    with tf.Session(config=tf.ConfigProto(compile="always")) as sess:
        assert sess.find_nan(y, {x: [0.0, 1.0]}).op.name == "log"
        assert sess.find_nan(y, {x: [1.0, 1.0]}) is None


def test_over_two_devices():
    config = tf.ConfigProto(device_count={"CPU": 2})
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/cpu:1"):
        y = tf.log(x, name="there")
    with tf.device("/cpu:0"):
        z = y + 1.0
    with tf.Session(config=config) as sess:
        assert sess.find_nan(z, {x: [0.0, 1.0]}).op.name == "there"


def test_on_a_server():
    server = tf.train.Server.create_local_server()
    x = tf.placeholder(tf.float32, [2])
    y = tf.log(x, name="there")
    with tf.Session(server.target) as sess:
        assert sess.find_nan(y, {x: [0.0, 1.0]}).op.name == "there"


def test_other_errors_are_raised(session):
    x = tf.placeholder(tf.float32, [None])
    bad = tf.check_numerics(tf.reshape(x, [3]), "mine")
    with pytest.raises(tf.errors.InvalidArgumentError, match="reshape"):
        session.find_nan(bad, {x: [1.0]})


def test_the_variable_has_every_step_checked(session, monkeypatch):
    monkeypatch.setenv("HEADRACE_CHECK_NUMERICS", "1")
    x = tf.placeholder(tf.float32, [2])
    y = tf.log(x, name="log")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Log log gives 1 times infinity"):
        session.run(y, {x: [0.0, 1.0]})


def test_a_wrong_setting_is_refused(session, monkeypatch):
    monkeypatch.setenv("HEADRACE_CHECK_NUMERICS", "yes")
    with pytest.raises(ValueError, match="HEADRACE_CHECK_NUMERICS must be 1 or 0, got 'yes'"):
        session.run(tf.constant(1.0))
