"""Asynchronous replicas: each applies its gradients to shared variables when it has them."""

from collections.abc import Callable

import numpy as np
import pytest
from library.train.replica.replica import WAIT_S, devices, threads

import headrace as tf

STEPS, REPLICAS, SIZE = 100, 4, 1000


class Replica:
    """Moves a vector and some of its rows by whole numbers, so that sums are exact in any order."""

    def __init__(self, index: int) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.device(devices(index)):
            self.step = tf.train.get_or_create_global_step()
            self.v = tf.get_variable("v", [SIZE], initializer=tf.zeros_initializer())
            self.table = tf.get_variable("table", [4, SIZE], initializer=tf.zeros_initializer())
            loss = tf.reduce_sum(self.v) + tf.reduce_sum(tf.nn.embedding_lookup(self.table, [1, 1, 3]))
            self.train = tf.train.GradientDescentOptimizer(-1.0, use_locking=True).minimize(loss, self.step)
            self.init = tf.global_variables_initializer()


def test_no_update_is_lost_with_locks(make_server: Callable[[int], tf.train.Server]) -> None:
    target = make_server(REPLICAS).target
    replicas = [Replica(i) for i in range(REPLICAS)]

    def work(replica: Replica) -> None:
        with tf.Session(target, graph=replica.graph) as sess:
            for _ in range(STEPS):
                sess.run(replica.train)

    chief = replicas[0]
    with tf.Session(target, graph=chief.graph) as sess:
        sess.run(chief.init)
        with threads(REPLICAS) as begin:
            for call in [begin(work, replica) for replica in replicas]:
                call.result(WAIT_S)
        step, v, table = sess.run([chief.step, chief.v, chief.table])
    total = STEPS * REPLICAS
    assert step == total
    np.testing.assert_array_equal(v, np.full(SIZE, total))
    np.testing.assert_array_equal(table[:, 0], [0, 2 * total, 0, total])


def test_replicas_see_what_others_did(make_server: Callable[[int], tf.train.Server]) -> None:
    target = make_server(2).target
    one, two = Replica(0), Replica(1)
    with tf.Session(target, graph=one.graph) as a, tf.Session(target, graph=two.graph) as b:
        with pytest.raises(tf.errors.FailedPreconditionError):
            b.run(two.v)
        a.run(one.init)
        a.run(one.train)
        b.run(two.train)
        assert a.run(one.v)[0] == b.run(two.v)[0] == 2
        assert a.run(one.step) == 2
