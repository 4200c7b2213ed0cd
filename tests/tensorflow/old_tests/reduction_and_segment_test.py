"""Reductions, arg reductions, cumulative sums and segments."""

import itertools

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import errors_impl
from tensorflow.python.framework import test_util
from tensorflow.python.ops import gradient_checker


class ReductionTest(tf.test.TestCase):
    _REDUCTIONS = (
        (tf.reduce_sum, np.sum),
        (tf.reduce_mean, np.mean),
        (tf.reduce_prod, np.prod),
        (tf.reduce_max, np.max),
        (tf.reduce_min, np.min),
    )

    def _compare(self, tf_func, np_func, x, axes, keepdims):
        expected = np.asarray(np_func(x, axis=axes, keepdims=keepdims), x.dtype)
        axis = None if axes is None else list(axes)
        with self.test_session(use_gpu=True) as sess:
            fed = tf.placeholder(x.dtype)
            known, unknown = tf_func(x, axis, keepdims), tf_func(fed, axis, keepdims)
            self.assertEqual(expected.shape, known.get_shape())
            for value in sess.run([known, unknown], {fed: x}):
                self.assertAllCloseAccordingToType(expected, value)

    def testEveryAxis(self):
        for dtype in np.float32, np.int32, np.complex64:
            x = np.random.RandomState(3).uniform(1, 3, [2, 3, 2]).astype(dtype)
            for (tf_func, np_func), axes, keepdims in itertools.product(
                self._REDUCTIONS, [None, (), (0,), (0, 2), (0, 1, 2), (-1,), (1, -1)], (False, True)
            ):
                if dtype == np.complex64 and np_func in (np.max, np.min):
                    continue
                if dtype == np.int32 and np_func is np.mean:
                    continue
                self._compare(tf_func, np_func, x, axes, keepdims)

    def testMeanOfIntegersTruncates(self):
        with self.cached_session():
            mean = tf.reduce_mean(tf.constant([[3, 4], [8, 3]]), 1)
            self.assertEqual(tf.int32, mean.dtype)
            self.assertAllEqual([3, 5], mean.eval())

    def testOldArgumentNames(self):
        x = np.arange(6.0).reshape(2, 3)
        with self.test_session(use_gpu=True):
            out = tf.reduce_sum(x, reduction_indices=[0], keep_dims=True)
            self.assertAllEqual(x.sum(0, keepdims=True), out.eval())
            self.assertAllEqual(2, tf.argmax(x, dimension=1).eval()[0])
        with self.assertRaisesRegexp(ValueError, "reduction_indices"):
            tf.reduce_sum(x, axis=0, reduction_indices=0)

    def testEmpty(self):
        with self.test_session(use_gpu=True):
            for tf_func, value in (
                (tf.reduce_sum, 0.0),
                (tf.reduce_prod, 1.0),
                (tf.reduce_max, -np.inf),
                (tf.reduce_min, np.inf),
            ):
                y = tf_func(tf.zeros([3, 0]), 1)
                self.assertAllEqual(np.full([3], value, np.float32), y.eval())
            self.assertAllEqual([True] * 2, tf.reduce_all(np.zeros([0, 2], bool), 0).eval())
            self.assertAllEqual([False] * 2, tf.reduce_any(np.zeros([0, 2], bool), 0).eval())
            self.assertTrue(np.isnan(tf.reduce_mean(tf.zeros([0])).eval()))

    def testGradients(self):
        x_init = np.random.RandomState(5).uniform(0.5, 2.0, [2, 3, 2])
        with self.test_session():
            for tf_func in tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.reduce_max, tf.reduce_logsumexp, tf.norm:
                for axis in (None, 1) if tf_func is tf.norm else (None, [1], [0, 2]):
                    x = tf.constant(x_init)
                    y = tf_func(x, axis=axis)
                    error = gradient_checker.compute_gradient_error(
                        x, [2, 3, 2], y, y.get_shape().as_list(), x_init_value=x_init
                    )
                    self.assertLess(error, 1e-4, "%s %s" % (tf_func.__name__, axis))

    def testGradientOfProductWithZeros(self):
        for rows in [[1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 2.0, 0.0]]:
            with self.cached_session():
                x = tf.constant(rows)
                gradient = tf.gradients(tf.reduce_prod(x), x)[0].eval()
                self.assertAllClose([np.prod(rows[:i] + rows[i + 1 :]) for i in range(3)], gradient)

    def testGradientOfTies(self):
        with self.cached_session():
            x = tf.constant([2.0, 1.0, 2.0])
            self.assertAllClose([0.5, 0.0, 0.5], tf.gradients(tf.reduce_max(x), x)[0].eval())

    def testUnknownRank(self):
        x = tf.placeholder(tf.float32)
        axis = tf.placeholder(tf.int32)
        self.assertIs(None, tf.reduce_sum(x, 0).get_shape().ndims)
        self.assertEqual([], tf.reduce_sum(x).get_shape().as_list())
        self.assertEqual([None, None], tf.reduce_sum(tf.zeros([2, 3]), axis, keepdims=True).get_shape().as_list())
        self.assertIs(None, tf.reduce_sum(tf.zeros([2, 3]), axis).get_shape().ndims)
        partial = tf.placeholder(tf.float32, [None, 4, None])
        self.assertEqual([None, 4], tf.reduce_max(partial, 2).get_shape().as_list())
        self.assertEqual([None, 1, None], tf.reduce_max(partial, 1, True).get_shape().as_list())
        with self.test_session(use_gpu=True):
            gradient = tf.gradients(tf.reduce_mean(x, axis), x)[0]
            self.assertAllClose(np.full([2, 4], 0.25), gradient.eval({x: np.ones([2, 4]), axis: [1]}))

    def testInvalidAxes(self):
        for axis in 2, -3, [0, 2]:
            with self.assertRaisesRegexp(ValueError, "Invalid reduction dimension"):
                tf.reduce_sum(tf.zeros([2, 3]), axis)
        with self.test_session(use_gpu=True):
            axis = tf.placeholder(tf.int32)
            out = tf.reduce_sum(tf.zeros([2, 3]), axis)
            with self.assertRaisesOpError("Invalid reduction dimension"):
                out.eval({axis: 5})
            with self.assertRaisesOpError("Invalid reduction arguments: Axes contains duplicate dimension: 1"):
                out.eval({axis: [1, -1]})
            for func in tf.reduce_sum, tf.reduce_max, tf.reduce_mean, tf.reduce_prod:
                twice = func(tf.zeros([2, 3]), [0, 0])  # building it is no error
                with self.assertRaisesOpError("Invalid reduction arguments: Axes contains duplicate dimension: 0"):
                    twice.eval()

    def testWrongTypes(self):
        with self.assertRaises(TypeError):
            tf.reduce_all(tf.constant([1, 2]))
        with self.assertRaises(TypeError):
            tf.reduce_sum(tf.constant(["a", "b"]))


