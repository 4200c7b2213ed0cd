"""Gradients of functions, recursion, and functions where ops run eagerly."""

import gc
import weakref
from functools import partial

import numpy as np
import pytest
from resources.calls import run_threads

import headrace as tf


@pytest.fixture(params=["off", "always", "lower"])
def run(request):
    def run(fetches, feeds=None):
        mode = request.param
        with tf.Session(config=tf.ConfigProto(compile="off" if mode == "lower" else mode)) as session:
            session._master.planner.lower = mode == "lower"
            session.run(tf.global_variables_initializer())
            return session.run(fetches, feeds)

    return run


def power(bound):
    @tf.function
    def f(x, n):
        return tf.cond(n > 0, lambda: bound * x * f(x, n - 1), lambda: tf.ones_like(x))

    return f


class TestGradient:
    def test_first_and_second_order(self, run):
        f = tf.function(lambda x, y: (x**3 * y, tf.sin(x)))
        x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
        a, b = f(x, y)
        dx, dy = tf.gradients(a + b, [x, y])
        (ddx,) = tf.gradients(dx, x)
        v, w = np.array([1.0, 2.0]), np.array([3.0, 4.0])
        found = run([dx, dy, ddx])
        np.testing.assert_allclose(found[0], 3 * v**2 * w + np.cos(v), rtol=1e-5)
        np.testing.assert_allclose(found[1], v**3, rtol=1e-5)
        np.testing.assert_allclose(found[2], 6 * v * w - np.sin(v), rtol=1e-5)

    def test_each_call_has_its_own_values(self, run):
        f = tf.function(lambda x: x * x)
        x, y = tf.constant(3.0), tf.constant(5.0)
        assert run(tf.gradients([f(x), f(y), f(f(x))], [x, y])) == [6 + 4 * 27, 10]

    def test_captured_tensors_and_variables(self, run):
        scale, v = tf.placeholder(tf.float32, []), tf.Variable(2.0)

        @tf.function
        def f(x):
            return x * scale * v * v

        x = tf.constant(3.0)
        grads = tf.gradients(f(x), [x, scale, v])
        assert run(grads, {scale: 5.0}) == [20, 12, 60]

    def test_rows_gathered_stay_slices(self, run):
        table = tf.Variable(np.arange(6.0).reshape(3, 2), dtype=tf.float32)
        f = tf.function(lambda ids: tf.gather(table, ids) * 2)
        (grad,) = tf.gradients(f(tf.constant([2, 0])), table)
        assert isinstance(grad, tf.IndexedSlices)
        assert run(tf.convert_to_tensor(grad)).tolist() == [[2, 2], [0, 0], [2, 2]]

    def test_unconnected(self):
        f = tf.function(lambda x, y: x * 2)
        x, y = tf.constant(1.0), tf.constant(1.0)
        assert tf.gradients(f(x, y), y) == [None]

    def test_inside_the_function(self, run):
        v = tf.Variable(3.0)

        @tf.function
        def f(x):
            y = v * x * x
            return [*tf.gradients(y, [x, v])]

        assert run(f(tf.constant(2.0))) == [12, 4]

    def test_through_control_flow(self, run):
        w = tf.Variable(2.0)

        @tf.function
        def f(x, n):
            body = tf.function(lambda i, y: (i + 1, y * w))
            y = tf.while_loop(lambda i, y: i < n, body, (0, x))[1]
            return tf.cond(y > 10, lambda: y * y, lambda: y)

        x = tf.constant(3.0)
        y = f(x, tf.constant(3))
        (dx, dw) = tf.gradients(y, [x, w])
        assert run([y, dx, dw]) == [576, 2 * 24 * 8, 2 * 24 * 36]

    def test_custom_gradient_in_it(self, run):
        @tf.custom_gradient
        def odd(x):
            return x * x, lambda dy: dy * 100

        f = tf.function(lambda x: odd(x) + x)
        x = tf.constant(3.0)
        assert run(tf.gradients(f(x), x)) == [101]

    def test_training(self, run):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        found = []
        for decorate in (lambda f: f, tf.function):
            w = tf.Variable([0.0, 0.0])
            loss = decorate(lambda x, w=w: tf.reduce_sum((tf.tensordot(x, w, 1) - [5.0, 11.0]) ** 2))
            train = tf.train.AdamOptimizer(0.1).minimize(loss(x), var_list=[w])
            loop = tf.while_loop(lambda i: i < 5, lambda i: i + 1, [0])
            with tf.control_dependencies([train, loop]):
                found.append(w.read_value())
        first, second = run(found)
        assert first.tolist() == second.tolist() and first[0] > 0.05

    def test_the_plan_is_that_of_plain_code(self):
        def plain(x, w):
            return tf.reduce_sum(tf.tanh(tf.matmul(x, w)))

        x, w = tf.placeholder(tf.float32, [2, 3]), tf.Variable(tf.ones([3, 2]))
        counts = []
        for f in (plain, tf.function(plain)):
            (grad,) = tf.gradients(f(x, w), w)
            with tf.Session() as session:
                counts.append(sorted(n.type for n in session._master.plan([x], [grad], []).graph.nodes))
        assert counts[0] == counts[1]


