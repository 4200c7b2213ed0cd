"""Variable scopes: what get_variable makes, shares and refuses.  Names are compared in test_variable_names."""

import threading

import numpy as np
import pytest

import headrace as tf


def value(variable):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(tf.local_variables_initializer())
        return sess.run(variable)


def test_sharing() -> None:
    with tf.variable_scope("a"):
        v = tf.get_variable("v", [1])
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("v") is v
        assert tf.get_variable("v", [1]) is v
        assert tf.get_variable("v", [None]) is v
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("v", [1]) is v
        assert tf.get_variable("new", [1]).name == "a/new:0"
    with tf.variable_scope("a") as scope:
        scope.reuse_variables()
        assert tf.get_variable("v", [1]) is v and scope.reuse is True


def test_creating_twice_is_an_error_that_names_the_first_place() -> None:
    tf.get_variable("w", [2])
    with pytest.raises(
        ValueError, match=r"(?s)Variable w already exists, disallowed.*reuse=True.*test_variable_scope.py:"
    ):
        tf.get_variable("w", [2])


def test_reuse_errors() -> None:
    tf.get_variable("w", [2])
    with tf.variable_scope("", reuse=True):
        with pytest.raises(ValueError, match=r"share variable w, but specified shape \(3,\) and found shape \(2,\)"):
            tf.get_variable("w", [3])
        with pytest.raises(ValueError, match="specified dtype int32 and found dtype float32_ref"):
            tf.get_variable("w", [2], tf.int32)
        with pytest.raises(ValueError, match="Variable other does not exist, or was not created with tf.get_variable"):
            tf.get_variable("other", [2])
        tf.Variable(1.0, name="plain")
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("plain", [])


def test_reuse_is_inherited_and_cannot_be_turned_off() -> None:
    with tf.variable_scope("a"), tf.variable_scope("b"):
        v = tf.get_variable("v", [1])
    with tf.variable_scope("a", reuse=True), tf.variable_scope("b", reuse=False) as inner:
        assert inner.reuse is True and tf.get_variable("v", [1]) is v
    with tf.variable_scope("a") as scope:
        assert scope.reuse is False


def test_initializers() -> None:
    assert value(tf.get_variable("array", initializer=np.array([1.0, 2.0]))).dtype == np.float64
    assert value(tf.get_variable("number", initializer=3)) == 3
    assert value(tf.get_variable("tensor", initializer=tf.constant([4.0]))).tolist() == [4.0]
    assert value(tf.get_variable("function", initializer=lambda: tf.constant([5.0]))).tolist() == [5.0]
    assert value(tf.get_variable("object", [2], initializer=tf.ones_initializer())).tolist() == [1.0, 1.0]
    assert value(tf.get_variable("class", [2], initializer=tf.ones_initializer)).tolist() == [1.0, 1.0]
    assert value(tf.get_variable("plain", [2], initializer=lambda shape, dtype: tf.fill(shape, 7.0))).tolist() == [7, 7]
    assert value(tf.get_variable("integer", [2], tf.int32)).tolist() == [0, 0]
    assert value(tf.get_variable("flag", [1], tf.bool)).tolist() == [False]
    assert abs(value(tf.get_variable("glorot", [50, 50]))).max() <= np.sqrt(6 / 100)


def test_initializer_errors() -> None:
    with pytest.raises(ValueError, match=r"Shape of a new variable \(a\) must be fully defined.*initializer"):
        tf.get_variable("a")
    with pytest.raises(ValueError, match="fully defined"):
        tf.get_variable("a", [None, 2])
    with pytest.raises(ValueError, match="initializer passed.*not valid"):
        tf.get_variable("a", [None], initializer=tf.zeros_initializer())
    with pytest.raises(ValueError, match="do not specify shape"):
        tf.get_variable("a", [2], initializer=[1.0, 2.0])
    with pytest.raises(ValueError, match="'int32' and explicit dtype 'float32' don't match"):
        tf.get_variable("a", dtype=tf.float32, initializer=tf.constant(1))
    with pytest.raises(ValueError, match="An initializer for variable a of .*variant.* is required"):
        tf.get_variable("a", [2], tf.variant)
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal, but are 3 and 2"):
        tf.get_variable("a", [3], initializer=lambda shape, dtype: tf.zeros([2]))


def test_scope_arguments() -> None:
    with pytest.raises(TypeError, match="name_or_scope is required"):
        tf.variable_scope(None)
    with pytest.raises(TypeError, match="string or VariableScope"), tf.variable_scope(3):
        pass
    with pytest.raises(ValueError, match="reuse parameter"), tf.variable_scope("x", reuse=3):
        pass
    with pytest.raises(ValueError, match="without a name_or_scope"), tf.variable_scope(None, "x", reuse=True):
        pass
    with pytest.raises(TypeError, match="auxiliary_name_scope"):
        tf.variable_scope("x", auxiliary_name_scope=1)


