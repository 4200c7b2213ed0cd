"""Gradients on tapes: what is remembered of rules, what is not computed, and the values that were read."""

import gc

import numpy as np
import pytest

import headrace as tf
from headrace.eager.tape_entry import active
from headrace.eager.tensor import EagerTensor


class Watcher:
    """Stands among the tapes and notes the ops."""

    tracked = None

    def __init__(self):
        self.seen = []

    def see(self, bound, inputs, outputs):
        self.seen.append(bound.op_def.name)

    def accessed(self, handle):
        pass

    def __enter__(self):
        self.token = active.set((*active.get(), self))
        return self

    def __exit__(self, *error):
        active.reset(self.token)


def _net(x, w, b):
    hidden = tf.nn.relu(tf.matmul(x, w) + b)
    return tf.reduce_mean(tf.square(hidden - tf.reduce_max(hidden, 1, keepdims=True))) + tf.reduce_sum(x[0] * 2.0)


class TestRemembered:
    @pytest.mark.parametrize("rows", [2, 3, 2, 5])
    def test_agrees_with_a_graph_for_all_shapes(self, rows):
        values = [
            np.random.default_rng(i).normal(size=s).astype(np.float32) for i, s in enumerate([(rows, 3), (3, 4), (4,)])
        ]
        for _ in range(3):
            tensors = [tf.constant(v) for v in values]
            with tf.GradientTape() as tape:
                tape.watch(tensors)
                y = _net(*tensors)
            have = tape.gradient(y, tensors)
            with tf.Graph().as_default(), tf.Session() as session:
                tensors = [tf.constant(v) for v in values]
                want = session.run(tf.gradients(_net(*tensors), tensors))
            for a, b in zip(have, want, strict=True):
                np.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-6)

    def test_weights_that_broadcast(self):
        x = tf.constant([1.0, 2.0])
        for weights in ([1.0, 1.0], 3.0, [2.0, 5.0]):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            got = tape.gradient(y, x, output_gradients=tf.constant(weights)).numpy()
            np.testing.assert_array_equal(got, np.array([2.0, 4.0]) * weights)

    def test_only_what_is_asked_for(self):
        a, b = tf.constant(np.ones((2, 2), np.float32)), tf.constant(np.ones((2, 2), np.float32))
        counts = []
        for sources in ([a, b], [a], [a]):
            with tf.GradientTape() as tape:
                tape.watch([a, b])
                y = tf.matmul(a, b)
            with Watcher() as watcher:
                tape.gradient(y, sources)
            counts.append(watcher.seen.count("MatMul"))
        assert counts[1:] == [1, 1] and counts[0] >= 2

    def test_an_axis_given_as_a_tensor(self):
        x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
        for axis in (0, 1, 0):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.square(tf.reduce_sum(x, tf.constant(axis))))
            want = np.broadcast_to(2 * x.numpy().sum(axis, keepdims=True), (2, 3))
            np.testing.assert_array_equal(tape.gradient(y, x).numpy(), want)

    def test_second_order_through_remembered_rules(self):
        x = tf.constant([1.0, 2.0])
        for _ in range(3):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = tf.reduce_sum(x * x * x)
                slope = inner.gradient(y, x)
            np.testing.assert_allclose(outer.gradient(slope, x).numpy(), [6.0, 12.0])


class TestVariables:
    def test_the_value_that_was_read_counts(self):
        w = tf.Variable(3.0)
        for _ in range(2):
            w.assign(3.0)
            with tf.GradientTape() as tape:
                y = w * w
                w.assign(10.0)
                z = y * w
            np.testing.assert_allclose(tape.gradient(z, w).numpy(), 10 * 6 + 9)

    def test_several_reads_and_watching_by_hand(self):
        w = tf.Variable([1.0, 2.0])
        with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            unwatched = tf.reduce_sum(w * w)
            tape.watch(w)
            y = tf.reduce_sum(w * w) + tf.reduce_sum(tf.exp(w) * 0.0)
        assert tape.gradient(unwatched, w) is None
        np.testing.assert_array_equal(tape.gradient(y, w).numpy(), [2.0, 4.0])
        assert tape.watched_variables() == (w,)

    def test_updates_after_the_gradient_are_in_place(self):
        w = tf.Variable(np.ones((4, 4), np.float32))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.matmul(w, w))
        grad = tape.gradient(y, w)
        del y
        buffer = w._variable._value.value.data_ptr()
        tf.train.GradientDescentOptimizer(0.1).apply_gradients([(grad, w)])
        assert w._variable._value.value.data_ptr() == buffer

    def test_a_read_is_a_snapshot(self):
        v = tf.Variable([1.0])
        before = v.read_value()
        v.assign_add([1.0])
        assert before.numpy() == [1.0] and v.numpy() == [2.0]


