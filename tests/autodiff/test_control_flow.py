"""Gradients of conditionals and loops: what is stashed, what flows, and where gradients are taken inside bodies."""

import numpy as np
import pytest
from running import initialize_and_run as run
from running import initialized_session

import headrace as tf


def programs(session, fetches, feeds=()):
    """The generated functions of a step and of all its bodies."""
    plan = session._master.plan(list(feeds), list(fetches), [])
    found, stack = [], list(plan.programs)
    while stack:
        found.append(stack.pop())
        stack.extend(found[-1].bodies)
    return found


def types(session, fetches, feeds=()):
    return [n.type for p in programs(session, fetches, feeds) for n in p.lines.values()]


class TestStash:
    def loop(self):
        x = tf.placeholder(tf.float32, [2], name="x")
        _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.sin(a) * x), (0, x))
        return x, y, tf.gradients(y, x)[0]

    def test_is_made_only_by_steps_that_use_it(self, session):
        x, y, g = self.loop()
        assert "_PushStash" not in types(session, [y], [x])
        assert "_PushStash" in types(session, [g], [x])

    def test_two_gradients_of_one_loop_do_not_disturb_each_other(self):
        x, y, g = self.loop()
        h = tf.gradients(y * 2, x)[0]
        a, b, c = run([g, h, g + h], {x: [0.3, 0.7]})
        np.testing.assert_allclose(a * 2, b, rtol=1e-6)
        np.testing.assert_allclose(a + b, c, rtol=1e-6)

    def test_holds_no_tensor_whose_shape_alone_is_needed(self):
        x = tf.placeholder(tf.float32, [None], name="x")
        _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.reduce_sum(a)), (0, x))
        g = tf.gradients(y, x)[0]
        while_node = next(op for op in tf.get_default_graph().get_operations() if op.type == "StatelessWhile")
        pushed = [op for op in while_node.attrs["body"].get_operations() if op.type == "_PushStash"]
        assert all(t.dtype.is_integer for op in pushed for t in op.inputs[1:])
        assert run(g, {x: [1.0, 2.0]}).tolist() == [27, 27]

    def test_of_ten_thousand_iterations(self):
        x = tf.placeholder(tf.float64, [])
        _, y = tf.while_loop(lambda i, a: i < 10000, lambda i, a: (i + 1, a + tf.sin(a) * x), (0, x))
        assert np.isfinite(run(tf.gradients(y, x)[0], {x: 1e-4}))

    @pytest.mark.parametrize("second", [False, True])
    def test_may_wait_in_the_memory_of_the_host(self, second):
        x = tf.placeholder(tf.float64, [3])
        found = []
        for swap in (False, True):
            y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.sin(a) * x), (0, x), swap_memory=swap)[1]
            g = tf.gradients(y, x)[0]
            found.append(tf.gradients(g, x)[0] if second else g)
        a, b = run(found, {x: [0.1, 0.2, 0.3]})
        np.testing.assert_allclose(a, b)


