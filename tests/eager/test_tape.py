"""GradientTape: the same rules as graphs, over what was executed."""

import gc
import threading
import weakref

import numpy as np
import pytest

import headrace as tf
from headrace.contrib import eager as tfe


def gradient(f, *xs):
    xs = [tf.constant(x) for x in xs]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    found = tape.gradient(y, xs)
    return [None if g is None else g.numpy() for g in found]


class TestGradient:
    def test_products_and_broadcasting(self):
        dx, dy = gradient(lambda x, y: tf.reduce_sum(x * y), [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0])
        assert dx.tolist() == [[1.0, 2.0], [1.0, 2.0]] and dy.tolist() == [4.0, 6.0]

    def test_the_same_as_the_graph(self):
        x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
        w = np.linspace(0, 1, 8, dtype=np.float32).reshape(4, 2)

        def f(x, w):
            h = tf.nn.relu(tf.matmul(x, w)) + tf.tanh(x[:, :2])
            parts = tf.concat([h, tf.nn.softmax(h)], 1)
            return tf.reduce_mean(tf.square(parts)) + tf.reduce_max(tf.reshape(h, [-1]))

        ours = gradient(f, x, w)
        with tf.Graph().as_default():
            a, b = tf.constant(x), tf.constant(w)
            grads = tf.gradients(f(a, b), [a, b])
            with tf.Session() as session:
                theirs = session.run(grads)
        for g, h in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(g, h, rtol=1e-6, atol=1e-7)

    def test_an_op_without_a_rule(self):
        # Cumprod has none: its kernel is differentiated.  d/dx of a + ab + abc at (2, 3, 5).
        (g,) = gradient(lambda x: tf.reduce_sum(tf.cumprod(x)), [2.0, 3.0, 5.0])
        np.testing.assert_allclose(g, [1 + 3 + 15, 2 + 10, 6], rtol=1e-5)

    def test_unconnected(self):
        x, y = tf.constant(1.0), tf.constant(2.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            z = x * 3
        assert tape.gradient(z, y) is None
        assert tape.gradient(z, y, unconnected_gradients="zero").numpy() == 0.0
        assert tape.gradient(z, [x, y])[1] is None

    def test_only_the_watched(self):
        x, y = tf.constant(3.0), tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = x * y
        found = tape.gradient(z, {"x": x, "rest": (y,)})
        assert found["x"].numpy() == 3.0 and found["rest"] == (None,)

    def test_intermediate_and_several_targets(self):
        x = tf.constant(2.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            z = y * y
        assert tape.gradient(z, y).numpy() == 8.0
        assert tape.gradient([y, z], x).numpy() == 4.0 + 32.0
        assert tape.gradient(z, x, output_gradients=tf.constant(0.5)).numpy() == 16.0

    def test_used_up(self):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        tape.gradient(y, x)
        with pytest.raises(RuntimeError, match="only be called once"):
            tape.gradient(y, x)

    def test_stop_recording_and_reset(self):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with tape.stop_recording():
                z = y * y
            assert len(tape.entries) == 1
            tape.reset()
            tape.watch(x)
            w = x * 5
        assert tape.gradient([w, z], x).numpy() == 5.0  # nothing of z was recorded
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            tape.reset()
        assert tape.gradient(y, x) is None

    def test_stop_gradient_and_integers(self):
        assert gradient(lambda x: tf.stop_gradient(x) * x, 3.0) == [3.0]
        assert gradient(lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32) * x, 3.0) == [3.0]

    def test_second_and_third_order(self):
        x = tf.constant(2.0)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as middle:
                middle.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = x**4
                first = inner.gradient(y, x)
            second = middle.gradient(first, x)
        third = outer.gradient(second, x)
        assert [float(v) for v in (first, second, third)] == [32.0, 48.0, 48.0]

    def test_gradient_inside_a_persistent_tape(self):
        x = tf.constant(3.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x**3
            dy = tape.gradient(y, x)
        assert (dy.numpy(), tape.gradient(dy, x).numpy()) == (27.0, 18.0)

    def test_jacobian(self):
        x = tf.constant([1.0, 2.0, 3.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        np.testing.assert_allclose(tape.jacobian(y, x).numpy(), np.diag([2.0, 4.0, 6.0]))
        with pytest.raises(RuntimeError, match="jacobian can only be called once on non-persistent tapes"):
            tape.jacobian(y, x)

    def test_rows_stay_sparse(self):
        table = tf.Variable(np.ones((5, 2), np.float32))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 1, 4]) * 2.0)
        grad = tape.gradient(y, table)
        assert isinstance(grad, tf.IndexedSlices)
        assert tf.convert_to_tensor(grad).numpy()[:, 0].tolist() == [0.0, 4.0, 0.0, 0.0, 2.0]

    def test_loops_and_branches_of_python(self):
        def power(x, n):
            y = tf.constant(1.0)
            for _ in range(n):
                y = y * x if y < 1000 else y
            return y

        assert gradient(lambda x: power(x, 5), 2.0) == [80.0]

    def test_other_threads_are_not_recorded(self):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)

            def other():
                with tf.eager_mode():
                    x * x

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            assert tape.entries == []


