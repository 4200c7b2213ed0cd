"""Slices, gathers and scatters, joining and splitting, padding, transposes, one_hot and where."""

import numpy as np

from tensorflow.python.framework import constant_op
from tensorflow.python.framework import dtypes
from tensorflow.python.framework import errors
from tensorflow.python.framework import indexed_slices
from tensorflow.python.framework import ops
from tensorflow.python.framework import tensor_util
from tensorflow.python.framework import test_util
from tensorflow.python.ops import array_ops
from tensorflow.python.ops import array_ops_stack
from tensorflow.python.ops import gradient_checker
from tensorflow.python.ops import gradients_impl
from tensorflow.python.ops import math_ops
from tensorflow.python.ops import variables
from tensorflow.python.platform import test


class SliceTest(test_util.TensorFlowTestCase):
    @test_util.run_deprecated_v1
    def testSpecs(self):
        x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
        checker = constant_op.constant(x)
        specs = (
            np.s_[0],
            np.s_[-1, 1],
            np.s_[:, 1:],
            np.s_[..., -2],
            np.s_[1, ..., ::2],
            np.s_[:, ::-1, 2:0:-1],
            np.s_[..., np.newaxis],
            np.s_[np.newaxis, 0, :, None, 1],
            np.s_[0:0],
            np.s_[:, 5:],
            np.s_[-1:-4:-1, :2],
            np.s_[:, :, -100:100],
            np.s_[1:2, 0, ..., 3:],
            np.s_[()],
            np.s_[...],
        )
        with self.test_session(use_gpu=True) as sess:
            fed = array_ops.placeholder(dtypes.int64)
            for spec in specs:
                self.assertAllEqual(x[spec], sess.run(checker[spec]))
                self.assertEqual(list(x[spec].shape), checker[spec].get_shape().as_list())
                if spec is not Ellipsis and spec != ():
                    self.assertAllEqual(x[spec], sess.run(fed[spec], {fed: x}))

    @test_util.run_deprecated_v1
    def testTensorsAsIndices(self):
        x = constant_op.constant(np.arange(12).reshape(3, 4))
        start = array_ops.placeholder(dtypes.int32)
        part = x[start:, start]
        self.assertEqual([None], part.get_shape().as_list())
        with self.cached_session():
            self.assertAllEqual([5, 9], part.eval({start: 1}))
        with self.assertRaisesRegexp(TypeError, "Only integers, slices"):
            x["a"]
        with self.assertRaisesRegexp(TypeError, "Only integers, slices"):
            x[1.5]
        with self.assertRaisesRegexp(ValueError, "Multiple ellipses"):
            x[..., ...]
        with self.assertRaisesRegexp(ValueError, "Index out of range using input dim 2; input has only 2 dims"):
            x[0, 0, 0]
        with self.assertRaisesRegexp(ValueError, "slice index 3 of dimension 0 out of bounds"):
            x[3]
        with self.assertRaisesRegexp(ValueError, r"strides\[0\] must be non-zero"):
            x[::0]

    @test_util.run_deprecated_v1
    def testErrorsWhenRunning(self):
        x = array_ops.placeholder(dtypes.int32)
        with self.cached_session():
            with self.assertRaisesOpError("slice index 3 of dimension 0 out of bounds"):
                x[3].eval({x: [1, 2, 3]})
            begin = array_ops.placeholder(dtypes.int32)
            with self.assertRaisesOpError(r"Expected begin\[0\] in \[0, 3\], but got 5"):
                array_ops.slice(x, begin, [1]).eval({x: [1, 2, 3], begin: [5]})
            with self.assertRaisesOpError(r"Expected size\[0\] in \[0, 2\], but got 3"):
                array_ops.slice(x, begin, [3]).eval({x: [1, 2, 3], begin: [1]})

    @test_util.run_deprecated_v1
    def testSliceAndItsGradient(self):
        for shape, begin, size in ([4, 5], [1, 2], [2, -1]), ([3], [0], [0]), ([2, 3, 4], [0, 1, 1], [-1, 1, 2]):
            x_init = np.random.RandomState(2).rand(*shape)
            with self.test_session(use_gpu=True):
                x = constant_op.constant(x_init)
                y = array_ops.slice(x, begin, size)
                limits = tuple(slice(b, None if s < 0 else b + s) for b, s in zip(begin, size))
                self.assertAllEqual(x_init[limits], y.eval())
                self.assertEqual(list(x_init[limits].shape), y.get_shape().as_list())
                if x_init[limits].size:
                    error = gradient_checker.compute_gradient_error(
                        x, shape, y, y.get_shape().as_list(), x_init_value=x_init
                    )
                    self.assertLess(error, 1e-8)

    @test_util.run_deprecated_v1
    def testAssignToSlice(self):
        var = variables.Variable(np.zeros([3, 3], np.float32))
        with self.test_session(use_gpu=True) as sess:
            sess.run(var.initializer)
            sess.run(var[1, ::2].assign([5.0, 6.0]))
            self.assertAllEqual([[0, 0, 0], [5, 0, 6], [0, 0, 0]], sess.run(var))
            with self.assertRaises((ValueError, errors.InvalidArgumentError)):
                sess.run(var[:2].assign(np.ones([3, 3], np.float32)))


