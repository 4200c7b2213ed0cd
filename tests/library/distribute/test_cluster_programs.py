"""Programs over the tasks of a cluster as people write them: a strategy given to an estimator, or around a Keras model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster
from cluster.ports import free_addresses

import headrace as tf
from headrace.cluster.connection import close_client_endpoint
from headrace.library.distribute.cluster import MultiWorkerMirroredStrategy

X = np.random.RandomState(0).randn(64, 3).astype(np.float32)
Y = X @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.25


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=2) as made:
        yield made


@pytest.fixture
def spec() -> Iterator[Any]:
    """A cluster as the TF_CONFIG of estimators describes it; its servers are in this process."""
    ps, chief, worker = free_addresses(3)
    made = tf.train.ClusterSpec({"ps": [ps], "chief": [chief], "worker": [worker]})
    servers = [tf.train.Server(made, job, 0, config=tf.ConfigProto(compile="off")) for job in made.jobs]
    try:
        yield made
    finally:
        for server in servers:
            server._stop()
        close_client_endpoint()


def test_an_estimator_with_variables_on_a_parameter_server(
    spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chief and a worker train one model: the chief writes its checkpoints, and both count its steps."""

    def config(worker: int) -> Any:
        task = {"cluster": spec.as_dict(), "task": {"type": ("chief", "worker")[worker], "index": 0}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(task))
        strategy = tf.distribute.experimental.ParameterServerStrategy()
        return tf.estimator.RunConfig(str(tmp_path), train_distribute=strategy, save_checkpoints_steps=20)

    def input_fn() -> Any:
        return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat().batch(16)

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        predictions = tf.layers.dense(features["x"], 1, name="linear")
        loss = tf.losses.mean_squared_error(labels, predictions)
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def work(estimator: Any) -> None:
        estimator.train(input_fn, max_steps=60)

    estimators = [tf.estimator.Estimator(model_fn, config=config(worker)) for worker in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, estimators))
    tf.summary.FileWriterCache.clear()
    assert estimators[0].get_variable_value("global_step") >= 60
    kernel = estimators[0].get_variable_value("linear/kernel")
    np.testing.assert_allclose(kernel.ravel(), [1.0, -2.0, 0.5], atol=0.1)


def _fitted(strategy: Any, target: str) -> Any:
    """What fit, evaluate and predict give for a model made in the scope of the strategy."""
    start = tf.constant_initializer([[0.3], [0.1], [-0.2]])
    with tf.Graph().as_default(), tf.Session(target), strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,), kernel_initializer=start)])
        model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.5), "mse", metrics=["mae"])
        fitted = model.fit(X, Y, batch_size=16, epochs=3, verbose=0, shuffle=False).history
        return fitted["loss"], fitted["mean_absolute_error"], model.evaluate(X, Y, 16, 0), model.predict(X, 16)


def test_keras_on_the_workers_of_a_cluster(cluster: LocalCluster) -> None:
    """Each worker is given the whole batch and takes its part: a step is what it is in one process."""

    def work(worker: int) -> Any:
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            cluster.spec, task_type="worker", task_id=worker
        )
        return _fitted(MultiWorkerMirroredStrategy._of_task(resolver), cluster.target("worker", worker))

    with ThreadPoolExecutor(2) as pool:
        workers = list(pool.map(work, range(2)))
    alone = _fitted(tf.distribute.OneDeviceStrategy("/cpu:0"), "")
    assert alone[0][-1] < alone[0][0] / 4
    for one in workers:
        for found, wanted in zip(one, alone, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    tf.Session.reset(cluster.target("worker", 0))
