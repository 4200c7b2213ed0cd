"""``TensorArray.grad``: the array of an array's gradients, written, read and differentiated again.

What is not about second gradients was compared with TensorFlow's (which has none of an array of gradients).
"""

import numpy as np
import pytest
from running import modes

import headrace as tf

X = np.array([[0.5, -0.3], [0.8, 0.1], [-0.2, 0.9]])


def run(fetches, feeds=None, config=None):
    with tf.Session(config=config) as session:
        return session.run(fetches, feeds)


def array(**arguments):
    made = tf.TensorArray(tf.float32, 3, element_shape=[2], clear_after_read=False, **arguments)
    return made.write(0, [1.0, 2.0]).write(1, [3.0, 4.0]).write(2, [5.0, 6.0])


class TestElements:
    def test_what_it_is(self):
        ta = array(name="foo")
        grad = ta.grad("a")
        assert isinstance(grad, tf.TensorArray)
        assert grad.dtype == tf.float32 and grad.element_shape.as_list() == [2]
        assert grad.flow.name == "TensorArrayGrad/gradient_flow:0"
        assert run([grad.size(), tf.shape(grad.stack())])[1].tolist() == [3, 2]

    def test_writes_add_up_and_the_rest_is_zero(self):
        grad = array().grad("a").write(0, [1.0, 1.0]).write(2, [2.0, 2.0]).write(0, [2.0, 3.0])
        assert run(grad.read(0)).tolist() == [3, 4]
        assert run(grad.read(1)).tolist() == [0, 0]
        assert run(grad.stack()).tolist() == [[3, 4], [0, 0], [2, 2]]
        assert run(grad.gather([2, 0])).tolist() == [[2, 2], [3, 4]]
        assert run(grad.concat()).tolist() == [3, 4, 0, 0, 2, 2]

    def test_many_at_once(self):
        grad = array().grad("a").unstack([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        grad = grad.scatter([2, 0], [[10.0, 10.0], [20.0, 20.0]]).split(tf.ones([6]), [2, 2, 2])
        assert run(grad.stack()).tolist() == [[22, 23], [4, 5], [16, 17]]

    def test_goes_on_from_the_same_source(self):
        ta = array()
        first = ta.grad("a").write(0, [1.0, 1.0])
        again = ta.grad("a", flow=first.flow).write(0, [2.0, 3.0])
        assert run([again.read(0), ta.grad("a").read(0)])[1].tolist() == [3, 4]
        assert run(ta.grad("b").read(0)).tolist() == [0, 0]
        assert run(ta.grad("b", flow=ta.flow).read(0)).tolist() == [0, 0]

    def test_zeros_have_the_shape_of_what_was_written(self):
        ta = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [[1.0, 2.0]])
        grad = ta.grad("a")
        assert [v.tolist() for v in run([grad.read(0), grad.read(1)])] == [[0], [[0, 0]]]

    def test_of_an_array_that_grows(self):
        n = tf.placeholder(tf.int32, [])
        ta = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[])
        _, ta = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a.write(i, 2.0)), [0, ta])
        grad = ta.grad("a")
        assert run([grad.size(), grad.write(1, 5.0).stack()], {n: 3})[1].tolist() == [0, 5, 0]

    def test_as_a_loop_variable(self):
        ta = array()

        def body(i, grad):
            return i + 1, grad.write(i % 2, ta.read(i))

        _, grad = tf.while_loop(lambda i, _: i < 3, body, [0, ta.grad("a")])
        assert run(grad.stack()).tolist() == [[6, 8], [3, 4], [0, 0]]