class GatherScatterTest(test.TestCase):
    @test_util.run_deprecated_v1
    def testGather(self):
        for dtype in dtypes.float32, dtypes.int64, dtypes.complex64, dtypes.string:
            params = np.arange(24).reshape(2, 3, 4).astype("S" if dtype == dtypes.string else dtype.as_numpy_dtype)
            for axis in 0, 1, -1:
                for indices in 1, [0, 1], [[1, 0], [0, 0]]:
                    with self.test_session(use_gpu=dtype != dtypes.string):
                        out = array_ops.gather(constant_op.constant(params), indices, axis=axis)
                        expected = np.take(params, indices, axis=axis)
                        self.assertEqual(list(expected.shape), out.get_shape().as_list())
                        self.assertAllEqual(expected, out.eval())

    @test_util.run_deprecated_v1
    def testGatherErrors(self):
        params = constant_op.constant([[0, 1, 2], [3, 4, 5]])
        with self.cached_session(use_gpu=False):
            with self.assertRaisesOpError(r"indices\[1,0\] = 7 is not in \[0, 2\)"):
                array_ops.gather(params, [[0], [7]]).eval()
            with self.assertRaisesOpError(r"indices\[0\] = -1 is not in \[0, 3\)"):
                array_ops.gather(params, [-1], axis=1).eval()
            with self.assertRaisesOpError(r"indices\[1\] = \[2, 0\] does not index into param shape \[2,3\]"):
                array_ops.gather_nd(params, [[0, 0], [2, 0]]).eval()
        with self.assertRaisesRegexp(ValueError, "Shape must be at least rank 3 but is rank 2"):
            array_ops.gather(params, [0], axis=2)
        with self.assertRaisesRegexp(ValueError, r"indices.shape\[-1\] must be <= params.rank"):
            array_ops.gather_nd(params, [[0, 0, 0]])

    @test_util.run_deprecated_v1
    def testGatherGradients(self):
        x_init = np.random.RandomState(4).rand(3, 4)
        with self.test_session(use_gpu=True):
            x = constant_op.constant(x_init)
            for y, shape in (
                (array_ops.gather(x, [2, 0, 2]), [3, 4]),
                (array_ops.gather(x, [[1], [1]], axis=1), [3, 2, 1]),
                (array_ops.gather_nd(x, [[0, 1], [2, 2], [0, 1]]), [3]),
                (array_ops.gather_nd(x, [[1], [1]]), [2, 4]),
            ):
                self.assertEqual(shape, y.get_shape().as_list())
                self.assertLess(gradient_checker.compute_gradient_error(x, [3, 4], y, shape, x_init_value=x_init), 1e-8)
            rows = gradients_impl.gradients(array_ops.gather(x, [1, 1]), x)[0]
            self.assertIsInstance(rows, indexed_slices.IndexedSlices)
            self.assertAllEqual([[0] * 4, [2] * 4, [0] * 4], ops.convert_to_tensor(rows).eval())

    @test_util.run_deprecated_v1
    def testScatterNd(self):
        with self.test_session(use_gpu=True):
            out = array_ops.scatter_nd([[1], [3], [1]], [1.0, 2.0, 4.0], [5])
            self.assertEqual([5], out.get_shape().as_list())
            self.assertAllEqual([0, 5, 0, 2, 0], out.eval())
            updates = constant_op.constant(np.ones([2, 3]))
            out = array_ops.scatter_nd([[2], [0]], updates, [3, 3])
            error = gradient_checker.compute_gradient_error(updates, [2, 3], out, [3, 3])
            self.assertLess(error, 1e-8)
        shape = array_ops.placeholder(dtypes.int32, shape=[None])
        self.assertIs(None, array_ops.scatter_nd([[0]], [1], shape).get_shape().ndims)
        with self.assertRaisesRegexp(ValueError, r"(?s)must match|Dimensions? .* (of|in) "):
            array_ops.scatter_nd([[0], [1]], [1.0, 2.0, 3.0], [4])
        with (
            self.cached_session(use_gpu=False),
            self.assertRaisesOpError(r"indices\[1\] = \[8\] does not index into shape \[5\]"),
        ):
            array_ops.scatter_nd([[0], [8]], [1.0, 2.0], [5]).eval()


