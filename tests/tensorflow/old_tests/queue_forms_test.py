"""Queues: shapes in every form, what cancelled and late steps say, queues that share a name."""

import threading

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import errors_impl


class PaddingShapesTest(tf.test.TestCase):
    def testEveryForm(self):
        forms = [
            (((),), "()"),
            ([()], "()"),
            ([[]], "()"),
            ([tf.TensorShape([])], "()"),
            ((tf.TensorShape([None]),), "(?,)"),
            ([(None,)], "(?,)"),
            (((None, 3),), "(?, 3)"),
            ([[tf.Dimension(None), tf.Dimension(2)]], "(?, 2)"),
            ([np.array([2, 3])], "(2, 3)"),
            ([(np.int32(3),)], "(3,)"),
            ([tf.TensorShape([2, None]).as_proto()], "(2, ?)"),
        ]
        for shapes, expected in forms:
            for dtypes in (tf.float32, [tf.float32], (tf.float32,)):
                queue = tf.PaddingFIFOQueue(10, dtypes, shapes)
                self.assertEqual([expected], [str(s) for s in queue.shapes])
                self.assertEqual(expected, str(queue.dequeue().shape))

    def testSeveralComponents(self):
        queue = tf.PaddingFIFOQueue(10, (tf.int32, tf.float32), ((), (None, 2)), names=["a", "b"], name="q")
        self.assertEqual(["()", "(?, 2)"], [str(s) for s in queue.shapes])
        taken = queue.dequeue_many(2)
        self.assertEqual({"a": "(2,)", "b": "(2, ?, 2)"}, {k: str(v.shape) for k, v in taken.items()})
        with self.cached_session() as sess:
            sess.run(queue.enqueue({"a": 1, "b": [[1.0, 2.0]]}))
            sess.run(queue.enqueue({"a": 2, "b": [[3.0, 4.0], [5.0, 6.0]]}))
            values = sess.run(taken)
            self.assertAllEqual([1, 2], values["a"])
            self.assertAllEqual([[[1.0, 2.0], [0.0, 0.0]], [[3.0, 4.0], [5.0, 6.0]]], values["b"])

    def testRefused(self):
        for shapes in (None, [None], [], [2], (2,), 3, tf.TensorShape([2])):
            with self.assertRaisesRegexp(
                ValueError, "When providing partial shapes, a list of shapes must be provided"
            ):
                tf.PaddingFIFOQueue(10, tf.float32, shapes)
        with self.assertRaisesRegexp(ValueError, "All shapes must have a defined rank"):
            tf.PaddingFIFOQueue(10, tf.float32, [tf.TensorShape(None)])
        for shapes in (((),), ((), (), ())):
            with self.assertRaisesRegexp(
                ValueError, r"Shapes must be provided for all components, but received 2 dtypes"
            ):
                tf.PaddingFIFOQueue(10, (tf.float32, tf.int32), shapes)

    def testShapesOfOtherQueues(self):
        self.assertEqual([[2, 3]], [s.as_list() for s in tf.FIFOQueue(10, tf.float32, [np.array([2, 3])]).shapes])
        with self.assertRaisesRegexp(TypeError, "Shapes must be a TensorShape or a list or tuple of TensorShapes"):
            tf.FIFOQueue(10, tf.float32, shapes=3)
        with self.assertRaisesRegexp(ValueError, "All shapes must be fully defined"):
            tf.RandomShuffleQueue(10, 0, tf.float32, shapes=[tf.TensorShape([2, None]).as_proto()])
        with self.assertRaisesRegexp(ValueError, "Queue shapes must have the same length as dtypes"):
            tf.FIFOQueue(10, (tf.float32, tf.int32), shapes=[[]])


