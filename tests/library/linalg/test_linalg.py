"""Linear algebra through the public functions: shapes, arguments, errors."""

import numpy as np
import pytest
from running import run

import headrace as tf

A = np.random.RandomState(0).randn(2, 3, 4)
B = np.random.RandomState(1).randn(2, 4, 5)


def test_matmul_picks_its_op_by_rank():
    assert tf.matmul(tf.zeros([2, 3]), tf.zeros([3, 4])).op.type == "MatMul"
    assert tf.matmul(A, B).op.type == "BatchMatMulV2"
    assert tf.matmul(tf.placeholder(tf.float32), tf.zeros([3, 4])).op.type == "BatchMatMulV2"
    assert tf.matmul(tf.zeros([2, 3]), tf.zeros([3, 4]), a_is_sparse=True).op.type == "MatMul"


def test_matmul_shapes():
    x = tf.placeholder(tf.float32, [None, 3])
    assert tf.matmul(x, tf.zeros([3, 4])).shape.as_list() == [None, 4]
    assert tf.matmul(x, x, transpose_a=True).shape.as_list() == [3, 3]
    assert tf.matmul(tf.placeholder(tf.float32, [None, 2, 3]), tf.zeros([3, 4])).shape.as_list() == [None, 2, 4]
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2"):
        tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))
    with pytest.raises(ValueError, match="rank 2"):
        tf.matmul(tf.zeros([2, 3]), tf.zeros([3]))
    with pytest.raises(ValueError, match="Only one of transpose_a and adjoint_a"):
        tf.matmul(x, x, transpose_a=True, adjoint_a=True)
    with pytest.raises(TypeError, match="'b'"):
        tf.matmul(x, tf.zeros([3, 4], tf.float64))


def test_complex_adjoint():
    z = np.array([[1 + 2j, 3 - 1j], [0.5j, 2]])
    np.testing.assert_allclose(run(tf.matmul(z, z, adjoint_a=True)), z.conj().T @ z)
    np.testing.assert_allclose(run(tf.matmul(z, z, transpose_b=True)), z @ z.T)
    batch = z[None]
    np.testing.assert_allclose(run(tf.matmul(batch, batch, transpose_a=True)), z.T[None] @ batch)


@pytest.mark.parametrize("axes", [1, [[2], [1]], [[0, 2], [0, 1]], [(0,), (0,)], [2, 1], [[-1], [-2]]])
def test_tensordot(axes):
    b = B[0] if axes == 1 else B
    expected = np.tensordot(A, b, axes)
    got = tf.tensordot(A, b, axes)
    assert got.shape.as_list() == list(expected.shape)
    np.testing.assert_allclose(run(got), expected)
    x, y = tf.placeholder(tf.float64, [None] * 3), tf.placeholder(tf.float64, [None] * b.ndim)
    open_shapes = tf.tensordot(x, y, axes)
    assert open_shapes.shape.ndims == expected.ndim
    np.testing.assert_allclose(run(open_shapes, {x: A, y: b}), expected)


def test_tensordot_of_a_partly_known_shape():
    x = tf.placeholder(tf.float32, [None, 7, 3])
    assert tf.tensordot(x, tf.zeros([3, 5]), 1).shape.as_list() == [None, 7, 5]
    with pytest.raises(ValueError, match="length 2"):
        tf.tensordot(x, x, [[1], [2], [3]])
    with pytest.raises(ValueError, match="Different number of contraction axes"):
        tf.tensordot(x, x, [[1], [1, 2]])


@pytest.mark.parametrize(
    ("equation", "inputs"),
    [("bij,bjk->bik", (A, B)), ("bij->b", (A,)), ("bij,bjk->ik", (A, B)), ("ij,ij", (A[0], A[0])), ("ij->ji", (A[0],))],
)
def test_einsum(equation, inputs):
    got = tf.einsum(equation, *inputs)
    expected = np.einsum(equation, *inputs)
    assert got.shape.as_list() == list(expected.shape)
    np.testing.assert_allclose(run(got), expected)


def test_einsum_checks_its_arguments():
    with pytest.raises(ValueError, match="expecting 2"):
        tf.einsum("ij,jk->ik", A[0])
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        tf.einsum("ij,jk->ik", A[0], A[0])
    with pytest.raises(TypeError, match="unexpected keyword"):
        tf.einsum("ij->i", A[0], wrong=1)


