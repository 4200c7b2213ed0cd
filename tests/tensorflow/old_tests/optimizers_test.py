"""Optimizers against numpy, slots, sparse gradients, clipping, decayed rates and moving averages."""

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import constant_op
from tensorflow.python.framework import test_util
from tensorflow.python.ops import clip_ops
from tensorflow.python.training import adagrad
from tensorflow.python.training import adam
from tensorflow.python.training import ftrl
from tensorflow.python.training import gradient_descent
from tensorflow.python.training import learning_rate_decay
from tensorflow.python.training import momentum
from tensorflow.python.training import moving_averages
from tensorflow.python.training import rmsprop


class OptimizerTest(tf.test.TestCase):
    def _run(self, optimizer, steps=3, use_resource=False, dtype=tf.float32):
        """Variables after steps with constant gradients; one of two gets rows of it."""
        with tf.Graph().as_default(), self.session(use_gpu=True) as sess:
            dense = tf.Variable([1.0, 2.0], dtype=dtype, use_resource=use_resource)
            rows = tf.Variable([[3.0], [4.0], [5.0]], dtype=dtype, use_resource=use_resource)
            gradients = [
                (constant_op.constant([0.1, 0.2], dtype), dense),
                (
                    tf.IndexedSlices(
                        constant_op.constant([[0.3], [0.4]], dtype), tf.constant([0, 2]), tf.constant([3, 1])
                    ),
                    rows,
                ),
            ]
            update = optimizer().apply_gradients(gradients)
            sess.run(tf.global_variables_initializer())
            for _ in range(steps):
                sess.run(update)
            return sess.run([dense, rows])

    def _numpy(self, rule, steps=3):
        p = np.array([1.0, 2.0, 3.0, 5.0])
        g = np.array([0.1, 0.2, 0.3, 0.4])
        slots = {}
        for step in range(1, steps + 1):
            p = p - rule(p, g, slots, step)
        return p[:2], np.array([[p[2]], [4.0], [p[3]]])

    def testAgainstNumpy(self):
        def momentum_rule(p, g, s, t):
            s["m"] = 0.9 * s.get("m", 0) + g
            return 2.0 * s["m"]

        def nesterov_rule(p, g, s, t):
            s["m"] = 0.9 * s.get("m", 0) + g
            return 2.0 * (g + 0.9 * s["m"])

        def adagrad_rule(p, g, s, t):
            s["a"] = s.get("a", 0.1) + g * g
            return 3.0 * g / np.sqrt(s["a"])

        def adam_rule(p, g, s, t):
            s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
            s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
            return 0.01 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * s["m"] / (np.sqrt(s["v"]) + 1e-8)

        def rmsprop_rule(p, g, s, t):
            s["r"] = 0.9 * s.get("r", 1.0) + 0.1 * g * g
            s["m"] = 0.5 * s.get("m", 0) + 2.0 * g / np.sqrt(s["r"] + 1e-10)
            return s["m"]

        def adadelta_rule(p, g, s, t):
            s["a"] = 0.95 * s.get("a", 0) + 0.05 * g * g
            d = np.sqrt(s.get("d", 0) + 1e-8) / np.sqrt(s["a"] + 1e-8) * g
            s["d"] = 0.95 * s.get("d", 0) + 0.05 * d * d
            return d

        for build, rule in (
            (lambda: gradient_descent.GradientDescentOptimizer(3.0), lambda p, g, s, t: 3.0 * g),
            (lambda: momentum.MomentumOptimizer(2.0, 0.9), momentum_rule),
            (lambda: momentum.MomentumOptimizer(2.0, 0.9, use_nesterov=True), nesterov_rule),
            (lambda: adagrad.AdagradOptimizer(3.0), adagrad_rule),
            (lambda: rmsprop.RMSPropOptimizer(2.0, momentum=0.5), rmsprop_rule),
            (lambda: tf.train.AdadeltaOptimizer(1.0), adadelta_rule),
        ):
            for use_resource in False, True:
                expected = self._numpy(rule)
                for a, b in zip(expected, self._run(build, use_resource=use_resource)):
                    self.assertAllClose(a, b, rtol=1e-4, atol=1e-4)
        for dtype in tf.float32, tf.float64:  # Adam's sparse form decays all rows, the untouched one is zero
            for a, b in zip(self._numpy(adam_rule), self._run(lambda: adam.AdamOptimizer(0.01), dtype=dtype)):
                self.assertAllCloseAccordingToType(a.astype(dtype.as_numpy_dtype), b)
        dense, rows = self._run(
            lambda: ftrl.FtrlOptimizer(3.0, initial_accumulator_value=0.1, l1_regularization_strength=100.0)
        )
        self.assertAllEqual(np.zeros([2]), dense)
        self.assertAllEqual([[0.0], [4.0], [0.0]], rows)

    def testTensorsAsRates(self):
        rate = tf.placeholder_with_default(3.0, [])
        with self.cached_session() as sess:
            v = tf.Variable([1.0])
            step = gradient_descent.GradientDescentOptimizer(rate).minimize(tf.reduce_sum(v * 2.0))
            sess.run(tf.global_variables_initializer())
            sess.run(step)
            sess.run(step, {rate: 0.5})
            self.assertAllClose([1.0 - 6.0 - 1.0], sess.run(v))

    def testSlotsAndNames(self):
        v = tf.Variable([1.0, 2.0], name="weights")
        optimizer = adam.AdamOptimizer()
        step = tf.train.get_or_create_global_step()
        train = optimizer.minimize(tf.reduce_sum(v * v), global_step=step)
        self.assertEqual(["m", "v"], optimizer.get_slot_names())
        self.assertEqual("weights/Adam:0", optimizer.get_slot(v, "m").name)
        self.assertEqual("weights/Adam_1:0", optimizer.get_slot(v, "v").name)
        self.assertFalse(optimizer.get_slot(v, "m") in tf.trainable_variables())
        self.assertEqual(["beta1_power:0", "beta2_power:0"], sorted(v.name for v in optimizer.variables())[:2])
        self.assertEqual("Adam", train.name)
        with self.cached_session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(train)
            self.assertAllEqual(1, sess.run(step))
            self.assertAllClose([0.2, 0.4], sess.run(optimizer.get_slot(v, "m")))

    def testErrors(self):
        optimizer = gradient_descent.GradientDescentOptimizer(1.0)
        with self.assertRaisesRegexp(ValueError, "No variables to optimize|No variables"):
            optimizer.minimize(tf.constant(1.0))
        v, w = tf.Variable(1.0), tf.Variable(1.0)
        with self.assertRaisesRegexp(ValueError, "No gradients provided for any variable"):
            optimizer.minimize(w * 2.0, var_list=[v])
        with self.assertRaisesRegexp(TypeError, "Gradient must be a Tensor|must be convertible"):
            optimizer.apply_gradients([([object()], v)])
        with self.assertRaisesRegexp(ValueError, "gate_gradients must be one of"):
            optimizer.minimize(v * 1.0, gate_gradients=7)
        integer = tf.Variable(1)
        with self.assertRaisesRegexp(ValueError, "Invalid type|No gradients provided"):
            optimizer.minimize(tf.cast(integer, tf.float32), var_list=[integer])