class TestFlow:
    def test_a_branch_that_does_not_use_an_input_gives_it_zero(self):
        x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
        z = tf.cond(x[0] > 0, lambda: x * 3, lambda: y * y)
        gx, gy = tf.gradients(z, [x, y])
        a, b = run([gx, gy], {x: [1, 1], y: [2, 5]})
        assert (a.tolist(), b.tolist()) == ([3, 3], [0, 0])
        a, b = run([gx, gy], {x: [-1, 1], y: [2, 5]})
        assert (a.tolist(), b.tolist()) == ([0, 0], [4, 10])

    def test_no_iteration_passes_the_gradient_on(self):
        x, w = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
        _, y = tf.while_loop(lambda i, a: i < 0, lambda i, a: (i + 1, a * w), (0, x))
        gx, gw = tf.gradients(y, [x, w])
        a, b = run([gx, gw], {x: [1, 2], w: [3, 4]})
        assert (a.tolist(), b.tolist()) == ([1, 1], [0, 0])

    def test_variables(self):
        v = tf.Variable([1.0, 2.0])
        _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v + v.read_value()), (0, tf.ones([2])))
        x = np.array([1.0, 2.0])
        # y = v^3 + v^3 + v^2 + v
        np.testing.assert_allclose(run(tf.gradients(y, v)[0]), 6 * x**2 + 2 * x + 1)

    def test_rows_gathered_in_a_loop(self):
        table = tf.Variable(np.arange(6.0).reshape(3, 2))
        _, y = tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.gather(table, [i])[0]), (0, tf.zeros([2], tf.float64))
        )
        g = tf.convert_to_tensor(tf.gradients(y, table)[0])
        assert run(g).tolist() == [[1, 1]] * 3

    def test_shapes_that_vary(self):
        x = tf.placeholder(tf.float64, [1])
        _, y = tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a * 2], 0)), (0, x),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
        )  # fmt: skip
        assert run(tf.gradients(y, x)[0], {x: [1.0]}).tolist() == [27]

    def test_one_tensor_as_two_loop_variables(self):
        x = tf.placeholder(tf.float32, [])
        _, a, b = tf.while_loop(lambda i, a, b: i < 2, lambda i, a, b: (i + 1, a * b, b + 1.0), (0, x, x))
        # a = x * x * (x + 1)
        assert run(tf.gradients(a + b, x)[0], {x: 2.0}) == 3 * 4 + 2 * 2 + 1

    def test_back_prop_false_stops_the_gradient(self):
        x = tf.placeholder(tf.float32, [])
        y = tf.while_loop(lambda a: a < 10, lambda a: a * 2, [x], back_prop=False)
        assert tf.gradients(y, x) == [None]

    def test_unconnected(self):
        x, z = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        y = tf.while_loop(lambda a: a < 10, lambda a: a * 2, [x])
        assert tf.gradients(y, z) == [None]

    def test_stopped_inside(self):
        x = tf.placeholder(tf.float32, [])
        y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.stop_gradient(a) * x), (0, x))[1]
        assert run(tf.gradients(y, x)[0], {x: 3.0}) == 9.0

    def test_a_path_that_is_cut_inside_gives_zeros(self):
        x, z = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [])
        _, cut, whole = tf.while_loop(
            lambda i, a, b: i < 2, lambda i, a, b: (i + 1, tf.stop_gradient(a) * 2.0, b * 3.0), (0, x, z)
        )
        feeds = {x: [3.0, 1.0], z: 1.0}
        assert run(tf.gradients(cut, x)[0], feeds).tolist() == [0, 0]
        both = tf.gradients([cut, whole], [x, z])
        assert [run(gradient, feeds).tolist() for gradient in both] == [[0, 0], 9]

    def test_rows_gathered_in_a_branch_in_a_loop(self, session):
        table = tf.Variable(np.ones([4, 2]))

        def body(i, a):
            return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a + tf.gather(table, [i, 1]), lambda: a * 2.0)

        _, y = tf.while_loop(lambda i, _: i < 3, body, (0, tf.zeros([2, 2], tf.float64)))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))
        session.run(table.initializer)
        session.run(train)
        np.testing.assert_allclose(session.run(table)[:, 0], [0.8, 0.7, 0.9, 1.0])

    def test_rows_of_a_gradient_taken_in_a_branch_in_a_loop(self):
        table = tf.Variable(np.ones([3, 2]))
        seen = []

        def branch(i):
            seen.append(tf.gradients(tf.reduce_sum(tf.gather(table, [i, i])), table)[0])
            return tf.reduce_sum(tf.convert_to_tensor(seen[-1]))

        def body(i, a):
            return i + 1, a + tf.cond(i > 0, lambda: branch(i), lambda: tf.constant(0.0, tf.float64))

        _, y = tf.while_loop(lambda i, _: i < 3, body, (0, tf.constant(0.0, tf.float64)))
        assert run(y) == 8.0
        assert isinstance(seen[0], tf.IndexedSlices)


