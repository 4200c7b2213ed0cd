"""Replicas of a model, each with a graph and a session of its own, on one server: between-graph replication in a process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

import headrace as tf

WAIT_S = 60.0  # how long a test waits for what must come
SEEDS = np.random.RandomState(0)
FEATURES = SEEDS.rand(8, 3).astype(np.float32)
LABELS = SEEDS.rand(8, 1).astype(np.float32)
IDS = np.array([0, 1, 3, 1])


def devices(index: int) -> Any:
    """Variables on the first device of the server, the rest of replica ``index`` on a device of its own."""
    task = "/job:localhost/task:0"
    return tf.train.replica_device_setter(
        ps_tasks=1, ps_device="/job:localhost/cpu:0", worker_device=f"{task}/cpu:{index + 1}"
    )


class Replica:
    """One replica: a linear model with a table of rows, trained by ``make_optimizer()``."""

    def __init__(
        self, index: int, make_optimizer: Callable[[], Any], synchronous: dict[str, Any] | None = None,
        use_resource: bool = False, bias_device: str = "",
    ) -> None:  # fmt: skip
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.device(devices(index)):
            self.step = tf.train.get_or_create_global_step()
            self.x = tf.placeholder(tf.float32, [None, 3], name="x")
            self.y = tf.placeholder(tf.float32, [None, 1], name="y")
            with tf.variable_scope("model", use_resource=use_resource):
                self.w = tf.get_variable("w", initializer=tf.constant([[1.0], [2.0], [3.0]]))
                with tf.device(bias_device):
                    self.b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
                self.table = tf.get_variable("table", [5, 1], initializer=tf.ones_initializer())
            rows = tf.nn.embedding_lookup(self.table, IDS)
            error = tf.matmul(self.x, self.w) + self.b - self.y
            self.loss = tf.reduce_mean(tf.square(error)) + tf.reduce_mean(tf.square(rows))
            self.optimizer = make_optimizer()
            if synchronous is not None:
                if synchronous.get("variable_averages"):
                    average = tf.train.ExponentialMovingAverage(0.5)
                    synchronous = {**synchronous, "variable_averages": average, "variables_to_average": [self.w]}
                self.optimizer = tf.train.SyncReplicasOptimizer(self.optimizer, **synchronous)
            self.train = self.optimizer.minimize(self.loss, self.step)
            self.average = average.average(self.w) if synchronous and "variables_to_average" in synchronous else self.w
            self.init = tf.global_variables_initializer()
            self.values = [self.step, self.w, self.b, self.table]

    def open(self, target: str) -> tf.Session:
        self.sess = tf.Session(target, graph=self.graph)
        return self.sess

    def run(self, rows: Any = slice(None)) -> Any:
        """One step on some rows of the data."""
        return self.sess.run(self.train, {self.x: FEATURES[rows], self.y: LABELS[rows]})


@contextmanager
def started(target: str, replicas: Sequence[Replica], num_tokens: int = 0) -> Iterator[None]:
    """Opens the sessions of synchronous replicas; the first is the chief."""
    chief, coord = replicas[0], tf.train.Coordinator()
    for replica in replicas:
        replica.open(target)
    try:
        with chief.graph.as_default():
            tokens = chief.optimizer.get_init_tokens_op(num_tokens)
        chief.sess.run(chief.init)
        chief.sess.run(chief.optimizer.chief_init_op)
        for other in replicas[1:]:
            other.sess.run(other.optimizer.local_step_init_op)
        chief.sess.run(tokens)
        chief.optimizer.get_chief_queue_runner().create_threads(chief.sess, coord, start=True)
        yield
    finally:
        coord.request_stop()
        coord.join(stop_grace_period_secs=WAIT_S)
        for replica in replicas:
            replica.sess.close()


@contextmanager
def threads(count: int) -> Iterator[Callable[..., Future[Any]]]:
    """What begins a call on one of ``count`` threads."""
    with ThreadPoolExecutor(count) as pool:
        yield pool.submit


def together(tasks: Sequence[Callable[[], Any]], rounds: int) -> list[list[Any]]:
    """Runs the tasks side by side, round by round: no task begins a round before all have ended the last.

    TensorFlow's tokens alone do not say whose they are: a fast replica may take that of a slow one.
    """
    barrier = threading.Barrier(len(tasks))

    def repeat(task: Callable[[], Any]) -> list[Any]:
        results = []
        for _ in range(rounds):
            barrier.wait(WAIT_S)
            results.append(task())
        return results

    with threads(len(tasks)) as begin:
        return [call.result(WAIT_S) for call in [begin(repeat, task) for task in tasks]]
