"""Metrics at k with weights, gradients with stopped values in loops, Hessians, running sums, scalars that are none."""

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import errors_impl

PREDICTIONS = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.1, 0.4, 0.2, 0.3]], np.float32)
LABELS = np.array([[0, 3], [1, 2], [1, 1]], np.int64)


def late(value, dtype=None):
    """A tensor whose value is known only when it runs."""
    return tf.placeholder_with_default(tf.constant(value, dtype), None)


class MetricsAtKTest(tf.test.TestCase):
    def _value(self, metric, **options):
        with tf.Graph().as_default(), tf.Session() as sess:
            if "weights" in options and callable(options["weights"]):
                options["weights"] = options["weights"]()
            value, update = metric(LABELS, PREDICTIONS, 2, **options)
            sess.run(tf.local_variables_initializer())
            updated = sess.run(update)
            self.assertEqual(updated, sess.run(value))
            return updated

    def testWeights(self):
        precision, recall = tf.metrics.precision_at_k, tf.metrics.recall_at_k
        average = tf.metrics.average_precision_at_k
        for metric, plain, weighted in ((precision, 0.5, 0.5), (recall, 0.6, 0.75), (average, 5 / 12, 0.5)):
            self.assertAlmostEqual(plain, self._value(metric), 5)
            self.assertAlmostEqual(plain, self._value(metric, weights=2.0), 5)
            vector = [1.0, 0.0, 2.0]
            for weights in (vector, np.array(vector), np.array([1, 0, 2]), lambda: late([1.0, 0.0, 2.0])):
                self.assertAlmostEqual(weighted, self._value(metric, weights=weights), 5)

    def testWrongWeights(self):
        for metric in (tf.metrics.precision_at_k, tf.metrics.recall_at_k, tf.metrics.average_precision_at_k):
            for weights in ([1.0, 2.0], [[1.0], [0.0], [2.0]], np.ones((3, 2), np.float32), lambda: late([1.0, 2.0])):
                with self.assertRaisesRegexp(
                    errors_impl.InvalidArgumentError,
                    r"assertion failed: \[weights can not be broadcast to values.\] \[weights.shape=\]",
                ):
                    self._value(metric, weights=weights)


class StoppedInLoopsTest(tf.test.TestCase):
    def _gradients(self, build):
        x, y = tf.placeholder_with_default(2.0, []), tf.placeholder_with_default(3.0, [])
        with self.cached_session() as sess:
            return [None if g is None else sess.run(g) for g in tf.gradients(build(x, y), [x, y])]

    def testLoops(self):
        stop = tf.stop_gradient

        def loop(body, start=1.0):
            return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, body(a)), [0, start])[1]

        self.assertEqual([4.0, None], self._gradients(lambda x, y: loop(lambda a: stop(a) * x)))
        self.assertEqual([None, 7.0], self._gradients(lambda x, y: loop(lambda a: a * stop(x) + y)))
        self.assertEqual([None, None], self._gradients(lambda x, y: loop(lambda a: stop(a * x))))
        self.assertEqual([0.0, None], self._gradients(lambda x, y: loop(lambda a: stop(a), x)))
        self.assertEqual([0.0, 1.0], self._gradients(lambda x, y: loop(lambda a: y * 1.0, x)))

    def testConditionals(self):
        stop = tf.stop_gradient
        self.assertEqual([None, None], self._gradients(lambda x, y: tf.cond(x > 1, lambda: stop(x), lambda: stop(x))))
        self.assertEqual([0.0, None], self._gradients(lambda x, y: tf.cond(x > 1, lambda: stop(x), lambda: x * 2.0)))


class HessianTest(tf.test.TestCase):
    def testUnknownShapes(self):
        for shape, value in (([None], [1.0, 2.0]), (None, [1.0, 2.0]), ([None, None], [[1.0, 2.0]])):
            x = tf.placeholder(tf.float32, shape)
            (hessian,) = tf.hessians(tf.reduce_sum(x**3) + tf.reduce_sum(x) ** 2, x)
            sizes = np.shape(value)
            expected = np.reshape([[8.0, 2.0], [2.0, 14.0]], sizes + sizes)
            with self.cached_session() as sess:
                self.assertAllClose(expected, sess.run(hessian, {x: value}))

    def testOfMoreThanAScalar(self):
        x = tf.constant([1.0, 2.0])
        with self.cached_session() as sess:
            self.assertAllClose([[[6.0, 0.0], [0.0, 12.0]]], sess.run(tf.hessians(x**3, x)))
            self.assertAllClose([[[8.0, 0.0], [0.0, 14.0]]], sess.run(tf.hessians([x**3, x**2], x)))


class RunningSumsTest(tf.test.TestCase):
    def testAxes(self):
        x = np.ones((2, 3, 4), np.float32)
        for op in (tf.cumsum, tf.cumprod):
            for value, axis, message in (
                (x, 3, r"ScanOp: Expected scan axis in the range \[-3, 3\), but got"),
                (x, -4, r"ScanOp: Expected scan axis in the range \[-3, 3\), but got"),
                (3.0, 0, r"ScanOp: Expected scan axis in the range \[0, 0\), but got 0"),
                (x, [0], r"ScanOp: axis must be a scalar, not \[1\]"),
                (x, [0, 1], r"ScanOp: axis must be a scalar, not \[2\]"),
            ):
                for at_build in (True, False):
                    result = op(value, axis if at_build else late(axis))
                    with self.cached_session() as sess:
                        with self.assertRaisesOpError(message):
                            sess.run(result)


class ScalarsTest(tf.test.TestCase):
    def testVectorsOfOne(self):
        with self.cached_session() as sess:
            self.assertAllEqual([0, 1], sess.run(tf.range(0, late([2]), 1)))
            self.assertAllEqual([1, 2], sess.run(tf.range(late([1]), 3, late([1]))))

    def testRefused(self):
        for build, message in (
            (lambda: tf.range(0, late([2, 3]), 1), "limit must be a scalar"),
            (lambda: tf.one_hot([0, 1], late([2, 2])), "depth must be a scalar"),
            (lambda: tf.fill([2], late([1.0, 2.0])), r"value must represent a scalar, got shape \[2\]"),
            (lambda: tf.nn.in_top_k([[1.0, 2.0]], [0], late([1])), r"k must be 0-D, got shape \[1\]"),
            (lambda: tf.roll([1.0, 2.0], late([1]), late(0)), "shift and axis must have the same size"),
            (lambda: tf.argmax([1.0, 2.0], 5), r"Expected dimension in the range \[-1, 1\), but got 5"),
            (lambda: tf.argmin([1.0, 2.0], -7), r"Expected dimension in the range \[-1, 1\), but got -7"),
        ):
            result = build()
            with self.cached_session() as sess:
                with self.assertRaisesOpError(message):
                    sess.run(result)
        with self.assertRaisesRegexp(ValueError, "Shapes must be equal rank, but are 1 and 0"):
            tf.roll([1.0, 2.0], [1], 0)
