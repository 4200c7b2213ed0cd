"""Variables and ``tf.function`` and ``Defun``: made once, outside the function, and passed as arguments."""

import pytest
from running import initialize_and_run as run

import headrace as tf


def test_made_on_the_first_call_and_lifted():
    class Model:
        w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([2]) * 3, name="w")
            return x * self.w

    model = Model()
    y, z = model(tf.ones([2])), model(tf.ones([1, 2]))
    assert [v.name for v in tf.global_variables()] == ["w:0"]
    assert model.w.graph is tf.get_default_graph()
    assert run([y, z])[1].tolist() == [[3, 3]]


def test_made_on_every_call_is_an_error():
    f = tf.function(lambda x: x * tf.Variable(2.0))
    for _ in range(2):
        with pytest.raises(ValueError, match="tried to create variables on non-first call") as e:
            f(tf.constant(1.0))
        assert f"test_function_variables.py:{f.python_function.__code__.co_firstlineno}" in str(e.value)
    with tf.Graph().as_default(), tf.eager_mode(), pytest.raises(ValueError, match="on non-first call"):
        f(tf.constant(1.0))


def test_made_on_a_later_call_is_an_error():
    @tf.function
    def f(x, make):
        return x * tf.Variable(2.0) if make else x

    f(tf.constant(1.0), False)
    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        f(tf.constant(1.0), True)


def test_made_in_a_branch_on_every_call_is_an_error():
    f = tf.function(lambda x: tf.cond(x > 0, lambda: x * tf.Variable(2.0), lambda: x))
    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        f(tf.constant(1.0))


def test_by_get_variable_on_every_call_needs_reuse():
    f = tf.function(lambda x: x * tf.get_variable("v", initializer=2.0))
    with pytest.raises(ValueError, match="Variable v already exists"):
        f(tf.constant(1.0))


@pytest.mark.parametrize("eager", [False, True])
def test_a_function_that_makes_variables_is_traced_twice(eager):
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(3.0))
        return x * made[0]

    with tf.Graph().as_default(), tf.eager_mode() if eager else tf.Session() as session:
        y = [f(tf.constant(2.0)), f(tf.constant(4.0))]
        if not eager:
            session.run(tf.global_variables_initializer())
            y = session.run(y)
        assert [float(v) for v in y] == [6, 12]
    assert (f.trace_count, len(made)) == (2, 1)


def test_get_variable_and_layers():
    @tf.function
    def f(x):
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            return tf.layers.dense(x, 1, kernel_initializer=tf.ones_initializer(), name="out")

    y = f(tf.ones([2, 3]))
    assert [v.name for v in tf.trainable_variables()] == ["net/out/kernel:0", "net/out/bias:0"]
    assert run(y).tolist() == [[3], [3]]


def test_as_an_argument():
    v, w = tf.Variable(1.0), tf.Variable(10.0)
    f = tf.function(lambda a, x: a.assign_add(x))
    with tf.control_dependencies([f(v, 1.0), f(w, 2.0)]):
        result = [v.read_value(), w.read_value()]
    assert run(result) == [2, 12]
    assert f.trace_count == 2


class TestDefun:
    def test_makes_a_variable_once(self):
        f = tf.Defun(tf.float32)(lambda x: x * tf.Variable(2.0))
        assert run([f(1.0), f(2.0)]) == [2, 4]
        assert [v.name for v in tf.global_variables()] == ["Variable:0"]

    def test_makes_one_for_each_combination_of_types(self):
        f = tf.Defun()(lambda x: x * tf.cast(tf.Variable(2.0), x.dtype))
        assert run([f(tf.constant(1.0)), f(tf.constant(2.0, tf.float64)), f(tf.constant(3.0))]) == [2, 4, 6]
        assert [v.name for v in tf.global_variables()] == ["Variable:0", "Variable_1:0"]

    def test_by_get_variable_for_other_types_needs_reuse(self):
        f = tf.Defun()(lambda x: x * tf.cast(tf.get_variable("v", initializer=2.0), x.dtype))
        f(tf.constant(1.0))
        with pytest.raises(ValueError, match="Variable v already exists"):
            f(tf.constant(1.0, tf.float64))
