"""Remembered calls: the second call of a kind goes straight to the kernels, and must give what the function itself gives."""

import os
import traceback
from functools import partial

import numpy as np
import pytest
from resources.calls import run_threads

import headrace as tf
from headrace.eager.entry import learned
from headrace.eager.tensor import EagerTensor
from headrace.graph import raw_ops

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], np.float32)


def counted(function):
    """The function, decorated, and the list of its own runs."""
    runs = []

    def inner(x, y=None, name=None):
        runs.append(1)
        return function(x, y)

    return learned(inner), runs


class TestPlans:
    def test_a_call_of_the_same_kind_does_not_run_the_function(self):
        add, runs = counted(lambda x, y: raw_ops.Add(x, y))
        a, b = tf.constant(X), tf.constant(X + 1)
        for _ in range(3):
            np.testing.assert_array_equal(add(a, b).numpy(), X + X + 1)
        assert len(runs) == 1
        add(tf.constant([1]), tf.constant([2]))  # another dtype
        assert len(runs) == 2

    def test_what_looks_at_ranks_is_remembered_by_rank(self):
        last, runs = counted(lambda x, y: raw_ops.Sum(x, x.shape.ndims - 1))
        for value in (X, X, X[:, :1], X[0], X[0], X[None], X[None]):
            np.testing.assert_array_equal(last(tf.constant(value)).numpy(), value.sum(-1))
        assert len(runs) == 3

    def test_what_looks_at_shapes_is_remembered_by_shape(self):
        flat, runs = counted(lambda x, y: raw_ops.Reshape(x, [x.shape.num_elements()]))
        for value in (X, X, X[:1], X[:1], X, X[0]):
            np.testing.assert_array_equal(flat(tf.constant(value)).numpy(), value.reshape(-1))
        assert len(runs) == 3

    def test_what_looks_at_values_runs_each_time(self):
        chosen, runs = counted(lambda x, y: raw_ops.Neg(x) if x.numpy().sum() > 0 else raw_ops.Exp(x))
        np.testing.assert_array_equal(chosen(tf.constant(X)).numpy(), -X)
        before = len(runs)
        np.testing.assert_allclose(chosen(tf.constant(-X)).numpy(), np.exp(-X), rtol=1e-6)
        np.testing.assert_array_equal(chosen(tf.constant(X)).numpy(), -X)
        assert len(runs) == before + 2

    def test_what_looks_at_a_shape_that_depends_on_values(self):
        def rows(x, y):
            kept = raw_ops.Where(raw_ops.Greater(x, 0.0))
            return raw_ops.Neg(kept) if kept.shape.as_list()[0] > 3 else kept

        chosen, _ = counted(rows)
        for _ in range(2):
            assert chosen(tf.constant(X)).numpy().min() <= 0
            assert chosen(tf.constant(-X)).numpy().min() >= 0
            assert len(chosen(tf.constant(-X))) == 2

    def test_several_ops_constants_and_results(self):
        pair, runs = counted(lambda x, y: (raw_ops.Mul(x, 2.0), [None, x], raw_ops.Exp(x))[0::2])
        for value in (X, X + 1):
            twice, powers = pair(tf.constant(value))
            np.testing.assert_array_equal(twice.numpy(), 2 * value)
            np.testing.assert_allclose(powers.numpy(), np.exp(value), rtol=1e-6)
        assert len(runs) == 1

    @pytest.mark.parametrize("other", [2, 2.0, True, -0.0, 0.0, [1, 2], "a", None, (2,)])
    def test_python_arguments_that_are_equal_but_of_other_types(self, other):
        kind, _ = counted(lambda x, y: raw_ops.Fill([len(repr(y))], x))
        scalar = tf.constant(1.0)
        for value in (1, 1.0, True, 0, -0.0, 0.0, False, [1, 2], (1, 2), None, other, 2, 2.0):
            assert kind(scalar, value).shape.as_list() == [len(repr(value))], value

    def test_not_more_than_so_many(self):
        scaled, runs = counted(lambda x, y: raw_ops.Mul(x, y))
        x = tf.constant(1.0)
        for _ in range(2):
            for i in range(300):
                assert scaled(x, i + 0.5).numpy() == i + 0.5
        assert len(runs) == 300 + 44  # 256 are remembered

    def test_a_variable_among_the_arguments(self):
        add, runs = counted(lambda x, y: raw_ops.Add(x, y))
        v, x = tf.Variable([1.0, 2.0]), tf.constant([10.0, 20.0])
        np.testing.assert_array_equal(add(x, v).numpy(), [11, 22])
        v.assign([5.0, 6.0])
        np.testing.assert_array_equal(add(x, v).numpy(), [15, 26])
        with tf.GradientTape() as tape:
            y = add(x, v)
        assert tape.watched_variables() == (v,)
        np.testing.assert_array_equal(tape.gradient(y, v).numpy(), [1, 1])
        assert len(runs) <= 2

    def test_errors_are_those_of_the_function(self):
        add, _ = counted(lambda x, y: raw_ops.Add(x, y))
        good = tf.constant([1.0, 2.0])
        add(good, good)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"\[Op:Add\] inputs: float32\[2\], float32\[3\].*test_learn.py"
        ):
            add(good, tf.constant([1.0, 2.0, 3.0]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
            add(good, tf.constant([1, 2]))

    def test_graphs_are_built_as_ever(self):
        a = tf.constant(1.0)
        tf.exp(a)
        with tf.Graph().as_default() as graph:
            tf.exp(tf.constant(1.0), name="e")
            assert graph.get_operation_by_name("e").type == "Exp"
            tf.zeros([2])
            assert "zeros" in [op.name for op in graph.get_operations()]
        assert isinstance(tf.exp(a), EagerTensor)

    def test_parameters_may_be_called_anything(self):
        def product(value, step, key=None, tapes=None, name=None):
            return raw_ops.Mul(value, step)

        quick = learned(product)
        a, v = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])
        for other in (tf.constant([5.0, 6.0]), v):
            for _ in range(3):
                with tf.GradientTape() as tape:
                    tape.watch([a, other])
                    y = quick(a, other)
                np.testing.assert_array_equal(tape.gradient(y, a).numpy(), other.numpy())
            np.testing.assert_array_equal(quick(a, other).numpy(), a.numpy() * other.numpy())

    def test_an_index_that_cannot_be_a_key(self):
        x = tf.constant([1.0, 2.0, 3.0])
        for _ in range(2):
            np.testing.assert_array_equal(x[np.int64(1) :].numpy(), [2, 3])
            np.testing.assert_array_equal(x[tf.constant(1) :].numpy(), [2, 3])
            with pytest.raises(TypeError, match="indices"):
                x[1.0:]

    def test_a_variable_of_a_graph(self):
        with tf.Graph().as_default():
            v = tf.Variable([1.0])
        for _ in range(2):
            with pytest.raises(TypeError, match="belongs to a graph"):
                tf.maximum(tf.constant([1.0]), v)

    def test_arguments_by_name(self):
        add, runs = counted(lambda x, y: raw_ops.Add(x, y))
        a, b, v = tf.constant(X), tf.constant(X + 1), tf.Variable(X + 2)
        for _ in range(3):
            np.testing.assert_array_equal(add(x=a, y=b, name="sum").numpy(), X + X + 1)
            np.testing.assert_array_equal(add(y=a, x=v).numpy(), X + X + 2)
            np.testing.assert_array_equal(add(a, y=3.0).numpy(), X + 3)
        assert len(runs) == 3
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
            add(a, z=b)

    def test_the_frames_of_an_error_have_files(self):
        x = tf.constant(X)
        for call in (lambda: tf.matmul(x, x), lambda: x + tf.ones([4]), lambda: tf.reshape(x, [7])):
            for _ in range(2):
                with pytest.raises(tf.errors.InvalidArgumentError, match=r"test_learn\.py:\d+") as caught:
                    call()
                frames = traceback.extract_tb(caught.tb)
                assert [f.filename for f in frames if not os.path.isfile(f.filename)] == []

    def test_threads(self):
        def work(seed):
            with tf.eager_mode():
                values = np.random.default_rng(seed).normal(size=(3, 4)).astype(np.float32)
                for _ in range(50):
                    with tf.GradientTape() as tape:
                        x = tf.constant(values)
                        tape.watch(x)
                        y = tf.reduce_sum(tf.square(tf.transpose(x)))
                    assert np.allclose(tape.gradient(y, x).numpy(), 2 * values)

        run_threads(*(partial(work, i) for i in range(4)))


