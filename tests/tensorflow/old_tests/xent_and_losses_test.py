"""Softmax, cross entropies and tf.losses."""

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import errors_impl
from tensorflow.python.framework import test_util
from tensorflow.python.ops import gen_nn_ops
from tensorflow.python.ops import gradient_checker
from tensorflow.python.ops.losses import losses
from tensorflow.python.ops.losses import util


def _softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


class SoftmaxTest(tf.test.TestCase):
    def testValues(self):
        for dtype in np.float16, np.float32, np.float64:
            x = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]]).astype(dtype)
            with self.test_session(use_gpu=True):
                for axis in -1, 0, 1:
                    self.assertAllCloseAccordingToType(_softmax(x, axis), tf.nn.softmax(x, axis=axis).eval())
                self.assertAllCloseAccordingToType(np.log(_softmax(x)), tf.nn.log_softmax(x).eval())
        with self.test_session(use_gpu=True):
            big = np.array([[1e30, -1e30], [-1000.0, 1000.0]], np.float32)
            self.assertAllClose([[1, 0], [0, 1]], tf.nn.softmax(big).eval())
            self.assertAllEqual(np.zeros([0, 3]), tf.nn.softmax(np.zeros([0, 3], np.float32)).eval())

    def testShapesAndErrors(self):
        x = tf.placeholder(tf.float32)
        self.assertIs(None, tf.nn.softmax(x).get_shape().ndims)
        self.assertEqual(
            [None, 3, 2], tf.nn.softmax(tf.placeholder(tf.float32, [None, 3, 2]), axis=1).get_shape().as_list()
        )
        with self.test_session(use_gpu=True):
            value = np.random.RandomState(0).rand(2, 3, 2)
            self.assertAllClose(_softmax(value), tf.nn.softmax(x).eval({x: value}))
        with self.assertRaises((ValueError, errors_impl.InvalidArgumentError)):
            tf.nn.softmax(tf.zeros([2, 3]), axis=2).op

    def testGradients(self):
        x_init = np.random.RandomState(1).rand(3, 4)
        with self.test_session():
            x = tf.constant(x_init)
            for y in tf.nn.softmax(x), tf.nn.log_softmax(x), tf.nn.softmax(x, axis=0):
                self.assertLess(
                    gradient_checker.compute_gradient_error(x, [3, 4], y, [3, 4], x_init_value=x_init), 1e-6
                )


