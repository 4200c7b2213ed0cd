"""TensorArray, map_fn, foldl, foldr, scan."""

import numpy as np
import pytest
from running import initialize_and_run as run

import headrace as tf


def check_gradient(y, x, value):
    """The gradient of sum(y ** 2) against finite differences, in float64."""
    loss = tf.reduce_sum(y * y)
    g = tf.gradients(loss, x)[0]
    with tf.Session() as session:
        got = session.run(g, {x: value})
        expected = np.zeros_like(value)
        for i in np.ndindex(*value.shape):
            step = np.zeros_like(value)
            step[i] = 1e-6
            high, low = (session.run(loss, {x: value + s * step}) for s in (1, -1))
            expected[i] = (high - low) / 2e-6
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)


class TestArray:
    def test_write_and_read(self):
        a = tf.TensorArray(tf.float32, 3).write(0, [1.0, 2.0]).write(2, [3.0, 4.0])
        assert run([a.read(0), a.read(2), a.size()])[0].tolist() == [1, 2]
        assert run(a.stack()).tolist() == [[1, 2], [0, 0], [3, 4]]  # what was not written is zero

    def test_an_older_object_keeps_its_value(self):
        a = tf.TensorArray(tf.int32, 2, element_shape=[]).write(0, 1)
        b = a.write(1, 2)
        c = a.write(1, 3)
        assert [v.tolist() for v in run([b.stack(), a.stack(), c.stack()])] == [[1, 2], [1, 0], [1, 3]]

    def test_static_shapes(self):
        a = tf.TensorArray(tf.float32, 3).write(0, [1.0, 2.0])
        assert (a.element_shape.as_list(), a.read(0).shape.as_list()) == ([2], [2])
        assert (a.stack().shape.as_list(), a.concat().shape.as_list()) == ([3, 2], [6])
        assert a.gather([0, 1]).shape.as_list() == [2, 2]

    def test_names(self):
        a = tf.TensorArray(tf.float32, 3).write(0, 1.0)
        assert a.flow.op.name == "TensorArrayWrite/TensorArrayWriteV3"
        assert a.read(0).name == "TensorArrayReadV3:0"
        assert a.stack().name == "TensorArrayStack/TensorArrayGatherV3:0"

    def test_unstack_scatter_gather(self):
        x = tf.constant([[1, 2], [3, 4], [5, 6]])
        a = tf.TensorArray(tf.int32, 3).unstack(x)
        assert run(a.gather([2, 0])).tolist() == [[5, 6], [1, 2]]
        b = tf.TensorArray(tf.int32, 4).scatter([3, 1, 0], x)
        assert run(b.stack()).tolist() == [[5, 6], [3, 4], [0, 0], [1, 2]]

    def test_split_concat(self):
        x = tf.reshape(tf.range(10), [5, 2])
        a = tf.TensorArray(tf.int32, 2, infer_shape=False).split(x, [2, 3])
        assert run(a.read(1)).tolist() == [[4, 5], [6, 7], [8, 9]]
        assert run(a.concat()).tolist() == run(x).tolist()

    def test_dynamic_size(self):
        a = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[]).write(2, 5.0)
        assert run(a.size()) == 3
        assert run(a.stack()).tolist() == [0, 0, 5]

    def test_empty(self):
        assert run(tf.TensorArray(tf.float32, 0, element_shape=[2]).stack()).shape == (0, 2)

    def test_identity_and_close(self):
        a = tf.TensorArray(tf.float32, 1).write(0, 1.0).identity()
        assert run([a.read(0), a.close()]) == [1.0, None]

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (
                lambda: tf.TensorArray(tf.float32, 3).read(0),
                "Could not read from TensorArray index 0.  Furthermore, the element shape is not fully defined: <unknown>",
            ),
            (
                lambda: tf.TensorArray(tf.float32, 3, tensor_array_name="foo").write(0, "text").flow,
                "TensorArray dtype is float but Op is trying to write dtype string",
            ),
            (
                lambda: tf.TensorArray(tf.float32, 3).write(tf.placeholder_with_default([1], None), 1.0).flow,
                r"TensorArray index must be scalar, but had shape: \[1\]",
            ),
            (
                lambda: tf.TensorArray(tf.float32, 3).split([1.0], tf.placeholder_with_default(1, None)).flow,
                r"Expected lengths to be a vector, received shape: \[\]",
            ),
            (
                lambda: tf.TensorArray(tf.float32, 3).split(tf.placeholder_with_default(1.0, None), [1]).flow,
                r"Expected value to be at least a vector, but received shape: \[\]",
            ),
            (
                lambda: tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [[1.0]]).concat(),
                r"TensorArray has inconsistent shapes.  Index 0 has \(excepting dimension 0\) shape: \[\] but index 1 has",
            ),
            (
                lambda: tf.TensorArray(tf.float32, 1).write(0, 1.0).concat(),
                "Concat saw a scalar shape at index 0 but requires at least vectors.  Did you mean to call pack?",
            ),
            (
                lambda: tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, 1.0).stack(),
                r"TensorArray has inconsistent shapes.  Index 0 has shape: \[1\] but index 1 has shape: \[\]",
            ),
            (lambda: tf.TensorArray(tf.float32, -1).flow, "Size should be >= 0"),
            (
                lambda: tf.TensorArray(tf.float32, 3).write(0, 1.0).read(5),
                "Tried to read from index 5 but array size is: 3",
            ),
            (
                lambda: tf.TensorArray(tf.float32, 3).write(4, 1.0).flow,
                "Tried to write to index 4 but array is not resizeable",
            ),
            (lambda: tf.TensorArray(tf.float32, 3).write(0, 1.0).write(0, 2.0).flow, "has already been written to"),
            (lambda: tf.TensorArray(tf.float32, 2).write(-1, 1.0).flow, "Tried to write to index -1"),
            (
                lambda: tf.TensorArray(tf.float32, 3).unstack(tf.zeros([5])).flow,
                r"Max scatter index must be < array size \(4 vs. 3\)",
            ),
            (lambda: tf.TensorArray(tf.float32, 2).split(tf.zeros([5]), [1, 2]).flow, "Expected sum of lengths"),
        ],
    )
    def test_errors_of_running(self, make, message):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(make().op)

    def test_errors_of_building(self):
        with pytest.raises(ValueError, match="`size` must be provided"):
            tf.TensorArray(tf.float32)
        with pytest.raises(ValueError, match="Inconsistent shapes: saw"):
            tf.TensorArray(tf.float32, 2).write(0, [1.0]).write(1, [1.0, 2.0])
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
            tf.TensorArray(tf.float32, 2).write([0], 1.0)
        with pytest.raises(ValueError, match="Shape must be rank 1 but is rank 0"):
            tf.TensorArray(tf.float32, 2).split([1.0, 2.0], 1)

    def test_an_empty_array_needs_the_shape_of_its_elements(self):
        for join in (tf.TensorArray.stack, tf.TensorArray.concat):
            with pytest.raises(tf.errors.UnimplementedError, match="TensorArray has size zero, but element"):
                run(join(tf.TensorArray(tf.float32, 0)))
        assert run(tf.TensorArray(tf.float32, 0, element_shape=[None, 2]).concat()).shape == (0, 2)


