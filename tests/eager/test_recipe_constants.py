"""Remembered calls whose axes, shapes and slices are constants: results, errors and gradients are those of the function."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import headrace as tf
from headrace.graph import raw_ops

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("shape", [[2, 3], [], [0], [4], [2, 0, 3]])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.bool, tf.complex64, tf.uint8])
def test_sizes(shape, dtype):
    for _ in range(3):
        for made, value in ((tf.zeros(shape, dtype), 0), (tf.ones(shape, dtype), 1)):
            np.testing.assert_array_equal(made.numpy(), np.full(shape, value, dtype.as_numpy_dtype))
            assert made.dtype == dtype


def test_sizes_by_default():
    for _ in range(3):
        np.testing.assert_array_equal(tf.zeros([2, 3]).numpy(), np.zeros([2, 3], np.float32))
        np.testing.assert_array_equal(tf.ones([3]).numpy(), np.ones([3], np.float32))
        assert tf.zeros([]).numpy().shape == () and tf.ones([]).numpy() == 1
        assert np.signbit(tf.fill([2], -0.0).numpy()).all()
    first, second = tf.zeros([2]), tf.zeros([2])
    v = tf.Variable(first)
    v.assign_add(tf.ones([2]))
    np.testing.assert_array_equal(first.numpy(), second.numpy())


def test_numbers_that_are_no_sizes():
    for _ in range(3):
        assert tf.reduce_sum([1, 2, 3]).numpy() == 6
        assert tf.reduce_sum([1, 2, 4]).numpy() == 7
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="must be >= 0|-1"):
            tf.zeros([-1, 2])


@pytest.mark.parametrize(
    "index", [0, -1, slice(1, 3), slice(None, None, 2), slice(None, None, -1), (0, 1), (slice(1), None)]
)
def test_slices(index):
    x = tf.constant(X)
    for value in (X, X, X * 2):
        np.testing.assert_array_equal(tf.constant(value)[index].numpy(), value[index])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x[index]
    want = np.zeros_like(X)
    want[index] = 1
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), want)


def test_errors_are_those_of_the_kernel():
    for size in (4, 4, 2):
        x = tf.constant(np.zeros(size, np.float32))
        if size == 4:
            x[3]
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 3 of dimension 0 out of bounds"):
                x[3]
    tf.matmul(tf.constant(X), tf.constant(X.T))
    tf.matmul(tf.constant(X), tf.constant(X.T))
    with pytest.raises(tf.errors.InvalidArgumentError, match="MatMul"):
        tf.matmul(tf.constant(X), tf.constant(X))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, [0], [0, 1], [1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis, keepdims):
    along = tuple(axis) if isinstance(axis, list) else axis
    for value in (X, X, np.ones((40, 9), np.float32), X[None], X[None], X[0]):
        if value.ndim == 1 and along not in (None, 0, -1):
            continue
        if isinstance(along, tuple) and max(along) >= value.ndim:
            continue
        for ours, numpys in ((tf.reduce_sum, np.sum), (tf.reduce_mean, np.mean)):
            found = ours(tf.constant(value), axis, keepdims).numpy()
            np.testing.assert_allclose(found, numpys(value, axis=along, keepdims=keepdims), rtol=1e-6)


def test_updates_of_a_variable():
    v = tf.Variable(tf.constant(X))
    for _ in range(2):
        before = v.read_value()
        kept = before.numpy()
        assert v.assign_add(tf.constant(X)) is v
        assert v.assign_sub(tf.constant(X), read_value=False) is None
        v.assign(tf.constant(X) * 2)
        np.testing.assert_array_equal(before.numpy(), kept)  # what was read stays as it was
        np.testing.assert_array_equal(v.numpy(), X * 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="AssignAdd"):
        v.assign_add(tf.constant(X[0]))
    with pytest.raises(ValueError, match="Cannot assign to variable"):
        v.assign(tf.constant(X[0]))


@pytest.mark.parametrize(
    ("held", "given"),
    [((1, 4), (4,)), ((1, 4), (1, 1, 4)), ((4,), (1, 4)), ((4, 1), (1, 4)), ((3, 4), (1, 4)), ((3, 4), ()), ((), (1,)),
     ((0, 4), (0, 1)), ((1,), ()), ((2, 2), (4,))],
)  # fmt: skip
def test_an_update_takes_the_shape_of_the_variable_only(held, given):
    v = tf.Variable(tf.zeros(held))
    for _ in range(3):
        v.assign_add(tf.ones(held))
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"AssignAdd.*test_recipe_constants"):
            v.assign_add(tf.ones(given))
    np.testing.assert_array_equal(v.numpy(), np.full(held, 3, np.float32))


def test_an_update_leaves_views_of_what_was_read():
    v = tf.Variable(tf.constant(X))
    one = tf.ones([3, 4])
    for i in range(3):
        v.assign_add(one)
        row, turned, array = v.read_value()[1], tf.transpose(v), np.asarray(v.read_value())
        v.assign_add(one)
        for found, was in ((row.numpy(), X[1]), (turned.numpy(), X.T), (array, X)):
            np.testing.assert_array_equal(found, was + 2 * i + 1)
    np.testing.assert_array_equal(v.numpy(), X + 6)


def test_an_update_of_another_shape_than_before():
    v = tf.Variable(tf.constant(X), validate_shape=False)
    v.assign_add(tf.constant(X))
    v.assign_add(tf.constant(X))
    raw_ops.Assign(v, tf.ones([2, 6]), validate_shape=False)
    v.assign_add(tf.ones([2, 6]))
    np.testing.assert_array_equal(v.numpy(), np.full((2, 6), 2, np.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be the same size"):
        v.assign_add(tf.constant(X))


def test_updates_from_several_threads():
    v, one = tf.Variable(tf.zeros([8])), tf.ones([8])

    def add(_):
        with tf.eager_mode():
            for _ in range(200):
                v.assign_add(one)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    found = v.numpy()
    assert 200 <= found[0] <= 800 and found.min() >= 200


def test_kernels_that_do_something_else_for_many():
    few, many = tf.constant(X), tf.constant(np.tile(X, (50, 40)))
    for _ in range(2):
        for x in (few, many, few):
            np.testing.assert_array_equal((x > x[0]).numpy(), x.numpy() > x.numpy()[0])
            np.testing.assert_array_equal((x <= 3.0).numpy(), x.numpy() <= 3)
            np.testing.assert_array_equal(tf.argmax(x, 1).numpy(), x.numpy().argmax(1))
            np.testing.assert_array_equal(tf.less(x, x).numpy(), x.numpy() < x.numpy())


def test_rows_by_indices_of_any_rank():
    x = tf.constant(X)
    for _ in range(2):
        for places in ([0, 2], [[0, 1], [2, 2]], 1):
            np.testing.assert_array_equal(tf.gather(x, tf.constant(places)).numpy(), X[np.array(places)])
            np.testing.assert_array_equal(tf.gather(x, tf.constant(places), axis=1).numpy(), X[:, np.array(places)])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 3 is not in \[0, 3\)"):
            tf.gather(x, tf.constant([0, 3]))


def test_functions_of_one_tensor():
    x = tf.constant(X + 1)
    for ours, numpys in ((tf.exp, np.exp), (tf.sqrt, np.sqrt), (tf.negative, np.negative), (tf.floor, np.floor)):
        for _ in range(2):
            np.testing.assert_allclose(ours(x).numpy(), numpys(X + 1), rtol=1e-6)


def test_choices_by_rank():
    t, e = tf.constant(X), tf.constant(-X)
    for _ in range(2):
        np.testing.assert_array_equal(tf.where(t > e, t, e).numpy(), X)
        rows = tf.where(tf.constant([True, False, True]), t, e).numpy()
        np.testing.assert_array_equal(rows, np.where([[True], [False], [True]], X, -X))
