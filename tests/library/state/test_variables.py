"""Collections of variables, their initialisers, and which of them have a value."""

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.core import errors


def test_collections() -> None:
    v = tf.Variable(1.0, name="a/v")
    w = tf.Variable(1.0, name="b/w", trainable=False)
    local = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    model = tf.Variable(1.0, collections=[tf.GraphKeys.MODEL_VARIABLES, tf.GraphKeys.MOVING_AVERAGE_VARIABLES])
    assert tf.global_variables() == tf.all_variables() == [v, w]
    assert tf.global_variables("b") == [w]
    assert tf.trainable_variables() == [v, model]
    assert tf.local_variables() == [local]
    assert tf.model_variables() == tf.moving_average_variables() == [model]


def test_initialisers(session: tf.Session) -> None:
    v = tf.Variable(1.0)
    local = tf.Variable(2.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    assert session.run(tf.global_variables_initializer()) is None
    assert session.run(v) == 1.0
    with pytest.raises(errors.FailedPreconditionError):
        session.run(local)
    session.run(tf.initialize_local_variables())
    assert session.run(local) == 2.0
    session.run(v.assign(5.0))
    session.run(tf.initialize_variables([v]))
    assert session.run(v) == 1.0
    session.run([v.assign(5.0)])
    session.run(tf.initialize_all_variables())
    assert session.run(v) == 1.0
    with pytest.raises(TypeError, match="takes variables"):
        tf.variables_initializer([tf.constant(1.0)])


def test_nothing_to_initialise() -> None:
    init = tf.global_variables_initializer()
    assert init.type == "NoOp" and init.name == "init"
    run(init)


def test_report_uninitialized_variables(session: tf.Session) -> None:
    v = tf.Variable(1.0, name="v")
    w = tf.get_variable("s/w", [2])
    local = tf.get_local_variable("l", [2])
    report, few = tf.report_uninitialized_variables(), tf.report_uninitialized_variables([w], name="few")
    assert report.dtype == tf.string and report.shape.as_list() == [None] and few.name.startswith("few/")
    assert session.run(report).tolist() == [b"v", b"s/w", b"l"]
    session.run(w.initializer)
    assert session.run(report).tolist() == [b"v", b"l"] and session.run(few).tolist() == []
    session.run([v.initializer, local.initializer])
    assert session.run(report).shape == (0,)


def test_report_of_no_variables() -> None:
    assert run(tf.report_uninitialized_variables()).shape == (0,)


def test_is_variable_initialized_and_assert() -> None:
    v, w = tf.Variable(1.0), tf.Variable([1.0])
    known, check = tf.is_variable_initialized(v), tf.assert_variables_initialized()
    with tf.Session() as sess:
        assert not sess.run(known)
        with pytest.raises(errors.FailedPreconditionError):
            sess.run(check)
        sess.run([v.initializer, w.initializer])
        assert sess.run(known)
        sess.run(check)
    with tf.Graph().as_default():
        assert tf.assert_variables_initialized() is None


def test_sessions_have_their_own_values() -> None:
    v = tf.Variable(1.0)
    bump = v.assign_add(1.0)
    with tf.Session() as one, tf.Session() as two:
        one.run(v.initializer)
        two.run(v.initializer)
        one.run(bump)
        assert (one.run(v), two.run(v)) == (2.0, 1.0)


def test_global_step(session: tf.Session) -> None:
    assert tf.train.get_global_step() is None
    step = tf.train.create_global_step()
    assert step.name == "global_step:0" and step.dtype.base_dtype == tf.int64 and not step.trainable
    assert tf.train.get_global_step() is step is tf.train.get_or_create_global_step()
    assert tf.get_collection(tf.GraphKeys.GLOBAL_STEP) == [step] and step in tf.global_variables()
    with pytest.raises(ValueError, match='"global_step" already exists'):
        tf.train.create_global_step()
    session.run(step.initializer)
    session.run(step.assign_add(3))
    assert tf.train.global_step(session, step) == 3


def test_global_step_of_another_graph_by_name() -> None:
    graph = tf.Graph()
    with graph.as_default():
        v = tf.Variable(0, name="global_step", trainable=False)
    assert tf.train.get_global_step(graph) is v._ref()
    assert tf.train.get_or_create_global_step() is not v
    with pytest.raises(TypeError, match="integer"):
        tf.train.assert_global_step(tf.Variable(1.0))
    with pytest.raises(TypeError, match="scalar"):
        tf.train.assert_global_step(tf.Variable([1]))
    with pytest.raises(TypeError, match="Variable or Tensor"):
        tf.train.assert_global_step(3)


def test_updates_are_in_order_with_control_dependencies(session: tf.Session) -> None:
    v = tf.Variable(np.arange(3.0))
    first = v.assign(np.ones(3))
    with tf.control_dependencies([first]):
        second = v.assign_add(np.ones(3))
    session.run(v.initializer)
    assert session.run(second).tolist() == [2.0, 2.0, 2.0]