class CrossEntropyTest(tf.test.TestCase):
    def testDense(self):
        for dtype in np.float32, np.float64:
            logits = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]], dtype)
            labels = np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.5, 0.5, 0.0]], dtype)
            expected = -(labels * np.log(_softmax(logits))).sum(1)
            with self.test_session(use_gpu=True) as sess:
                loss, backprop = gen_nn_ops.softmax_cross_entropy_with_logits(logits, labels)
                loss_value, backprop_value = sess.run([loss, backprop])
                self.assertAllCloseAccordingToType(expected, loss_value)
                self.assertAllCloseAccordingToType(_softmax(logits) - labels, backprop_value)
                for axis, flip in (-1, False), (0, True):
                    x, y = (logits.T, labels.T) if flip else (logits, labels)
                    out = tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x, axis=axis)
                    self.assertAllCloseAccordingToType(expected, sess.run(out))

    def testLabelsGetGradientsInTheSecondVersionOnly(self):
        labels, logits = tf.constant([[0.2, 0.8]]), tf.constant([[1.0, 2.0]])
        old = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        new = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
        self.assertIs(None, tf.gradients(old, labels)[0])
        with self.cached_session():
            self.assertAllClose(-np.log(_softmax(np.array([[1.0, 2.0]]))), tf.gradients(new, labels)[0].eval())

    def testSecondGradient(self):
        logits_init = np.array([0.1, 0.2, 0.3, 0.4, 0.1, 0.4, 0.9, 1.6]).reshape(2, 4)
        labels = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]])
        with self.cached_session() as sess:
            logits = tf.constant(logits_init)
            x = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_sum(x)
            gradient = tf.gradients(loss, [logits])[0]
            error = gradient_checker.compute_gradient_error(logits, [2, 4], gradient, [2, 4], x_init_value=logits_init)
            self.assertLess(error, 1e-7)
            hessian = sess.run(tf.hessians(loss, [logits])[0])
            self.assertEqual((2, 4, 2, 4), hessian.shape)

    def testSparse(self):
        logits = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 1.0]], np.float32)
        for label_dtype in np.int32, np.int64:
            with self.test_session(use_gpu=True):
                out = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=np.array([2, 0], label_dtype), logits=logits
                )
                self.assertAllClose(-np.log(_softmax(logits))[[0, 1], [2, 0]], out.eval())
                shaped = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=np.array([[2, 0]], label_dtype), logits=logits[np.newaxis]
                )
                self.assertEqual([1, 2], shaped.get_shape().as_list())
                self.assertAllClose(out.eval()[np.newaxis], shaped.eval())

    def testSparseErrors(self):
        with self.assertRaisesRegexp(
            ValueError, "Rank mismatch: Rank of labels|`labels.shape.rank` must equal `logits.shape.rank - 1`"
        ):
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 1]], logits=[[1.0, 2.0], [1.0, 2.0]])
        with self.assertRaisesRegexp(ValueError, "(?i)`?logits`? cannot be (a )?scalar"):
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=0, logits=1.0)
        with self.assertRaisesRegexp(ValueError, "Both (`?labels`? and `?logits`?|labels and logits) must be provided"):
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0])
        labels, logits = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        with self.test_session(use_gpu=False):
            with self.assertRaisesOpError("Received a label value of 4 which is outside the valid range"):
                loss.eval({labels: [4, 0], logits: np.ones([2, 3])})
            with self.assertRaises(errors_impl.InvalidArgumentError):
                loss.eval({labels: [0, 1, 2], logits: np.ones([2, 3])})

    def testDenseErrors(self):
        with self.assertRaisesRegexp(ValueError, "Dimension 1 in both shapes must be equal|Dimensions must be equal"):
            tf.nn.softmax_cross_entropy_with_logits(
                labels=[[0.0, 1.0], [0.0, 1.0]], logits=[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]
            )
        with self.assertRaisesRegexp(ValueError, "logits and labels must have the same shape|must have the same shape"):
            tf.nn.sigmoid_cross_entropy_with_logits(labels=[0.0, 1.0], logits=[1.0])

    def testSigmoid(self):
        x = np.array([-100.0, -2.0, -2.0, 0.0, 2.0, 2.0, 100.0])
        z = np.array([0.0, 0.0, 1.0, 0.5, 0.0, 1.0, 1.0])
        expected = np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))
        with self.test_session(use_gpu=True):
            logits = tf.constant(x)
            loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=logits)
            self.assertAllClose(expected, loss.eval())
            self.assertAllClose(1 / (1 + np.exp(-x)) - z, tf.gradients(loss, logits)[0].eval())
            weighted = tf.nn.weighted_cross_entropy_with_logits(targets=z, logits=logits, pos_weight=1.0)
            self.assertAllClose(expected, weighted.eval())


