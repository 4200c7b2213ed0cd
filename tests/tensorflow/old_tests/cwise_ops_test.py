"""Element-wise math: values, broadcasting, dtypes, gradients, shapes and errors."""

import numpy as np

from tensorflow.python.framework import constant_op
from tensorflow.python.framework import dtypes
from tensorflow.python.framework import errors
from tensorflow.python.framework import errors_impl
from tensorflow.python.framework import ops
from tensorflow.python.framework import tensor_shape
from tensorflow.python.framework import test_util
from tensorflow.python.ops import array_ops
from tensorflow.python.ops import gradient_checker
from tensorflow.python.ops import gradients_impl
from tensorflow.python.ops import math_ops
from tensorflow.python.ops import nn_ops
from tensorflow.python.platform import test

_FLOATS = (np.float16, np.float32, np.float64)


def _sample(shape, dtype, low=-2.0, high=2.0):
    values = np.random.RandomState(7).uniform(low, high, shape)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * values[..., ::-1]).astype(dtype)
    return values.astype(dtype)


class UnaryOpTest(test.TestCase):
    def _compare(self, x, np_func, tf_func, use_gpu=True):
        np_ans = np_func(x)
        with self.cached_session(use_gpu=use_gpu):
            inx = ops.convert_to_tensor(x)
            y = tf_func(inx)
            tf_out = self.evaluate(y)
            self.assertShapeEqual(np_ans, y)
            self.assertEqual(np_ans.dtype, tf_out.dtype)
            if x.dtype == np.float16:
                self.assertAllClose(np_ans, tf_out, rtol=4e-3, atol=4e-3)
            else:
                self.assertAllCloseAccordingToType(np_ans, tf_out)

    def _check_gradient(self, x, tf_func, tolerance):
        with self.cached_session():
            inx = ops.convert_to_tensor(x)
            y = tf_func(inx)
            jacob_t, jacob_n = gradient_checker.compute_gradient(inx, list(x.shape), y, list(x.shape), x_init_value=x)
            self.assertAllClose(jacob_t, jacob_n, rtol=tolerance, atol=tolerance)

    @test_util.run_deprecated_v1
    def testFloatBasic(self):
        for dtype in _FLOATS:
            x = _sample([2, 3], dtype)
            positive = _sample([2, 3], dtype, 0.5, 3.0)
            small = _sample([2, 3], dtype, -0.9, 0.9)
            self._compare(x, np.abs, math_ops.abs)
            self._compare(x, np.negative, math_ops.negative)
            self._compare(x, np.square, math_ops.square)
            self._compare(x, np.exp, math_ops.exp)
            self._compare(x, np.expm1, math_ops.expm1)
            self._compare(x, np.tanh, math_ops.tanh)
            self._compare(x, np.sinh, math_ops.sinh)
            self._compare(x, np.sign, math_ops.sign)
            self._compare(x, np.floor, math_ops.floor)
            self._compare(x, np.ceil, math_ops.ceil)
            self._compare(positive, np.sqrt, math_ops.sqrt)
            self._compare(positive, lambda v: 1 / np.sqrt(v), math_ops.rsqrt)
            self._compare(positive, np.log, math_ops.log)
            self._compare(positive, np.log1p, math_ops.log1p)
            self._compare(positive, np.reciprocal, math_ops.reciprocal)
            self._compare(small, np.arcsin, math_ops.asin)
            self._compare(small, np.arctanh, math_ops.atanh)
            self._compare(x, lambda v: (1 / (1 + np.exp(-v))).astype(v.dtype), math_ops.sigmoid)

    @test_util.run_deprecated_v1
    def testFloatGradient(self):
        for dtype, tolerance in (np.float32, 1e-2), (np.float64, 1e-5):
            positive = _sample([2, 3], dtype, 0.5, 3.0)
            small = _sample([2, 3], dtype, -0.8, 0.8)
            for func in (
                math_ops.exp,
                math_ops.log,
                math_ops.sqrt,
                math_ops.rsqrt,
                math_ops.reciprocal,
                math_ops.lgamma,
            ):
                self._check_gradient(positive, func, tolerance)
            for func in (math_ops.sin, math_ops.tan, math_ops.asin, math_ops.acos, math_ops.atan, math_ops.erf):
                self._check_gradient(small, func, tolerance)
            for func in (nn_ops.relu, nn_ops.elu, nn_ops.softplus, nn_ops.softsign, math_ops.cosh, math_ops.asinh):
                self._check_gradient(small + dtype(0.01), func, tolerance)

    @test_util.run_deprecated_v1
    def testComplex(self):
        for dtype in np.complex64, np.complex128:
            x = _sample([2, 3], dtype)
            self._compare(x, np.abs, math_ops.abs)
            self._compare(x, np.negative, math_ops.negative)
            self._compare(x, np.square, math_ops.square)
            self._compare(x, np.exp, math_ops.exp)
            self._compare(x, np.conj, math_ops.conj)
            self._compare(x, np.real, math_ops.real)
            self._compare(x, np.imag, math_ops.imag)
            self._compare(x, np.angle, math_ops.angle)

    @test_util.run_deprecated_v1
    def testInt(self):
        for dtype in np.int32, np.int64:
            x = np.arange(-6, 6).reshape(1, 3, 4).astype(dtype)
            self._compare(x, np.abs, math_ops.abs)
            self._compare(x, np.negative, math_ops.negative)
            self._compare(x, np.square, math_ops.square)
            self._compare(x, np.sign, math_ops.sign)
        with self.assertRaises(TypeError):
            math_ops.exp(constant_op.constant([1, 2]))
        with self.assertRaises(TypeError):
            math_ops.logical_not(constant_op.constant([1, 0]))

    @test_util.run_deprecated_v1
    def testRoundHalfToEven(self):
        x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49, 0.51], np.float32)
        self._compare(x, np.rint, math_ops.round)
        self._compare(x, np.rint, math_ops.rint)
        i = np.array([-3, 0, 5], np.int32)
        self._compare(i, np.asarray, math_ops.round)

    @test_util.run_deprecated_v1
    def testSpecialValues(self):
        x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32)
        with self.test_session(use_gpu=True):
            self.assertAllEqual(np.isnan(x), math_ops.is_nan(x).eval())
            self.assertAllEqual(np.isinf(x), math_ops.is_inf(x).eval())
            self.assertAllEqual(np.isfinite(x), math_ops.is_finite(x).eval())
            self.assertAllClose([np.inf, np.inf, np.nan, 0.0, 0.0], math_ops.abs(x).eval())
            self.assertAllClose([np.inf, 0.0, np.nan, 1.0, 1.0], math_ops.exp(x).eval())
            self.assertAllClose([0.0, -0.0, np.nan, np.inf, -np.inf], math_ops.reciprocal(x).eval())


