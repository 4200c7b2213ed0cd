"""Products of matrices and linear algebra."""

import itertools

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import errors_impl
from tensorflow.python.framework import test_util
from tensorflow.python.ops import gradient_checker


def _random(shape, dtype=np.float64, seed=0):
    state = np.random.RandomState(seed)
    x = state.uniform(-1.0, 1.0, shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * state.uniform(-1.0, 1.0, shape)
    return x.astype(dtype)


def _positive_definite(shape, dtype=np.float64):
    x = _random(shape, dtype)
    return np.matmul(x, np.conj(np.swapaxes(x, -1, -2))) + np.eye(shape[-1], dtype=dtype)


class MatMulTest(tf.test.TestCase):
    def testTransposesAndAdjoints(self):
        for dtype in np.float32, np.float64, np.int32, np.complex64:
            for a_flip, b_flip in itertools.product((None, "transpose", "adjoint"), repeat=2):
                if dtype == np.int32 and "adjoint" in (a_flip, b_flip):
                    continue
                a = _random([3, 2] if a_flip else [2, 3], np.complex64 if dtype == np.complex64 else np.float64, 1) * 5
                b = _random([4, 3] if b_flip else [3, 4], np.complex64 if dtype == np.complex64 else np.float64, 2) * 5
                a, b = a.astype(dtype), b.astype(dtype)
                effective_a = {None: a, "transpose": a.T, "adjoint": np.conj(a.T)}[a_flip]
                effective_b = {None: b, "transpose": b.T, "adjoint": np.conj(b.T)}[b_flip]
                flags = {}
                if a_flip:
                    flags[a_flip + "_a"] = True
                if b_flip:
                    flags[b_flip + "_b"] = True
                with self.test_session(use_gpu=True):
                    out = tf.matmul(a, b, **flags)
                    self.assertAllCloseAccordingToType(np.matmul(effective_a, effective_b), out.eval(), half_rtol=1e-2)
        with self.assertRaisesRegexp(
            ValueError, "Only one of .*transpose_a.* and .*adjoint_a.*|Only one of transpose_a and adjoint_a"
        ):
            tf.matmul(np.eye(2), np.eye(2), transpose_a=True, adjoint_a=True)

    def testBatches(self):
        for xs, ys in (
            ([5, 2, 3], [5, 3, 4]),
            ([2, 5, 2, 3], [2, 5, 3, 1]),
            ([2, 1, 2, 3], [4, 3, 2]),
            ([2, 3], [4, 3, 2]),
            ([0, 2, 3], [0, 3, 4]),
            ([2, 0], [0, 3]),
        ):
            x, y = _random(xs), _random(ys)
            with self.test_session(use_gpu=True):
                out = tf.matmul(x, y)
                self.assertEqual(np.matmul(x, y).shape, out.get_shape())
                self.assertAllClose(np.matmul(x, y), out.eval())

    def testGradients(self):
        for xs, ys in ([2, 3], [3, 4]), ([2, 2, 3], [2, 3, 1]), ([2, 1, 2, 3], [2, 3, 2]):
            x_init, y_init = _random(xs, seed=3), _random(ys, seed=4)
            with self.test_session():
                x, y = tf.constant(x_init), tf.constant(y_init)
                z = tf.matmul(x, y)
                for arg, init in (x, x_init), (y, y_init):
                    error = gradient_checker.compute_gradient_error(
                        arg, list(init.shape), z, z.get_shape().as_list(), x_init_value=init
                    )
                    self.assertLess(error, 1e-7)

    def testShapes(self):
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None, 4])
        self.assertEqual([None, 4], tf.matmul(tf.placeholder(tf.float32, [None, 3]), y).get_shape().as_list())
        self.assertEqual([4, 4], tf.matmul(y, y, transpose_a=True).get_shape().as_list())
        self.assertIs(None, tf.matmul(x, x).get_shape().ndims)
        with self.assertRaisesRegexp(ValueError, "Dimensions must be equal, but are 3 and 5"):
            tf.matmul(tf.zeros([2, 3]), tf.zeros([5, 2]))
        with self.assertRaisesRegexp(ValueError, "Shape must be (at least )?rank 2 but is rank 1"):
            tf.matmul(tf.zeros([3]), tf.zeros([3, 2]))
        with self.assertRaises((TypeError, ValueError)):
            tf.matmul(tf.zeros([2, 2]), tf.zeros([2, 2], tf.float64))
        with self.test_session(use_gpu=True):
            z = tf.placeholder(tf.float32)
            with self.assertRaisesOpError("Matrix size-incompatible|In\\[0\\] mismatch In\\[1\\] shape"):
                tf.matmul(x, z).eval({x: np.ones([2, 3]), z: np.ones([4, 2])})

    def testTensordotAndEinsum(self):
        a, b = _random([2, 3, 4]), _random([4, 3, 5])
        fed_a, fed_b = tf.placeholder(tf.float64), tf.placeholder(tf.float64)
        for axes in ([[2], [0]], [[1, 2], [1, 0]], 1, [[], []], [2, 0]):
            expected = np.tensordot(a, b, axes)
            with self.test_session(use_gpu=True) as sess:
                out = tf.tensordot(a, b, axes)
                self.assertEqual(expected.shape, out.get_shape())
                self.assertAllClose(expected, sess.run(out))
                self.assertAllClose(expected, sess.run(tf.tensordot(fed_a, fed_b, axes), {fed_a: a, fed_b: b}))
        with self.assertRaises(ValueError):
            tf.tensordot(a, b, [[0], [0, 1]])
        with self.test_session(use_gpu=True):
            for equation in "ijk,kjl->il", "ijk,kjl->ijl", "ijk,mjn->ikmn":
                self.assertAllClose(np.einsum(equation, a, b), tf.einsum(equation, a, b).eval())


