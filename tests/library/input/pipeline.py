"""Runs an input pipeline until the input ends."""

from typing import Any

import headrace as tf

OFF = tf.ConfigProto(compile="off")


def drained(fetch: Any, limit: int = 1000) -> list[Any]:
    """What each step gives until the input ends, or ``limit`` of them; raises what a step or a runner raises."""
    coord = tf.train.Coordinator()
    results: list[Any] = []
    with tf.Session(config=OFF) as sess:
        sess.run(tf.local_variables_initializer())
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while len(results) < limit:
                results.append(sess.run(fetch))
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
            coord.join(threads)
    return results
