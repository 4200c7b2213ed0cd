"""A function runs once for each replica: scopes, shared variables, waiting for one another, errors."""

import threading
from typing import Any

import pytest

import headrace as tf

CONFIG = tf.ConfigProto(device_count={"CPU": 2})


@pytest.fixture
def strategy() -> Any:
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def results(strategy: Any, fn: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return strategy.experimental_local_results(strategy.experimental_run_v2(fn, args, kwargs))


def test_replicas_build_under_their_own_names_and_devices(strategy: Any) -> None:
    with tf.name_scope("outer"), tf.control_dependencies([tf.no_op("before")]):
        one, two = results(strategy, lambda: tf.constant(1.0, name="x"))
        after = tf.constant(2.0, name="after")
    assert (one.name, one.device) == ("outer/x:0", "/device:CPU:0")
    assert (two.name, two.device) == ("outer/replica_1/x:0", "/device:CPU:1")
    assert [op.name for op in two.op.control_inputs] == ["outer/before"]
    assert after.name == "outer/after:0" and not after.device


def test_the_first_replica_makes_the_variables(strategy: Any) -> None:
    def step(x: Any) -> Any:
        own = tf.Variable(3.0, name="own")
        return tf.layers.dense(x, 1, use_bias=False) + own + tf.Variable(1.0, name="own")

    with strategy.scope():
        for count in (3, 6):  # names of layers are counted on
            results(strategy, step, tf.ones([1, 2]))
            assert len(tf.trainable_variables()) == count
    names = [v.name for v in tf.trainable_variables()]
    assert names == ["own:0", "dense/kernel:0", "own_1:0", "own_2:0", "dense_1/kernel:0", "own_3:0"]


def test_arguments_and_structures(strategy: Any) -> None:
    def step(pair: Any, name: str) -> Any:
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return {"sum": pair[0] + pair[1], "name": name, "both": [number, pair]}

    with strategy.scope():
        values = strategy.experimental_run_v2(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group)
        found = strategy.experimental_run_v2(step, ((values, 10),), {"name": "n"})
        assert found["name"] == "n"
        one, two = strategy.experimental_local_results(found)
        with tf.Session(config=CONFIG) as sess:
            assert sess.run([one["sum"], two["sum"], two["both"][0]]) == [10, 11, 1]
            assert sess.run(strategy.experimental_local_results(found["sum"])) == (10, 11)
        with pytest.raises(ValueError, match="this code is for no single one"):
            tf.identity(values)


def test_replicas_wait_for_one_another(strategy: Any) -> None:
    seen = []

    def merged(own: Any, number: Any, constant: int) -> Any:
        assert own is strategy and tf.distribute.in_cross_replica_context()
        assert tf.get_default_graph().get_name_scope() == "here"
        seen.append(constant)
        return own.reduce("SUM", number)

    def step() -> Any:
        replica = tf.distribute.get_replica_context()
        with tf.name_scope("here"):
            return replica.merge_call(merged, args=(replica.replica_id_in_sync_group,), kwargs={"constant": 4})

    with tf.Session(config=CONFIG) as sess:
        assert sess.run(list(results(strategy, step))) == [1]
    assert seen == [4]


def test_errors_come_from_the_replica(strategy: Any) -> None:
    def fails() -> None:
        if tf.distribute.get_replica_context()._copy == 1:
            raise KeyError("mine")
        tf.distribute.get_replica_context().merge_call(lambda _: None)

    threads = threading.active_count()
    with pytest.raises(KeyError, match="mine"):
        strategy.experimental_run_v2(fails)
    assert threading.active_count() == threads
    assert not tf.distribute.has_strategy()


def test_replicas_that_are_not_alike_are_refused(strategy: Any) -> None:
    def unequal() -> None:
        if tf.distribute.get_replica_context()._copy == 0:
            tf.distribute.get_replica_context().merge_call(lambda _: None)

    def different_variables() -> Any:
        return tf.Variable(1.0, name="v") if tf.distribute.get_replica_context()._copy else None

    def different_structures() -> Any:
        return [1] * (1 + tf.distribute.get_replica_context()._copy)

    with pytest.raises(RuntimeError, match="replicas 0 wait for others that have returned"):
        strategy.experimental_run_v2(unequal)
    with pytest.raises(RuntimeError, match="Replica 1 makes a variable 'v' that the first replica has not made"):
        strategy.experimental_run_v2(different_variables)
    with pytest.raises(ValueError, match="structures that are not alike"):
        strategy.experimental_run_v2(different_structures)


def test_another_graph_is_refused(strategy: Any) -> None:
    def step() -> Any:
        with tf.Graph().as_default():
            tf.distribute.get_strategy()  # that of the other graph, which has none
            return context.merge_call(lambda _: None)

    def outer() -> Any:
        nonlocal context
        context = tf.distribute.get_replica_context()
        return step()

    context: Any = None
    with pytest.raises(RuntimeError, match="needs the context of the replica"):
        strategy.experimental_run_v2(outer)
