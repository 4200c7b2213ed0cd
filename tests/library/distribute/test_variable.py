"""Variables of several replicas: what they are where, changes, collections, checkpoints, errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

CONFIG = tf.ConfigProto(device_count={"CPU": 2})
ON_READ = {"synchronization": tf.VariableSynchronization.ON_READ, "trainable": False}


@pytest.fixture
def strategy() -> Any:
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def values(sess: Any, strategy: Any, variable: Any) -> list[Any]:
    return [np.asarray(v).tolist() for v in sess.run(list(strategy.experimental_local_results(variable)))]


def test_one_object_stands_for_the_copies(strategy: Any) -> None:
    with strategy.scope():
        v = tf.get_variable("v", [2], initializer=tf.random_normal_initializer())
    assert tf.global_variables() == tf.trainable_variables() == [v]
    assert v.name == "v:0" and v.shape == [2] and v.dtype == tf.float32 and isinstance(v, tf.Variable)
    assert [copy.name for copy in v.values] == ["v:0", "v/replica_1:0"]
    assert v.devices == ("/device:CPU:0", "/device:CPU:1")
    assert strategy.extended.variable_created_in_scope(v) and strategy.extended.value_container(v.values[1]) is v
    with tf.Session(config=CONFIG) as sess:
        assert not sess.run(v.is_initialized())
        sess.run(tf.global_variables_initializer())
        assert sess.run(v.is_initialized())
        first, second = values(sess, strategy, v)
        assert first == second == sess.run(v).tolist() == v.eval().tolist()
        v.load([5.0, 6.0], sess)
        assert values(sess, strategy, v) == [[5.0, 6.0]] * 2
    assert "MirroredVariable" in repr(v)


def test_updates_of_rows_change_every_copy(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable([1.0, 2.0, 3.0])
        slices = tf.IndexedSlices(tf.constant([10.0]), tf.constant([1]))
        changes = [v.scatter_add(slices), tf.scatter_update(v, [0], [7.0]), v.scatter_nd_add([[2]], [1.0])]
        with tf.Session(config=CONFIG) as sess:
            sess.run(tf.global_variables_initializer())
            for change in changes:
                sess.run(strategy.group(change))
            assert values(sess, strategy, v) == [[7.0, 12.0, 4.0]] * 2


def test_it_is_changed_outside_of_the_scope_too(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(1.0)
    add = v.assign_add(2.0)
    with tf.Session(config=CONFIG) as sess:
        sess.run(v.initializer)
        assert sess.run(add) == 3.0
        assert values(sess, strategy, v) == [3.0, 3.0]


def test_a_change_in_a_replica_needs_an_aggregation(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(1.0, name="v")
        rows = tf.Variable([1.0], name="rows", aggregation=tf.VariableAggregation.SUM)
        with pytest.raises(ValueError, match="'v:0' is changed in a replica, and has no aggregation"):
            strategy.experimental_run_v2(lambda: v.assign_add(1.0))
        with pytest.raises(NotImplementedError, match="ONLY_FIRST_REPLICA"):
            strategy.experimental_run_v2(lambda: tf.scatter_add(rows, [0], [1.0]))


def test_rows_of_the_first_replica(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable([1.0, 1.0], aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

        def step() -> Any:
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return tf.scatter_add(v, [number], [5.0])

        change = strategy.group(strategy.experimental_run_v2(step))
        with tf.Session(config=CONFIG) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(change)
            assert values(sess, strategy, v) == [[6.0, 1.0]] * 2


def test_copies_that_are_synchronised_when_read(strategy: Any) -> None:
    with strategy.scope():
        total = tf.get_variable(
            "t", [], initializer=tf.ones_initializer(), aggregation=tf.VariableAggregation.SUM, **ON_READ
        )
        mean = tf.get_variable(
            "m", [], initializer=tf.ones_initializer(), aggregation=tf.VariableAggregation.MEAN, **ON_READ
        )
        assert tf.trainable_variables() == []
        changes = [total.assign(6.0), mean.assign(6.0), total.assign_add(1.0), mean.assign_sub(1.0)]
        with tf.Session(config=CONFIG) as sess:
            sess.run(tf.global_variables_initializer())
            assert sess.run([total, mean]) == [2.0, 1.0]
            for change in changes:
                sess.run(change)
            assert values(sess, strategy, total) == [4.0, 3.0] and values(sess, strategy, mean) == [5.0, 5.0]
            total.load(9.0, sess)
            assert sess.run([total, mean.read_value()]) == [9.0, 5.0]
        with pytest.raises(ValueError, match="parts of it are changed in replicas only"):
            tf.scatter_add(tf.Variable([1.0], aggregation=tf.VariableAggregation.SUM, **ON_READ), [0], [1.0])
        with pytest.raises(ValueError, match="AUTO, ON_WRITE and ON_READ are accepted"):
            tf.Variable(1.0, name="n", synchronization=tf.VariableSynchronization.NONE)


def test_a_checkpoint_has_one_value_for_a_variable(strategy: Any, tmp_path: Path) -> None:
    def build(scope: Any) -> tuple[Any, ...]:
        with scope:
            w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
            total = tf.get_variable(
                "t", [], initializer=tf.zeros_initializer(), aggregation=tf.VariableAggregation.SUM, **ON_READ
            )
            return w, total, tf.train.get_or_create_global_step()

    path = str(tmp_path / "model")
    with tf.Graph().as_default():
        w, total, step = build(strategy.scope())
        with strategy.scope():
            change = tf.group(w.assign([1.0, 2.0]), total.assign(4.0), step.assign(7))
        with tf.Session(config=CONFIG) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(change)
            tf.train.Saver().save(sess, path, write_meta_graph=False)
    assert [name for name, _ in tf.train.list_variables(path)] == ["global_step", "t", "w"]
    with tf.Graph().as_default():
        w, total, step = build(strategy.scope())
        with tf.Session(config=CONFIG) as sess:
            tf.train.Saver().restore(sess, path)
            assert values(sess, strategy, w) == [[1.0, 2.0]] * 2
            assert values(sess, strategy, total) == [2.0, 2.0] and values(sess, strategy, step) == [7, 7]
    with tf.Graph().as_default():
        w, total = tf.get_variable("w", initializer=[0.0, 0.0]), tf.get_variable("t", initializer=0.0)
        step = tf.get_variable("step", initializer=np.int64(0))
        with tf.Session() as sess:
            tf.train.Saver({"w": w, "t": total, "global_step": step}).restore(sess, path)
            assert [np.asarray(v).tolist() for v in sess.run([w, total, step])] == [[1.0, 2.0], 4.0, 7]


def test_moving_averages_of_mirrored_variables(strategy: Any) -> None:
    with strategy.scope():
        w = tf.get_variable("w", initializer=2.0)
        averages = tf.train.ExponentialMovingAverage(0.5)

        def step() -> Any:
            number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            train = tf.train.GradientDescentOptimizer(1.0).minimize(w * (number + 1.0))
            with tf.control_dependencies([train]):
                return averages.apply([w])

        update = strategy.group(strategy.experimental_run_v2(step))
        with tf.Session(config=CONFIG) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(update)
            assert values(sess, strategy, w) == [-1.0, -1.0]
            assert values(sess, strategy, averages.average(w)) == [0.5, 0.5]
