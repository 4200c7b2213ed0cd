"""A queue runner whose step waits for what nobody brings ends when its coordinator stops."""

import threading

import headrace as tf


def test_a_step_that_waits_elsewhere_ends(session: tf.Session) -> None:
    """Closing the runner's queue does not end a step that waits for gradients."""
    gradients = tf.ConditionalAccumulator(tf.float32, shape=[])
    queue = tf.FIFOQueue(10, [tf.float32])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(gradients.take_grad(1))])
    apply, size = gradients.apply_grad(3.0), queue.size()
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, start=True)
    session.run(apply)
    assert session.run(queue.dequeue()) == 3.0
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=60)
    assert session.run(size) == 0
    assert not any(thread.is_alive() for thread in threads)


def test_a_step_begun_after_the_stop_ends() -> None:
    """The coordinator may stop between the runner's look at it and the beginning of the step."""
    gradients = tf.ConditionalAccumulator(tf.float32, shape=[])
    queue = tf.FIFOQueue(10, [tf.float32])
    cancelled = threading.Event()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(gradients.take_grad(1))])

    class LateCoordinator(tf.train.Coordinator):
        """Says that it goes on, once, when it has stopped already and the queue is closed."""

        def should_stop(self) -> bool:
            if threading.current_thread() is closer or not self._stop_event.is_set():
                return super().should_stop()
            closer.join(60)
            if cancelled.is_set():
                return True
            cancelled.set()
            return False

    coord = LateCoordinator()
    with tf.Session() as sess:
        worker, closer = runner.create_threads(sess, coord)
        coord.request_stop()
        closer.start()
        worker.start()
        coord.join([worker, closer], stop_grace_period_secs=60)
    assert cancelled.is_set() and not worker.is_alive()