@modes
class TestGradients:
    def test_of_an_array(self, config):
        """What tf.gradients gives for an array's flow are the gradients of its elements."""
        x = tf.placeholder(tf.float64, [3, 2])
        ta = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x)
        (flow,) = tf.gradients(tf.reduce_sum(ta.read(0) * ta.read(1) + ta.read(0)), ta.flow)
        found = ta.grad("gradients", flow)
        np.testing.assert_allclose(run(found.stack(), {x: X}, config), [X[1] + 1, X[0], [0, 0]])
        np.testing.assert_allclose(run(found.read(1), {x: X}, config), X[0])

    def test_of_a_loop(self, config):
        x = tf.placeholder(tf.float64, [3, 2])
        ta = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x)
        y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * ta.read(i)), [0, tf.ones([2], tf.float64)])[1]
        found = ta.grad("gradients", tf.gradients(y, ta.flow)[0]).stack()
        np.testing.assert_allclose(run(found, {x: X}, config), np.prod(X, 0) / X)

    def test_second(self, config):
        """Differentiates what was read from an array of gradients, and that once more."""
        x = tf.placeholder(tf.float64, [3, 2])
        ta = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x * x)
        y = tf.reduce_sum(ta.read(0) ** 3 * ta.read(2))
        slopes = ta.grad("gradients", tf.gradients(y, ta.flow)[0]).stack()  # 3 a^2 c, 0, a^3 with a = x0^2, c = x2^2
        (second,) = tf.gradients(slopes, x)
        (third,) = tf.gradients(second, x)
        a, c = X[0], X[2]
        expected = [12 * a**3 * c**2 + 6 * a**5, [0, 0], 6 * a**4 * c]
        np.testing.assert_allclose(run(second, {x: X}, config), expected, rtol=1e-9)
        once_more = [36 * a**2 * c**2 + 30 * a**4 + 24 * a**3 * c, [0, 0], 24 * a**3 * c + 6 * a**4]
        np.testing.assert_allclose(run(third, {x: X}, config), once_more, rtol=1e-9)

    def test_of_what_is_written_to_gradients(self, config):
        x = tf.placeholder(tf.float32, [2])
        grad = array().grad("a").write(0, x * x).write(1, x).write(0, x)
        y = tf.reduce_sum(grad.stack() * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        (slope,) = tf.gradients(y, x)
        (curvature,) = tf.gradients(slope, x)
        found = run([slope, curvature], {x: [3.0, 4.0]}, config)
        assert [v.tolist() for v in found] == [[6 + 1 + 3, 16 + 2 + 4], [2, 4]]


class TestErrors:
    @pytest.mark.parametrize("index", [3, -1])
    @modes
    def test_an_index_outside(self, index, config):
        grad = array().grad("a")
        n = tf.placeholder(tf.int32, [])
        for use in (lambda i: grad.read(i), lambda i: grad.write(i, [1.0, 1.0]).read(0)):
            for given in (index, n):
                with pytest.raises(tf.errors.InvalidArgumentError, match="have no such index"):
                    run(use(given), {n: index}, config)
        assert run(grad.read(n), {n: 1}, config).tolist() == [0, 0]

    def test_of_building(self):
        with pytest.raises(TypeError, match="Expected string for argument 'source' not 3"):
            array().grad(3)
        with pytest.raises(ValueError, match="an array of string has no gradients"):
            tf.TensorArray(tf.string, 2).grad("a")
        with pytest.raises(ValueError, match="has no gradients of its own"):
            array().grad("a").grad("b")
        with pytest.raises(TypeError, match="of float32 cannot hold"):
            array().grad("a").write(0, tf.constant([1, 2]))

    def test_where_ops_run_at_once(self):
        with tf.Graph().as_default(), tf.eager_mode(), pytest.raises(NotImplementedError, match="executing eagerly"):
            tf.TensorArray(tf.float32, 2).grad("a")


class TestAccumulating:
    def test_asked_twice_is_one_array(self):
        ta = tf.TensorArray(tf.float32, 3)
        first, second = ta.grad("grad"), ta.grad("grad")
        with tf.control_dependencies([first.write(0, [[4.0, 5.0]]).flow]):
            value = second.read(0)
            after = second.write(0, [[1.0, 1.0]])
        other = ta.grad("another").write(0, [[1.0, 1.0]]).read(0)
        assert [v.tolist() for v in run([value, other])] == [[[4.0, 5.0]], [[1.0, 1.0]]]
        assert run(after.read(0)).tolist() == [[5.0, 6.0]]
        assert run(second.write(0, [[1.0, 1.0]]).read(0)).tolist() == [[1.0, 1.0]], (
            "it does not wait for the first write"
        )

    @pytest.mark.parametrize("dtype", ["int32", "int64", "float64", "complex64"])
    def test_elements_of_every_numeric_type(self, dtype):
        grad = tf.TensorArray(dtype, 3).write(0, tf.constant(4, dtype)).grad("grad")
        added = grad.write(0, tf.constant(3, dtype)).write(0, tf.constant(2, dtype))
        assert run(added.read(0)) == 5

    def test_of_an_array_that_was_never_written(self):
        grad = tf.TensorArray(tf.float32, 3, infer_shape=False).grad("grad")
        added = grad.write(2, 3.0).write(2, 4.0).write(2, 5.0)
        assert run(added.read(2)) == 12.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="the element shape is not fully defined"):
            run(added.read(0))

    def test_of_two_shapes(self):
        grad = tf.TensorArray(tf.float32, 3, infer_shape=False).grad("grad")
        both = grad.write(1, 1.0).write(1, [1.0])
        message = r"Could not aggregate to TensorArray index 1 because the existing shape is \[\] but .* shape is \[1\]"
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(both.flow)