class ClipTest(tf.test.TestCase):
    def testByValueAndNorm(self):
        x = np.array([[-3.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
        with self.test_session(use_gpu=True) as sess:
            t = tf.constant(x)
            self.assertAllClose(np.clip(x, -2, 1), sess.run(clip_ops.clip_by_value(t, -2.0, 1.0)))
            self.assertAllClose(x * 4.0 / 5.0, sess.run(clip_ops.clip_by_norm(t, 4.0)))
            self.assertAllClose(x, sess.run(clip_ops.clip_by_norm(t, 6.0)))
            self.assertAllClose([[-2.0, 0, 0], [2.0, 0, 0]], sess.run(clip_ops.clip_by_norm(t, 2.0, axes=[1])))
            self.assertAllClose(x * 0.6, sess.run(clip_ops.clip_by_average_norm(tf.constant(x, tf.float32), 0.5)))
            gradient = tf.gradients(clip_ops.clip_by_value(t, -2.0, 1.0), t)[0]
            self.assertAllClose([[0, 1, 1], [0, 1, 1]], sess.run(gradient))
        with self.assertRaises((ValueError, tf.errors.InvalidArgumentError)):
            clip_ops.clip_by_value(t, tf.zeros([4, 5], tf.float64), 1.0).op

    def testGlobalNorm(self):
        with self.test_session(use_gpu=True) as sess:
            x0, x1 = tf.constant([[-2.0, 0.0, 0.0], [4.0, 0.0, 0.0]]), tf.constant([1.0, -2.0])
            slices = tf.IndexedSlices(x1, tf.constant([3, 4]))
            clipped, norm = clip_ops.clip_by_global_norm([x0, None, slices], 4.0)
            self.assertIs(None, clipped[1])
            self.assertIsInstance(clipped[2], tf.IndexedSlices)
            self.assertAllClose(5.0, sess.run(norm))
            self.assertAllClose([[-1.6, 0, 0], [3.2, 0, 0]], sess.run(clipped[0]))
            self.assertAllClose([0.8, -1.6], sess.run(clipped[2].values))
            bad, _ = clip_ops.clip_by_global_norm([x0, tf.constant([np.inf])], 4.0)
            self.assertTrue(np.isnan(sess.run(bad[1])).all())
        with self.assertRaisesRegexp(TypeError, "t_list should be a sequence|`t_list` .*sequence"):
            clip_ops.clip_by_global_norm(x0, 1.0)


class DecayTest(tf.test.TestCase):
    @test_util.run_deprecated_v1
    def testDecays(self):
        step = tf.placeholder(tf.int32, [])
        for build, rule in (
            (lambda: learning_rate_decay.exponential_decay(0.1, step, 10, 0.96), lambda s: 0.1 * 0.96 ** (s / 10.0)),
            (
                lambda: learning_rate_decay.exponential_decay(0.1, step, 10, 0.96, staircase=True),
                lambda s: 0.1 * 0.96 ** (s // 10),
            ),
            (
                lambda: learning_rate_decay.polynomial_decay(0.1, step, 20, 0.01, 2.0),
                lambda s: 0.09 * (1 - min(s, 20) / 20.0) ** 2 + 0.01,
            ),
            (lambda: learning_rate_decay.inverse_time_decay(0.1, step, 10, 0.5), lambda s: 0.1 / (1 + 0.5 * s / 10.0)),
            (
                lambda: learning_rate_decay.cosine_decay(0.1, step, 20),
                lambda s: 0.05 * (1 + np.cos(np.pi * min(s, 20) / 20.0)),
            ),
            (
                lambda: learning_rate_decay.piecewise_constant(step, [5, 15], [1.0, 0.5, 0.1]),
                lambda s: 1.0 if s <= 5 else 0.5 if s <= 15 else 0.1,
            ),
        ):
            with self.cached_session() as sess:
                rate = build()
                for s in 0, 5, 6, 19, 30:
                    self.assertAllClose(rule(s), sess.run(rate, {step: s}), rtol=1e-5)
        with self.assertRaisesRegexp(ValueError, "global_step is required|None values not supported"):
            learning_rate_decay.exponential_decay(0.1, None, 10, 0.96)


class MovingAverageTest(tf.test.TestCase):
    @test_util.run_deprecated_v1
    def testExponentialMovingAverage(self):
        with self.cached_session() as sess:
            v, step = tf.Variable([10.0, 20.0], name="v"), tf.Variable(0, trainable=False)
            thing = tf.identity(v * 2.0, name="thing")
            ema = moving_averages.ExponentialMovingAverage(0.25, num_updates=None, zero_debias=False)
            update = ema.apply([v, thing])
            self.assertEqual("v/ExponentialMovingAverage", ema.average_name(v))
            self.assertEqual("thing/ExponentialMovingAverage", ema.average(thing).op.name)
            sess.run(tf.global_variables_initializer())
            self.assertAllClose([[10, 20], [0, 0]], sess.run([ema.average(v), ema.average(thing)]))
            sess.run(v.assign([20.0, 40.0]))
            sess.run(update)
            self.assertAllClose([17.5, 35.0], sess.run(ema.average(v)))
            self.assertAllClose([30.0, 60.0], sess.run(ema.average(thing)))
            self.assertIs(None, ema.average(step))
            restored = ema.variables_to_restore()
            self.assertIn("v/ExponentialMovingAverage", restored)
        with self.assertRaises(TypeError):
            moving_averages.ExponentialMovingAverage(0.5).apply([tf.constant(1)])

    @test_util.run_deprecated_v1
    def testAssignMovingAverage(self):
        for zero_debias in False, True:
            with tf.Graph().as_default(), self.session() as sess:
                with tf.variable_scope("scope"):
                    v = tf.Variable([10.0, 11.0])
                    out = moving_averages.assign_moving_average(
                        v, tf.constant([1.0, 2.0]), 0.25, zero_debias=zero_debias
                    )
                    sess.run(tf.global_variables_initializer())
                    sess.run(out)
                    expected = [1.0, 2.0] if zero_debias else [3.25, 4.25]
                    self.assertAllClose(expected, sess.run(v), rtol=1e-5)

    @test_util.run_deprecated_v1
    def testWeightedMovingAverage(self):
        with self.cached_session() as sess:
            value, weight = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [])
            average = moving_averages.weighted_moving_average(value, 0.5, weight)
            sess.run(tf.global_variables_initializer())
            self.assertAllClose([2.0, 4.0], sess.run(average, {value: [2.0, 4.0], weight: 1.0}))
            expected = (0.5 * 1.0 * np.array([2.0, 4.0]) * 0.5 + 0.5 * 3.0 * np.array([4.0, 8.0])) / (0.25 + 1.5)
            self.assertAllClose(expected, sess.run(average, {value: [4.0, 8.0], weight: 3.0}))


if __name__ == "__main__":
    tf.test.main()
