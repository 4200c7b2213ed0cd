"""tf.train.replicas with dense="all_reduce": the same as with servers, bit for bit; workers are lost, late, and come later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from library.train.replica.test_replicas import OPTIMIZERS, STEPS, Job, Model, mine, server

import headrace as tf

__all__ = ["server"]  # the fixture


def wrapped(mode: str, workers: int, dense: str = "all_reduce", **arguments: Any) -> Callable[[Any], Any]:
    return lambda one: tf.train.replicas(one, mode, workers, dense=dense, **arguments)


class TwoTypes(Model):
    """Dense variables of two dtypes, several of each, and a sparse one."""

    def __init__(self, wrap: Callable[[Any], Any], optimizer: str = "adam") -> None:
        self.double = tf.get_variable("double", initializer=np.full((5, 7), 0.1, np.float64))
        self.scalar = tf.get_variable("scalar", initializer=np.float32(0.3))
        super().__init__(wrap, optimizer)

    def predict(self) -> Any:
        more = tf.cast(tf.reduce_sum(tf.square(self.double)), tf.float32) * self.scalar
        return super().predict() + more


@pytest.fixture
def two_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("library.train.replica.test_replicas.Model", TwoTypes)


def trained(server: Any, workers: int, dense: str, optimizer: str) -> list[Any]:
    def body(worker: int, session: Any, model: Model) -> Any:
        for _ in range(STEPS):
            session.run(model.train, model.feeds(mine(worker, workers)))
        return session.run([*tf.trainable_variables(), model.step])

    values = Job(server, workers).run(wrapped("sync", workers, dense), body, optimizer)
    tf.Session.reset(server.target)
    return list(values[0])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_result_is_that_of_servers_bit_for_bit(server: Any, two_types: None, workers: int, optimizer: str) -> None:
    found, expected = (trained(server, workers, dense, optimizer) for dense in ("all_reduce", "servers"))
    assert [value.dtype for value in found[:2]] == [np.float64, np.float32] and found[-1] == STEPS
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("mode", ["backup", "quorum"])
def test_the_other_modes_too(server: Any, mode: str) -> None:
    """All gradients count, so that the result is that of the synchronous mode."""
    arguments = {"backup": {"backups": 0}, "quorum": {"quorum": 2}}[mode]

    def body(worker: int, session: Any, model: Model) -> Any:
        for _ in range(STEPS):
            session.run(model.train, model.feeds(mine(worker, 2)))
        return session.run([*tf.trainable_variables(), model.step])

    found = Job(server, 2).run(wrapped(mode, 2, **arguments), body)
    tf.Session.reset(server.target)
    for value, other in zip(found[0], trained(server, 2, "servers", "adam"), strict=True):
        np.testing.assert_array_equal(value, other)


def test_a_late_worker_goes_on_with_the_newest_variables(server: Any) -> None:
    """Its copies become what the update has made without it."""
    updated, late = threading.Event(), threading.Barrier(3, timeout=60)

    def body(worker: int, session: Any, model: Model) -> Any:
        loss = session.run(model.loss, model.feeds(slice(None)))
        if worker < 2:
            session.run(model.train, model.feeds(mine(worker, 3)))
            updated.set()
        else:
            assert updated.wait(60)
            session.run(model.train, model.feeds(mine(worker, 3)))
        late.wait()
        after = session.run(model.loss, model.feeds(slice(None)))
        late.wait()
        return loss, after

    found = Job(server, 3).run(wrapped("backup", 3, backups=1), body, "sgd")
    assert len({after for _, after in found}) == 1 and found[0][0] != found[0][1]


def test_a_worker_that_comes_later_begins_with_the_variables_as_they_are(server: Any) -> None:
    """Both would end elsewhere if the first gradients of the second were those of the initial values."""

    def run(dense: str) -> list[Any]:
        alone, came = threading.Event(), threading.Event()

        def body(worker: int, session: Any, model: Model) -> Any:
            if worker == 0:
                for _ in range(3):
                    session.run(model.train, model.feeds(mine(0, 2)))
                alone.set()
                assert came.wait(60)
            else:
                came.set()
            for _ in range(3):
                session.run(model.train, model.feeds(mine(worker, 2)))
            return session.run([*tf.trainable_variables(), model.step])

        def wait(worker: int, model: Model) -> list[Any]:
            assert worker == 0 or alone.wait(60)
            return []

        values = Job(server, 2).run(wrapped("sync", 1, dense), body, hooks=wait)
        tf.Session.reset(server.target)
        return list(values[0])

    found, expected = run("all_reduce"), run("servers")
    assert found[-1] == 6
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, other)


def run_alone(dense: str, build: Callable[[], tuple[Any, list[Any]]]) -> list[Any]:
    """What a loss and its variables come to after three steps."""
    with tf.Graph().as_default():
        loss, variables = build()
        optimizer = tf.train.replicas(tf.train.MomentumOptimizer(0.1, 0.9), "sync", dense=dense)
        train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
        with tf.train.MonitoredTrainingSession() as session:
            for _ in range(3):
                session.run(train)
            return list(session.run(variables))


def resource_variables() -> tuple[Any, list[Any]]:
    w = tf.get_variable("w", initializer=np.ones((4, 2), np.float32), use_resource=True)
    return tf.reduce_sum(tf.square(w) * w.read_value()), [w]


def the_variable_is_the_gradient() -> tuple[Any, list[Any]]:
    w = tf.get_variable("w", initializer=np.ones((4, 2), np.float32))
    other = tf.get_variable("other", initializer=np.full((4, 2), 2.0, np.float32))
    return tf.reduce_sum(w * other), [w, other]


def one_without_a_gradient() -> tuple[Any, list[Any]]:
    w, unused = tf.get_variable("w", initializer=1.0), tf.get_variable("unused", initializer=2.0)
    return tf.square(w), [w, unused]


def in_a_conditional() -> tuple[Any, list[Any]]:
    w = tf.get_variable("w", initializer=3.0)
    return tf.cond(w > 1.0, lambda: tf.square(w), lambda: tf.abs(w)), [w]


@pytest.mark.parametrize(
    "build",
    [resource_variables, the_variable_is_the_gradient, one_without_a_gradient, in_a_conditional],
)
def test_kinds_of_variables(build: Callable[[], tuple[Any, list[Any]]]) -> None:
    for value, other in zip(run_alone("all_reduce", build), run_alone("servers", build), strict=True):
        np.testing.assert_array_equal(value, other)


def test_a_large_variable_travels_in_many_chunks(server: Any) -> None:
    """Some of them end within a variable."""

    def run(dense: str) -> Any:
        def work(worker: int, session: Any, model: Model) -> Any:
            for _ in range(2):
                session.run(model.train, model.feeds(mine(worker, 3)))
            return session.run(tf.trainable_variables())

        values = Job(server, 3).run(wrapped("sync", 3, dense), work)
        tf.Session.reset(server.target)
        return values[0]

    class Large(Model):
        def predict(self) -> Any:
            w = tf.get_variable("large", [3, 700_001], initializer=tf.random_normal_initializer(seed=1))
            return super().predict() + tf.reduce_mean(tf.matmul(self.x, w), 1, keepdims=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("library.train.replica.test_replicas.Model", Large)
        for value, other in zip(run("all_reduce"), run("servers"), strict=True):
            np.testing.assert_array_equal(value, other)


def test_a_model_without_dense_gradients_is_refused() -> None:
    def build() -> tuple[Any, list[Any]]:
        table = tf.get_variable("table", initializer=np.ones((4, 2), np.float32))
        return tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, [1, 3]))), [table]

    with pytest.raises(ValueError, match="sums gradients that are tensors, and there is none.*test_all_reduce.py"):
        run_alone("all_reduce", build)


def test_a_loss_that_changes_a_variable_is_refused() -> None:
    with tf.Graph().as_default():
        w = tf.get_variable("w", initializer=2.0)
        with tf.control_dependencies([w.assign(tf.minimum(w, 1.0))]):
            loss = tf.square(w.read_value())
        optimizer = tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), "sync", dense="all_reduce")
        with pytest.raises(ValueError, match="'Assign' changes 'w', and the loss depends on it.*test_all_reduce.py"):
            optimizer.minimize(loss, tf.train.get_or_create_global_step())


def test_a_variable_of_unknown_shape_is_refused() -> None:
    with tf.Graph().as_default():
        w = tf.Variable(tf.placeholder_with_default([1.0, 2.0], [None]), validate_shape=False)
        optimizer = tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), "sync", dense="all_reduce")
        with pytest.raises(
            ValueError, match="copies variables of known shape to workers, got .*Variable.*test_all_reduce.py"
        ):
            optimizer.minimize(tf.reduce_sum(tf.square(w)), tf.train.get_or_create_global_step())