def test_defaults_of_a_scope() -> None:
    ones, odd = tf.ones_initializer(), tf.identity
    with tf.variable_scope("s", initializer=ones, dtype=tf.float64, constraint=odd, use_resource=True) as scope:
        assert (scope.name, scope.original_name_scope) == ("s", "s/")
        assert (scope.initializer, scope.dtype, scope.constraint, scope.use_resource) == (ones, tf.float64, odd, True)
        assert tf.get_variable_scope() is scope
        v = tf.get_variable("v", [2])
        scope.set_initializer(None)
        scope.set_dtype(tf.int32)
        assert value(tf.get_variable("n", [2])).tolist() == [0, 0]
    assert v.constraint is odd and value(v).tolist() == [1.0, 1.0]
    root = tf.get_variable_scope()
    assert (root.name, root.reuse, root.original_name_scope, root.dtype) == ("", False, "", tf.float32)


def test_an_error_inside_leaves_the_scope() -> None:
    with pytest.raises(RuntimeError), tf.variable_scope("a"):
        raise RuntimeError
    assert tf.get_variable_scope().name == "" and tf.constant(1.0).name == "Const:0"


def test_a_scope_object_can_be_entered_again() -> None:
    scope = tf.variable_scope("a", reuse=tf.AUTO_REUSE)
    with scope:
        v = tf.get_variable("v", [1])
    with scope:
        assert tf.get_variable("v", [1]) is v


def test_collections_of_a_scope() -> None:
    with tf.variable_scope("a") as a:
        v = tf.get_variable("v", [1])
        local = tf.get_local_variable("local", [1])
        fixed = tf.get_variable("fixed", [1], trainable=False)
    tf.get_variable("ab", [1])
    assert a.trainable_variables() == [v] and a.global_variables() == [v, fixed] and a.local_variables() == [local]
    assert tf.trainable_variables("a/") == [v] and not local.trainable
    assert value(local).shape == (1,)


def test_regularizers() -> None:
    def half(v):
        return tf.reduce_sum(v) * 0.5

    with tf.variable_scope("s", regularizer=half):
        tf.get_variable("w", initializer=[1.0, 3.0])
        tf.get_variable("free", [1], regularizer=tf.no_regularizer)
    with tf.variable_scope("s", reuse=True, regularizer=half):
        tf.get_variable("w")  # sharing adds no second loss
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert [loss.name for loss in losses] == ["s/w/Regularizer/mul:0"] and value(losses[0]) == 2.0


def test_custom_getters_compose_from_the_inside_out() -> None:
    calls = []

    def tag(label):
        def getter(next_getter, name, *args, **kwargs):
            calls.append(label)
            return next_getter(name, *args, **kwargs)

        return getter

    with tf.variable_scope("a", custom_getter=tag("outer")), tf.variable_scope("b", custom_getter=tag("inner")):
        v = tf.get_variable("v", [1], constraint=tf.identity)
    assert calls == ["inner", "outer"] and v.name == "a/b/v:0" and v.constraint is tf.identity
    with pytest.raises(ValueError, match="not callable"):
        tf.get_variable("w", [1], custom_getter=3)


def test_a_getter_may_choose_not_to_make_the_variable() -> None:
    average = {}

    def averaged(getter, name, *args, **kwargs):
        return average[getter(name, *args, **kwargs)]

    v = tf.get_variable("v", initializer=1.0)
    average[v] = tf.constant(9.0)
    with tf.variable_scope("", reuse=True, custom_getter=averaged):
        assert value(tf.get_variable("v")) == 9.0


def test_variable_op_scope() -> None:
    with tf.variable_op_scope([tf.constant(1.0)], None, "default", initializer=tf.zeros_initializer()) as scope:
        assert scope.name == "default" and value(tf.get_variable("v", [1])).tolist() == [0.0]


def test_values_choose_the_graph() -> None:
    other = tf.Graph()
    with other.as_default():
        x = tf.constant(1.0)
    with tf.variable_scope("s", values=[x]):
        assert tf.get_variable("v", [1]).graph is other
    assert tf.global_variables() == []


def test_graphs_do_not_share() -> None:
    v = tf.get_variable("v", [1])
    with tf.Graph().as_default():
        assert tf.get_variable_scope().name == "" and tf.get_variable("v", [1]) is not v


def test_threads_have_their_own_current_scope_and_one_store() -> None:
    graph = tf.get_default_graph()
    seen = []

    def other() -> None:
        with graph.as_default():
            seen.append(tf.get_variable_scope().name)
            with tf.variable_scope("a", reuse=True):
                seen.append(tf.get_variable("v"))

    with tf.variable_scope("a"):
        v = tf.get_variable("v", [1])
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == ["", v]


@pytest.mark.parametrize("regularizer", [{}, (), 0, False])
def test_what_is_false_is_no_regularizer(regularizer):
    """TensorFlow ignores it, and libraries pass the dictionary of regularizers that their user left empty."""
    with tf.variable_scope("s", regularizer=lambda v: tf.nn.l2_loss(v)):
        tf.get_variable("v", [2], regularizer=regularizer)
    tf.layers.dense(tf.zeros([2, 3]), 2, kernel_regularizer=regularizer)
    assert tf.losses.get_regularization_losses() == []
