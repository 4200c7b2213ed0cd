"""cond, case, while_loop, TensorArray, map_fn, scan and folds."""

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import errors_impl
from tensorflow.python.framework import test_util
from tensorflow.python.ops import control_flow_ops
from tensorflow.python.ops import gradient_checker
from tensorflow.python.ops import tensor_array_ops


class CondTest(tf.test.TestCase):
    def testBothWays(self):
        x = tf.placeholder(tf.int32)
        out = tf.cond(tf.less(x, 10), lambda: (x + 1, tf.constant(1.0)), lambda: (x - 1, tf.constant(2.0)))
        with self.test_session(use_gpu=True) as sess:
            self.assertAllEqual([3, 1.0], sess.run(out, {x: 2}))
            self.assertAllEqual([19, 2.0], sess.run(out, {x: 20}))

    def testOnlyTheTakenBranchRuns(self):
        pred, fed = tf.placeholder(tf.bool), tf.placeholder(tf.float32)
        v = tf.Variable(0.0)

        def _then():
            with tf.control_dependencies([tf.assign_add(v, 1.0)]):
                return tf.identity(v.read_value())

        out = tf.cond(pred, _then, lambda: tf.check_numerics(fed, "not taken"))
        with self.cached_session() as sess:
            sess.run(v.initializer)
            self.assertAllEqual(1.0, sess.run(out, {pred: True, fed: np.nan}))
            self.assertAllEqual(5.0, sess.run(out, {pred: False, fed: 5.0}))
            self.assertAllEqual(1.0, sess.run(v))
            with self.assertRaisesOpError("not taken : Tensor had NaN values"):
                sess.run(out, {pred: False, fed: np.nan})

    def testGradients(self):
        pred, x = tf.placeholder(tf.bool), tf.placeholder(tf.float32, [])
        y = tf.cond(pred, lambda: x * x, lambda: 3.0 * x)
        gradient = tf.gradients(y, x)[0]
        with self.test_session(use_gpu=True) as sess:
            self.assertAllClose(8.0, sess.run(gradient, {pred: True, x: 4.0}))
            self.assertAllClose(3.0, sess.run(gradient, {pred: False, x: 4.0}))

    def testGradientOfRowsThroughCond(self):
        table, pred = tf.Variable(np.ones([3, 2], np.float32)), tf.placeholder(tf.bool)
        y = tf.cond(pred, lambda: tf.gather(table, [0, 2]), lambda: tf.zeros([2, 2]))
        gradient = tf.gradients(tf.reduce_sum(y), table)[0]
        with self.cached_session() as sess:
            sess.run(table.initializer)
            dense = tf.convert_to_tensor(gradient)
            self.assertAllEqual([[1, 1], [0, 0], [1, 1]], sess.run(dense, {pred: True}))
            self.assertAllEqual(np.zeros([3, 2]), sess.run(dense, {pred: False}))

    def testErrors(self):
        x = tf.constant(1.0)
        with self.assertRaisesRegexp(TypeError, "'?pred'? must not be a Python bool"):
            tf.cond(True, lambda: x, lambda: x)
        with self.assertRaisesRegexp(TypeError, "'?true_fn'? must be (a )?callable"):
            tf.cond(x > 0, x, lambda: x)
        with self.assertRaisesRegexp((TypeError, ValueError), "same (type|nested structure)|must have the same|differ"):
            tf.cond(x > 0, lambda: x, lambda: tf.constant(1))
        with self.assertRaisesRegexp(ValueError, "true_fn and false_fn|both|structure"):
            tf.cond(x > 0, lambda: (x, x), lambda: x)

    def testCase(self):
        x = tf.placeholder(tf.int32)
        pairs = [(tf.equal(x, 1), lambda: tf.constant(10)), (tf.equal(x, 2), lambda: tf.constant(20))]
        out = tf.case(pairs, default=lambda: tf.constant(-1), exclusive=True)
        with self.cached_session() as sess:
            self.assertAllEqual([10, 20, -1], [sess.run(out, {x: value}) for value in (1, 2, 3)])
            both = [(x < 5, lambda: tf.constant(1)), (x < 9, lambda: tf.constant(2))]
            self.assertAllEqual(1, sess.run(tf.case(both, lambda: tf.constant(0)), {x: 2}))
            with self.assertRaisesRegexp(errors_impl.InvalidArgumentError, "more than 1 conditions"):
                sess.run(tf.case(both, lambda: tf.constant(0), exclusive=True), {x: 2})
        with self.assertRaisesRegexp(TypeError, "list, dictionary|list, tuple, or dictionary|must be a list"):
            tf.case(x)