class LossesTest(tf.test.TestCase):
    def setUp(self):
        super(LossesTest, self).setUp()
        self._predictions = np.array([[4.0, 8.0, 12.0], [8.0, 1.0, 3.0]], np.float32)
        self._labels = np.array([[1.0, 9.0, 2.0], [-5.0, -2.0, 6.0]], np.float32)

    def testReductions(self):
        errors = (self._predictions - self._labels) ** 2
        weights = np.array([[1.0], [0.0]], np.float32)
        weighted = errors * weights
        with self.cached_session():
            for reduction, expected in (
                (losses.Reduction.NONE, weighted),
                (losses.Reduction.SUM, weighted.sum()),
                (losses.Reduction.MEAN, weighted.sum() / 3.0),
                (losses.Reduction.SUM_OVER_BATCH_SIZE, weighted.sum() / 6.0),
                (losses.Reduction.SUM_BY_NONZERO_WEIGHTS, weighted.sum() / 3.0),
            ):
                loss = losses.mean_squared_error(self._labels, self._predictions, weights, reduction=reduction)
                self.assertAllClose(expected, loss.eval())

    def testWeights(self):
        expected = np.abs(self._predictions - self._labels)
        for weights in (
            2.3,
            np.array(2.3, np.float32),
            [[1.2], [3.4]],
            [[3.0, 6.0, 5.0], [0.0, 4.0, 2.0]],
            [[3.0, 6.0, 5.0]],
            tf.placeholder_with_default(np.float32([[1.2], [3.4]]), None),
        ):
            with self.cached_session() as sess:
                value = sess.run(weights) if isinstance(weights, tf.Tensor) else np.asarray(weights)
                loss = losses.absolute_difference(self._labels, self._predictions, weights)
                nonzero = np.count_nonzero(np.broadcast_to(value, [2, 3]))
                self.assertNear((expected * value).sum() / nonzero, loss.eval(), 1e-3)
        with self.cached_session():
            self.assertAllEqual(0.0, losses.absolute_difference(self._labels, self._predictions, 0.0).eval())

    def testOthers(self):
        p, y = self._predictions, self._labels
        with self.test_session(use_gpu=True):
            d = np.abs(p - y)
            self.assertAllClose(
                np.where(d <= 1.5, 0.5 * d * d, 1.5 * d - 1.125).mean(), losses.huber_loss(y, p, delta=1.5).eval()
            )
            binary = (y > 0).astype(np.float32)
            self.assertAllClose(np.maximum(0, 1 - (2 * binary - 1) * p).mean(), losses.hinge_loss(binary, p).eval())
            q = np.clip(p / 13.0, 0.1, 0.9)
            self.assertAllClose(
                -(binary * np.log(q) + (1 - binary) * np.log(1 - q)).mean(),
                losses.log_loss(binary, q, epsilon=0.0).eval(),
                rtol=1e-4,
            )
            onehot = np.eye(3, dtype=np.float32)[[2, 0]]
            smooth = onehot * 0.7 + 0.1
            self.assertAllClose(
                -(smooth * np.log(_softmax(p))).sum(1).mean(),
                losses.softmax_cross_entropy(onehot, p, label_smoothing=0.3).eval(),
                rtol=1e-4,
            )
            self.assertAllClose(
                -(onehot * np.log(_softmax(p))).sum(1).mean(),
                losses.sparse_softmax_cross_entropy([[2], [0]], p).eval(),
                rtol=1e-4,
            )
            unit = p / np.linalg.norm(p, axis=1, keepdims=True)
            self.assertAllClose(
                1 - (unit * unit).sum(1).mean(), losses.cosine_distance(unit, unit, axis=1).eval(), atol=1e-5
            )

    def testCollection(self):
        self.assertEqual([], util.get_losses())
        first = losses.mean_squared_error(self._labels, self._predictions)
        with tf.name_scope("tower"):
            second = losses.absolute_difference(self._labels, self._predictions)
        self.assertEqual([first, second], util.get_losses())
        self.assertEqual([second], util.get_losses(scope="tower"))
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(2.0))
        with self.cached_session():
            self.assertAllClose(first.eval() + second.eval() + 2.0, util.get_total_loss().eval())
            self.assertAllClose(
                first.eval() + second.eval(), util.get_total_loss(add_regularization_losses=False).eval()
            )

    def testErrors(self):
        with self.assertRaisesRegexp(ValueError, "(?i)labels`? must not be None"):
            losses.mean_squared_error(None, self._predictions)
        with self.assertRaisesRegexp(ValueError, r"Shapes \(3,\) and \(2, 3\) are incompatible"):
            losses.mean_squared_error(self._labels, np.zeros([3], np.float32))
        with self.assertRaisesRegexp(ValueError, "weights can not be broadcast to values"):
            losses.mean_squared_error(self._labels, self._predictions, np.ones([3, 1], np.float32))
        with self.assertRaisesRegexp(ValueError, "(?i)(invalid|unknown) reduction"):
            losses.compute_weighted_loss(self._labels, reduction="bogus")
        weights = tf.placeholder(tf.float32)
        with self.cached_session():
            loss = losses.mean_squared_error(self._labels, self._predictions, weights)
            with self.assertRaisesRegexp(errors_impl.InvalidArgumentError, "weights can not be broadcast to values"):
                loss.eval({weights: np.ones([3, 1])})

    @test_util.run_deprecated_v1
    def testGradientWithZeroWeightsAndNoNan(self):
        x = tf.Variable([[3.0, 4.0]])
        loss = losses.mean_pairwise_squared_error(tf.constant([[1.0, 2.0]]), x, weights=0.0)
        gradient = tf.gradients(loss, x)[0]
        with self.cached_session() as sess:
            sess.run(tf.global_variables_initializer())
            self.assertAllEqual([[0.0, 0.0]], sess.run(gradient))


if __name__ == "__main__":
    tf.test.main()
