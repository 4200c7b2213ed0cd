"""A training job that prints its losses, for test_exact_state.py: dropout, Adam, a decaying learning rate, a shuffling queue.

    python exact_job.py FOLDER STEPS SAVE_EVERY [DIE_AFTER]

It resumes from the latest checkpoint in FOLDER.  After DIE_AFTER steps it kills itself.
"""

import os
import signal
import sys

import numpy as np

import headrace as tf


def main(folder: str, steps: int, save_every: int, die_after: int = 0) -> None:
    tf.set_random_seed(5)
    data = np.random.RandomState(0).randn(64, 8).astype(np.float32)
    queue = tf.RandomShuffleQueue(64, 8, [tf.float32], [[8]])
    refill = queue.enqueue_many([data[:16] + tf.random_normal([16, 8])])
    rows = queue.dequeue_many(8)
    hidden = tf.nn.dropout(tf.layers.dense(rows, 16, activation=tf.nn.relu), 0.5)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1) - tf.reduce_sum(rows, 1, keepdims=True)))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.05, step, 2, 0.9)
    train = tf.train.AdamOptimizer(rate).minimize(loss, step)
    saver = tf.train.Saver(tf.global_variables() + tf.train.exact_state(queues=[queue]))
    with tf.Session() as sess:
        latest = tf.train.latest_checkpoint(folder)
        if latest:
            saver.restore(sess, latest)
        else:
            sess.run(tf.global_variables_initializer())
        while (number := int(sess.run(step))) < steps:
            if sess.run(queue.size()) < 24:
                sess.run(refill)
            print(number, sess.run([loss, train])[0].tobytes().hex(), flush=True)
            if (number + 1) % save_every == 0:
                saver.save(sess, f"{folder}/model", global_step=step)
            if number + 1 == die_after:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