class WhileTest(tf.test.TestCase):
    def testValues(self):
        n = tf.placeholder(tf.int32)
        i, total = tf.while_loop(lambda i, _: i < n, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)), [0, 0.0])
        with self.test_session(use_gpu=True) as sess:
            for limit in 0, 1, 10:
                self.assertAllEqual([limit, sum(range(limit))], sess.run([i, total], {n: limit}))
        self.assertEqual([], total.get_shape().as_list())

    def testNestedStructures(self):
        def body(i, state):
            return i + 1, {"a": state["a"] * 2, "b": (state["b"][0] + state["a"],)}

        _, out = tf.while_loop(lambda i, _: i < 3, body, (0, {"a": tf.constant(1), "b": (tf.constant(0),)}))
        with self.cached_session() as sess:
            self.assertEqual({"a": 8, "b": (7,)}, sess.run(out))

    def testShapeInvariants(self):
        x = tf.constant([[1.0, 2.0]])
        grow = lambda i, t: (i + 1, tf.concat([t, t], 0))
        with self.assertRaisesRegexp(ValueError, r"(?s)shape.*\(1, 2\).*\(2, 2\)|shape invariant"):
            tf.while_loop(lambda i, _: i < 3, grow, [0, x])
        _, out = tf.while_loop(
            lambda i, _: i < 3, grow, [0, x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])]
        )
        self.assertEqual([None, 2], out.get_shape().as_list())
        with self.test_session(use_gpu=True):
            self.assertEqual((8, 2), out.eval().shape)

    def testVariablesInTheBody(self):
        a, b = tf.Variable(0), tf.Variable(0)

        def body(i):
            with tf.control_dependencies([tf.assign_add(a, 1)]):
                with tf.control_dependencies([tf.assign_add(b, a.read_value())]):
                    return i + 1

        loop = tf.while_loop(lambda i: i < 10, body, [0], parallel_iterations=1)
        with self.cached_session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(loop)
            self.assertAllEqual([10, 55], sess.run([a, b]))

    def testGradients(self):
        with self.test_session():
            for parallel in 1, 10:
                x_init = np.array([[0.5, 0.2], [0.1, 0.7]])
                x = tf.constant(x_init)
                _, y = tf.while_loop(
                    lambda i, _: i < 3,
                    lambda i, m: (i + 1, tf.tanh(tf.matmul(m, x))),
                    [0, x],
                    parallel_iterations=parallel,
                )
                self.assertLess(
                    gradient_checker.compute_gradient_error(x, [2, 2], y, [2, 2], x_init_value=x_init), 1e-5
                )
                self.assertIs(None, tf.gradients(y, tf.constant(1.0))[0])

    def testGradientWithCondInside(self):
        x = tf.placeholder(tf.float32, [])
        _, y = tf.while_loop(
            lambda i, _: i < 4,
            lambda i, v: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: v * x, lambda: v + x)),
            [0, tf.constant(1.0)],
        )
        gradient = tf.gradients(y, x)[0]
        with self.test_session(use_gpu=True) as sess:  # ((x + x) x) + x = 2 x^2 + x
            self.assertAllClose([21.0, 13.0], sess.run([y, gradient], {x: 3.0}))

    def testStopGradient(self):
        x = tf.constant(2.0)
        _, y = tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, tf.stop_gradient(v * 2.0)), [0, x])
        with self.cached_session():
            self.assertAllEqual(0.0, tf.gradients(y, x)[0].eval())

    def testErrors(self):
        with self.assertRaisesRegexp(TypeError, "cond must be callable|'cond' must be callable"):
            tf.while_loop(1, lambda x: x, [0])
        with self.assertRaisesRegexp(ValueError, "No loop variables provided|'loop_vars' must be provided"):
            tf.while_loop(lambda: True, lambda: 1, [])
        with self.assertRaisesRegexp(
            ValueError, "same number of elements|same structure|same nested structure|same sequence"
        ):
            tf.while_loop(lambda i: i < 3, lambda i: (i, i), [0])
        with self.assertRaises((TypeError, ValueError)):
            tf.while_loop(lambda i: i < 3.0, lambda i: tf.cast(i, tf.float32), [tf.constant(0)])

    def testMaximumIterations(self):
        with self.cached_session():
            self.assertAllEqual(5, tf.while_loop(lambda i: i < 100, lambda i: i + 1, [0], maximum_iterations=5).eval())

    def testGroupAndTuple(self):
        v, w = tf.Variable(1.0), tf.Variable(2.0)
        both = control_flow_ops.group(v.assign(5.0), w.assign(6.0))
        pair = control_flow_ops.tuple([v.assign_add(1.0), w.assign_add(1.0)])
        gated = control_flow_ops.with_dependencies([both], tf.constant(7.0))
        with self.cached_session() as sess:
            sess.run(tf.global_variables_initializer())
            self.assertIs(None, sess.run(both))
            self.assertAllEqual([6.0, 7.0], sess.run(pair))
            self.assertAllEqual(7.0, sess.run(gated))
            self.assertAllEqual([5.0, 6.0], sess.run([v, w]))


