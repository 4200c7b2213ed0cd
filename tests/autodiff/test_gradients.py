"""tf.gradients: paths, sums, zeros, None, sparse rows, higher orders, overrides (values checked with TensorFlow by hand)."""

import numpy as np
import pytest
from running import initialize_and_run as run
from running import initialized_session

import headrace as tf
from headrace.autodiff.registration import unregister_gradient


class TestPaths:
    def test_diamond_sums_both_paths(self) -> None:
        x = tf.constant(3.0)
        y = x * x + tf.exp(x) * x
        (g,) = tf.gradients(y, x)
        assert run(g) == pytest.approx(6 + np.exp(3.0) * 4, rel=1e-5)

    def test_unconnected_is_none(self) -> None:
        x, z = tf.constant(1.0), tf.constant(2.0)
        assert tf.gradients(x * 2.0, [x, z])[1] is None
        zero = tf.gradients(x * 2.0, z, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
        assert run(zero) == 0

    def test_only_the_backward_path_is_built(self) -> None:
        x, w = tf.constant([[1.0]]), tf.constant([[2.0]])
        tf.cos(w, name="aside")
        y = tf.sin(tf.matmul(x, w), name="y")
        before = len(tf.get_default_graph().get_operations())
        tf.gradients(y, w)
        made = [op.name for op in tf.get_default_graph().get_operations()[before:]]
        assert all(name.startswith("gradients/") and "aside" not in name for name in made)

    def test_y_is_x(self) -> None:
        x = tf.constant([1.0, 2.0])
        np.testing.assert_array_equal(run(tf.gradients(x, x)[0]), [1, 1])

    def test_x_behind_x(self) -> None:
        x = tf.constant(2.0)
        u = x * 3.0
        y = u * u
        assert run(tf.gradients(y, [x, u])) == [36.0, 12.0]

    def test_several_ys_and_grad_ys(self) -> None:
        x = tf.constant([1.0, 2.0])
        (g,) = tf.gradients([x * 2.0, x * x], x, grad_ys=[tf.constant([1.0, 0.5]), None])
        np.testing.assert_allclose(run(g), [4.0, 5.0])

    def test_integer_path_gives_none(self) -> None:
        x = tf.constant([1.5, 2.5])
        assert tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), x) == [None]

    def test_stop_gradients(self) -> None:
        x = tf.constant(2.0)
        u = x * x
        assert run(tf.gradients(u * x, x, stop_gradients=[u])[0]) == 4.0
        assert run(tf.gradients(tf.stop_gradient(u) * x, x)[0]) == 4.0
        assert run(tf.gradients(u * x, [x, u], stop_gradients=[u])) == [4.0, 2.0]

    def test_unused_outputs_count_as_zero(self) -> None:
        x = tf.constant([[1.0, 2.0, 3.0, 4.0]])
        first, _ = tf.split(x, 2, axis=1)
        np.testing.assert_array_equal(run(tf.gradients(first * 3.0, x)[0]), [[3, 3, 0, 0]])

    def test_gradient_of_an_interior_tensor(self) -> None:
        x = tf.placeholder(tf.float32, [None])
        u = tf.square(x)
        g = tf.gradients(tf.reduce_sum(u * 5.0), u)[0]
        np.testing.assert_array_equal(run(g, {x: [1.0, 2.0]}), [5, 5])

    def test_names(self) -> None:
        x = tf.constant([[1.0]], name="x")
        g = tf.gradients(tf.matmul(x, x, name="y"), x)[0]
        assert g.name.startswith("gradients/")
        assert "gradients/y_grad/MatMul" in {op.name for op in tf.get_default_graph().get_operations()}
        assert tf.gradients(tf.exp(x), x)[0].name.startswith("gradients_1/")