class TestGradients:
    X = np.array([[0.5, -0.3], [0.8, 0.1], [-0.2, 0.9]])

    @pytest.mark.parametrize(
        "function",
        [
            lambda x: tf.TensorArray(tf.float64, 2).write(0, x[0] * x[1]).write(1, x[2]).stack(),
            lambda x: tf.TensorArray(tf.float64, 3).write(1, x[0] * x[1]).stack(),
            lambda x: tf.TensorArray(tf.float64, 3).unstack(x * x).gather([2, 0, 2]),
            lambda x: tf.TensorArray(tf.float64, 3).unstack(x * x).read(1),
            lambda x: tf.TensorArray(tf.float64, 4).scatter([3, 0, 1], x * x).stack(),
            lambda x: tf.TensorArray(tf.float64, 2, infer_shape=False).split(x * x, [1, 2]).read(1),
            lambda x: tf.TensorArray(tf.float64, 2, infer_shape=False).write(0, x[:1]).write(1, x[1:] * x[:2]).concat(),
            lambda x: tf.TensorArray(tf.float64, 2, infer_shape=False).split(x * x, [1, 2]).concat() * x,
        ],
    )
    def test_of_methods(self, function):
        x = tf.placeholder(tf.float64, [3, 2])
        check_gradient(function(x), x, self.X)

    def test_of_a_loop_that_writes_and_reads(self):
        x = tf.placeholder(tf.float64, [3, 2])
        source = tf.TensorArray(tf.float64, 3).unstack(x)

        def body(i, last, out):
            value = tf.tanh(last * source.read(i)) + source.read(0)
            return i + 1, value, out.write(i, value * last)

        _, last, out = tf.while_loop(lambda i, *_: i < 3, body, (0, x[0], tf.TensorArray(tf.float64, 3)))
        check_gradient(tf.concat([out.stack(), last[None]], 0), x, self.X)

    def test_second_order(self):
        x = tf.placeholder(tf.float64, [3, 2])
        y = tf.map_fn(lambda row: tf.sin(row) * tf.reduce_sum(row), x)
        check_gradient(tf.gradients(y, x)[0], x, self.X)


