"""Defun: TF1's functions with declared types."""

import numpy as np
import pytest
from running import initialize_and_run as run

import headrace as tf
from headrace.tensorflow.names import places


class TestCall:
    def test_results(self):
        @tf.Defun(tf.float32, tf.float32, func_name="Both")
        def both(x, y):
            return x * y, x + y

        product, total = both(3.0, tf.constant(4.0))
        assert (product.name, total.name, both(1.0, 2.0, name="again")[0].name) == ("Both:0", "Both:1", "again:0")
        assert run([product, total]) == [12, 7]
        assert both.name == "Both" and both.declared_input_types == [tf.float32, tf.float32]

    def test_no_arguments_and_no_result(self):
        v = tf.Variable(1)

        @tf.Defun()
        def bump():
            v.assign_add(1)

        assert bump() is None
        assert tf.Defun()(lambda: tf.constant(3))().shape.as_list() == []

    def test_types_from_the_call(self):
        double = tf.Defun()(lambda x: x * 2)
        assert run([double(2), double(1.5), tf.Defun()(lambda *xs: xs[0] + xs[1])(1, 2)]) == [4, 3, 3]

    def test_shapes(self):
        unknown = tf.Defun(tf.float32)(lambda x: x + 1)
        known = tf.Defun(tf.float32, shape_func=lambda op: [op.inputs[0].get_shape()])(lambda x: x + 1)
        x = tf.ones([2, 3])
        assert unknown(x).shape.ndims is None
        assert known(x).shape.as_list() == [2, 3]

    def test_captures(self):
        x = tf.placeholder(tf.float32, [])
        f = tf.Defun(tf.float32)(lambda y: x * y)
        assert run(f(2.0), {x: 5.0}) == 10
        assert f.captured_inputs == [x]

    def test_recursion(self):
        @tf.Defun(tf.int32)
        def fibonacci(n):
            return tf.cond(n < 2, lambda: n, lambda: fibonacci(n - 1) + fibonacci(n - 2))

        assert run(fibonacci(10)) == 55

    def test_at_once(self):
        with tf.eager_mode():
            assert tf.Defun(tf.float32)(lambda x: x * 2)(3.0).numpy() == 6

    def test_where_tensorflow_has_it(self):
        assert "" in places("python.framework.function")
        assert "" in places("python.eager.def_function") and "contrib.eager" in places("python.eager.function")
        assert tf.contrib.eager.defun(lambda x: x * 2)(tf.constant(2)).op.type == "PartitionedCall"


class TestGradient:
    def test_the_derivative(self):
        f = tf.Defun(tf.float32, tf.float32)(lambda x, y: x * x * y)
        x, y = tf.constant(3.0), tf.constant(4.0)
        assert run(tf.gradients(f(x, y), [x, y])) == [24, 9]

    def test_a_python_function(self):
        def gradient(op, dy):
            return dy * op.inputs[0] * 100

        f = tf.Defun(tf.float32, python_grad_func=gradient)(lambda x: x)
        x = tf.constant(3.0)
        assert run(tf.gradients(f(x), x)) == [300]
        assert f.python_grad_func is gradient

    def test_another_defun(self):
        gradient = tf.Defun(tf.float32, tf.float32, func_name="DF")(lambda x, dy: dy * x * 7)
        f = tf.Defun(tf.float32, grad_func=gradient)(lambda x: x)
        x = tf.constant(3.0)
        assert run(tf.gradients(f(x), x)) == [21]
        assert f.grad_func_name == "DF"


class TestErrors:
    def test_numbers_of_arguments(self):
        with pytest.raises(ValueError, match="fewer arguments than the number of specified input types"):
            tf.Defun(tf.float32, tf.float32)(lambda x: x)
        with pytest.raises(ValueError, match="more arguments than the number of specified input types"):
            tf.Defun(tf.float32)(lambda x, y: x)
        with pytest.raises(ValueError, match="Expected number of arguments: 1, received: 2"):
            tf.Defun(tf.float32)(lambda x: x)(1.0, 2.0)

    def test_what_it_does_not_take(self):
        with pytest.raises(ValueError, match="must be callable"):
            tf.Defun(tf.float32)(3)
        with pytest.raises(TypeError, match="has no argument 'colour'"):
            tf.Defun(tf.float32, colour=1)
        with pytest.raises(ValueError, match="keyword arguments not supported"):
            tf.Defun(tf.float32)(lambda **x: x)
        with pytest.raises(ValueError, match="Unknown keyword"):
            tf.Defun(tf.float32)(lambda x: x)(1.0, y=2)

    def test_two_gradients(self):
        with pytest.raises(ValueError, match="Gradient defined twice"):
            tf.Defun(tf.float32, grad_func=1, python_grad_func=2)(lambda x: x)

    def test_two_functions_of_one_name(self):
        tf.Defun(tf.float32, func_name="Same")(lambda x: x)(1.0)
        with pytest.raises(ValueError, match="a different function with the same name already exists"):
            tf.Defun(tf.float32, func_name="Same")(lambda x: x * 2)(1.0)


class TestEqualFunctions:
    def test_two_equal_functions_are_one(self):
        """A library that defines its functions on every call, as K-FAC's and tensor2tensor's do."""

        def layer(x):
            table = tf.constant([[1.0, 2.0], [3.0, 4.0]])
            return tf.cond(x[0] > 0, lambda: tf.linalg.matvec(table, x), lambda: -x)

        x = tf.constant([1.0, 1.0])
        a, b = (tf.Defun(tf.float32, func_name="Layer")(layer)(x) for _ in range(2))
        assert a.op.type == b.op.type == "Layer" and a.op._attrs["f"] is b.op._attrs["f"]
        with tf.Session() as sess:
            np.testing.assert_array_equal(sess.run(a + b), [6.0, 14.0])
        definition = tf.get_default_graph().as_graph_def()
        assert [f.signature.name for f in definition.library.function].count("Layer") == 1
        assert sum(n.op.endswith("PartitionedCall") for n in definition.node) == 2

    @pytest.mark.parametrize(
        "other", [lambda x: x * 3.0, lambda x: x + 2.0, lambda x: tf.identity(x * 2.0), lambda x: 2.0 * x]
    )
    def test_functions_that_differ(self, other):
        tf.Defun(tf.float32, func_name="Same")(lambda x: x * 2.0)(1.0)
        with pytest.raises(ValueError, match="a different function with the same name already exists"):
            tf.Defun(tf.float32, func_name="Same")(other)(1.0)

    def test_what_they_capture_counts(self):
        y, z = tf.constant(1.0), tf.constant(2.0)
        first = tf.Defun(tf.float32, func_name="Same")(lambda x: x + y)(1.0)
        assert tf.Defun(tf.float32, func_name="Same")(lambda x: x + y)(1.0).op._attrs["f"] is first.op._attrs["f"]
        with pytest.raises(ValueError, match="a different function"):
            tf.Defun(tf.float32, func_name="Same")(lambda x: x + z)(1.0)

    def test_the_type_of_a_call_without_a_name_of_its_own(self):
        @tf.Defun(tf.float32)
        def twice(x):
            return x * 2.0

        call = twice(tf.constant(2.0)).op
        assert call.type == twice.name and call.op_def.name == "PartitionedCall"
        (gradient,) = tf.gradients(call.outputs[0], call.inputs[0])
        with tf.Session() as sess:
            assert sess.run(gradient) == 2.0