class JoinTest(test.TestCase):
    @test_util.run_deprecated_v1
    def testConcat(self):
        for dtype in np.float32, np.int32, np.bool_, np.complex64:
            parts = [np.arange(6).reshape(2, 3).astype(dtype), np.arange(4).reshape(2, 2).astype(dtype)]
            with self.test_session(use_gpu=True):
                for axis in 1, -1:
                    out = array_ops.concat([constant_op.constant(part) for part in parts], axis)
                    self.assertEqual([2, 5], out.get_shape().as_list())
                    self.assertAllEqual(np.concatenate(parts, 1), out.eval())
        known, unknown = array_ops.zeros([2, 3]), array_ops.placeholder(dtypes.float32)
        self.assertEqual([None, 3], array_ops.concat([known, unknown], 0).get_shape().as_list())
        axis = array_ops.placeholder(dtypes.int32)
        self.assertEqual([None, None], array_ops.concat([known, known], axis).get_shape().as_list())
        with self.assertRaisesRegexp(ValueError, "Dimension 0 in both shapes must be equal, but are 2 and 3"):
            array_ops.concat([known, array_ops.zeros([3, 3])], 1)
        with self.assertRaisesRegexp(ValueError, "Shape must be at least rank 3 but is rank 2"):
            array_ops.concat([known, known], 2)
        with self.assertRaises((ValueError, TypeError)):
            array_ops.concat([known, array_ops.zeros([2, 3], dtypes.int32)], 0)
        with self.test_session(use_gpu=True):
            out = array_ops.concat([known, unknown], 0)
            with self.assertRaisesOpError("Dimension 1 in both shapes must be equal|Dimensions of inputs should match"):
                out.eval({unknown: np.ones([1, 4])})
            with self.assertRaisesOpError(r"Expected concatenating dimensions in the range \[-2, 2\), but got 5"):
                array_ops.concat([known, known], axis).eval({axis: 5})

    @test_util.run_deprecated_v1
    def testStackAndUnstack(self):
        for axis in range(-3, 3):
            x = np.random.RandomState(axis + 3).rand(3, 2, 4).astype(np.float32)
            with self.test_session(use_gpu=True) as sess:
                parts = array_ops_stack.unstack(x, axis=axis)
                self.assertLen(parts, x.shape[axis])
                self.assertAllEqual(x, sess.run(array_ops_stack.stack(parts, axis=axis)))
        with self.assertRaisesRegexp(ValueError, "Cannot infer argument `num` from shape"):
            array_ops_stack.unstack(array_ops.placeholder(dtypes.float32))
        with self.assertRaisesRegexp(
            ValueError, r"(axis = 3 not in \[-3, 3\)|Argument `axis` = 3 not in range \[-3, 3\))"
        ):
            array_ops_stack.unstack(x, axis=3)
        with self.assertRaisesRegexp(
            ValueError, r"(axis = 4 not in \[-4, 4\)|Argument `axis` = 4 not in range \[-4, 4\))"
        ):
            array_ops_stack.stack([x, x], axis=4)
        with self.assertRaisesRegexp(ValueError, "Shapes must be equal rank|Dimension 0 in both shapes must be equal"):
            array_ops_stack.stack([array_ops.zeros([2]), array_ops.zeros([3])])

    @test_util.run_deprecated_v1
    def testSplit(self):
        x = np.arange(24.0).reshape(4, 6)
        with self.test_session(use_gpu=True) as sess:
            for part, expected in zip(sess.run(array_ops.split(x, 3, 1)), np.split(x, 3, 1)):
                self.assertAllEqual(expected, part)
            sizes = array_ops.split(x, [1, -1, 2], 1)
            self.assertEqual([[4, 1], [4, 3], [4, 2]], [part.get_shape().as_list() for part in sizes])
            self.assertAllEqual(x[:, 1:4], sess.run(sizes[1]))
            fed = array_ops.placeholder(dtypes.int32, shape=[2])
            with self.assertRaisesOpError("Determined shape must either match input shape along split_dim"):
                sess.run(array_ops.split(x, fed, 1), {fed: [2, 3]})
        with self.assertRaisesRegexp(ValueError, "Dimension size must be evenly divisible by 4 but is 6"):
            array_ops.split(x, 4, 1)
        with self.assertRaisesRegexp(ValueError, "Cannot infer argument `num` from shape"):
            array_ops.split(x, array_ops.placeholder(dtypes.int32))


