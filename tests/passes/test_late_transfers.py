"""Large weights cross shortly before their use: the results stay, and few of them are alive together."""

import threading
import weakref

import numpy as np
import pytest

import headrace as tf

LAYERS, WIDTH = 8, 512  # weights of 1 MB


@pytest.mark.parametrize("late", [False, True])
def test_few_weights_are_alive_together(late):
    random = np.random.RandomState(0)
    matrices = [random.standard_normal([WIDTH, WIDTH]).astype(np.float32) / 16 for _ in range(LAYERS)]
    config = tf.ConfigProto(device_count={"CPU": 2}, compile="off", late_transfers=late)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        with tf.device("/cpu:0"):
            weights = [tf.Variable(matrix) for matrix in matrices]
        with tf.device("/cpu:1"):
            hidden = tf.ones([2, WIDTH])
            for one in weights:
                hidden = tf.tanh(tf.matmul(hidden, one))
        session.run(tf.global_variables_initializer())
        most = watch(session._master.worker.rendezvous)
        result = session.run(hidden)
    expected = np.ones([2, WIDTH], np.float32)
    for matrix in matrices:
        expected = np.tanh(expected @ matrix)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    assert most[0] <= 4 if late else most[0] == LAYERS


def watch(rendezvous):
    """The most sent tensors that are alive together from now on."""
    alive, most, lock = [0], [0], threading.RLock()
    send = rendezvous.send

    def count(more):
        with lock:
            alive[0] += more
            most[0] = max(most[0], alive[0])

    def watched(step, key, message):
        for i in range(len(message)):
            count(1)
            weakref.finalize(message[i], count, -1)
        send(step, key, message)

    rendezvous.send = watched
    return most
