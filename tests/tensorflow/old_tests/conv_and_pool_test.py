"""Convolutions and pools: values by hand and by numpy, layouts, gradients, shapes and errors."""

import numpy as np

from tensorflow.python.framework import constant_op
from tensorflow.python.framework import dtypes
from tensorflow.python.framework import errors_impl
from tensorflow.python.framework import test_util
from tensorflow.python.ops import array_ops
from tensorflow.python.ops import gradient_checker
from tensorflow.python.ops import gradients_impl
from tensorflow.python.ops import math_ops
from tensorflow.python.ops import nn_impl
from tensorflow.python.ops import nn_ops
from tensorflow.python.platform import test
import tensorflow.compat.v1 as tf


def _layouts():
    """The layouts that can run here."""
    formats = ["NHWC"]
    if test.is_gpu_available(cuda_only=True):
        formats.append("NCHW")
    return formats


def _np_conv2d(x, w, strides, padding, dilation=1):
    """A plain convolution of NHWC images."""
    batch, height, width, _ = x.shape
    kh, kw, _, depth = w.shape
    eh, ew = (kh - 1) * dilation + 1, (kw - 1) * dilation + 1
    if padding == "SAME":
        oh, ow = -(-height // strides), -(-width // strides)
        ph, pw = max((oh - 1) * strides + eh - height, 0), max((ow - 1) * strides + ew - width, 0)
        x = np.pad(x, [[0, 0], [ph // 2, ph - ph // 2], [pw // 2, pw - pw // 2], [0, 0]])
    else:
        oh, ow = (height - eh) // strides + 1, (width - ew) // strides + 1
    out = np.zeros([batch, oh, ow, depth], x.dtype)
    for i in range(oh):
        for j in range(ow):
            patch = x[:, i * strides : i * strides + eh : dilation, j * strides : j * strides + ew : dilation]
            out[:, i, j] = np.tensordot(patch, w, [[1, 2, 3], [0, 1, 2]])
    return out


class Conv2DTest(test.TestCase):
    def _verify(self, x, w, strides, padding, dilation=1):
        for data_format in _layouts():
            with self.test_session(use_gpu=True):
                inputs = constant_op.constant(x)
                window, holes = [1, strides, strides, 1], [1, dilation, dilation, 1]
                if data_format == "NCHW":
                    inputs = test_util.NHWCToNCHW(inputs)
                    window, holes = test_util.NHWCToNCHW(window), test_util.NHWCToNCHW(holes)
                conv = nn_ops.conv2d(
                    inputs, constant_op.constant(w), window, padding, data_format=data_format, dilations=holes
                )
                if data_format == "NCHW":
                    conv = test_util.NCHWToNHWC(conv)
                expected = _np_conv2d(x, w, strides, padding, dilation)
                self.assertShapeEqual(expected, conv)
                self.assertAllClose(expected, conv.eval(), rtol=1e-4, atol=1e-4)

    @test_util.run_deprecated_v1
    def testValues(self):
        state = np.random.RandomState(1)
        for dtype in np.float32, np.float64:
            for shape, filters in (
                ([1, 4, 5, 2], [1, 1, 2, 3]),
                ([2, 5, 6, 3], [3, 3, 3, 2]),
                ([1, 7, 7, 1], [2, 4, 1, 1]),
                ([0, 4, 4, 2], [2, 2, 2, 1]),
            ):
                x, w = state.rand(*shape).astype(dtype), state.rand(*filters).astype(dtype)
                for padding in "SAME", "VALID":
                    self._verify(x, w, 1, padding)
                    self._verify(x, w, 2, padding)
                self._verify(x, w, 1, "VALID", 2 if shape[1] > 4 else 1)

    @test_util.run_deprecated_v1
    def testGradients(self):
        state = np.random.RandomState(2)
        x_init, w_init = state.rand(2, 4, 3, 2), state.rand(2, 2, 2, 3)
        for strides, padding in (1, "SAME"), (1, "VALID"), (2, "SAME"), (2, "VALID"):
            with self.test_session(use_gpu=True):
                x, w = constant_op.constant(x_init), constant_op.constant(w_init)
                y = nn_ops.conv2d(x, w, [1, strides, strides, 1], padding)
                for arg, init in (x, x_init), (w, w_init):
                    jacob_t, jacob_n = gradient_checker.compute_gradient(
                        arg, list(init.shape), y, y.get_shape().as_list(), x_init_value=init
                    )
                    self.assertAllClose(jacob_t, jacob_n, rtol=1e-6, atol=1e-6)

    @test_util.run_deprecated_v1
    def testOtherConvolutions(self):
        state = np.random.RandomState(3)
        with self.test_session(use_gpu=True):
            for x_init, build in (
                (
                    state.rand(1, 4, 4, 2),
                    lambda x: nn_impl.depthwise_conv2d(x, state.rand(2, 2, 2, 2), [1, 1, 1, 1], "SAME"),
                ),
                (
                    state.rand(1, 3, 3, 2),
                    lambda x: nn_ops.conv2d_transpose(x, state.rand(2, 2, 1, 2), [1, 6, 6, 1], [1, 2, 2, 1]),
                ),
                (
                    state.rand(1, 2, 3, 3, 1),
                    lambda x: nn_ops.conv3d(x, state.rand(2, 2, 2, 1, 2), [1, 1, 1, 1, 1], "SAME"),
                ),
                (state.rand(1, 5, 2), lambda x: nn_ops.conv1d(x, state.rand(3, 2, 2), 2, "VALID")),
                (state.rand(1, 4, 4, 1), lambda x: nn_ops.atrous_conv2d(x, state.rand(2, 2, 1, 1), 2, "VALID")),
                (
                    state.rand(1, 3, 3, 2),
                    lambda x: nn_impl.separable_conv2d(
                        x, state.rand(2, 2, 2, 1), state.rand(1, 1, 2, 3), [1, 1, 1, 1], "VALID"
                    ),
                ),
            ):
                x = constant_op.constant(x_init)
                y = build(x)
                error = gradient_checker.compute_gradient_error(
                    x, list(x_init.shape), y, y.get_shape().as_list(), x_init_value=x_init
                )
                self.assertLess(error, 1e-6)

    @test_util.run_deprecated_v1
    def testBackpropOps(self):
        state = np.random.RandomState(4)
        x_init, w_init, g_init = state.rand(1, 4, 4, 2), state.rand(3, 3, 2, 2), state.rand(1, 2, 2, 2)
        with self.test_session(use_gpu=True) as sess:
            x, w, g = constant_op.constant(x_init), constant_op.constant(w_init), constant_op.constant(g_init)
            y = nn_ops.conv2d(x, w, [1, 1, 1, 1], "VALID")
            expected = sess.run(gradients_impl.gradients(y, [x, w], g))
            by_ops = sess.run(
                [
                    nn_ops.conv2d_backprop_input([1, 4, 4, 2], w, g, [1, 1, 1, 1], "VALID"),
                    nn_ops.conv2d_backprop_filter(x, [3, 3, 2, 2], g, [1, 1, 1, 1], "VALID"),
                ]
            )
            for a, b in zip(expected, by_ops):
                self.assertAllClose(a, b)

    @test_util.run_deprecated_v1
    def testShapes(self):
        unknown = array_ops.placeholder(dtypes.float32)
        partial = array_ops.placeholder(dtypes.float32, [None, None, 8, 3])
        w = array_ops.zeros([3, 3, 3, 5])
        self.assertEqual([None] * 4, nn_ops.conv2d(unknown, unknown, [1, 1, 1, 1], "SAME").get_shape().as_list())
        self.assertEqual([None, None, None, 5], nn_ops.conv2d(unknown, w, [1, 1, 1, 1], "SAME").get_shape().as_list())
        self.assertEqual([None, None, 4, 5], nn_ops.conv2d(partial, w, [1, 2, 2, 1], "SAME").get_shape().as_list())
        self.assertEqual([None, None, 3, 5], nn_ops.conv2d(partial, w, [1, 2, 2, 1], "VALID").get_shape().as_list())
        sizes = nn_ops.conv2d_backprop_input([2, 8, 8, 3], w, unknown, [1, 1, 1, 1], "SAME")
        self.assertEqual([8, 8, 3], sizes.get_shape().as_list()[1:])

    @test_util.run_deprecated_v1
    def testStaticErrors(self):
        image, w = array_ops.zeros([1, 4, 4, 3]), array_ops.zeros([2, 2, 3, 1])
        with self.assertRaisesRegexp(ValueError, "Shape must be rank 4 but is rank 2"):
            nn_ops.conv2d(array_ops.zeros([4, 4]), w, [1, 1, 1, 1], "SAME")
        with self.assertRaisesRegexp(ValueError, "Dimensions must be equal, but are 3 and 2|Depth of (input|output)"):
            nn_ops.conv2d(image, array_ops.zeros([2, 2, 2, 1]), [1, 1, 1, 1], "SAME")
        with self.assertRaisesRegexp(ValueError, "Negative dimension size caused by subtracting 5 from 4"):
            nn_ops.conv2d(image, array_ops.zeros([5, 2, 3, 1]), [1, 1, 1, 1], "VALID")
        with self.assertRaisesRegexp(ValueError, "'padding'|padding"):
            nn_ops.conv2d(image, w, [1, 1, 1, 1], "FULL")
        with self.assertRaisesRegexp(ValueError, "Negative dimension size caused by subtracting 3 from 2"):
            nn_ops.max_pool(array_ops.zeros([1, 2, 2, 1]), [1, 3, 3, 1], [1, 1, 1, 1], "VALID")
        for pool in nn_ops.max_pool, nn_ops.avg_pool:
            with self.assertRaisesRegexp(ValueError, "Shape must be rank 4 but is rank 3"):
                pool(array_ops.zeros([4, 4, 1]), [1, 2, 2, 1], [1, 1, 1, 1], "SAME")

    @test_util.run_deprecated_v1
    def testErrorsWhenRunning(self):
        image, w = array_ops.placeholder(dtypes.float32), array_ops.placeholder(dtypes.float32)
        conv = nn_ops.conv2d(image, w, [1, 1, 1, 1], "VALID")
        with self.test_session(use_gpu=True):
            with self.assertRaisesRegexp(errors_impl.InvalidArgumentError, "input must be 4-dimensional"):
                conv.eval({image: np.ones([4, 4]), w: np.ones([2, 2, 1, 1])})
            with self.assertRaisesRegexp(errors_impl.InvalidArgumentError, "filter must be 4-dimensional"):
                conv.eval({image: np.ones([1, 4, 4, 1]), w: np.ones([2, 2, 1])})
            with self.assertRaisesRegexp(
                errors_impl.InvalidArgumentError, "input depth must be evenly divisible by filter depth: 3 vs 2"
            ):
                conv.eval({image: np.ones([1, 4, 4, 3]), w: np.ones([2, 2, 2, 1])})
            with self.assertRaisesRegexp(errors_impl.InvalidArgumentError, "Computed output size would be negative"):
                conv.eval({image: np.ones([1, 4, 4, 1]), w: np.ones([6, 6, 1, 1])})


class PoolTest(test.TestCase):
    def _expected(self, x, size, stride, padding, func):
        height = x.shape[1]
        out = -(-height // stride) if padding == "SAME" else (height - size) // stride + 1
        pad = max((out - 1) * stride + size - height, 0) // 2 if padding == "SAME" else 0
        rows = []
        for i in range(out):
            columns = []
            for j in range(out):
                top, left = i * stride - pad, j * stride - pad
                window = x[:, max(top, 0) : top + size, max(left, 0) : left + size]
                columns.append(func(window, axis=(1, 2)))
            rows.append(np.stack(columns, 1))
        return np.stack(rows, 1)

    @test_util.run_deprecated_v1
    def testValuesAndGradients(self):
        x_init = np.random.RandomState(6).permutation(72).reshape(2, 6, 6, 1).astype(np.float64)
        for pool, func in (nn_ops.max_pool, np.max), (nn_ops.avg_pool, np.mean):
            for size, stride, padding in (2, 2, "VALID"), (3, 2, "SAME"), (3, 1, "SAME"), (2, 3, "SAME"):
                with self.test_session(use_gpu=True):
                    x = constant_op.constant(x_init)
                    y = pool(x, [1, size, size, 1], [1, stride, stride, 1], padding)
                    expected = self._expected(x_init, size, stride, padding, func)
                    self.assertShapeEqual(expected, y)
                    self.assertAllClose(expected, y.eval())
                    error = gradient_checker.compute_gradient_error(
                        x, [2, 6, 6, 1], y, list(expected.shape), x_init_value=x_init, delta=1e-2
                    )
                    self.assertLess(error, 1e-8)

    @test_util.run_deprecated_v1
    def testArgmax(self):
        x = np.array([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0], [0.0, 6.0, 8.0]], np.float32).reshape(1, 3, 3, 1)
        with self.test_session(use_gpu=True) as sess:
            out, argmax = sess.run(nn_ops.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 1, 1, 1], "VALID"))
            self.assertAllEqual([7, 5, 7, 8], out.ravel())
            self.assertAllEqual([3, 1, 3, 8], argmax.ravel())
            self.assertEqual(np.int64, argmax.dtype)

    @test_util.run_deprecated_v1
    def testDepthwisePooling(self):
        x = np.arange(8.0, dtype=np.float32).reshape(1, 1, 2, 4)
        with self.test_session(use_gpu=False):
            out = nn_ops.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID")
            self.assertAllEqual([1, 3, 5, 7], out.eval().ravel())
            with self.assertRaisesRegexp(
                (ValueError, errors_impl.UnimplementedError, errors_impl.InvalidArgumentError),
                "depth window to equal the depth stride",
            ):
                nn_ops.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 1], "VALID").eval()

    @test_util.run_deprecated_v1
    def testUnknownRank(self):
        x = array_ops.placeholder(dtypes.float32)
        y = nn_ops.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        self.assertEqual([None] * 4, y.get_shape().as_list())
        gradient = gradients_impl.gradients(math_ops.reduce_sum(y), x)[0]
        with self.test_session(use_gpu=True):
            value = np.array([[1.0, 2.0], [4.0, 3.0]]).reshape(1, 2, 2, 1)
            self.assertAllEqual([0, 0, 1, 0], gradient.eval({x: value}).ravel())

    @test_util.run_deprecated_v1
    def testPoolFunction(self):
        x = np.arange(8.0, dtype=np.float32).reshape(1, 8, 1)
        with self.test_session(use_gpu=True):
            out = tf.nn.pool(x, [2], "MAX", "VALID", strides=[2])
            self.assertAllEqual([1, 3, 5, 7], out.eval().ravel())
            out = tf.nn.pool(x, [2], "AVG", "VALID", dilation_rate=[2])
            self.assertEqual([1, 6, 1], out.get_shape().as_list())
            self.assertAllClose([1, 2, 3, 4, 5, 6], out.eval().ravel())
        with self.assertRaisesRegexp(ValueError, "'SAME' padding is not implemented for `?dilation_rate`? > 1"):
            tf.nn.pool(x, [2], "AVG", "SAME", dilation_rate=[2])
        with self.assertRaisesRegexp(ValueError, "strides > 1`? not supported in conjunction with `?dilation_rate > 1"):
            tf.nn.pool(x, [2], "AVG", "SAME", strides=[2], dilation_rate=[2])


if __name__ == "__main__":
    test.main()
