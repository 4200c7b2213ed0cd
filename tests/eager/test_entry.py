"""Remembered calls of the library: whatever the order of calls, each gives what the function itself would give."""

import itertools

import numpy as np
import pytest

import headrace as tf
from headrace.eager.entry import learned
from headrace.graph import raw_ops

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


class TestRanks:
    """A product does something else for each rank."""

    @pytest.mark.parametrize("order", list(itertools.permutations([2, 3, 4])))
    def test_products_of_all_ranks(self, order):
        quick = learned(tf.matmul.__wrapped__)  # one that remembers nothing yet
        for rank in (*order, *order[::-1], *order):
            a = np.ones((1,) * (rank - 2), np.float32) * X
            b = np.swapaxes(a, -1, -2) + 1
            np.testing.assert_allclose(quick(tf.constant(a), tf.constant(b)).numpy(), a @ b)
            np.testing.assert_allclose(quick(tf.constant(a), tf.Variable(b)).numpy(), a @ b)

    def test_each_rank_is_remembered(self):
        runs = []

        def product(a, b, name=None):
            runs.append(1)
            return raw_ops.MatMul(a, b) if a.shape.ndims == 2 else raw_ops.BatchMatMulV2(a, b)

        quick = learned(product)
        flat, deep = tf.constant(X), tf.constant(X[None])
        for _ in range(3):
            np.testing.assert_allclose(quick(flat, tf.transpose(flat)).numpy(), X @ X.T)
            np.testing.assert_allclose(quick(deep, tf.transpose(deep, [0, 2, 1])).numpy(), X[None] @ X.T[None])
        assert len(runs) == 2

    def test_errors_say_what_the_function_says(self):
        quick = learned(tf.matmul.__wrapped__)
        a = tf.constant(X)
        for _ in range(3):
            quick(a, tf.transpose(a))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Op:MatMul\].*test_entry.py"):
            quick(a, a)
        for bad in (tf.constant(X[0]), tf.constant(1.0)):
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
                quick(a, bad)
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            quick(tf.constant(X[None]), a)
        np.testing.assert_allclose(quick(a, tf.transpose(a)).numpy(), X @ X.T)

    def test_gradients_after_ranks_were_mixed(self):
        for value in (X, X[None], X, X[None]):
            x = tf.constant(value)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.matmul(x, x, transpose_b=True))
            want = 2 * np.broadcast_to(value.sum(-2, keepdims=True), value.shape)
            np.testing.assert_allclose(tape.gradient(y, x).numpy(), want)

    def test_a_softmax_of_all_ranks(self):
        for value in (X, X[0], X[None], X):
            want = np.exp(value) / np.exp(value).sum(-1, keepdims=True)
            np.testing.assert_allclose(tf.nn.softmax(tf.constant(value)).numpy(), want, rtol=1e-6)


class TestLists:
    @pytest.mark.parametrize("count", [1, 2, 3, 2, 5])
    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_of_tensors(self, count, axis):
        values = [X + i for i in range(count)]
        for _ in range(3):
            tensors = [tf.constant(v) for v in values]
            np.testing.assert_array_equal(tf.stack(tensors, axis).numpy(), np.stack(values, axis))
            np.testing.assert_array_equal(tf.concat(tensors, axis).numpy(), np.concatenate(values, axis))
            np.testing.assert_array_equal(tf.stack(tensors).numpy(), np.stack(values))

    def test_of_tensors_and_others(self):
        x, v = tf.constant(X), tf.Variable(X + 1)
        for _ in range(3):
            for second in (x, X, v, x):
                want = X + 1 if second is v else X
                np.testing.assert_array_equal(tf.stack([x, second]).numpy(), np.stack([X, want]))
                np.testing.assert_array_equal(tf.stack([second, x]).numpy(), np.stack([want, X]))
                np.testing.assert_array_equal(tf.stack([x, x, second]).numpy(), np.stack([X, X, want]))
            with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
                tf.stack([x, tf.constant([1])])

    def test_gradients_of_two_and_three(self):
        for count in (2, 3, 2, 3):
            x = tf.constant(X)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.stack([x] * count) * 2.0)
            np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.full_like(X, 2 * count))

    @pytest.mark.parametrize("shape", [[12], [2, 6], [-1, 3], [2, 2, 3]])
    def test_of_numbers(self, shape):
        x = tf.constant(X)
        for _ in range(3):
            np.testing.assert_array_equal(tf.reshape(x, shape).numpy(), X.reshape(shape))
            np.testing.assert_array_equal(tf.reshape(x, [np.int64(n) for n in shape]).numpy(), X.reshape(shape))
            with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
                tf.reshape(x, [float(n) for n in shape])
            with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
                tf.reshape(x, [*shape[:-1], float(shape[-1])])

    def test_orders_of_axes(self):
        for value in (X, X, X[None]):
            perm = list(range(value.ndim))[::-1]
            np.testing.assert_array_equal(tf.transpose(tf.constant(value), perm).numpy(), value.transpose(perm))
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="Transpose|perm"):
            tf.transpose(tf.constant(X), [2, 1, 0])