class TestLibrary:
    """Each function twice on two inputs of a kind: remembered and not must agree with a graph."""

    CASES = [
        lambda x: tf.reduce_sum(x),
        lambda x: tf.reduce_mean(x, 1),
        lambda x: tf.reduce_max(x, axis=[0, 1], keepdims=True),
        lambda x: tf.reduce_sum(x, []),
        lambda x: tf.transpose(x),
        lambda x: tf.transpose(x, [1, 0]),
        lambda x: tf.reshape(x, [-1]),
        lambda x: tf.reshape(x, (3, 2)),
        lambda x: tf.concat([x, x], 0),
        lambda x: tf.stack([x, x], 1),
        lambda x: tf.stack([x, 1.0 * x]),
        lambda x: tf.unstack(x)[1],
        lambda x: tf.split(x, 3, 1)[2],
        lambda x: x[0],
        lambda x: x[:, 1:3],
        lambda x: x[..., -1],
        lambda x: x[1:2],
        lambda x: x[::-1],
        lambda x: x[:, tf.newaxis],
        lambda x: tf.gather(x, [1, 0]),
        lambda x: tf.gather(x, tf.constant([2, 0]), axis=1),
        lambda x: tf.cast(x, tf.int32),
        lambda x: tf.cast(x, tf.float32),
        lambda x: tf.nn.softmax(x),
        lambda x: tf.nn.softmax(x, 0),
        lambda x: tf.matmul(x, x, transpose_b=True),
        lambda x: tf.matmul(x[None], x[None], adjoint_a=True),
        lambda x: tf.argmax(x, 1),
        lambda x: tf.where(x > 0, x, -x),
        lambda x: tf.where(x > 0),
        lambda x: tf.boolean_mask(x, x > 0),
        lambda x: tf.nn.top_k(x, 2).indices,
        lambda x: tf.one_hot([0, 2], 3),
        lambda x: tf.nn.moments(x, [0])[1],
        lambda x: tf.clip_by_value(x, -1.0, 1.0),
        lambda x: tf.clip_by_norm(x, 2.0),
        lambda x: tf.zeros([2, 3]),
        lambda x: tf.ones_like(x),
        lambda x: tf.zeros_like(x, tf.int32),
        lambda x: tf.fill([2], 7),
        lambda x: tf.fill([2], 7.0),
        lambda x: tf.range(3),
        lambda x: tf.range(3.0),
        lambda x: tf.expand_dims(x, -1),
        lambda x: tf.squeeze(x[:1]),
        lambda x: tf.tile(x, [2, 1]),
        lambda x: tf.pad(x, [[1, 0], [0, 2]]),
        lambda x: tf.norm(x),
        lambda x: tf.tensordot(x, x, 2),
        lambda x: tf.nn.l2_normalize(x, 1),
        lambda x: tf.reduce_logsumexp(x, 1),
        lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(x), logits=x),
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant([0, 2]), logits=x),
        lambda x: tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.nn.sigmoid(x), logits=x),
        lambda x: 2.0 - x,
        lambda x: x / 2.0,
        lambda x: x > 1.0,
        lambda x: tf.add_n([x, x, x]),
        lambda x: tf.nn.leaky_relu(x),
        lambda x: tf.nn.bias_add(x, x[0]),
        lambda x: tf.cumsum(x, 1),
        lambda x: tf.reverse(x, [1]),
        lambda x: tf.broadcast_to(x, [2, 2, 3]),
        lambda x: tf.linalg.trace(x),
    ]

    @pytest.mark.parametrize("case", range(len(CASES)))
    def test_agrees_with_a_graph(self, case):
        function = self.CASES[case]
        for value in (X, X * 2 + 1, X, X[:, :2] * 3 if case < 4 else X):
            have = function(tf.constant(value))
            with tf.Graph().as_default(), tf.Session() as session:
                want = session.run(function(tf.constant(value)))
            assert have.numpy().dtype == want.dtype
            np.testing.assert_allclose(have.numpy(), want, rtol=1e-6)

    @pytest.mark.parametrize("case", range(len(CASES)))
    def test_gradients_agree_with_a_graph(self, case):
        function = self.CASES[case]
        for value in (X, X * 2 + 1, X):
            x = tf.constant(value)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.cast(function(x), tf.float32)
                loss = tf.reduce_sum(y * y)
            have = tape.gradient(loss, x)
            have = None if have is None else tf.convert_to_tensor(have).numpy()
            with tf.Graph().as_default(), tf.Session() as session:
                x = tf.constant(value)
                y = tf.cast(function(x), tf.float32)
                want = tf.gradients(tf.reduce_sum(y * y), x)[0]
                assert (have is None) == (want is None)
                if want is not None:
                    want = session.run(tf.convert_to_tensor(want))
                    np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-5)