class SolveTest(tf.test.TestCase):
    def testSolve(self):
        for dtype in np.float32, np.float64, np.complex64, np.complex128:
            for batch in [], [3], [2, 1]:
                matrix = _random(batch + [4, 4], dtype) + 3 * np.eye(4, dtype=dtype)
                rhs = _random(batch + [4, 2], dtype, 8)
                with self.test_session(use_gpu=True) as sess:
                    plain, adjoint, inverse = sess.run(
                        [
                            tf.matrix_solve(matrix, rhs),
                            tf.matrix_solve(matrix, rhs, adjoint=True),
                            tf.matrix_inverse(matrix),
                        ]
                    )
                    close = dict(rtol=1e-4, atol=1e-4)
                    self.assertAllClose(np.linalg.solve(matrix, rhs), plain, **close)
                    self.assertAllClose(np.linalg.solve(np.conj(np.swapaxes(matrix, -1, -2)), rhs), adjoint, **close)
                    self.assertAllClose(np.linalg.inv(matrix), inverse, **close)

    def testTriangularSolve(self):
        matrix = _random([3, 3]) + 3 * np.eye(3)
        rhs = _random([3, 2], seed=1)
        for lower in True, False:
            triangle = np.tril(matrix) if lower else np.triu(matrix)
            with self.test_session(use_gpu=True):
                x = tf.matrix_triangular_solve(matrix, rhs, lower=lower)
                self.assertAllClose(np.linalg.solve(triangle, rhs), x.eval())
                x = tf.matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=True)
                self.assertAllClose(np.linalg.solve(triangle.T, rhs), x.eval())

    def testCholesky(self):
        for shape in [3, 3], [2, 3, 3], [1, 1], [0, 0]:
            x = _positive_definite(shape)
            with self.test_session(use_gpu=True):
                chol = tf.cholesky(x)
                self.assertEqual(x.shape, chol.get_shape())
                self.assertAllClose(np.linalg.cholesky(x) if x.size else x, chol.eval())
        rhs = _random([3, 1], seed=2)
        x = _positive_definite([3, 3])
        with self.test_session(use_gpu=True):
            self.assertAllClose(np.linalg.solve(x, rhs), tf.cholesky_solve(tf.cholesky(x), rhs).eval())

    def testSingular(self):
        with self.test_session(use_gpu=False):
            with self.assertRaisesOpError("Input matrix is not invertible"):
                tf.matrix_solve([[1.0, 2.0], [2.0, 4.0]], [[1.0], [1.0]]).eval()
            with self.assertRaisesOpError("Input is not invertible"):
                tf.matrix_inverse([[1.0, 0.0], [0.0, 0.0]]).eval()

    def testStaticErrors(self):
        with self.assertRaisesRegexp(ValueError, "Shape must be at least rank 2 but is rank 1"):
            tf.cholesky([1.0, 2.0])
        for func in tf.cholesky, tf.matrix_inverse, tf.matrix_determinant, tf.self_adjoint_eigvals:
            with self.assertRaisesRegexp(ValueError, "Dimensions must be equal, but are (2 and 3|3 and 2)"):
                func(tf.zeros([2, 3]))
        with self.assertRaisesRegexp(ValueError, "Dimensions must be equal|Dimension 0 in both shapes must be equal"):
            tf.matrix_solve(tf.eye(3), tf.zeros([2, 1]))
        matrix = tf.placeholder(tf.float32)
        self.assertIs(None, tf.matrix_inverse(matrix).get_shape().ndims)
        self.assertEqual([None, 3, 3], tf.cholesky(tf.placeholder(tf.float32, [None, None, 3])).get_shape().as_list())
        self.assertEqual([None], tf.matrix_determinant(tf.placeholder(tf.float32, [None, 2, 2])).get_shape().as_list())
        with self.cached_session():
            with self.assertRaises(errors_impl.InvalidArgumentError):
                tf.matrix_inverse(matrix).eval({matrix: np.ones([2, 3])})

    @test_util.run_deprecated_v1
    def testGradients(self):
        x_init = _positive_definite([2, 3, 3])
        rhs = _random([2, 3, 1])
        with self.test_session():
            x = tf.constant(x_init)
            symmetric = (x + tf.matrix_transpose(x)) / 2.0
            for y in (
                tf.matrix_inverse(x),
                tf.matrix_determinant(x),
                tf.matrix_solve(x, rhs),
                tf.matrix_triangular_solve(x, rhs),
                tf.cholesky(symmetric),
                tf.self_adjoint_eigvals(symmetric),
                tf.svd(x, compute_uv=False),
                tf.linalg.logdet(symmetric),
                tf.trace(x),
                tf.matrix_band_part(x, 1, 0),
            ):
                error = gradient_checker.compute_gradient_error(
                    x, [2, 3, 3], y, y.get_shape().as_list(), x_init_value=x_init
                )
                self.assertLess(error, 1e-4, y.op.type)


