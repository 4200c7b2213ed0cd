"""Strategies over the tasks of a cluster: workers build graphs of their own, in threads of this process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf
from headrace.library.distribute.cluster import MultiWorkerMirroredStrategy

X = (np.arange(16).reshape(8, 2) % 7 / 7).astype(np.float32)
Y = X @ np.array([[1.0], [2.0]], np.float32) + 0.5


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=2) as made:
        yield made


def resolver(cluster: LocalCluster, worker: int) -> Any:
    return tf.distribute.cluster_resolver.SimpleClusterResolver(cluster.spec, task_type="worker", task_id=worker)


def model(x: Any, y: Any) -> Any:
    w = tf.get_variable("w", [2, 1], initializer=tf.random_normal_initializer())
    table = tf.get_variable("table", [3], initializer=tf.zeros_initializer())
    rows = tf.gather(table, tf.cast(x[:, :1] * 2.9, tf.int32))
    return tf.reduce_mean(tf.square(tf.matmul(x, w) + rows - y))


def trained(strategy: Any, target: str, optimizer: Any, start: Any = None, steps: int = 3) -> Any:
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors((X, Y)).repeat())
        step = tf.train.get_or_create_global_step()

        def replica(element: Any) -> Any:
            loss = model(*element)
            with tf.control_dependencies([optimizer.minimize(loss / strategy.num_replicas_in_sync, step)]):
                return tf.identity(loss)

        loss = strategy.reduce("MEAN", strategy.experimental_run_v2(replica, (iterator.get_next(),)))
        variables = tf.trainable_variables()
        with tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=30000)) as sess:
            sess.run([iterator.initialize(), tf.global_variables_initializer()])
            if start is not None:
                variables[0].load(start, sess)
            first = sess.run(variables[0])
            losses = [sess.run(loss) for _ in range(steps)]
            return first, losses, sess.run(variables), sess.run(step)


@pytest.mark.parametrize("make", [lambda: tf.train.AdamOptimizer(0.1), lambda: tf.train.GradientDescentOptimizer(0.1)])
def test_workers_train_as_one_process_does(cluster: LocalCluster, make: Any) -> None:
    def work(worker: int) -> Any:
        strategy = MultiWorkerMirroredStrategy._of_task(resolver(cluster, worker))
        assert strategy.num_replicas_in_sync == 2
        with tf.Graph().as_default():
            return trained(strategy, cluster.target("worker", worker), make())

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(work, range(2))
    np.testing.assert_array_equal(one[0], other[0])  # the first worker's random numbers
    assert one[1] == other[1] and one[3] == other[3] == 3
    for own, theirs in zip(one[2], other[2], strict=True):
        np.testing.assert_array_equal(own, theirs)
    with tf.Graph().as_default():
        alone = trained(tf.distribute.OneDeviceStrategy("/cpu:0"), "", make(), one[0])
    np.testing.assert_allclose(one[1], alone[1], rtol=1e-5)
    for own, expected in zip(one[2], alone[2], strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-6)
    tf.Session.reset(cluster.target("worker", 0))


def test_variables_are_on_parameter_servers(cluster: LocalCluster) -> None:
    def build(worker: int) -> Any:
        strategy = tf.distribute.experimental.ParameterServerStrategy(resolver(cluster, worker))
        with tf.Graph().as_default() as graph, strategy.scope():
            optimizer = tf.train.AdamOptimizer(0.1)
            step = tf.train.get_or_create_global_step()

            def replica() -> Any:
                return optimizer.minimize(model(tf.constant(X), tf.constant(Y)), step)

            train = strategy.group(strategy.experimental_run_v2(replica))
            return strategy, graph, train, step, tf.global_variables(), tf.global_variables_initializer()

    strategies, graphs, trains, steps, variables, inits = zip(*map(build, range(2)), strict=True)
    assert {v.device for v in variables[0]} == {"/job:ps/task:0"}
    assert strategies[0].num_replicas_in_sync == 1
    assert [s.extended.should_checkpoint for s in strategies] == [True, False]
    targets = [cluster.target("worker", worker) for worker in range(2)]
    with tf.Session(targets[0], graph=graphs[0]) as chief, tf.Session(targets[1], graph=graphs[1]) as other:
        chief.run(inits[0])
        chief.run(trains[0])
        other.run(trains[1])
        assert chief.run(steps[0]) == other.run(steps[1]) == 2
    tf.Session.reset(cluster.target("worker", 0))


def test_without_a_cluster_they_use_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    experimental = tf.distribute.experimental
    for strategy in (experimental.MultiWorkerMirroredStrategy(), experimental.ParameterServerStrategy()):
        assert not strategy.extended.experimental_between_graph
        with tf.Graph().as_default():
            found = trained(strategy, "", tf.train.GradientDescentOptimizer(0.1), steps=2)
            assert found[1][1] < found[1][0]


def test_what_is_no_place_is_refused(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    make = tf.distribute.cluster_resolver.SimpleClusterResolver
    with pytest.raises(ValueError, match="this process is task 0 of job 'ps'"):
        tf.distribute.experimental.ParameterServerStrategy(make(cluster.spec, task_type="ps", task_id=0))
    workers = tf.train.ClusterSpec({"worker": ["a:1"]})
    with pytest.raises(ValueError, match="needs a job 'ps'"):
        tf.distribute.experimental.ParameterServerStrategy(make(workers, task_type="worker", task_id=0))
    with pytest.raises(TypeError, match="CollectiveCommunication"):
        tf.distribute.experimental.MultiWorkerMirroredStrategy("ring")