class TestSizes:
    @pytest.mark.parametrize("size", [[2, 3], [4096], [4097], [70, 70]])
    @pytest.mark.parametrize("number", [0.0, -0.0, 1.5, 7, True, float("nan")])
    def test_filled(self, size, number):
        for _ in range(3):
            made = tf.fill(size, number).numpy()
            np.testing.assert_array_equal(made, np.full(size, number, made.dtype))
            if made.dtype != bool:
                assert np.array_equal(np.signbit(made), np.full(size, np.signbit(np.float32(number))))

    def test_what_is_made_is_nobody_elses(self):
        for _ in range(2):
            v, w = tf.Variable(tf.zeros([3])), tf.Variable(tf.ones([3]))
            v.assign_add(tf.ones([3]))
            w.assign_sub(tf.constant([1.0, 2.0, 3.0]))
            np.testing.assert_array_equal(tf.zeros([3]).numpy(), [0, 0, 0])
            np.testing.assert_array_equal(tf.ones([3]).numpy(), [1, 1, 1])

    def test_numbers_that_are_none(self):
        tf.zeros([2, 2]), tf.zeros([2, 2])
        assert tf.zeros([2.0, 2]).shape == (2, 2)  # a whole number is a size, as in TensorFlow 1
        for bad in ([2.5, 2.0], [2, 2.5], [2, "a"]):
            with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
                tf.zeros(bad)


class TestMany:
    """Functions that go another way for many elements."""

    SIZES = [(3, 4), (30, 40), (512,), (513,), (1, 512), (3, 4)]

    @pytest.mark.parametrize("axis", [0, -1])
    def test_places_of_extremes(self, axis):
        for size in self.SIZES:
            value = np.random.default_rng(0).permutation(np.prod(size)).reshape(size).astype(np.float32)
            assert np.array_equal(tf.argmax(tf.constant(value), axis).numpy(), value.argmax(axis))
            assert np.array_equal(tf.argmin(tf.constant(value), axis).numpy(), value.argmin(axis))
        for _ in range(2):
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="ArgMax"):
                tf.argmax(tf.constant(X), 2)

    def test_choices_and_comparisons(self):
        for size in self.SIZES:
            a, b = np.random.default_rng(1).normal(size=(2, *size)).astype(np.float32)
            x, y = tf.constant(a), tf.constant(b)
            for ours, theirs in ((x > y, a > b), (x <= y, a <= b), (tf.equal(x, x), a == a), (x > 0.0, a > 0)):
                assert ours.dtype == tf.bool
                np.testing.assert_array_equal(ours.numpy(), theirs)
            np.testing.assert_array_equal(tf.where(x > y, x, y).numpy(), np.where(a > b, a, b))
            rows = a.reshape(size[0], -1)[:, 0] > 0
            want = np.where(rows.reshape((-1,) + (1,) * (a.ndim - 1)), a, b)
            np.testing.assert_array_equal(tf.where(tf.constant(rows), x, y).numpy(), want)


class TestVariables:
    def test_in_expressions(self):
        v, x = tf.Variable(X), tf.constant(X * 2)
        for _ in range(3):
            np.testing.assert_array_equal((x * v).numpy(), X * X * 2)
            np.testing.assert_array_equal((x - v).numpy(), X)
            with tf.GradientTape() as tape:
                y = x * v
            np.testing.assert_array_equal(tape.gradient(y, v).numpy(), X * 2)
            assert tape.watched_variables() == (v,)
        with pytest.raises((TypeError, tf.errors.InvalidArgumentError), match="int32"):
            x * tf.Variable([1, 2, 3, 4])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Op:Mul\] inputs: .*test_entry.py"):
            x * tf.Variable([1.0, 2.0])

    def test_updates_leave_what_shares_the_value_alone(self):
        v = tf.Variable(X)
        one = tf.constant(np.ones_like(X))
        for i in range(3):
            part, whole, array = v[0], tf.reshape(v, [12]), v.numpy()
            v.assign_add(one)
            np.testing.assert_array_equal(part.numpy(), X[0] + i)
            np.testing.assert_array_equal(whole.numpy(), X.reshape(12) + i)
            np.testing.assert_array_equal(array, X + i)
            np.testing.assert_array_equal(v.numpy(), X + i + 1)

    def test_updates_are_in_place_when_nobody_looks(self):
        v = tf.Variable(X)
        one = tf.constant(np.ones_like(X))
        v.assign_add(one)
        state = v._variable._value
        where = state.value.data_ptr()
        for _ in range(3):
            v.assign_add(one)
            v.assign_sub(one)
            v.assign(one)
        assert state.value.data_ptr() == where