class TestRecursion:
    def test_gradients_to_the_third_order(self, run):
        bound = tf.Variable(1.0)
        x, n = tf.constant([1.0, 2.0]), tf.placeholder(tf.int32, [])
        found = [power(bound)(x, n)]
        for _ in range(3):
            found += tf.gradients(found[-1], x)
        found += tf.gradients(found[0], bound)
        v = np.array([1.0, 2.0])
        for value, wanted in zip(
            run(found, {n: 6}), [v**6, 6 * v**5, 30 * v**4, 120 * v**3, (6 * v**6).sum()], strict=True
        ):
            np.testing.assert_allclose(value, wanted, rtol=1e-5)

    def test_a_run_without_the_gradient_records_nothing(self, session):
        x, n = tf.constant(2.0), tf.placeholder(tf.int32, [])
        y = power(tf.constant(1.0))(x, n)
        tf.gradients(y, x)
        plan = session._master.plan([n], [y], [])
        call = next(node for node in plan.graph.nodes if node.type == "PartitionedCall")
        assert len(call.outputs) == 1

    def test_mutual(self, run):
        @tf.function
        def even(n):
            return tf.cond(tf.equal(n, 0), lambda: True, lambda: odd(n - 1))

        @tf.function
        def odd(n):
            return tf.cond(tf.equal(n, 0), lambda: False, lambda: even(n - 1))

        n = tf.placeholder(tf.int32, [])
        assert run([even(n), odd(n)], {n: 7}) == [False, True]

    def test_two_results_and_a_tree(self, run):
        """The sum and depth of a tree given as arrays of children, -1 for none."""
        left, right = tf.constant([1, 3, -1, -1]), tf.constant([2, -1, -1, -1])
        weight = tf.Variable([1.0, 2.0, 3.0, 4.0])

        @tf.function
        def visit(i):
            def inner():
                (a, m), (b, n) = visit(left[i]), visit(right[i])
                return tf.gather(weight, i) * (1.0 + a + b), tf.maximum(m, n) + 1

            return tf.cond(i < 0, lambda: (0.0, 0), inner)

        total, depth = visit(tf.constant(0))
        found = run([total, depth, tf.convert_to_tensor(tf.gradients(total, weight)[0])])
        assert (found[0], found[1]) == (1 + 2 * (1 + 4) + 3, 3)
        assert found[2].tolist() == [14, 5, 1, 2]

    def test_effects_happen_at_every_depth(self, run):
        v = tf.Variable(0)

        @tf.function
        def count(n):
            v.assign_add(n)
            return tf.cond(n > 0, lambda: count(n - 1) + 1, lambda: 0)

        result = count(tf.constant(4))
        with tf.control_dependencies([result]):
            after = v.read_value()
        assert run([result, after]) == [4, 10]

    def test_shapes_that_shrink_or_grow(self, run):
        @tf.function
        def total(x):
            return tf.cond(tf.equal(tf.size(x), 0), lambda: 0.0, lambda: x[0] + total(x[1:]))

        @tf.function
        def longer(x):
            return tf.cond(tf.size(x) > 20, lambda: tf.size(x), lambda: longer(tf.concat([x, x], 0)))

        assert run([total(tf.constant([1.0, 2.0, 3.0])), longer(tf.ones([3]))]) == [6, 24]

    def test_recursion_of_python_values(self, run):
        @tf.function
        def factorial(n):
            return tf.constant(1) if n == 0 else n * factorial(n - 1)

        assert run(factorial(5)) == 120
        assert factorial.trace_count == 6

    def test_steps_at_the_same_time(self, session):
        x, n = tf.constant(2.0), tf.placeholder(tf.int32, [])
        y = power(tf.constant(1.0))(x, n)
        (dx,) = tf.gradients(y, x)
        found = []

        def work(k):
            found.extend((k, *session.run([y, dx], {n: k})) for _ in range(10))

        run_threads(*(partial(work, k) for k in range(1, 6)))
        assert len(found) == 50 and all((a, b) == (2**k, k * 2 ** (k - 1)) for k, a, b in found)

    def test_without_a_base_case(self):
        @tf.function
        def forever(x):
            return forever(x) + 1

        with pytest.raises(ValueError, match="calls itself without a base case.*test_function_gradient.py"):
            forever(tf.constant(1))

    def test_too_deep(self, run):
        deep = power(tf.constant(1.0))(tf.constant(1.0), tf.constant(10**6))
        with pytest.raises(tf.errors.ResourceExhaustedError, match="the function f .* called itself"):
            run(deep)