class TestHigherOrder:
    X = np.array([[0.5, -0.3], [0.8, 0.1], [-0.2, 0.9]])

    def test_map_fn(self):
        x = tf.constant([[1, 2], [3, 4]])
        assert run(tf.map_fn(lambda r: r * r, x)).tolist() == [[1, 4], [9, 16]]
        both = tf.map_fn(lambda r: (r + 1, tf.to_float(tf.reduce_sum(r))), x, dtype=(tf.int32, tf.float32))
        assert [v.tolist() for v in run(both)] == [[[2, 3], [4, 5]], [3, 7]]
        pair = tf.map_fn(lambda ab: ab["a"] * ab["b"], {"a": x, "b": x}, dtype=tf.int32)
        assert run(pair).tolist() == [[1, 4], [9, 16]]

    def test_map_fn_of_unknown_length(self):
        x = tf.placeholder(tf.float32, [None, 2])
        y = tf.map_fn(lambda r: tf.reduce_sum(r), x)
        assert y.shape.as_list() == [None]
        assert run(y, {x: np.ones([4, 2])}).tolist() == [2, 2, 2, 2]
        assert run(y, {x: np.ones([0, 2])}).shape == (0,)

    def test_folds(self):
        x = tf.constant([1.0, 2.0, 3.0])
        assert run(tf.foldl(lambda a, r: a - r, x)) == -4
        assert run(tf.foldr(lambda a, r: a - r, x)) == 0
        assert run(tf.foldl(lambda a, r: a * 2 + r, x, initializer=1.0)) == 19
        assert run(tf.foldr(lambda a, r: a * 2 + r, x, initializer=1.0)) == 25

    def test_scan(self):
        x = tf.constant([1.0, 2.0, 3.0])
        assert run(tf.scan(lambda a, r: a + r, x)).tolist() == [1, 3, 6]
        assert run(tf.scan(lambda a, r: a + r, x, initializer=10.0)).tolist() == [11, 13, 16]
        assert run(tf.scan(lambda a, r: a + r, x, reverse=True)).tolist() == [6, 5, 3]
        assert run(tf.scan(lambda a, r: a * r, x, initializer=2.0, reverse=True)).tolist() == [12, 12, 6]
        fibonacci = tf.scan(lambda ab, _: (ab[1], ab[0] + ab[1]), tf.range(6), initializer=(0, 1))
        assert run(fibonacci[0]).tolist() == [1, 1, 2, 3, 5, 8]

    def test_names(self):
        x = tf.zeros([4, 2])
        assert tf.map_fn(lambda r: r, x).name == "map/TensorArrayStack/TensorArrayGatherV3:0"
        assert tf.scan(lambda a, r: r, x).name == "scan/TensorArrayStack/TensorArrayGatherV3:0"
        assert tf.foldl(lambda a, r: r, x).name == "foldl/while/Exit_2:0"
        assert tf.map_fn(lambda r: r, x).shape.as_list() == [4, 2]

    @pytest.mark.parametrize(
        "function",
        [
            lambda x: tf.map_fn(lambda r: tf.sin(r) * r, x),
            lambda x: tf.foldl(lambda a, r: tf.sin(a) * r, x),
            lambda x: tf.foldr(lambda a, r: a * r + 1.0, x, initializer=tf.ones([2], tf.float64)),
            lambda x: tf.scan(lambda a, r: a * r + r, x, initializer=x[0]),
            lambda x: tf.scan(lambda a, r: a * r + r, x, reverse=True),
        ],
    )
    def test_gradients(self, function):
        x = tf.placeholder(tf.float64, [3, 2])
        check_gradient(function(x), x, self.X)

    def test_weights_shared_by_all_rows(self):
        x = tf.placeholder(tf.float64, [3, 2])
        y = tf.map_fn(lambda r: tf.reduce_sum(tf.tanh(r * x)), x)
        check_gradient(y, x, self.X)

    def test_errors(self):
        with pytest.raises(TypeError, match="fn must be callable"):
            tf.map_fn(3, tf.zeros([2]))
        with pytest.raises(ValueError, match="not scalars"):
            tf.map_fn(lambda r: r, tf.constant(1))
        with pytest.raises((TypeError, ValueError), match="nested structure"):
            tf.map_fn(lambda r: (r, r), tf.zeros([2]))