class ArgAndScanTest(tf.test.TestCase):
    def testArgMaxAndMin(self):
        x = np.array([[3, 1, 3], [0, 5, 5]], np.float32)
        with self.test_session(use_gpu=True):
            for out_type in tf.int32, tf.int64:
                out = tf.argmax(x, 1, output_type=out_type)
                self.assertEqual(out_type, out.dtype)
                self.assertAllEqual([0, 1], out.eval())
            self.assertAllEqual(np.argmin(x, 0), tf.argmin(x, 0).eval())
            self.assertAllEqual(np.argmin(x, 0), tf.argmin(x).eval())
            with self.assertRaisesOpError(r"Expected dimension in the range \[-2, 2\), but got 2"):
                axis = tf.placeholder(tf.int32)
                tf.argmax(x, axis).eval({axis: 2})
            with self.assertRaisesOpError("Reduction axis 1 is empty in shape"):
                tf.argmax(tf.placeholder_with_default(np.zeros([2, 0], np.float32), None), 1).eval()
        with self.assertRaisesRegexp(ValueError, r"must be in the range \[-2, 2\)"):
            tf.argmax(x, 2)

    def testCumulative(self):
        x = np.random.RandomState(1).uniform(0.5, 1.5, [2, 3, 4])
        for axis in -1, 0, 1:
            with self.test_session(use_gpu=True):
                self.assertAllClose(np.cumsum(x, axis), tf.cumsum(x, axis).eval())
                self.assertAllClose(np.cumprod(x, axis), tf.cumprod(x, axis).eval())
                flipped = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
                self.assertAllClose(flipped, tf.cumsum(x, axis, reverse=True).eval())
                self.assertAllClose(flipped - x, tf.cumsum(x, axis, reverse=True, exclusive=True).eval())
            with self.test_session():
                t = tf.constant(x)
                for func in tf.cumsum, tf.cumprod:
                    y = func(t, axis, exclusive=True)
                    self.assertLess(
                        gradient_checker.compute_gradient_error(t, [2, 3, 4], y, [2, 3, 4], x_init_value=x), 1e-6
                    )
        with self.cached_session():
            with self.assertRaisesRegexp(
                errors_impl.InvalidArgumentError, r"Expected scan axis in the range \[-3, 3\), but got 3"
            ):
                tf.cumsum(x, 3).eval()
            with self.assertRaisesRegexp((ValueError, errors_impl.InvalidArgumentError), "must be (a )?scalar|rank 0"):
                tf.cumsum(x, [0]).eval()


