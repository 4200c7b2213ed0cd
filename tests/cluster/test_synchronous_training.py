"""Synchronous replicas over sockets train as one session with all batches in one does; a stopped worker is not waited for."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf

STEPS, WAIT_S = 4, 60.0
RANDOM = np.random.RandomState(0)
FEATURES = RANDOM.randn(STEPS, 8, 3).astype(np.float32)  # the batches of all replicas together
LABELS = RANDOM.randn(STEPS, 8, 2).astype(np.float32)


class Model:
    """Two layers.  ``values``: the trained variables and what the optimizer keeps of them."""

    def __init__(self, wrap: Callable[[Any], Any]) -> None:
        self.x = tf.placeholder(tf.float32, [None, 3])
        self.y = tf.placeholder(tf.float32, [None, 2])
        hidden = tf.tanh(tf.matmul(self.x, self.weights("first", [3, 5])))
        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, self.weights("second", [5, 2])) - self.y))
        self.step = tf.train.get_or_create_global_step()
        self.optimizer = wrap(tf.train.AdamOptimizer(0.05))
        self.train = self.optimizer.minimize(loss, self.step)
        self.values = [v for v in tf.global_variables() if v.dtype.base_dtype == tf.float32]
        self.init = tf.global_variables_initializer()

    @staticmethod
    def weights(name: str, shape: list[int]) -> Any:
        value = np.random.RandomState(len(name)).randn(*shape).astype(np.float32)
        return tf.get_variable(name, initializer=value)


def large_batches(steps: int, batches: slice = slice(None)) -> list[Any]:
    """What one session comes to that trains on all rows of the batches, again and again."""
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile="off")) as session:
        model = Model(lambda optimizer: optimizer)
        session.run(model.init)
        features, labels = FEATURES[batches], LABELS[batches]
        for i in range(steps):
            feeds = {model.x: features[i % len(features)], model.y: labels[i % len(labels)]}
            session.run(model.train, feeds)
        return list(session.run(model.values))


class Replica:
    """A worker's own graph, and its session once it is open."""

    def __init__(self, cluster: LocalCluster, index: int, needed: int, total: int) -> None:
        self.target = cluster.target("worker", index)
        self.filters = ["/job:ps", f"/job:worker/task:{index}"]
        self.graph = tf.Graph()
        setter = tf.train.replica_device_setter(cluster=cluster.spec, worker_device=f"/job:worker/task:{index}")
        with self.graph.as_default(), tf.device(setter):
            self.model = Model(
                lambda o: tf.train.SyncReplicasOptimizer(o, replicas_to_aggregate=needed, total_num_replicas=total)
            )

    def open(self) -> tf.Session:
        config = tf.ConfigProto(device_filters=self.filters)
        self.session = tf.Session(self.target, graph=self.graph, config=config)
        return self.session

    def train(self, step: int, rows: Any) -> None:
        model = self.model
        self.session.run(model.train, {model.x: FEATURES[step][rows], model.y: LABELS[step][rows]})


@contextmanager
def replicas(cluster: LocalCluster, needed: int, total: int) -> Iterator[list[Replica]]:
    """Replicas that are ready to train, and the chief's queue runner."""
    with ExitStack() as stack:
        made = [Replica(cluster, i, needed, total) for i in range(total)]
        for replica in made:
            stack.enter_context(replica.open())
        chief = made[0]
        chief.session.run(chief.model.init)
        chief.session.run(chief.model.optimizer.chief_init_op)
        for replica in made[1:]:
            replica.session.run(replica.model.optimizer.local_step_init_op)
        coordinator = tf.train.Coordinator()
        runner = chief.model.optimizer.get_chief_queue_runner()
        runner.create_threads(chief.session, coordinator, start=True)
        try:
            yield made
        finally:
            coordinator.request_stop()
            coordinator.join()


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_replicas_train_as_one_large_batch(workers: int, servers: int) -> None:
    together = threading.Barrier(workers)

    def work(replica: Replica, index: int) -> None:
        for step in range(STEPS):
            replica.train(step, slice(index, None, workers))
            together.wait(WAIT_S)  # tokens belong to nobody: a fast replica could take that of a slow one

    with local_cluster(servers, workers) as cluster, replicas(cluster, workers, workers) as made:
        with ThreadPoolExecutor(workers) as pool:
            for over in [pool.submit(work, replica, i) for i, replica in enumerate(made)]:
                over.result(WAIT_S)
        chief = made[0]
        assert chief.session.run(chief.model.step) == STEPS
        devices = {v.device for v in chief.model.values}
        assert len(devices) == servers
        for found, expected in zip(chief.session.run(chief.model.values), large_batches(STEPS), strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-6)


def test_a_stopped_worker_is_not_waited_for() -> None:
    """Two of three gradients make a step, and the third worker does nothing.

    Its tokens go to the others, who hand in gradients too late for a step, which are dropped.  All replicas have one batch, so
    that the result does not depend on whose gradients come first.
    """
    batch = slice(0, 1)  # of the steps: always the first

    def work(replica: Replica) -> None:
        while replica.session.run(replica.model.step) < STEPS:
            replica.train(0, slice(None))

    with local_cluster(2, 3) as cluster, replicas(cluster, 2, 3) as made:
        with ThreadPoolExecutor(2) as pool:
            for over in [pool.submit(work, replica) for replica in made[:2]]:
                over.result(WAIT_S)
        steps, values = settled(made[0])
        assert STEPS <= steps <= STEPS + 1
        for found, expected in zip(values, large_batches(steps, batch), strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-6)
        made[2].train(1, slice(None))  # a gradient of the step long ago at which it stopped: dropped
        again = settled(made[0])
        assert again[0] == steps
        for found, expected in zip(again[1], values, strict=True):
            np.testing.assert_array_equal(found, expected)


def settled(replica: Replica) -> tuple[int, list[Any]]:
    """The global step and the variables when the chief has applied all it could."""
    before: Any = None
    for _ in range(100):
        now = replica.session.run([replica.model.step, *replica.model.values])
        if before is not None and all(np.array_equal(a, b) for a, b in zip(now, before, strict=True)):
            return int(now[0]), now[1:]
        before = now
        threading.Event().wait(0.1)
    raise AssertionError("the variables go on changing")