class TestJacobian:
    def test_batch(self):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x * tf.constant([[1.0], [10.0]])
            z = tf.reshape(tf.concat([x, x], 1), [2, 2, 2])
        got = tape.batch_jacobian(y, x).numpy()
        np.testing.assert_array_equal(got, [[[2, 0], [0, 4]], [[60, 0], [0, 80]]])
        assert tape.batch_jacobian(z, x).shape.as_list() == [2, 2, 2, 2]

    def test_batch_once_and_wrong_shapes(self):
        x = tf.constant([[1.0, 2.0]])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        assert tape.batch_jacobian(y, x).shape.as_list() == [1, 2, 2]
        with pytest.raises(RuntimeError, match="once"):
            tape.batch_jacobian(y, x)
        with pytest.raises(ValueError, match=r"first dimension.*\(2,\).*test_backprop.py"):
            tf.GradientTape().batch_jacobian(tf.constant([1.0, 2.0]), x)


def test_thousands_of_steps_leave_nothing_behind():
    w, x = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.5, -0.5]])
    optimizer = tf.train.GradientDescentOptimizer(1e-6)

    def steps(count):
        for _ in range(count):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])

    def alive():
        gc.collect()
        return sum(issubclass(type(o), EagerTensor) for o in gc.get_objects()), len(gc.get_objects())

    steps(10)
    tensors, objects = alive()
    steps(2_000)
    after_tensors, after_objects = alive()
    assert after_tensors <= tensors and after_objects < objects + 100


class TestNumbersOnTheHost:
    """Axes of a remembered call are kept as numbers, and its gradient is remembered by them."""

    @pytest.mark.parametrize("reduce", [tf.reduce_sum, tf.reduce_mean, tf.reduce_max])
    def test_reductions_along_different_axes(self, reduce):
        rng = np.random.default_rng(0)
        for shape, axis in [((3, 4), None), ((3, 4), 0), ((3, 4), 1), ((4, 3), None), ((2, 3, 4), [0, 2])] * 2:
            value = rng.normal(size=shape).astype(np.float32)
            with tf.eager_mode():
                x = tf.constant(value)
                with tf.GradientTape() as outer:
                    outer.watch(x)
                    with tf.GradientTape() as tape:
                        tape.watch(x)
                        y = tf.reduce_sum(tf.square(reduce(x, axis)))
                    first = tape.gradient(y, x)
                second = outer.gradient(first, x)
            with tf.Graph().as_default(), tf.Session() as session:
                x = tf.constant(value)
                want = tf.gradients(tf.reduce_sum(tf.square(reduce(x, axis))), x)[0]
                again = session.run([want, tf.gradients(want, x)[0]])
            np.testing.assert_allclose(first.numpy(), again[0], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(second.numpy(), again[1], rtol=1e-5, atol=1e-6)

    def test_the_record_has_them_as_tensors(self):
        seen = []

        @tf.RegisterGradient("TestAxesOfSum")
        def _(op, grad):
            seen.append(op.inputs[1].numpy().tolist())
            return tf.broadcast_to(tf.reshape(grad, [1, 1]), [3, 4]), None

        with tf.eager_mode():
            x = tf.ones([3, 4])
            tf.reduce_sum(x), tf.reduce_sum(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(x)
            (made,) = tape.entries
            assert made.inputs[1].numpy().tolist() == [0, 1]
            assert made.inputs[1].dtype == tf.int32 and made.inputs[1].shape.as_list() == [2]
            np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.ones((3, 4)))
            with tf.get_default_graph().gradient_override_map({"Sum": "TestAxesOfSum"}), tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(x)
            np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.ones((3, 4)))
        assert seen == [[0, 1]]
