"""make_template: variables made once, shared by every call."""

import pytest
from running import initialize_and_run

import headrace as tf


def scale(x, start=2.0):
    return x * tf.get_variable("factor", initializer=start)


def test_calls_share_variables() -> None:
    double = tf.make_template("scale", scale)
    assert double.variables == [] and double.variable_scope is None
    a, b = double(tf.constant(1.0)), double(tf.constant(3.0))
    assert [v.name for v in double.variables] == ["scale/factor:0"] == [v.name for v in tf.global_variables()]
    assert double.trainable_variables == double.variables and double.non_trainable_variables == []
    assert double.name == "scale" and double.variable_scope_name == "scale"
    assert initialize_and_run([a, b]) == [2.0, 6.0]


def test_templates_do_not_share_with_each_other() -> None:
    one, two = tf.make_template("scale", scale), tf.make_template("scale", scale, start=5.0)
    x = tf.constant(1.0)
    one(x)
    two(x)
    assert [v.name for v in tf.global_variables()] == ["scale/factor:0", "scale_1/factor:0"]


def test_scope_made_at_once() -> None:
    first = tf.make_template("scale", scale, create_scope_now_=True)
    second = tf.make_template("scale", scale, create_scope_now_=True)
    second(tf.constant(1.0))
    first(tf.constant(1.0))
    assert (first.variable_scope_name, second.variable_scope_name) == ("scale", "scale_1")
    assert [v.name for v in tf.global_variables()] == ["scale_1/factor:0", "scale/factor:0"]


def test_unique_name() -> None:
    tf.make_template("x", scale, unique_name_="mine")(tf.constant(1.0))
    with pytest.raises(ValueError, match="already exists"):
        tf.make_template("x", scale, unique_name_="mine")(tf.constant(1.0))


def test_a_later_call_may_not_make_trainable_variables() -> None:
    template = tf.make_template("t", lambda: tf.Variable(1.0))
    template()
    with pytest.raises(ValueError, match="Trainable variable created when calling a template after the first time"):
        template()
    again = tf.make_template("again", lambda name: tf.get_variable(name, [1]))
    again("a")
    with pytest.raises(ValueError, match="does not exist"):
        again("b")


def test_getter_and_nesting() -> None:
    def doubled(getter, name, *args, **kwargs):
        return getter(name, *args, **kwargs) * 2.0

    inner = tf.make_template("inner", scale, custom_getter_=doubled)
    outer = tf.make_template("outer", lambda x: inner(inner(x)))
    y = outer(outer(tf.constant(1.0)))
    assert [v.name for v in tf.global_variables()] == ["outer/inner/factor:0"]
    assert initialize_and_run(y) == 256.0


def test_errors_tell_where_the_template_was_made() -> None:
    def broken():
        raise KeyError("oops")

    with pytest.raises(KeyError) as caught:
        tf.make_template("broken", broken)()
    assert "originally defined at" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="name"):
        tf.make_template("", scale)