class DecompositionTest(tf.test.TestCase):
    def testRebuild(self):
        for dtype in np.float32, np.float64, np.complex128:
            x = _random([2, 4, 3], dtype)
            hermitian = _positive_definite([2, 3, 3], dtype)
            with self.test_session(use_gpu=True) as sess:
                s, u, v = sess.run(tf.svd(x))
                self.assertAllClose(
                    x, np.matmul(u * s[..., None, :], np.conj(np.swapaxes(v, -1, -2))), rtol=1e-4, atol=1e-4
                )
                self.assertAllClose(np.linalg.svd(x, compute_uv=False), s, rtol=1e-4, atol=1e-4)
                e, w = sess.run(tf.self_adjoint_eig(hermitian))
                self.assertAllClose(np.linalg.eigvalsh(hermitian), e, rtol=1e-4, atol=1e-4)
                self.assertAllClose(np.matmul(hermitian, w), w * e[..., None, :].astype(dtype), rtol=1e-3, atol=1e-3)
                q, r = sess.run(tf.qr(x, full_matrices=True))
                self.assertEqual(((2, 4, 4), (2, 4, 3)), (q.shape, r.shape))
                self.assertAllClose(x, np.matmul(q, r), rtol=1e-4, atol=1e-4)

    def testShapesOfPartlyKnown(self):
        x = tf.placeholder(tf.float32, [None, 4, 3])
        s, u, v = tf.svd(x)
        self.assertEqual([[None, 3], [None, 4, 3], [None, 3, 3]], [t.get_shape().as_list() for t in (s, u, v)])
        q, r = tf.qr(x)
        self.assertEqual([[None, 4, 3], [None, 3, 3]], [t.get_shape().as_list() for t in (q, r)])
        s, u, v = tf.svd(tf.placeholder(tf.float32, [4, None]), full_matrices=True)
        self.assertEqual([[None], [4, 4], [None, None]], [t.get_shape().as_list() for t in (s, u, v)])

    def testDiagonals(self):
        x = np.arange(12.0).reshape(1, 3, 4)
        with self.test_session(use_gpu=True):
            self.assertAllEqual([[0.0, 5.0, 10.0]], tf.matrix_diag_part(x).eval())
            self.assertAllEqual([np.diag([1, 2, 3])], tf.matrix_diag([[1, 2, 3]]).eval())
            self.assertAllEqual(np.eye(2, 3), tf.eye(2, num_columns=3).eval())
            replaced = tf.matrix_set_diag(x, [[7.0, 8.0, 9.0]])
            self.assertAllEqual([[7, 1, 2, 3], [4, 8, 6, 7], [8, 9, 9, 11]], replaced.eval()[0])
            for lower, upper in (0, 0), (1, 1), (-1, 0), (0, -1), (2, -1):
                expected = x[0]
                if upper >= 0:
                    expected = np.tril(expected, upper)
                if lower >= 0:
                    expected = np.triu(expected, -lower)
                self.assertAllEqual(expected, tf.matrix_band_part(x, lower, upper).eval()[0])
            with self.assertRaisesOpError("num_lower must be negative or less or equal to number of rows"):
                rows = tf.placeholder(tf.int64)
                tf.matrix_band_part(x, rows, 0).eval({rows: 9})


if __name__ == "__main__":
    tf.test.main()
