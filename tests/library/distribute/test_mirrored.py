"""Strategies over the devices of one process: devices, places of variables, metrics, compiled steps."""

from typing import Any

import pytest

import headrace as tf

TWO = ["/cpu:0", "/cpu:1"]


def test_devices() -> None:
    mirrored = tf.distribute.MirroredStrategy
    assert mirrored(["cpu:0", "/device:CPU:1"]).extended.worker_devices == ("/device:CPU:0", "/device:CPU:1")
    assert mirrored().num_replicas_in_sync >= 1
    with pytest.raises(ValueError, match="takes each device once, and got /device:CPU:0 several times"):
        mirrored(["/cpu:0", "/device:CPU:0"])
    for devices in ([], "/cpu:0"):
        with pytest.raises(ValueError, match="takes a list with one device or more"):
            mirrored(devices)
    with pytest.raises(TypeError, match=r"cross_device_ops must be a tf.distribute.CrossDeviceOps, got 'nccl'"):
        mirrored(TWO, "nccl")


def test_variables_are_where_the_strategy_wants_them() -> None:
    with tf.distribute.OneDeviceStrategy("/cpu:1").scope():
        assert tf.Variable(1.0).device == tf.constant(1.0).device == "/device:CPU:1"
    central = tf.distribute.experimental.CentralStorageStrategy(TWO, "/cpu:1")
    assert central.extended.parameter_devices == ("/device:CPU:1",)
    with central.scope():
        v = tf.Variable([1.0])
        slot = tf.train.MomentumOptimizer(0.1, 0.9)
        step = central.experimental_run_v2(lambda: slot.minimize(tf.reduce_sum(v)))
    assert v.device == slot.get_slot(v, "momentum").device == "/device:CPU:1" and step is not None
    assert v.values[0].device == "/device:CPU:1" and len(v.values) == 1


def test_partitioners_have_no_effect() -> None:
    with tf.distribute.MirroredStrategy(TWO).scope():
        v = tf.get_variable("v", [4, 2], partitioner=tf.fixed_size_partitioner(2))
    assert v.name == "v:0" and tf.get_variable_scope().custom_getter is None


@pytest.mark.parametrize("compile", ["off", "always"])
def test_a_compiled_step(compile: str) -> None:
    strategy = tf.distribute.MirroredStrategy(TWO)
    with strategy.scope():
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        optimizer = tf.train.AdamOptimizer(0.1)

        def step(x: Any) -> Any:
            return optimizer.minimize(tf.reduce_sum(tf.square(w * x)))

        train = strategy.group(strategy.experimental_run_v2(step, (tf.constant([1.0, 2.0]),)))
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, compile=compile)) as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(train)
        copies = sess.run(list(w.values))
    for one in copies:
        assert one.tolist() == pytest.approx([0.70159, 1.70062], abs=1e-5)


def test_metrics_are_those_of_all_replicas() -> None:
    strategy = tf.distribute.MirroredStrategy(TWO)

    def step(labels: Any) -> Any:
        return (
            tf.metrics.mean(labels),
            tf.metrics.accuracy(labels, tf.ones_like(labels)),
            tf.metrics.auc(labels, labels),
        )

    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors([1.0, 1.0, 0.0, 0.0, 0.0]))
        results = strategy.experimental_run_v2(step, (iterator.get_next(),))
        values = [strategy.experimental_local_results(value)[0] for value, _ in results]
        updates = [update for _, update in results]
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
            sess.run([iterator.initialize(), tf.local_variables_initializer()])
            sess.run([strategy.experimental_local_results(update) for update in updates])
            assert sess.run(values) == pytest.approx([0.4, 0.4, 1.0])
    assert all("replica" not in v.name for v in tf.local_variables())


def test_summaries_are_those_of_the_first_replica() -> None:
    strategy = tf.distribute.MirroredStrategy(TWO)
    strategy.experimental_run_v2(lambda: tf.summary.scalar("x", 1.0))
    assert [s.op.name for s in tf.get_collection(tf.GraphKeys.SUMMARIES)] == ["x"]