@pytest.mark.parametrize("order", ["euclidean", 1, 2, np.inf, 3])
def test_vector_norms(order):
    p = 2 if order == "euclidean" else order
    np.testing.assert_allclose(run(tf.norm(A, order, axis=1)), np.linalg.norm(A, p, axis=1))
    np.testing.assert_allclose(run(tf.norm(A, order)), np.linalg.norm(A.reshape(-1), p))
    assert tf.norm(A, order, axis=2, keepdims=True).shape.as_list() == [2, 3, 1]


@pytest.mark.parametrize("order", ["fro", 1, 2, np.inf])
def test_matrix_norms(order):
    np.testing.assert_allclose(run(tf.norm(A, order, axis=[1, 2])), np.linalg.norm(A, order, axis=(1, 2)))
    np.testing.assert_allclose(
        run(tf.norm(A, order, axis=(2, 0), keepdims=True)), np.linalg.norm(A, order, axis=(2, 0), keepdims=True)
    )


def test_bad_norms():
    for order, axis in (("wrong", None), (-1, None), (3, [0, 1]), (2, [0, 0]), (2, [0, 1, 2])):
        with pytest.raises(ValueError):
            tf.norm(A, order, axis)


def test_decompositions():
    m = A[0] @ A[0].T
    s, u, v = run(tf.svd(A))
    np.testing.assert_allclose(u * s[:, None, :] @ v.transpose(0, 2, 1), A, atol=1e-12)
    q, r = run(tf.qr(A))
    np.testing.assert_allclose(q @ r, A, atol=1e-12)
    e, w = run(tf.self_adjoint_eig(m))
    np.testing.assert_allclose(w * e @ w.T, m, atol=1e-12)
    assert np.all(np.diff(e) >= 0)
    np.testing.assert_allclose(run(tf.cholesky(m)), np.linalg.cholesky(m))
    np.testing.assert_allclose(run(tf.matrix_inverse(m, adjoint=True)) @ m.T, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(run(tf.cholesky_solve(tf.cholesky(m), m)), np.eye(3), atol=1e-9)
    sign, log = run(tf.linalg.slogdet(m))
    np.testing.assert_allclose(sign * np.exp(log), np.linalg.det(m))
    packed, rows = run(tf.linalg.lu(m))
    lower, upper = np.tril(packed, -1) + np.eye(3), np.triu(packed)
    np.testing.assert_allclose((lower @ upper)[np.argsort(rows)], m, atol=1e-12)
    assert run(tf.linalg.matrix_rank(np.outer([1.0, 2.0], [1.0, 3.0]))) == 1
    np.testing.assert_allclose(run(tf.linalg.pinv(A[0])), np.linalg.pinv(A[0]), atol=1e-9)


def test_singular_values_of_complex_matrices_are_real():
    x = np.array([[3, 0], [0, 4j]], np.complex64)
    assert tf.svd(x, compute_uv=False).dtype == tf.svd(x)[0].dtype == tf.float32
    np.testing.assert_allclose(run(tf.svd(x, compute_uv=False)), [4, 3], rtol=1e-6)
    np.testing.assert_allclose(run(tf.norm(x, 2, axis=[0, 1])), 4, rtol=1e-6)
    assert run(tf.linalg.matrix_rank(x)) == 2


def test_least_squares():
    rhs = np.random.RandomState(2).randn(3, 2)
    np.testing.assert_allclose(run(tf.matrix_solve_ls(A[0], rhs)), np.linalg.lstsq(A[0], rhs, rcond=None)[0], atol=1e-9)
    tall, right = A[0].T, np.random.RandomState(3).randn(4, 2)
    np.testing.assert_allclose(
        run(tf.matrix_solve_ls(tall, right)), np.linalg.lstsq(tall, right, rcond=None)[0], atol=1e-9
    )


def test_square_matrices_are_required():
    for function in (tf.matrix_inverse, tf.matrix_determinant, tf.cholesky):
        with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 3"):
            function(tf.zeros([2, 3]))


def test_the_sign_of_a_determinant_that_is_not_a_number_is_none():
    m = tf.placeholder(tf.float64, [2, 2, 2])
    sign, log = run(tf.linalg.slogdet(m), {m: [[[1.0, 2.0], [3.0, np.nan]], [[1.0, 2.0], [2.0, 4.0]]]})
    np.testing.assert_array_equal(sign, [np.nan, 0.0])  # as TensorFlow says
    np.testing.assert_array_equal(log, [np.nan, -np.inf])
