"""Cutting the elements of a dataset at every position, through checkpoints."""

import tempfile

import numpy as np
from library.data.taking import drain

import headrace as tf


def check_positions(dataset):
    """Saved at every position and restored in a new session, an iterator gives what it would have given."""
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)], max_to_keep=None)
    whole, saved = [], []
    with tempfile.TemporaryDirectory() as folder:
        with tf.Session() as sess:
            sess.run(iterator.initializer)
            while True:
                saved.append(saver.save(sess, f"{folder}/at", global_step=len(whole)))
                taken = drain(sess, element, 1)
                if not taken:
                    break
                whole += taken
        for position, path in enumerate(saved):
            with tf.Session() as sess:
                saver.restore(sess, path)
                sess.run(iterator.initializer)
                np.testing.assert_equal(drain(sess, element), whole[position:], f"resumed at {position}")
    return whole