class TensorArrayTest(tf.test.TestCase):
    def testWriteReadStack(self):
        for dtype in tf.float32, tf.int64, tf.complex64, tf.string:
            values = [[1, 2], [3, 4], [5, 6]]
            if dtype == tf.string:
                values = [[b"a", b"b"], [b"c", b"d"], [b"e", b"f"]]
            with self.cached_session() as sess:
                ta = tensor_array_ops.TensorArray(dtype, size=3, tensor_array_name="foo", clear_after_read=False)
                for index, value in enumerate(values):
                    ta = ta.write(index, tf.constant(value, dtype))
                self.assertAllEqual(values[1], sess.run(ta.read(1)))
                self.assertAllEqual(values, sess.run(ta.stack()))
                self.assertAllEqual([values[2], values[0]], sess.run(ta.gather([2, 0])))
                self.assertAllEqual(3, sess.run(ta.size()))
                self.assertAllEqual(np.concatenate(values), sess.run(ta.concat()))

    def testSplitAndUnstack(self):
        with self.test_session(use_gpu=True) as sess:
            ta = tensor_array_ops.TensorArray(tf.float32, size=3, infer_shape=False).split(
                [1.0, 2.0, 3.0, 4.0], [1, 0, 3]
            )
            self.assertAllEqual([2.0, 3.0, 4.0], sess.run(ta.read(2)))
            ta = tensor_array_ops.TensorArray(tf.float32, size=0, dynamic_size=True).unstack([[1.0], [2.0]])
            self.assertAllEqual([2], sess.run(ta.read(1)))

    def testGradients(self):
        x = tf.constant([1.0, 2.0, 3.0])
        ta = tensor_array_ops.TensorArray(tf.float32, size=3).unstack(x)
        out = tensor_array_ops.TensorArray(tf.float32, size=3)
        _, out = tf.while_loop(lambda i, _: i < 3, lambda i, o: (i + 1, o.write(i, ta.read(i) ** 2)), (0, out))
        with self.test_session(use_gpu=True):
            self.assertAllEqual([1, 4, 9], out.stack().eval())
            self.assertAllEqual([2, 4, 6], tf.gradients(out.stack(), x)[0].eval())

    def testErrors(self):
        index = tf.placeholder(tf.int32)
        with self.cached_session() as sess:
            ta = tensor_array_ops.TensorArray(tf.float32, size=2, tensor_array_name="foo", infer_shape=False)
            with self.assertRaisesOpError("Tried to write to index 3 but array is not resizeable and size is: 2"):
                sess.run(ta.write(index, 1.0).flow, {index: 3})
            with self.assertRaisesOpError("Tried to write to index -1"):
                sess.run(ta.write(index, 1.0).flow, {index: -1})
            written = ta.write(0, [1.0, 2.0])
            with self.assertRaisesOpError("Could not read index 1|Could not read .*index 1"):
                sess.run(written.read(1))
            with self.assertRaisesOpError(
                "index 0.*already been written|it has already been written to|Could not write to TensorArray index 0"
            ):
                sess.run(written.write(0, [1.0, 2.0]).flow)
            with self.assertRaisesOpError("TensorArray dtype is float but [Oo]p is trying to write dtype int32"):
                sess.run(ta.write(0, tf.constant([1])).flow)


class HigherOrderTest(tf.test.TestCase):
    def testMapFn(self):
        elems = np.arange(6.0).reshape(3, 2)
        with self.test_session(use_gpu=True) as sess:
            x = tf.constant(elems)
            y = tf.map_fn(lambda row: tf.reduce_sum(row * row), x)
            self.assertEqual([3], y.get_shape().as_list())
            self.assertAllClose((elems**2).sum(1), sess.run(y))
            self.assertAllClose(2 * elems, sess.run(tf.gradients(y, x)[0]))
            pair = tf.map_fn(lambda ab: (ab[0] + ab[1], tf.cast(ab[1], tf.int32)), (x, x), dtype=(tf.float64, tf.int32))
            self.assertAllClose([elems * 2, elems], sess.run(list(pair)))
            fed = tf.placeholder(tf.float32)
            self.assertAllClose(elems + 1, sess.run(tf.map_fn(lambda v: v + 1, fed), {fed: elems}))
        with self.assertRaises((TypeError, ValueError)):
            tf.map_fn(lambda v: v, tf.constant(1.0))

    @test_util.run_deprecated_v1
    def testScanAndFolds(self):
        elems = np.array([1, 2, 3, 4, 5, 6], np.float32)
        with self.test_session(use_gpu=True) as sess:
            x = tf.constant(elems)
            self.assertAllEqual(np.cumsum(elems), sess.run(tf.scan(lambda a, b: a + b, x)))
            self.assertAllEqual(np.cumprod(elems) * 2, sess.run(tf.scan(lambda a, b: a * b, x, initializer=2.0)))
            self.assertAllEqual(np.cumsum(elems[::-1])[::-1], sess.run(tf.scan(lambda a, b: a + b, x, reverse=True)))
            self.assertAllEqual(21.0, sess.run(tf.foldl(lambda a, b: a + b, x)))
            self.assertAllEqual(9.0, sess.run(tf.foldr(lambda a, b: b - a, x, initializer=12.0)))
            gradient = tf.gradients(tf.scan(lambda a, b: a * b, x), x)[0]
            expected = [sum(np.cumprod(elems)[i:]) / elems[i] for i in range(6)]
            self.assertAllClose(expected, sess.run(gradient))


if __name__ == "__main__":
    tf.test.main()
