"""What travels between tasks, by the transport's own count: compute goes where the state is (OSDI 4.2)."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf

PS, WORKER = ("ps", 0), ("worker", 0)
SLACK = 1200  # payloads: names of sessions and keys, numbers of steps


@pytest.fixture(params=[1, 2], ids=["one server", "two servers"])
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    with local_cluster(request.param, 1) as started:
        yield started


@pytest.fixture
def pair() -> Iterator[LocalCluster]:
    """A parameter server and a worker."""
    with local_cluster(1, 1) as started:
        yield started


class Traffic:
    """Counts what one step sends between the worker and each parameter server."""

    def __init__(self, cluster: LocalCluster, session: tf.Session) -> None:
        self._cluster = cluster
        self._session = session
        self.servers = cluster.spec.num_tasks("ps")

    def _count(self) -> np.ndarray:
        ways = [(WORKER, ("ps", i)) for i in range(self.servers)]
        return np.array([(self._cluster.bytes_between(a, b), self._cluster.bytes_between(b, a)) for a, b in ways]).T

    def of(self, fetches: Any, feeds: dict[Any, Any] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Bytes of a step to each server, and from each."""
        self._session.run(fetches, feeds)  # registers
        before = self._count()
        self._session.run(fetches, feeds)
        to, back = self._count() - before
        return to, back


def is_about(found: np.ndarray, expected: int) -> bool:
    return bool(np.all(found >= expected) and np.all(found <= expected + SLACK))


def run(cluster: LocalCluster, build: Callable[[], Any]) -> tuple[Any, Traffic, tf.Session]:
    """Builds on the worker; a session with initialized variables."""
    with tf.device("/job:worker/task:0"):
        result = build()
    session = tf.Session(cluster.target(*WORKER))
    session.run(tf.global_variables_initializer())
    return result, Traffic(cluster, session), session


def on_server(index: int, name: str, shape: list[int]) -> Any:
    with tf.device(f"/job:ps/task:{index}"):
        return tf.get_variable(name, shape, initializer=tf.ones_initializer())


def shards(cluster: LocalCluster, shape: list[int]) -> list[Any]:
    return [on_server(i, f"shard_{i}", shape) for i in range(cluster.spec.num_tasks("ps"))]


def test_a_gather_sends_ids_there_and_rows_back(pair: LocalCluster) -> None:
    rows, width = 8, 256

    def build() -> Any:
        ids = tf.placeholder(tf.int32, [rows])
        return ids, tf.nn.embedding_lookup(on_server(0, "table", [2000, width]), ids)

    (ids, found), traffic, session = run(pair, build)
    with session:
        to, back = traffic.of(found, {ids: np.arange(rows) * 7})
    assert is_about(to, rows * 4) and is_about(back, rows * width * 4)


@pytest.mark.parametrize("optimizer", ["GradientDescent", "Momentum", "Adagrad", "Adam"])
def test_the_gradient_of_a_gather_sends_touched_rows_and_no_slots(pair: LocalCluster, optimizer: str) -> None:
    rows, width = 8, 256

    def build() -> Any:
        ids = tf.placeholder(tf.int64, [rows])
        values = tf.nn.embedding_lookup(on_server(0, "table", [2000, width]), ids)
        loss = tf.reduce_sum(tf.square(values))
        make = getattr(tf.train, f"{optimizer}Optimizer")
        return ids, (make(0.1, 0.9) if optimizer == "Momentum" else make(0.1)).minimize(loss)

    (ids, train), traffic, session = run(pair, build)
    with session:
        to, back = traffic.of(train, {ids: np.arange(rows) * 7})
    assert is_about(to, rows * 8 + rows * width * 4)  # the ids once, and the gradients of the rows
    assert is_about(back, rows * width * 4)


def test_a_dense_update_sends_the_value_there_and_the_gradient_back(pair: LocalCluster) -> None:
    """Adam's two moments, and the products of the update, stay where the variable is."""
    nbytes = 4 * 50_000

    def build() -> Any:
        v = on_server(0, "v", [50_000])
        return tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(v)))

    train, traffic, session = run(pair, build)
    with session:
        to, back = traffic.of(train)
    assert is_about(to, nbytes) and is_about(back, nbytes)


def test_an_update_by_what_the_server_knows_sends_nothing(pair: LocalCluster) -> None:
    def build() -> Any:
        v = on_server(0, "v", [50_000])
        with tf.device("/job:ps/task:0"):
            return v.assign(v * 0.9).op

    update, traffic, session = run(pair, build)
    with session:
        to, back = traffic.of(update)
    assert is_about(to, 0) and is_about(back, 0)


def test_a_value_that_several_nodes_use_crosses_once(pair: LocalCluster) -> None:
    def build() -> Any:
        v = on_server(0, "v", [50_000])
        return [tf.reduce_sum(tf.sin(v)), tf.reduce_sum(tf.cos(v)), tf.reduce_max(v)]

    found, traffic, session = run(pair, build)
    with session:
        to, back = traffic.of(found)
    assert is_about(to, 0) and is_about(back, 4 * 50_000)


def test_a_fetch_sends_what_is_fetched(pair: LocalCluster) -> None:
    def build() -> Any:
        v = on_server(0, "v", [50_000])
        with tf.device("/job:ps/task:0"):
            return tf.reduce_sum(v)

    total, traffic, session = run(pair, build)
    with session:
        to, back = traffic.of(total)
        assert session.run(total) == 50_000
    assert is_about(to, 0) and is_about(back, 4)


def test_of_a_sharded_table_each_server_sends_its_own_rows(cluster: LocalCluster) -> None:
    """Part, Gather at each shard, Stitch (Fig. 4), and back again for the gradient."""
    rows, width = 16, 64

    def build() -> Any:
        ids = tf.placeholder(tf.int64, [rows])
        tables = shards(cluster, [1000, width])
        values = tf.nn.embedding_lookup(tables, ids)
        return ids, tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(values)))

    (ids, train), traffic, session = run(cluster, build)
    with session:
        to, back = traffic.of(train, {ids: np.arange(rows)})  # as many of each shard
    mine = rows // traffic.servers
    assert is_about(to, mine * 8 + mine * width * 4)
    assert is_about(back, mine * width * 4)


def test_a_softmax_over_sharded_weights_multiplies_at_the_shards(cluster: LocalCluster) -> None:
    """Activations and logits travel, and the gradients of both; the weights and their gradients never do."""
    batch, depth, classes = 8, 32, 4000
    share = classes // cluster.spec.num_tasks("ps")

    def build() -> Any:
        hidden = tf.placeholder(tf.float32, [batch, depth])
        labels = tf.placeholder(tf.int64, [batch])
        inputs = hidden * tf.get_variable("scale", [depth])  # on the worker
        logits = []
        for weights in shards(cluster, [depth, share]):
            with tf.colocate_with(weights):
                logits.append(tf.matmul(inputs, weights))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.concat(logits, 1))
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        train = optimizer.minimize(tf.reduce_mean(losses), colocate_gradients_with_ops=True)
        return hidden, labels, train

    (hidden, labels, train), traffic, session = run(cluster, build)
    with session:
        feeds = {hidden: np.ones([batch, depth]), labels: np.arange(batch)}
        to, back = traffic.of(train, feeds)
    activations, part = batch * depth * 4, batch * share * 4
    assert part + activations < depth * share * 4 / 2  # less than the weights
    assert is_about(to, activations + part)  # inputs, and the gradients of the logits
    assert is_about(back, part + activations)  # logits, and the gradients of the inputs