class TestState:
    def test_variable(self) -> None:
        v = tf.Variable([1.0, 2.0])
        (g,) = tf.gradients(tf.reduce_sum(v * v), v)
        np.testing.assert_array_equal(run(g), [2, 4])

    def test_rows_stay_sparse_and_concatenate(self) -> None:
        table = tf.Variable(np.eye(4, dtype=np.float32))
        loss = tf.reduce_sum(tf.gather(table, [1, 1])) + tf.reduce_sum(tf.gather(table, [3]) * 2.0)
        (g,) = tf.gradients(loss, table)
        assert isinstance(g, tf.IndexedSlices)
        value = run(g)
        rows = np.zeros([4, 4])
        np.add.at(rows, value.indices, value.values)
        np.testing.assert_array_equal(rows, np.array([0, 2, 0, 2])[:, None] * np.ones([1, 4]))

    def test_sparse_plus_dense_is_dense(self) -> None:
        table = tf.Variable(np.eye(3, dtype=np.float32))
        (g,) = tf.gradients(tf.reduce_sum(tf.gather(table, [0])) + tf.reduce_sum(table), table)
        np.testing.assert_array_equal(run(tf.convert_to_tensor(g)), [[2] * 3, [1] * 3, [1] * 3])

    @pytest.mark.parametrize(("shape", "left"), [([2], 1.0), ([None], 11.0)])
    @pytest.mark.parametrize("loss", [tf.identity, tf.reduce_sum, tf.reduce_mean, lambda y: tf.reshape(y, [-1])])
    def test_an_effect_before_a_value_of_which_only_the_shape_is_needed(self, loss, shape, left) -> None:
        """As in TensorFlow a shape that is known needs no value."""
        x, v = tf.placeholder(tf.float32, shape), tf.get_variable("v", initializer=1.0)
        with tf.control_dependencies([v.assign_add(10.0)]):
            y = tf.identity(x)
        (g,) = tf.gradients(loss(y), x)
        with initialized_session() as sess:
            sess.run(g, {x: [1, 2]})
            assert sess.run(v) == left

    def test_an_effect_before_what_a_loop_only_orders_by(self) -> None:
        """The token goes through loops and a conditional that depend on x, and does not; values are TensorFlow's."""
        x, v = tf.placeholder(tf.float32, []), tf.get_variable("v", initializer=1.0)
        with tf.control_dependencies([v.assign_add(10.0)]):
            token = tf.constant(0.0)

        def inner(j, b, t):
            with tf.control_dependencies([t]):
                positive = b > 0.0
            return j + 1, tf.sin(b), tf.cond(positive, lambda: t + tf.stop_gradient(b), lambda: t)

        def outer(i, a, t):
            _, a, t = tf.while_loop(lambda j, b, t: j < 2, inner, (0, a, t))
            return i + 1, a * 2.0, t

        _, y, _ = tf.while_loop(lambda i, a, t: i < 2, outer, (0, x, token))
        (g,) = tf.gradients(y, x)
        with initialized_session() as sess:
            assert sess.run(g, {x: 0.5}) == pytest.approx(1.3140656)
            assert sess.run(v) == 1


class TestHigherOrder:
    def test_third_derivative(self) -> None:
        x = tf.constant(2.0)
        g = x**4.0
        for _ in range(3):
            (g,) = tf.gradients(g, x)
        assert run(g) == pytest.approx(48.0)

    def test_gradient_penalty(self, session: tf.Session) -> None:
        w = tf.Variable([[1.0, -2.0], [0.5, 3.0]])
        x = tf.constant([[0.3, -0.7]])
        y = tf.reduce_sum(tf.tanh(tf.matmul(x, w)))
        (gx,) = tf.gradients(y, x)
        penalty = tf.square(tf.sqrt(tf.reduce_sum(tf.square(gx))) - 1.0)
        session.run(w.initializer)
        assert tf.test.compute_gradient_error(w, [2, 2], penalty, [], x_init_value=session.run(w)) < 1e-2

    def test_hessian(self) -> None:
        x = tf.constant([1.0, 2.0])
        h = tf.hessians(tf.reduce_sum(x**3.0) + x[0] * x[1], x)[0]
        np.testing.assert_allclose(run(h), [[6, 1], [1, 12]], rtol=1e-5)

    def test_hessian_of_a_matrix(self) -> None:
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        h = tf.hessians(tf.reduce_sum(x * x * x), x)[0]
        assert h.shape.as_list() == [2, 2, 2, 2]
        np.testing.assert_allclose(np.diag(run(h).reshape(4, 4)), [6, 12, 18, 24])