class TestEager:
    @pytest.fixture(autouse=True)
    def at_once(self):
        with tf.eager_mode():
            yield

    def test_calls_run(self):
        v = tf.Variable(1.0)

        @tf.function
        def f(x):
            v.assign_add(x)
            return v * 2, {"x": x}

        for expected in (4, 6):
            found = f(tf.constant(1.0))
            assert found[0].numpy() == expected and found[1]["x"].numpy() == 1
        assert f.trace_count == 1
        assert v.numpy() == 3

    def test_what_was_read_before_does_not_change(self):
        v = tf.Variable([1.0])
        before = v.read_value()
        tf.function(lambda: v.assign_add([1.0]))()
        assert (before.numpy(), v.numpy()) == ([1], [2])

    def test_tapes(self):
        v, x = tf.Variable(3.0), tf.constant(2.0)
        f = tf.function(lambda x: v * x**3)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            assert inner.watched_variables() == (v,)
            dx = inner.gradient(y, x)
        assert (dx.numpy(), [g.numpy() for g in outer.gradient(dx, [x, v])]) == (36, [36, 12])

    def test_a_persistent_tape_asked_twice(self):
        x = tf.constant(2.0)
        f = tf.function(lambda x: x**3)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            dx = tape.gradient(f(x), x)
        assert tape.gradient(dx, x).numpy() == 12

    def test_a_gradient_that_no_tape_foresaw_does_not_repeat_side_effects(self):
        v, x = tf.Variable(1.0), tf.constant(2.0)

        @tf.function
        def count(x):
            v.assign_add(1.0)
            return x**4 * v

        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            first = tape.gradient(count(x), x)
            second = tape.gradient(first, x)
            with pytest.raises(RuntimeError, match="gradient of the function count .* repeat its side effects"):
                tape.gradient(second, x)
        assert v.numpy() == 2

    def test_a_tape_inside(self):
        v = tf.Variable([1.0, 2.0])

        @tf.function
        def f(x):
            other = x * 2
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(v * x * x * other)
            late = y * 2
            assert tape.watched_variables() == (v,)
            return tape.gradient([y, late], [x, v, other])

        dx, dv, none = f(tf.constant([3.0, 4.0]))
        assert (dx.numpy().tolist(), dv.numpy().tolist(), none) == ([36, 128], [54, 128], None)

    def test_training_step(self):
        v = tf.Variable(5.0)
        optimizer = tf.train.AdamOptimizer(0.5)

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                loss = (v - 3.0) ** 2
            optimizer.apply_gradients([(tape.gradient(loss, v), v)])
            return loss

        losses = [float(step()) for _ in range(60)]
        assert losses[-1] < 0.05 < losses[0]
        assert step.trace_count == 2  # the first trace made the slots

    def test_recursion(self):
        bound, x = tf.Variable(2.0), tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = power(bound)(x, tf.constant(2))
        assert [g.numpy() for g in tape.gradient(y, [x, bound])] == [24, 36]
        assert y.numpy() == 36

    def test_called_from_a_graph_too(self):
        f = tf.function(lambda x: x * 2)
        assert f(tf.constant(2)).numpy() == 4
        with tf.Graph().as_default(), tf.Session() as session:
            assert session.run(f(tf.constant(3))) == 6

    def test_nothing_stays_when_the_function_is_gone(self):
        f = tf.function(lambda x: x * 2)
        f(tf.constant(1.0))
        body = weakref.ref(f.get_concrete_function(tf.constant(1.0)).graph)
        del f
        gc.collect()
        assert body() is None

    def test_an_error_names_the_line(self):
        f = tf.function(lambda x: tf.gather(x, 5))
        with pytest.raises(tf.errors.InvalidArgumentError, match="test_function_gradient.py"):
            f(tf.constant([1.0]))