class EndedWaitTest(tf.test.TestCase):
    def _ended_by(self, queue, op, end):
        """The error of a step that waits until ``end`` ends it."""
        errors = []
        sess = tf.Session()

        def run():
            try:
                sess.run(op)
            except errors_impl.OpError as e:
                errors.append(e)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(0.2)
        self.assertTrue(thread.is_alive())
        end(sess)
        thread.join(20)
        sess.close()
        self.assertFalse(thread.is_alive())
        return errors[0]

    def testClosedSession(self):
        makers = (
            lambda: tf.FIFOQueue(2, tf.int32, [[]]),
            lambda: tf.RandomShuffleQueue(2, 1, tf.int32, [[]]),
            lambda: tf.PaddingFIFOQueue(2, tf.int32, ((),)),
        )
        for make in makers:
            queue = make()
            for op in (queue.dequeue(), queue.dequeue_many(2), queue.dequeue_up_to(2)):
                error = self._ended_by(queue, op, lambda sess: sess.close())
                self.assertIsInstance(error, errors_impl.CancelledError)
                self.assertRegex(str(error), "Dequeue operation was cancelled")
            error = self._ended_by(queue, queue.enqueue_many([[1, 2, 3]]), lambda sess: sess.close())
            self.assertRegex(str(error), "Enqueue operation was cancelled")

    def testCancelledEnqueue(self):
        queue = tf.FIFOQueue(2, tf.int32, [[]])
        close = queue.close(cancel_pending_enqueues=True)
        error = self._ended_by(queue, queue.enqueue_many([[1, 2, 3, 4]]), lambda sess: sess.run(close))
        self.assertIsInstance(error, errors_impl.CancelledError)
        self.assertRegex(str(error), "Enqueue operation was cancelled")

    def testOutOfTime(self):
        queue = tf.FIFOQueue(2, tf.int32, [[]])
        with tf.Session() as sess:
            with self.assertRaisesRegexp(errors_impl.DeadlineExceededError, "Timed out waiting for notification"):
                sess.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=20))
        with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20)) as sess:
            with self.assertRaisesRegexp(errors_impl.DeadlineExceededError, "Timed out waiting for notification"):
                sess.run(queue.dequeue_many(2))

    def testTakeGradient(self):
        accumulator = tf.ConditionalAccumulator(tf.float32, shape=[])
        error = self._ended_by(accumulator, accumulator.take_grad(1), lambda sess: sess.close())
        self.assertIsInstance(error, errors_impl.CancelledError)
        self.assertRegex(str(error), "TakeGrad operation was cancelled")


class SharedNameTest(tf.test.TestCase):
    def _refused(self, first, second, message):
        with self.cached_session() as sess:
            sess.run(first.queue_ref.op)
            with self.assertRaisesOpError(message):
                sess.run(second.queue_ref.op)

    def testDifferences(self):
        fifo, shuffle, padding = tf.FIFOQueue, tf.RandomShuffleQueue, tf.PaddingFIFOQueue
        self._refused(
            fifo(10, tf.float32, shared_name="a"),
            fifo(15, tf.float32, shared_name="a"),
            "Shared queue 'a' has capacity 10 but requested capacity was 15",
        )
        self._refused(
            fifo(10, tf.float32, shared_name="b"),
            fifo(10, tf.int32, shared_name="b"),
            "Shared queue 'b' has component types .* but requested component types were .*int32",
        )
        self._refused(
            fifo(10, tf.float32, shared_name="c"),
            fifo(10, tf.float32, shapes=[(1, 2)], shared_name="c"),
            "Shared queue 'c' has component shapes .* but requested component shapes were",
        )
        self._refused(
            fifo(10, tf.float32, shared_name="d"),
            shuffle(10, 5, tf.float32, shared_name="d"),
            "Expected FIFOQueue, found RandomShuffleQueue",
        )
        self._refused(
            shuffle(10, 5, tf.float32, shared_name="e"),
            shuffle(10, 3, tf.float32, shared_name="e"),
            "Shared queue 'e' has min_after_dequeue 5 but requested min_after_dequeue was 3",
        )
        self._refused(
            shuffle(10, 5, tf.float32, seed=12, shared_name="f"),
            shuffle(10, 5, tf.float32, seed=21, shared_name="f"),
            "Shared queue 'f' has random seeds",
        )
        self._refused(
            padding(10, tf.float32, ((),), shared_name="g"),
            padding(10, tf.float32, ((1, 2),), shared_name="g"),
            "Shared queue 'g' has component shapes",
        )

    def testOpenSizesMeet(self):
        first = tf.PaddingFIFOQueue(10, tf.float32, ((1, None),), shared_name="h")
        second = tf.PaddingFIFOQueue(10, tf.float32, ((1, 2),), shared_name="h")
        with self.cached_session() as sess:
            sess.run([first.queue_ref.op, second.queue_ref.op])

    def testUnequalBatches(self):
        fed = tf.placeholder(tf.int32)
        enqueue = tf.FIFOQueue(10, (tf.int32, tf.int32), ((), ())).enqueue_many(([1, 2], fed))
        with self.cached_session() as sess:
            with self.assertRaisesOpError(r"Shape mismatch in tuple component 1. Expected \[2\], got \[1\]"):
                sess.run(enqueue, {fed: [1]})
