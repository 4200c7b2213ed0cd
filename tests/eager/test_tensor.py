"""Values computed eagerly: arithmetic, Python's protocols, numpy, errors at the user's line."""

import copy
import pickle

import numpy as np
import pytest
from resources.calls import run_threads

import headrace as tf


class TestArithmetic:
    def test_operators(self):
        x = tf.constant([1.0, 2.0, 4.0])
        y = tf.constant([2.0, 2.0, 2.0])
        assert (x + y).numpy().tolist() == [3.0, 4.0, 6.0]
        assert (x - 1).numpy().tolist() == [0.0, 1.0, 3.0]
        assert (1 - x).numpy().tolist() == [0.0, -1.0, -3.0]
        assert (2.0 * x).numpy().tolist() == [2.0, 4.0, 8.0]
        assert (x / y).numpy().tolist() == [0.5, 1.0, 2.0]
        assert (1 / x).numpy().tolist() == [1.0, 0.5, 0.25]
        assert (x**2).numpy().tolist() == [1.0, 4.0, 16.0]
        assert (x // 2).numpy().tolist() == [0.0, 1.0, 2.0]
        assert (x % 2).numpy().tolist() == [1.0, 0.0, 0.0]
        assert (-x).numpy().tolist() == [-1.0, -2.0, -4.0]
        assert abs(-x).numpy().tolist() == [1.0, 2.0, 4.0]
        assert (x > y).numpy().tolist() == [False, False, True]
        assert (~(x > y)).numpy().tolist() == [True, True, False]

    def test_integers(self):
        x = tf.constant([7, 8])
        assert x.dtype == tf.int32
        assert (x / 2).numpy().tolist() == [3.5, 4.0] and (x / 2).dtype == tf.float64
        assert (x // 2).numpy().tolist() == [3, 4]
        assert (x & 1).numpy().tolist() == [1, 0]

    def test_the_sign_of_zero_survives(self):
        x = tf.constant([1.0])
        assert (x / 0.0).numpy()[0] == np.inf
        assert (x / -0.0).numpy()[0] == -np.inf

    def test_matmul_and_numpy_operands(self):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        eye = np.eye(2, dtype=np.float32)
        np.testing.assert_array_equal((x @ eye).numpy(), x.numpy())
        np.testing.assert_array_equal((eye + x).numpy(), eye + x.numpy())
        np.testing.assert_array_equal((x * eye).numpy(), x.numpy() * eye)

    def test_library_functions(self):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        assert tf.reduce_sum(x).numpy() == 10.0
        assert tf.reduce_sum(x, 1).numpy().tolist() == [3.0, 7.0]
        assert tf.reduce_mean(x, axis=[0], keepdims=True).shape.as_list() == [1, 2]
        assert tf.reshape(x, [-1]).numpy().tolist() == [1.0, 2.0, 3.0, 4.0]
        assert tf.transpose(x).numpy().tolist() == [[1.0, 3.0], [2.0, 4.0]]
        assert tf.concat([x, x], 1).shape.as_list() == [2, 4]
        assert [t.numpy().tolist() for t in tf.split(tf.range(4), 2)] == [[0, 1], [2, 3]]
        assert tf.shape(x).numpy().tolist() == [2, 2]
        values, indices = tf.nn.top_k(x[1], 1)
        assert (values.numpy(), indices.numpy()) == (4.0, 1)
        assert tf.stack([x[0, 0], 5.0]).numpy().tolist() == [1.0, 5.0]
        assert tf.cast(x, tf.int32).dtype == tf.int32

    def test_strings(self):
        a = tf.constant(["x", "y"])
        assert (a + "z").numpy().tolist() == [b"xz", b"yz"]
        assert a[1].numpy() == b"y"

    def test_equal_calls_with_other_attributes(self):
        x = tf.constant([[3.0, 1.0], [2.0, 4.0]])
        assert tf.argmax(x, 0).numpy().tolist() == [0, 1]
        assert tf.argmax(x, 1).numpy().tolist() == [0, 1]
        assert tf.argmax(x, 1, output_type=tf.int32).dtype == tf.int32
        assert tf.argmax(x, 1).dtype == tf.int64


class TestPython:
    def test_protocols(self):
        x = tf.constant([3, 1, 2])
        assert len(x) == 3
        assert [int(v) for v in x] == [3, 1, 2]
        assert [10, 20, 30][x[1]] == 20
        assert bool(tf.constant(True)) and not tf.constant(0.0)
        assert float(tf.constant(2)) == 2.0
        assert f"{tf.constant(2.5):.2f}" == "2.50"
        assert f"{tf.constant(3)} {tf.constant([1, 2])}" == "3 [1 2]"
        assert isinstance(x, tf.Tensor)

    def test_only_scalars_are_numbers(self):
        with pytest.raises(TypeError, match="index"):
            range(tf.constant(1.5))
        with pytest.raises(TypeError, match="Scalar tensor has no `len"):
            len(tf.constant(1))
        with pytest.raises(TypeError, match="iterate"):
            iter(tf.constant(1))
        with pytest.raises(ValueError, match="2 elements is ambiguous"):
            bool(tf.constant([1, 2]))
        for kind in (int, float, complex):
            with pytest.raises(TypeError, match="this one has 2"):
                kind(tf.constant([1, 2]))

    def test_copies_and_pickles(self):
        for x in (tf.constant([1.5, 2.5]), tf.constant(["a"]), tf.constant(3, tf.int64)):
            for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
                assert made.dtype == x.dtype and made.numpy().tolist() == x.numpy().tolist()

    def test_variables_too(self):
        v = tf.Variable([1.0, 2.0])
        assert np.asarray(v).tolist() == [1, 2] and np.asarray(v, np.int32).dtype == np.int32
        assert float(tf.Variable(2.5)) == 2.5 and int(tf.Variable(2)) == 2 and not tf.Variable(False)
        with tf.Graph().as_default():
            assert tf.Variable(False)
            with pytest.raises(NotImplementedError, match="numpy"):
                np.asarray(tf.Variable(1.0))

    def test_identity_is_equality(self):
        x, y = tf.constant(1.0), tf.constant(1.0)
        assert x == x and x != y and len({x, y, x}) == 2

    def test_control_flow_of_python(self):
        x = tf.constant(27)
        steps = 0
        while x > 1:
            x = x // 2 if x % 2 < 1 else 3 * x + 1
            steps += 1
        assert steps == 111

    def test_text(self):
        assert str(tf.constant(1.5)) == "tf.Tensor(1.5, shape=(), dtype=float32)"
        assert "shape=(2,), dtype=int32" in repr(tf.constant([1, 2]))
        assert tf.constant(1).device.endswith("device:CPU:0")


class TestNumpy:
    def test_values_are_copies(self):
        array = np.array([1.0, 2.0], np.float32)
        x = tf.constant(array)
        array[0] = 9
        out = x.numpy()
        out[1] = 9
        assert x.numpy().tolist() == [1.0, 2.0]

    def test_arrays(self):
        x = tf.constant([1.0, 2.0])
        assert np.sum(x) == 3.0
        assert np.asarray(x, np.float64).dtype == np.float64
        np.testing.assert_allclose(x, [1, 2])
        assert tf.convert_to_tensor(x) is x

    def test_bfloat16_and_complex(self):
        assert tf.cast(tf.constant(1.5), tf.bfloat16).dtype == tf.bfloat16
        assert tf.constant(1 + 2j).numpy() == 1 + 2j


class TestErrors:
    def test_shapes_do_not_fit(self):
        x = tf.ones([2, 3])
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            tf.matmul(x, x)
        text = str(e.value)
        assert "[Op:MatMul]" in text and "float32[2, 3], float32[2, 3]" in text and "test_tensor.py:" in text

    def test_operators_too(self):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Op:AddV2.*test_tensor.py"):
            tf.ones([2, 3])
            tf.ones([3]) + tf.ones([4])

    def test_dtypes_do_not_fit(self):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"int32.*test_tensor.py"):
            tf.constant(1.0) + tf.constant(1)
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.constant(1) + 1.5

    def test_the_second_call_fails_as_the_first(self):
        for _ in range(2):
            with pytest.raises(TypeError, match="Value passed to parameter"):
                tf.sqrt(tf.constant(1))

    def test_what_needs_a_graph(self):
        with pytest.raises(RuntimeError, match="not compatible with eager execution"):
            tf.placeholder(tf.float32)
        with pytest.raises(RuntimeError, match="GradientTape"):
            tf.gradients(tf.constant(1.0), tf.constant(1.0))

    def test_assertions(self):
        tf.assert_equal(tf.constant(1), 1)
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.assert_equal(tf.constant(1), 2)


class TestModes:
    def test_scopes(self):
        assert tf.executing_eagerly() and tf.executing_eagerly_outside_functions()
        with tf.Graph().as_default():
            assert not tf.executing_eagerly()
            y = tf.constant(1.0) + 1
            with tf.Session() as session:
                assert session.run(y) == 2.0
            with tf.eager_mode():
                assert (tf.constant(1.0) + 1).numpy() == 2.0
        assert tf.executing_eagerly()

    def test_neither_takes_the_others_tensors(self):
        x = tf.constant(1.0)
        with tf.Graph().as_default():
            y = tf.constant(1.0)
            with pytest.raises(RuntimeError, match="capture an EagerTensor"):
                tf.exp(x)
            with pytest.raises(RuntimeError, match="capture an EagerTensor"):
                x + y
        with pytest.raises(TypeError, match="belongs to a graph"):
            tf.exp(y)

    def test_threads_have_their_own_mode(self):
        seen = []

        def look():
            seen.append(tf.executing_eagerly())
            with tf.eager_mode():
                seen.append(float(tf.reduce_sum(tf.ones([10]))))

        run_threads(*[look] * 4)
        assert sorted(seen) == [False] * 4 + [10.0] * 4

    def test_control_flow_functions_run_python(self):
        assert tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2)).numpy() == 1
        i, total = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), (0, 0))
        assert (i.numpy(), total.numpy()) == (4, 6)
        assert tf.map_fn(lambda a: a * 2, tf.range(3)).numpy().tolist() == [0, 2, 4]


def test_enabling_for_the_whole_program():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="at program startup"):
        tf.enable_eager_execution()
    with pytest.raises(ValueError, match="device_policy"):
        tf.enable_eager_execution(device_policy="?")


def test_random_numbers_repeat_after_the_seed():
    def draw():
        tf.set_random_seed(7)
        return [tf.random_normal([3]).numpy().tolist() for _ in range(3)] + [
            tf.random_uniform([2], seed=1).numpy().tolist()
        ]

    first, again = draw(), draw()
    assert first == again and first[0] != first[1]


def test_an_op_seed_goes_on():
    assert tf.random_uniform([2], seed=3).numpy().tolist() != tf.random_uniform([2], seed=3).numpy().tolist()