class BinaryOpTest(test.TestCase):
    _SHAPES = (
        ([2, 3], [2, 3]),
        ([2, 3], []),
        ([], [2, 3]),
        ([2, 3], [3]),
        ([2, 3], [2, 1]),
        ([2, 1, 3], [1, 4, 1]),
        ([0, 3], [3]),
        ([1, 3], [0, 1]),
        ([3, 2, 1, 4], [5, 1]),
    )

    @test_util.run_deprecated_v1
    def testBroadcast(self):
        for xs, ys in self._SHAPES:
            for dtype in np.float32, np.float64, np.int32, np.int64, np.complex64:
                x, y = _sample(xs or [1], dtype).reshape(xs), _sample(ys or [1], dtype, 1.0, 4.0).reshape(ys)
                for np_func, tf_func in (
                    (np.add, math_ops.add),
                    (np.subtract, math_ops.subtract),
                    (np.multiply, math_ops.multiply),
                    (np.not_equal, math_ops.not_equal),
                ):
                    with self.test_session(use_gpu=True):
                        out = tf_func(ops.convert_to_tensor(x), ops.convert_to_tensor(y))
                        self.assertShapeEqual(np_func(x, y), out)
                        self.assertAllCloseAccordingToType(np_func(x, y), out.eval())

    @test_util.run_deprecated_v1
    def testBroadcastGradient(self):
        for xs, ys in self._SHAPES[:6]:
            x_init = _sample(xs or [1], np.float64, 0.5, 2.0).reshape(xs)
            y_init = _sample(ys or [1], np.float64, 1.0, 3.0).reshape(ys)
            for func in (
                math_ops.add,
                math_ops.subtract,
                math_ops.multiply,
                math_ops.divide,
                math_ops.pow,
                math_ops.atan2,
            ):
                with self.test_session():
                    x, y = constant_op.constant(x_init), constant_op.constant(y_init)
                    z = func(x, y)
                    z_shape = z.get_shape().as_list()
                    for arg, init in (x, x_init), (y, y_init):
                        error = gradient_checker.compute_gradient_error(
                            arg, list(init.shape), z, z_shape, x_init_value=init
                        )
                        self.assertLess(error, 1e-5)

    @test_util.run_deprecated_v1
    def testMinMaxGradientOfTies(self):
        with self.cached_session():
            x = constant_op.constant([1.0, 2.0, 3.0])
            y = constant_op.constant([1.0, 3.0, 2.0])
            self.assertAllEqual([1, 0, 1], gradients_impl.gradients(math_ops.maximum(x, y), x)[0].eval())
            self.assertAllEqual([0, 1, 0], gradients_impl.gradients(math_ops.maximum(x, y), y)[0].eval())
            self.assertAllEqual([1, 1, 0], gradients_impl.gradients(math_ops.minimum(x, y), x)[0].eval())

    @test_util.run_deprecated_v1
    def testDivisionOfIntegers(self):
        x = np.array([7, -7, 7, -7], np.int32)
        y = np.array([2, 2, -2, -2], np.int32)
        with self.cached_session():
            self.assertAllEqual(x // y, math_ops.floordiv(x, y).eval())
            self.assertAllEqual(np.mod(x, y), math_ops.floormod(x, y).eval())
            self.assertAllEqual(np.fmod(x, y), math_ops.truncatemod(x, y).eval())
            self.assertAllEqual([3, -3, -3, 3], math_ops.truncatediv(x, y).eval())
            quotient = math_ops.truediv(constant_op.constant(x), y)
            self.assertEqual(dtypes.float64, quotient.dtype)
            self.assertAllClose(x / y, quotient.eval())
            zero = array_ops.placeholder(dtypes.int32)
            for func in math_ops.floordiv, math_ops.floormod, math_ops.div:
                with self.assertRaisesOpError("Integer division by zero"):
                    func(constant_op.constant(x), zero).eval(feed_dict={zero: 0})

    @test_util.run_deprecated_v1
    def testNegativeIntegerPower(self):
        with self.cached_session():
            self.assertAllEqual([1, 8, 81], math_ops.pow([5, 2, 3], [0, 3, 4]).eval())
            with self.assertRaisesRegexp(
                errors_impl.InvalidArgumentError, "Integers to negative integer powers are not allowed"
            ):
                math_ops.pow(constant_op.constant([5, 2]), constant_op.constant([-2, 3])).eval()

    @test_util.run_deprecated_v1
    def testComparisons(self):
        x = np.array([[1, 5, 3]], np.float32)
        y = np.array([[3], [5]], np.float32)
        with self.test_session(use_gpu=True):
            for np_func, tf_func in (
                (np.less, math_ops.less),
                (np.less_equal, math_ops.less_equal),
                (np.greater, math_ops.greater),
                (np.greater_equal, math_ops.greater_equal),
                (np.equal, math_ops.equal),
            ):
                out = tf_func(x, y)
                self.assertEqual(dtypes.bool, out.dtype)
                self.assertAllEqual(np_func(x, y), out.eval())
        with self.assertRaises(TypeError):
            math_ops.less(constant_op.constant([True]), constant_op.constant([False]))

    @test_util.run_deprecated_v1
    def testTypeMismatch(self):
        x, y = constant_op.constant([1.0]), constant_op.constant([1])
        for func in math_ops.add, math_ops.subtract, math_ops.multiply, math_ops.maximum, math_ops.squared_difference:
            with self.assertRaisesRegexp((TypeError, ValueError), "float32.*int32|int32.*float32"):
                func(x, y)


class ShapeTest(test.TestCase):
    @test_util.run_deprecated_v1
    def testUnknownAndPartialShapes(self):
        unknown = array_ops.placeholder(dtypes.float32)
        partial = array_ops.placeholder(dtypes.float32, shape=[None, 3])
        known = constant_op.constant(np.ones([4, 1], np.float32))
        self.assertIs(None, math_ops.add(unknown, known).get_shape().ndims)
        self.assertEqual([4, 3], math_ops.add(partial, known).get_shape().as_list())
        self.assertEqual([None, 3], math_ops.add(partial, 1.0).get_shape().as_list())
        self.assertEqual([None, 3], math_ops.add(partial, partial).get_shape().as_list())
        rows = array_ops.placeholder(dtypes.float32, shape=[None, 1])
        self.assertEqual([None, 3], math_ops.multiply(partial, rows).get_shape().as_list())
        self.assertEqual(tensor_shape.unknown_shape(), math_ops.sqrt(unknown).get_shape())
        self.assertEqual([None, 3], math_ops.sqrt(partial).get_shape().as_list())

    @test_util.run_deprecated_v1
    def testIncompatibleStaticShapes(self):
        x, y = np.ones([2, 3], np.float32), np.ones([4], np.float32)
        for func in math_ops.add, math_ops.subtract, math_ops.multiply, math_ops.maximum, math_ops.pow, math_ops.less:
            with self.assertRaisesRegexp(ValueError, "Dimensions must be equal, but are 3 and 4"):
                func(x, y)

    @test_util.run_deprecated_v1
    def testIncompatibleFedShapes(self):
        x, y = array_ops.placeholder(dtypes.float32), array_ops.placeholder(dtypes.float32)
        feed = {x: np.ones([2, 3]), y: np.ones([4])}
        with self.test_session(use_gpu=True):
            for func in math_ops.add, math_ops.multiply, math_ops.div, math_ops.minimum, math_ops.greater:
                out = func(x, y)
                with self.assertRaisesRegexp(errors.InvalidArgumentError, r"Incompatible shapes: \[2,3\] vs. \[4\]"):
                    out.eval(feed_dict=feed)

    @test_util.run_deprecated_v1
    def testSymbolicGradientOfUnknownShapes(self):
        x, y = array_ops.placeholder(dtypes.float32), array_ops.placeholder(dtypes.float32)
        gx, gy = gradients_impl.gradients(math_ops.multiply(x, y), [x, y])
        with self.test_session(use_gpu=True) as sess:
            feed = {x: np.full([2, 3], 2.0), y: np.full([3], 5.0)}
            gx_value, gy_value = sess.run([gx, gy], feed_dict=feed)
            self.assertAllEqual(np.full([2, 3], 5.0), gx_value)
            self.assertAllEqual(np.full([3], 4.0), gy_value)

    @test_util.run_deprecated_v1
    def testAddN(self):
        with self.test_session(use_gpu=True):
            parts = [constant_op.constant(np.full([2, 2], float(i), np.float32)) for i in range(4)]
            self.assertAllEqual(np.full([2, 2], 6.0), math_ops.add_n(parts).eval())
            partial = array_ops.placeholder(dtypes.float32, shape=[None, 2])
            self.assertEqual([2, 2], math_ops.add_n([partial, parts[0]]).get_shape().as_list())
        with self.assertRaisesRegexp(ValueError, "(?i)inputs must be"):
            math_ops.add_n([])
        with self.assertRaisesRegexp(ValueError, "(?i)shapes? must be equal|compatible"):
            math_ops.add_n([parts[0], constant_op.constant([1.0, 2.0, 3.0])])


if __name__ == "__main__":
    test.main()
