"""Where code is: in a replica, for all of them, or outside of every strategy; and what is refused there."""

from typing import Any

import pytest

import headrace as tf


@pytest.fixture
def strategy() -> Any:
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def test_where_code_is(strategy: Any) -> None:
    distribute = tf.distribute
    assert not distribute.has_strategy() and not distribute.in_cross_replica_context()
    default = distribute.get_strategy()
    assert distribute.get_replica_context().strategy is default
    with strategy.scope() as entered:
        assert entered is strategy is distribute.get_strategy()
        assert distribute.has_strategy() and distribute.in_cross_replica_context()
        assert distribute.get_replica_context() is None
        with tf.Graph().as_default():  # the scope is that of the other graph
            assert distribute.get_strategy() is default
        with strategy.scope():
            assert distribute.in_cross_replica_context()

        def step() -> None:
            context = distribute.get_replica_context()
            assert distribute.has_strategy() and not distribute.in_cross_replica_context()
            assert context.strategy is strategy is distribute.get_strategy() and context.num_replicas_in_sync == 2
            assert context.devices == (f"/device:CPU:{context._copy}",)

        strategy.experimental_run_v2(step)
    assert distribute.get_strategy() is default


def test_without_a_strategy_there_is_one_replica() -> None:
    default = tf.distribute.get_strategy()
    assert default.num_replicas_in_sync == 1
    with default.scope():
        v = tf.Variable(2.0)
        x = default.experimental_run_v2(lambda a: a * v, (3.0,))
        train = default.experimental_run_v2(lambda: tf.train.GradientDescentOptimizer(0.5).minimize(v * 2.0))
        merged = tf.distribute.get_replica_context().merge_call(lambda own, a: a + 1, (4,))
        summed = tf.distribute.get_replica_context().all_reduce("SUM", x)
        results = default.reduce("MEAN", x), default.experimental_local_results(x), default.group(x)
    assert merged == 5 and type(v).__name__ in ("Variable", "ResourceVariable")
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run([x, summed, *results[:2]]) == [6.0, 6.0, 6.0, (6.0,)]
        sess.run(train)
        assert sess.run(v) == 1.0


def test_what_belongs_elsewhere_is_refused(strategy: Any) -> None:
    other = tf.distribute.OneDeviceStrategy("/cpu:0")
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    outside = tf.get_variable("outside", initializer=1.0, use_resource=True)
    with strategy.scope():
        with pytest.raises(RuntimeError, match="leave the outer scope first"), other.scope():
            pass
        v = tf.Variable(1.0)
        with pytest.raises(RuntimeError, match="apply_gradients, which minimize calls, is called in the scope"):
            optimizer.minimize(v * 2.0)
        with pytest.raises(RuntimeError, match="experimental_set_strategy must not be called inside"):
            tf.distribute.experimental_set_strategy(other)
        with pytest.raises(ValueError, match="'outside:0' was not made in the scope of this strategy"):
            strategy.experimental_run_v2(lambda: optimizer.minimize(outside * 2.0, var_list=[outside]))
        refused = pytest.raises(ValueError, match="must only be passed a variable created in this")
        with refused, strategy.extended.colocate_vars_with(outside):
            pass
        with pytest.raises(TypeError, match="A replica runs a function"):
            strategy.experimental_run_v2(3)

    def in_replica(call: Any) -> None:
        with pytest.raises(RuntimeError, match=r"in a replica|here is the context of replica \d"):
            call()

    def step() -> None:
        in_replica(lambda: strategy.experimental_run_v2(lambda: None))
        in_replica(lambda: strategy.reduce("SUM", 1.0))
        in_replica(lambda: strategy.extended.update(v, lambda copy: copy))
        in_replica(lambda: strategy.extended.batch_reduce_to("SUM", []))
        in_replica(lambda: strategy.extended.call_for_each_replica(lambda: None))

    strategy.experimental_run_v2(step)
    with pytest.raises(RuntimeError, match="here is no scope of a strategy"):
        strategy.extended.reduce_to("SUM", 1.0, "/cpu:0")
    saved = strategy.experimental_run_v2(tf.distribute.get_replica_context)
    with pytest.raises(RuntimeError, match="needs the context of the replica"):
        saved.values[0].merge_call(lambda own: None)


def test_a_strategy_is_set_for_good() -> None:
    one = tf.distribute.OneDeviceStrategy("/cpu:0")
    try:
        tf.distribute.experimental_set_strategy(one)
        assert tf.distribute.get_strategy() is one
        assert tf.Variable(1.0).device == "/device:CPU:0"
    finally:
        tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()