class TestInside:
    """tf.gradients called while a body is built."""

    def test_of_the_body_s_own_tensors(self):
        start = tf.placeholder(tf.float64, [])

        def newton(i, x):
            f = x * x - 2.0
            return i + 1, x - f / tf.gradients(f, x)[0]

        _, root = tf.while_loop(lambda i, x: i < 8, newton, (0, start))
        assert run(root, {start: 1.0}) == pytest.approx(2**0.5, abs=1e-12)

    def test_of_captured_tensors_and_variables(self):
        w = tf.placeholder(tf.float32, [])
        v = tf.Variable(3.0)

        def branch():
            gw, gv = tf.gradients(w * w * v, [w, v])
            return gw + 100 * gv

        y = tf.cond(w > 0, branch, lambda: w)
        assert run(y, {w: 2.0}) == 2 * 2 * 3 + 100 * 4

    @pytest.mark.parametrize("mode", ["auto", "lowered"])
    def test_of_a_loss_made_outside(self, mode):
        """As it is and with more added inside; the values in between are asked for too, and one body lies in another."""
        p, v = tf.placeholder(tf.bool, []), tf.Variable([1.0, 2.0])
        a = v * v
        loss = tf.reduce_sum(a * v)

        def inner():
            b = a * 3.0
            return tf.cond(
                p, lambda: tf.gradients(loss * tf.reduce_sum(b) + tf.reduce_sum(a), [v, a, b]), lambda: [v, v, v]
            )

        found = [
            tf.cond(p, lambda: tf.gradients(loss, v)[0], lambda: v),
            tf.cond(p, lambda: tf.gradients(loss * 2.0 + tf.reduce_sum(a), [v, a, loss]), lambda: [v, v, loss]),
            tf.cond(p, inner, lambda: [v, v, v]),
            tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x + tf.gradients(loss, v)[0]), (0, v))[1],
            tf.cond(p, lambda: tf.gradients(loss, v, stop_gradients=[a])[0], lambda: v),
        ]
        with tf.Session(config=tf.ConfigProto(compile="off", control_flow=mode)) as session:
            session.run(v.initializer)
            whole, (dv, da, dl), deep, looped, stopped = session.run(found, {p: True})
        assert whole.tolist() == [3, 12]
        assert (dv.tolist(), da.tolist(), dl) == ([8, 28], [3, 5], 2)
        assert [g.tolist() for g in deep] == [[101, 292], [43, 58], [9, 9]]
        assert looped.tolist() == [7, 26]
        assert stopped.tolist() == [1, 4]

    def test_of_a_loop_and_a_branch_outside(self):
        p, v = tf.placeholder(tf.bool, []), tf.Variable([1.0, 2.0])
        loop = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * v), (0, v))[1]
        branch = tf.cond(p, lambda: tf.reduce_sum(v**3), lambda: tf.reduce_sum(v))
        y = tf.cond(p, lambda: tf.gradients(tf.reduce_sum(loop) + branch, v)[0], lambda: v)
        assert run(y, {p: True}).tolist() == [4 + 3, 32 + 12]

    def test_an_update_in_one_branch_for_a_loss_made_outside(self, session):
        p, v = tf.placeholder(tf.bool, []), tf.Variable([1.0, 2.0])
        loss = tf.reduce_sum(v * v)

        def update():
            with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.25).minimize(loss)]):
                return tf.constant(1)

        done = tf.cond(p, update, lambda: tf.constant(0))
        session.run(v.initializer)
        assert session.run(done, {p: False}) == 0
        assert session.run(v).tolist() == [1, 2]
        assert session.run(done, {p: True}) == 1
        assert session.run(v).tolist() == [0.5, 1]

    def test_through_a_step_of_learning(self, session):
        w, x = tf.placeholder(tf.float64, []), tf.constant([1.0, 2.0], tf.float64)

        def adapted(row):
            inner = tf.square(w * row - 1.0)
            return tf.square((w - 0.1 * tf.gradients(inner, w)[0]) * row)

        loss = tf.reduce_sum(tf.map_fn(adapted, x))
        g = tf.gradients(loss, w)[0]
        eps = 1e-6
        high, low = session.run(loss, {w: 0.7 + eps}), session.run(loss, {w: 0.7 - eps})
        assert session.run(g, {w: 0.7}) == pytest.approx((high - low) / (2 * eps), rel=1e-6)


def test_training_through_a_loop():
    """A recurrence learns to double its input in each of three steps."""
    w = tf.Variable(0.5)
    x = tf.placeholder(tf.float32, [None])
    _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * w), (0, x))
    loss = tf.reduce_mean(tf.square(y - 8 * x))
    step = tf.train.GradientDescentOptimizer(0.002).minimize(loss)
    with initialized_session() as session:
        for _ in range(200):
            session.run(step, {x: [1.0, -1.0, 0.5]})
        assert session.run(w) == pytest.approx(2.0, abs=0.05)


class TestConstant:
    """A constant that a body uses has a gradient and may be fed, like any other tensor."""

    def built(self):
        c, n = tf.constant(1.5), tf.constant(5)
        power = tf.function(lambda: c * c * c)
        return c, n, {
            "while": tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * c), (0, 1.0))[1],
            "cond": tf.cond(n > 3, lambda: c * c, lambda: -c),
            "map": tf.reduce_sum(tf.map_fn(lambda e: e * c, tf.ones([3]))),
            "scan": tf.scan(lambda a, e: a * c + e, tf.ones([3]))[-1],
            "nested": tf.cond(n > 3, lambda: tf.while_loop(lambda y: y < 9.0, lambda y: y * c * c, [1.0]), lambda: c),
            "function": power(),
        }  # fmt: skip

    def test_gradients(self):
        c, _, results = self.built()
        found = run({k: tf.gradients(y, c)[0] for k, y in results.items()})
        wanted = {
            "while": 5 * 1.5**4,
            "cond": 3.0,
            "map": 3.0,
            "scan": 2 * 1.5 + 1,
            "nested": 6 * 1.5**5,
            "function": 6.75,
        }
        assert found == pytest.approx(wanted)

    @pytest.mark.parametrize("control_flow", ["auto", "lowered"])
    def test_feeds(self, control_flow):
        c, n, results = self.built()
        with tf.Session(config=tf.ConfigProto(control_flow=control_flow)) as session:
            found = session.run(results, {c: 2.0, n: 3})
        wanted = {"while": 8.0, "cond": -2.0, "map": 6.0, "scan": 7.0, "nested": 2.0, "function": 8.0}
        assert found == pytest.approx(wanted)

    def test_what_is_not_fed_is_folded_into_the_body(self, session):
        c = tf.constant(2.0)
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.exp(tf.sqrt(c))), (0, 1.0))
        assert {"Exp", "Sqrt"}.isdisjoint(types(session, [y]))
        assert {"Exp", "Sqrt"} <= set(types(session, [y], [c]))