class LayoutTest(test.TestCase):
    @test_util.run_deprecated_v1
    def testPad(self):
        x_init, paddings = np.arange(6.0).reshape(2, 3), [[1, 1], [0, 2]]
        for mode in "CONSTANT", "REFLECT", "symmetric":
            with self.test_session(use_gpu=True):
                x = constant_op.constant(x_init)
                y = array_ops.pad(x, paddings, mode)
                self.assertAllEqual(np.pad(x_init, paddings, mode.lower()), y.eval())
                self.assertLess(
                    gradient_checker.compute_gradient_error(x, [2, 3], y, [4, 5], x_init_value=x_init), 1e-8
                )
        with self.cached_session():
            self.assertAllEqual([7, 1, 7], array_ops.pad([1], [[1, 1]], constant_values=7).eval())
            fed = array_ops.placeholder(dtypes.int32)
            with self.assertRaisesOpError(
                "paddings must be less than the dimension size|must be no greater than|must be less than"
            ):
                array_ops.pad(constant_op.constant([1, 2]), fed, "REFLECT").eval({fed: [[2, 0]]})
        with self.assertRaisesRegexp(ValueError, "Unknown padding mode|Value of argument `mode`"):
            array_ops.pad(x_init, paddings, "WRAP")
        self.assertEqual(
            [None, None], array_ops.pad(x_init, array_ops.placeholder(dtypes.int32, [2, 2])).get_shape().as_list()
        )

    @test_util.run_deprecated_v1
    def testTranspose(self):
        for rank in range(5):
            x = np.arange(np.prod(range(2, rank + 2), dtype=int)).reshape(range(2, rank + 2))
            with self.test_session(use_gpu=True):
                self.assertAllEqual(x.T, array_ops.transpose(x).eval())
                fed = array_ops.placeholder(dtypes.int64)
                self.assertAllEqual(x.T, array_ops.transpose(fed).eval({fed: x}))
                perm = np.random.RandomState(rank).permutation(rank)
                self.assertAllEqual(x.transpose(perm), array_ops.transpose(x, perm).eval())
        with self.assertRaisesRegexp(ValueError, "Dimension must be 2 but is 3|must be rank 3"):
            array_ops.transpose(np.zeros([2, 3]), [0, 1, 2])
        perm = array_ops.placeholder(dtypes.int32)
        with self.cached_session():
            with self.assertRaisesOpError("1 is missing from"):
                array_ops.transpose(np.zeros([2, 3]), perm).eval({perm: [0, 0]})

    @test_util.run_deprecated_v1
    def testReshape(self):
        x = array_ops.placeholder(dtypes.float32, [None, 4])
        self.assertEqual([None, 2, 2], array_ops.reshape(x, [-1, 2, 2]).get_shape().as_list())
        self.assertEqual(
            [None, 4], array_ops.reshape(x, array_ops_stack.stack([array_ops.shape(x)[0], 4])).get_shape().as_list()
        )
        with self.assertRaisesRegexp(ValueError, "Cannot reshape a tensor with 6 elements to shape"):
            array_ops.reshape(array_ops.zeros([6]), [4])
        with self.assertRaisesRegexp(ValueError, "Shape must be rank 1 but is rank 0"):
            array_ops.reshape(array_ops.zeros([6]), 6)
        shape = array_ops.placeholder(dtypes.int32)
        with self.cached_session():
            out = array_ops.reshape(array_ops.zeros([6]), shape)
            with self.assertRaisesOpError("Input to reshape is a tensor with 6 values, but the requested shape has 8"):
                out.eval({shape: [2, 4]})
            with self.assertRaisesOpError(
                "Input to reshape is a tensor with 6 values, but the requested shape requires a multiple of 4"
            ):
                out.eval({shape: [-1, 4]})
            with self.assertRaisesOpError("[Oo]nly one (input size may be -1|unknown)|Only one input size may be -1"):
                out.eval({shape: [-1, -1]})

    @test_util.run_deprecated_v1
    def testOneHotAndWhere(self):
        with self.test_session(use_gpu=True):
            out = array_ops.one_hot([[0, 2], [-1, 1]], 3, on_value=5, off_value=1, axis=1)
            self.assertEqual([2, 3, 2], out.get_shape().as_list())
            self.assertAllEqual([[[5, 1], [1, 1], [1, 5]], [[1, 1], [1, 5], [1, 1]]], out.eval())
            depth = array_ops.placeholder(dtypes.int32)
            self.assertEqual([2, None], array_ops.one_hot([0, 1], depth).get_shape().as_list())
            mask = np.array([[True, False], [False, True]])
            self.assertAllEqual(np.argwhere(mask), array_ops.where(mask).eval())
            picked = array_ops.where([True, False], np.ones([2, 3]), np.zeros([2, 3]))
            self.assertAllEqual([[1] * 3, [0] * 3], picked.eval())
        self.assertEqual(
            [None, 2], array_ops.where(array_ops.placeholder(dtypes.bool, [None, 4])).get_shape().as_list()
        )
        with self.assertRaisesRegexp(ValueError, "x and y must both be non-None or both be None"):
            array_ops.where(mask, np.ones([2, 2]))
        with self.assertRaisesRegexp(TypeError, "dtype"):
            array_ops.one_hot([0], 2, on_value=1, off_value=0.5)
        self.assertAllEqual([3, 4], tensor_util.constant_value(array_ops.shape(array_ops.zeros([3, 4]))))
        self.assertIs(None, tensor_util.constant_value(math_ops.add(depth, 1)))


if __name__ == "__main__":
    test.main()
