"""py_function in graphs and eagerly, and the metrics of contrib.eager."""

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.contrib import eager as tfe


def _clipped(x, limit):
    return x**2 if abs(float(x)) <= float(limit) else 2 * limit * tf.abs(x) - limit**2


class TestPyFunction:
    @pytest.mark.parametrize(("value", "want"), [(1.0, (1.0, 2.0)), (5.0, (16.0, 4.0)), (-5.0, (16.0, -4.0))])
    def test_in_a_graph(self, session, value, want):
        x = tf.placeholder(tf.float32, [])
        y = tf.py_function(_clipped, [x, 2.0], tf.float32)
        assert y.op.type == "EagerPyFunc" and y.shape.ndims is None
        slope = tf.gradients(3.0 * y, x)[0]
        for _ in range(2):
            np.testing.assert_allclose(session.run([y, slope], {x: value}), (want[0], 3 * want[1]))
            np.testing.assert_allclose(session.run(y, {x: value}), want[0])

    def test_the_function_is_called_once_a_step(self):
        calls = []

        def f(x):
            calls.append(1)
            return x * x, tf.cast(x, tf.int32), tf.constant("done")

        x = tf.constant(3.0)
        square, whole, text = tf.py_function(f, [x], [tf.float32, tf.int32, tf.string])
        found = run([square, whole, text, tf.gradients(square, x)[0]])
        assert found == [9.0, 3, b"done", 6.0] and len(calls) == 1

    def test_in_a_loop(self):
        x = tf.constant(2.0)
        end = tf.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, tf.reshape(tf.py_function(lambda v: v * v, [y], tf.float32), [])),
            [0, x],
        )[1]
        np.testing.assert_allclose(run([end, tf.gradients(end, x)[0]]), [256.0, 8 * 2.0**7])

    def test_at_once(self):
        with tf.eager_mode():
            x = tf.constant(5.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.py_function(_clipped, [x, tf.constant(2.0)], tf.float32)
            assert y.numpy() == 16.0 and tape.gradient(y, x).numpy() == 4.0
            assert tfe.py_func(lambda: None, [], []) == []

    def test_wrong(self):
        with pytest.raises(ValueError, match="callable"):
            tf.py_function(3, [], tf.float32)
        with tf.eager_mode(), pytest.raises(ValueError, match="returned 2 values, but Tout names 1"):
            tf.py_function(lambda: (1.0, 2.0), [], tf.float32)
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="returned 2 values"):
            session.run(tf.py_function(lambda: (1.0, 2.0), [], tf.float32))
        x = tf.constant(1.0)
        slope = tf.gradients(tf.py_function(lambda v: v * v, [x], tf.float32), x)[0]
        with pytest.raises(LookupError, match="second derivative"):
            tf.gradients(slope, x)


class TestMetrics:
    def test_mean(self):
        with tf.eager_mode():
            mean = tfe.metrics.Mean("m")
            assert [mean(v).numpy() for v in (1.0, 3.0)] == [1.0, 3.0]
            mean([10.0, 20.0], weights=[1.0, 0.0])
            assert mean.result().numpy() == pytest.approx(14 / 3) and mean.result().dtype == tf.float64
            assert [v.name for v in mean.variables] == ["m/numer:0", "m/denom:0"]
            mean.init_variables()
            mean(7)
            assert mean.result().numpy() == 7.0
            with pytest.raises(RuntimeError, match="build"):
                mean.add_variable("late")

    def test_accuracies(self):
        with tf.eager_mode():
            accuracy = tfe.metrics.Accuracy()
            accuracy([1, 2, 3, 4], [1, 0, 3, 4])
            accuracy([1], [1], weights=4.0)
            assert accuracy.result().numpy() == 7 / 8
            with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
                accuracy([1, 2, 3], [1, 2])
            scores = [[0.1, 0.9], [0.8, 0.2]]
            for metric, labels in (
                (tfe.metrics.CategoricalAccuracy(), [[0.0, 1.0], [0.0, 1.0]]),
                (tfe.metrics.SparseAccuracy(), [1, 1]),
            ):
                metric(labels, scores)
                assert metric.result().numpy() == 0.5
            binary = tfe.metrics.BinaryAccuracy(threshold=0.6)
            binary([1, 0, 1], [0.7, 0.9, 0.5])
            assert binary.result().numpy() == pytest.approx(1 / 3)

    def test_one_must_say_how(self):
        with tf.eager_mode():
            metric = tfe.metrics.Metric()
            with pytest.raises(NotImplementedError, match="Metric must define call"):
                metric(1)
            with pytest.raises(NotImplementedError, match="result"):
                metric.result()
