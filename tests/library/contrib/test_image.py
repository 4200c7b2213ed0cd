"""contrib.image: turned, moved and warped images; contrib.training: load balancing; tf.linalg's operators."""

import numpy as np
import pytest

import headrace as tf

image = tf.contrib.image
X = np.arange(25, dtype=np.float32).reshape(5, 5)


def test_quarter_turns(session: tf.Session) -> None:
    turned = image.rotate(X, np.pi / 2)
    np.testing.assert_array_equal(session.run(turned), np.rot90(X))
    both = image.rotate(np.stack([X, X])[..., None], [0.0, np.pi], interpolation="BILINEAR")
    np.testing.assert_allclose(session.run(both)[1, :, :, 0], X[::-1, ::-1], atol=1e-4)


def test_moves(session: tf.Session) -> None:
    moved = session.run(image.translate(X[..., None], [1, 2]))[..., 0]
    np.testing.assert_array_equal(moved[2:, 1:], X[:3, :4])
    assert not moved[:2].any() and not moved[:, 0].any()


def test_maps_compose(session: tf.Session) -> None:
    one, two = [1.0, 0, 1, 0, 1, 2, 0, 0], [0.0, -1, 4, 1, 0, 0, 0, 0]
    once = image.transform(X, image.compose_transforms(one, two))
    twice = image.transform(image.transform(X, one), two)
    np.testing.assert_array_equal(session.run(once), session.run(twice))


def test_gradient_of_a_shift_is_the_shift_back(session: tf.Session) -> None:
    x = tf.constant(X[None, :, :, None])
    moved = image.translate(x, [1, 0])
    weights = np.random.RandomState(0).rand(1, 5, 5, 1).astype(np.float32)
    slope = session.run(tf.gradients(moved * weights, x)[0])
    np.testing.assert_allclose(slope[0, :, :4, 0], weights[0, :, 1:, 0])
    assert not slope[0, :, 4].any()


def test_colours(session: tf.Session) -> None:
    picture = np.random.RandomState(1).rand(4, 4, 3).astype(np.float32)
    whole_turn = image.adjust_hsv_in_yiq(picture, 2 * np.pi, 1.0, 2.0)
    np.testing.assert_allclose(session.run(whole_turn), 2 * picture, atol=1e-5)
    grey = session.run(image.adjust_hsv_in_yiq(picture, 0.0, 0.0))
    np.testing.assert_allclose(grey, np.repeat(picture @ [[0.299], [0.587], [0.114]], 3, 2), atol=2e-3)
    assert session.run(image.random_hsv_in_yiq(picture, 0.2, 0.5, 1.5, 0.9, 1.1)).shape == (4, 4, 3)
    with pytest.raises(ValueError, match="lower_saturation"):
        image.random_hsv_in_yiq(picture, 0.0, 2.0, 1.0)


def test_warp(session: tf.Session) -> None:
    flow = np.zeros((1, 5, 5, 2), np.float32)
    flow[..., 1] = 1.5
    found = session.run(image.dense_image_warp(X[None, :, :, None], flow))[0, :, :, 0]
    np.testing.assert_allclose(found[:, 2:], X[:, 2:] - 1.5)
    np.testing.assert_allclose(found[:, 0], X[:, 0])  # what lies outside is the edge


def test_bad_images() -> None:
    with pytest.raises(TypeError, match="rank between 2 and 4"):
        image.transform(np.zeros((1, 2, 3, 4, 5), np.float32), [1.0] * 8)
    with pytest.raises(ValueError, match="Supported types: NEAREST, BILINEAR"):
        image.rotate(X, 0.1, interpolation="CUBIC")


def test_load_balancing() -> None:
    training = tf.contrib.training
    strategy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    sizes = ([100], [10], [20], [90], [5])
    assert [strategy(tf.Variable(tf.zeros(size)).op) for size in sizes] == [0, 1, 1, 1, 0]
    with pytest.raises(ValueError, match="must be known"):
        training.byte_size_load_fn(tf.placeholder(tf.float32, [None]).op)
    drawn = training.RandomStrategy(3, seed=1)
    ops = [tf.Variable(0.0).op for _ in range(20)]
    assert [drawn(op) for op in ops] == [training.RandomStrategy(3, seed=1)(op) for op in ops]
    assert {drawn(op) for op in ops} == {0, 1, 2}


def test_lower_triangle(session: tf.Session) -> None:
    matrix = np.random.RandomState(2).randn(2, 3, 3) + 3 * np.eye(3)
    lower = np.tril(matrix)
    rhs = np.random.RandomState(3).randn(2, 3, 2)
    op = tf.linalg.LinearOperatorLowerTriangular(matrix)
    checks = [
        (op.to_dense(), lower), (op.matmul(rhs), lower @ rhs), (op.solve(rhs), np.linalg.solve(lower, rhs)),
        (op.solve(rhs, adjoint=True), np.linalg.solve(lower.transpose(0, 2, 1), rhs)),
        (op.matvec(rhs[..., 0]), (lower @ rhs[..., :1])[..., 0]), (op.determinant(), np.linalg.det(lower)),
        (op.log_abs_determinant(), np.linalg.slogdet(lower)[1]), (op.trace(), np.trace(lower, axis1=1, axis2=2)),
        (op.inverse().to_dense(), np.linalg.inv(lower)), (op.H.to_dense(), lower.transpose(0, 2, 1)),
        (op.add_to_tensor(rhs[..., :1]), lower + rhs[..., :1]), (op.diag_part(), lower[:, range(3), range(3)]),
        (op.shape_tensor(), [2, 3, 3]),
    ]  # fmt: skip
    for found, expected in checks:
        np.testing.assert_allclose(session.run(found), expected, atol=1e-9)
    assert op.shape.as_list() == [2, 3, 3] and op.batch_shape.as_list() == [2] and op.is_square
    session.run(op.assert_non_singular())
    with pytest.raises(tf.errors.InvalidArgumentError, match="Singular operator"):
        session.run(tf.linalg.LinearOperatorLowerTriangular([[0.0, 1.0], [1.0, 2.0]]).assert_non_singular())
    with pytest.raises(ValueError, match="Only square"):
        tf.linalg.LinearOperatorLowerTriangular(matrix, is_square=False)


def test_other_operators(session: tf.Session) -> None:
    matrix, rhs = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    full = tf.linalg.LinearOperatorFullMatrix(matrix, is_positive_definite=True, is_self_adjoint=True)
    np.testing.assert_allclose(session.run(full.solve(rhs)), np.linalg.solve(matrix, rhs))
    np.testing.assert_allclose(session.run(full.cholesky().to_dense()), np.linalg.cholesky(matrix))
    diagonal = tf.linalg.LinearOperatorDiag([2.0, 4.0])
    assert session.run(diagonal.matmul(rhs.astype(np.float32))).tolist() == [[2, 4], [12, 16]]
    assert session.run(diagonal.solvevec([2.0, 2.0])).tolist() == [1, 0.5]
    with pytest.raises(ValueError, match="Cholesky"):
        tf.linalg.LinearOperatorFullMatrix(matrix).cholesky()
    with pytest.raises(NotImplementedError, match="singular"):
        tf.linalg.LinearOperatorFullMatrix(matrix, is_non_singular=False).solve(rhs)
    with pytest.raises(ValueError, match="always non-singular"):
        tf.linalg.LinearOperatorDiag([1.0], is_positive_definite=True, is_non_singular=False)
