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


@pytest.mark.parametrize("option", ["late_transfers", "lossy_transfers", "gather_transfers"])
def test_transfers_are_listed_as_they_are_sent(option):
    config = tf.ConfigProto(device_count={"CPU": 2}, compile="off", **{option: option != "gather_transfers"})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        with tf.device("/cpu:0"):
            weights = [tf.get_variable(f"w{i}", [WIDTH, WIDTH]) for i in range(4)]
        with tf.device("/cpu:1"):
            hidden = tf.ones([2, WIDTH])
            for one in weights:
                hidden = tf.tanh(tf.matmul(hidden, one))
        session.run(tf.global_variables_initializer())
        sent = watch_keys(session._master.worker.rendezvous)  # before the step is planned
        listed = [t for t in session.explain(hidden).transfers if t.source.endswith("CPU:0")]
        session.run(hidden)
    assert {t.message for t in listed} <= set(sent) and len(listed) == len([k for k in sent if "CPU:0>" in k])
    assert len(listed) == {"late_transfers": 2, "lossy_transfers": 1, "gather_transfers": 4}[option]
    values = [v for t in listed for v in t.values]
    assert sorted(v.name for v in values) == [f"w{i}/read" for i in range(4)]
    assert {v.type for v in values} == {"bfloat16[512,512]" if option == "lossy_transfers" else "float32[512,512]"}


def watch_keys(rendezvous):
    """The keys of the messages that are sent from now on."""
    keys = []
    send = rendezvous.send

    def watched(step, key, message):
        keys.append(key)
        send(step, key, message)

    rendezvous.send = watched
    return keys


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