class TestCustomGradient:
    def test_its_own_gradient(self):
        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

        assert gradient(log1pexp, 100.0) == [1.0]

    def test_second_order(self):
        @tf.custom_gradient
        def cube(x):
            return x**3, lambda dy: dy * 3 * x**2

        x = tf.constant(2.0)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = cube(x)
            g = inner.gradient(y, x)
        assert (g.numpy(), outer.gradient(g, x).numpy()) == (12.0, 12.0)

    def test_variables(self):
        v = tf.Variable(3.0)

        @tf.custom_gradient
        def scaled(x):
            def grad(dy, variables=None):
                return dy * 100.0, [dy * 7.0 for _ in variables]

            return x * v, grad

        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        assert [g.numpy() for g in tape.gradient(y, [x, v])] == [100.0, 7.0]

    def test_override_map(self):
        @tf.RegisterGradient("EagerTwice")
        def _(op, grad):
            return grad * 2.0 * op.inputs[0]

        x = tf.constant(5.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            with tf.get_default_graph().gradient_override_map({"Square": "EagerTwice"}):
                y = tf.square(x) * 1.0
            z = tf.square(x)
        assert tape.gradient(y, x).numpy() == 10.0 and tape.gradient(z, x).numpy() == 10.0


class TestFunctions:
    def test_of_arguments(self):
        f = tfe.gradients_function(lambda a, b: a * b * b)
        assert [g.numpy() for g in f(2.0, 3.0)] == [9.0, 12.0]
        assert tfe.gradients_function(lambda a, b: a * b, params=[1])(2.0, 3.0)[0].numpy() == 2.0
        assert tfe.gradients_function(lambda a, b: a * b, params=["b"])(2.0, 3.0)[0].numpy() == 2.0
        with pytest.raises(ValueError, match=r"positions or names of arguments, got 'c' for 2 arguments \(at"):
            tfe.gradients_function(lambda a, b: a * b, params=["c"])(2.0, 3.0)
        value, (grad,) = tfe.value_and_gradients_function(lambda a: a * a)(3.0)
        assert (value.numpy(), grad.numpy()) == (9.0, 6.0)
        twice = tfe.gradients_function(lambda a: tfe.gradients_function(lambda b: b**3)(a)[0])
        assert twice(2.0)[0].numpy() == 12.0

    def test_of_variables(self):
        v = tf.Variable(2.0)
        unused = tf.Variable(1.0)
        value, pairs = tfe.implicit_value_and_gradients(lambda x: x * v * v)(tf.constant(3.0))
        assert value.numpy() == 12.0 and [(g.numpy(), w is v) for g, w in pairs] == [(12.0, True)]
        assert tfe.implicit_gradients(lambda: v * 5.0)()[0][0].numpy() == 5.0
        assert unused.numpy() == 1.0
        with pytest.raises(ValueError, match="No trainable variables"):
            tfe.implicit_gradients(lambda: tf.constant(1.0))()


def test_a_tape_lets_go():
    x = tf.constant(np.ones(10, np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        middle = x * 2.0
        seen = weakref.ref(middle)
        y = tf.reduce_sum(middle * middle)
        del middle
    assert seen() is not None
    tape.gradient(y, x)
    gc.disable()
    try:
        assert seen() is None  # without the garbage collector: there are no cycles
    finally:
        gc.enable()


def test_variables_are_known_after_the_gradient_too():
    v, w = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * w
    assert tape.gradient(y, v).numpy() == 3
    assert [t is v for t in tape.watched_variables()] == [True]
    tape.reset()
    assert tape.watched_variables() == ()


def test_implicit_gradients():
    v = tf.Variable(3.0)
    ((slope, variable),) = tf.implicit_gradients(lambda x: x * v * v)(2.0)
    assert slope.numpy() == 12
    assert variable is v