class TestAtOnce:
    @pytest.fixture(autouse=True)
    def at_once(self):
        with tf.eager_mode():
            yield

    def test_a_write_changes_the_object(self):
        ta = tf.TensorArray(tf.float32, 2)
        assert ta.write(0, 1.0) is ta
        ta.write(1, 2.0)
        assert ta.stack().numpy().tolist() == [1, 2]

    @pytest.mark.parametrize("use", [
        lambda ta: ta.write(2, 1.0), lambda ta: ta.write(-1, 1.0), lambda ta: ta.read(2), lambda ta: ta.read(-1),
        lambda ta: ta.scatter([0, 5], [1.0, 2.0]), lambda ta: ta.gather([5]),
    ])  # fmt: skip
    def test_indices_outside(self, use):
        with pytest.raises(tf.errors.OutOfRangeError, match="size is: 2"):
            use(tf.TensorArray(tf.float32, 2, element_shape=[]))

    def test_gradients(self):
        x = tf.constant([1.0, 2.0, 3.0])
        for _ in range(3):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    ta = tf.TensorArray(tf.float32, 3).unstack(x * x)
                    y = tf.reduce_sum(ta.read(1) * ta.stack()) + tf.TensorArray(tf.float32, 1).write(0, x[0]).read(0)
                slope = tape.gradient(y, x)
            assert slope.numpy().tolist() == [9, 72, 24]
            assert outer.gradient(slope, x).numpy().tolist() == [16, 100, 32]


def test_shapes_that_do_not_fit_are_errors_when_running(session: tf.Session) -> None:
    lengths = tf.placeholder(tf.int64)
    mixed = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [[2.0]]).concat()
    split = tf.TensorArray(tf.float32, 1, infer_shape=False).split([[1.0]], lengths).read(0)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"inconsistent shapes.  Index 0 .* \[\] but index 1 .* \[1\]"
    ):
        session.run(mixed)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"lengths to be a vector, received shape: \[1, 1\]"):
        session.run(split, {lengths: [[1]]})