class SegmentTest(tf.test.TestCase):
    def _expected(self, np_func, x, ids, count, empty):
        out = np.full([count] + list(x.shape[1:]), empty, x.dtype)
        for segment in set(ids):
            out[segment] = np_func(x[np.asarray(ids) == segment], axis=0)
        return out

    def testSorted(self):
        ids = [0, 0, 2, 2, 2, 3]
        for dtype in np.float32, np.float64, np.int32, np.int64:
            x = np.arange(1, 13).reshape(6, 2).astype(dtype)
            with self.test_session(use_gpu=True):
                for tf_func, np_func, empty in (
                    (tf.segment_sum, np.sum, 0),
                    (tf.segment_prod, np.prod, 1),
                    (tf.segment_max, np.max, 0),
                    (tf.segment_min, np.min, 0),
                ):
                    out = tf_func(x, ids)
                    self.assertEqual(
                        [None, 2] if out.get_shape().dims[0].value is None else [4, 2], out.get_shape().as_list()
                    )
                    self.assertAllClose(self._expected(np_func, x, ids, 4, empty), out.eval())

    def testUnsorted(self):
        ids = [3, 0, 3, 1, 0, -1]
        x = np.arange(1.0, 13.0).reshape(6, 2)
        kept, kept_ids = x[:5], ids[:5]
        with self.test_session(use_gpu=True):
            for tf_func, np_func, empty in (
                (tf.unsorted_segment_sum, np.sum, 0.0),
                (tf.unsorted_segment_prod, np.prod, 1.0),
                (tf.unsorted_segment_max, np.max, np.finfo(np.float64).min),
                (tf.unsorted_segment_min, np.min, np.finfo(np.float64).max),
                (tf.unsorted_segment_mean, np.mean, 0.0),
            ):
                out = tf_func(x, ids, 5)
                self.assertEqual([5, 2], out.get_shape().as_list())
                self.assertAllClose(self._expected(np_func, kept, kept_ids, 5, empty), out.eval())

    def testGradients(self):
        x_init = np.random.RandomState(9).uniform(1.0, 2.0, [5, 2])
        with self.test_session():
            x = tf.constant(x_init)
            for y, rows in (
                (tf.segment_sum(x, [0, 0, 1, 3, 3]), 4),
                (tf.segment_mean(x, [0, 0, 1, 3, 3]), 4),
                (tf.segment_max(x, [0, 0, 1, 3, 3]), 4),
                (tf.unsorted_segment_sum(x, [2, 0, 2, 1, 0], 3), 3),
                (tf.unsorted_segment_prod(x, [2, 0, 2, 1, 0], 3), 3),
                (tf.unsorted_segment_sqrt_n(x, [2, 0, 2, 1, 0], 3), 3),
                (tf.sparse_segment_mean(x, [4, 0, 0], [0, 0, 1]), 2),
                (tf.sparse_segment_sqrt_n(x, [4, 0, 0], [0, 0, 1]), 2),
            ):
                self.assertLess(
                    gradient_checker.compute_gradient_error(x, [5, 2], y, [rows, 2], x_init_value=x_init), 1e-5
                )

    @test_util.run_deprecated_v1
    def testInvalidIds(self):
        x = np.ones([3, 2], np.float32)
        ids = tf.placeholder(tf.int32)
        with self.cached_session(use_gpu=False):
            with self.assertRaisesOpError("segment ids are not increasing"):
                tf.segment_sum(x, ids).eval({ids: [1, 0, 0]})
            with self.assertRaisesOpError(r"Segment id -1 out of range \[0, 1\)"):
                tf.segment_sum(x, ids).eval({ids: [-1, 0, 0]})
            with self.assertRaisesOpError(r"segment_ids\[1\] = 7 is out of range \[0, 2\)"):
                tf.unsorted_segment_sum(x, ids, 2).eval({ids: [0, 7, 0]})
            with self.assertRaisesOpError(r"indices\[1\] == 9 out of range \[0, 3\)"):
                tf.sparse_segment_sum(x, [0, 9], ids).eval({ids: [0, 0]})
            with self.assertRaisesOpError("segment ids are not increasing"):
                tf.sparse_segment_mean(x, [0, 1], ids).eval({ids: [1, 0]})
        with self.assertRaisesRegexp(ValueError, "Shape must be rank 1 but is rank 2"):
            tf.segment_sum(x, [[0], [0], [1]])
        with self.assertRaisesRegexp(
            ValueError, "Dimensions must be equal|Shapes must be equal|must have the same|but are"
        ):
            tf.sparse_segment_sum(x, [0, 1, 2], [0, 0])

    def testUnknownShapes(self):
        x = tf.placeholder(tf.float32)
        ids = tf.placeholder(tf.int32)
        count = tf.placeholder(tf.int32)
        self.assertIs(None, tf.segment_sum(x, ids).get_shape().ndims)
        self.assertIs(None, tf.unsorted_segment_sum(x, ids, 4).get_shape().ndims)
        rows = tf.placeholder(tf.float32, [None, 3])
        self.assertEqual([None, 3], tf.segment_max(rows, ids).get_shape().as_list())
        self.assertEqual([None, 3], tf.unsorted_segment_sum(rows, [0, 1], count).get_shape().as_list())
        with self.test_session(use_gpu=True):
            y = tf.unsorted_segment_sum(x, ids, count)
            self.assertAllEqual([[4, 4], [0, 0]], y.eval({x: np.ones([4, 2]), ids: [0] * 4, count: 2}))
            gradient = tf.gradients(y, x)[0]
            self.assertAllEqual(np.ones([4, 2]), gradient.eval({x: np.ones([4, 2]), ids: [0] * 4, count: 2}))


if __name__ == "__main__":
    tf.test.main()