class TestRules:
    def test_override_map(self) -> None:
        @tf.RegisterGradient("TestDouble")
        def _(op, grad):
            return grad * 2.0

        try:
            x = tf.constant(1.5)
            with tf.get_default_graph().gradient_override_map({"Identity": "TestDouble"}):
                y = tf.identity(x)
            assert run(tf.gradients([y, tf.identity(x)], x)[0]) == 3.0
        finally:
            unregister_gradient("TestDouble")

    def test_registering_twice(self) -> None:
        with pytest.raises(KeyError, match="two gradients with name 'MatMul'"):
            tf.RegisterGradient("MatMul")(lambda op, g: g)

    def test_override_by_the_rule_of_another_op(self) -> None:
        x = tf.constant([0.3, -1.7])
        with tf.get_default_graph().gradient_override_map({"Sign": "Identity", "Round": "Identity"}):
            y = tf.sign(x) * tf.round(x * 3.0)
        np.testing.assert_allclose(run(tf.gradients(y, x)[0]), [4.0, -8.0])

    def test_missing_override(self) -> None:
        x = tf.constant(1.0)
        with tf.get_default_graph().gradient_override_map({"Exp": "NobodyRegisteredThis"}):
            y = tf.exp(x)
        with pytest.raises(LookupError, match=r"NobodyRegisteredThis .*test_gradients.py:\d+"):
            tf.gradients(y, x)

    def test_custom_gradient(self) -> None:
        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

        x = tf.constant(100.0)
        assert run(tf.gradients(log1pexp(x), x)[0]) == 1.0

    def test_custom_gradient_of_several(self) -> None:
        @tf.custom_gradient
        def both(a, b):
            return [a * b, a + b], lambda da, db: (da * 10.0, db * 100.0)

        a, b = tf.constant(2.0), tf.constant(3.0)
        product, total = both(a, b)
        assert run([product, total, *tf.gradients([product, total], [a, b])]) == [6, 5, 10, 100]

    def test_custom_gradient_must_return_a_pair(self) -> None:
        with pytest.raises(TypeError, match="must return \\(result, grad_fn\\)"):
            tf.custom_gradient(lambda x: x)(tf.constant(1.0))

    @pytest.mark.parametrize("make", [lambda: tf.Variable(3.0), lambda: tf.get_variable("w", initializer=3.0)])
    def test_custom_gradient_with_variables(self, make) -> None:
        @tf.custom_gradient
        def scaled(x):
            w = make()

            def grad(dy, variables=None):
                return dy * w, [dy * 7.0 for _ in variables]

            return x * w, grad

        x = tf.constant(2.0)
        y = scaled(x)
        (w,) = tf.global_variables()
        assert run([y, *tf.gradients(y * 10.0, [x, w])]) == [6, 30, 70]

    def test_custom_gradient_is_not_told_of_variables_it_was_given(self) -> None:
        @tf.custom_gradient
        def double(x):
            def grad(dy, variables=None):
                assert variables is None
                return dy * 5.0

            return x * 2.0, grad

        v = tf.Variable(1.0)
        assert run(tf.gradients(double(v), v)) == [5]

    def test_custom_gradient_unaware_of_variables(self) -> None:
        @tf.custom_gradient
        def scaled(x):
            return x * v, lambda dy: dy * 100.0

        v = tf.Variable(3.0)
        x = tf.constant(2.0)
        by_x, by_v = tf.gradients(scaled(x), [x, v])
        assert run(by_x) == 100
        assert by_v is None
        v = tf.Variable(3.0, use_resource=True)
        with pytest.raises(TypeError, match="must accept a 'variables' keyword argument"):
            scaled(x)

    def test_custom_gradient_leaves_out_a_variable(self) -> None:
        v = tf.Variable(3.0)
        y = tf.custom_gradient(lambda x: (x * v, lambda dy, variables=None: (dy, [])))(tf.constant(2.0))
        with pytest.raises(ValueError, match="0 gradients for the 1 variables"):
            tf.gradients(y, v)

    def test_wrong_number_of_gradients(self) -> None:
        @tf.RegisterGradient("TestTwo")
        def _(op, grad):
            return [grad, grad]

        try:
            x = tf.constant(1.0)
            with tf.get_default_graph().gradient_override_map({"Exp": "TestTwo"}):
                y = tf.exp(x)
            with pytest.raises(ValueError, match="Num gradients 2 generated for op Exp"):
                tf.gradients(y, x)
        finally:
            unregister_gradient("TestTwo")

    def test_python_functions_have_no_gradient(self) -> None:
        x = tf.constant([1.0, 2.0])
        assert tf.gradients(tf.py_func(np.sin, [x], tf.float32), x) == [None]


class TestOptions:
    @pytest.mark.parametrize("options", [{"gate_gradients": True}, {"aggregation_method": 2}, {"name": "other"}])
    def test_same_values(self, options) -> None:
        x = tf.constant([[1.0, 2.0]])
        y = tf.matmul(x, x, transpose_b=True) + tf.reduce_sum(tf.exp(x))
        expected, got = run([tf.gradients(y, x)[0], tf.gradients(y, x, **options)[0]])
        np.testing.assert_array_equal(expected, got)

    def test_colocation(self) -> None:
        with tf.device("/cpu:0"):
            x = tf.constant(1.0)
            y = tf.exp(x, name="y")
        g = tf.gradients(y, x, colocate_gradients_with_ops=True)[0]
        assert g.op.colocation_groups() == [b"loc:@y"]

    def test_bad_arguments(self) -> None:
        x = tf.constant(1.0)
        with pytest.raises(ValueError, match="Passed 2 grad_ys for 1 ys"):
            tf.gradients(x, x, grad_ys=[x, x])
        with pytest.raises(ValueError, match="unconnected_gradients"):
            tf.gradients(x, x, unconnected_gradients="maybe")
        with pytest.raises(ValueError, match="aggregation_method"):
            tf.gradients(x, x, aggregation_method=7)


@pytest.mark.parametrize(("make", "kind"), [(tf.add, "Add"), (lambda a, b: a + b, "AddV2"), (tf.subtract, "Sub")])
def test_the_gradient_of_a_broadcast_is_a_reshaped_sum(make, kind):
    """Programs that walk gradients look for these nodes."""
    x, b, c = tf.zeros([3, 4]), tf.constant([1.0, 2.0, 3.0, 4.0]), tf.constant([[1.0], [2.0], [3.0]])
    for small, expected in ((b, [3.0] * 4), (c, [[4.0]] * 3)):
        y = make(x, small)
        (gradient,) = tf.gradients(y, small)
        assert (y.op.type, gradient.op.type, gradient.op.inputs[0].op.type) == (kind, "Reshape", "Sum")
        with tf.Session() as sess:
            np.testing.assert_array_equal(np.abs(sess.run(gradient)), expected)
