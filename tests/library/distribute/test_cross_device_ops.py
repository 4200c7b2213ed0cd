"""Sums and means over devices, and values sent to devices."""

from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.library.distribute.values import Mirrored, PerReplica

TWO = ["/device:CPU:0", "/device:CPU:1"]
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


def placed(values: Any) -> PerReplica:
    made = []
    for name, value in zip(TWO, values, strict=True):
        with tf.device(name):
            made.append(tf.constant(value))
    return PerReplica(made)


def run(fetches: Any) -> Any:
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        return sess.run(fetches)


@pytest.mark.parametrize(
    "ops",
    [tf.distribute.NcclAllReduce(), tf.distribute.HierarchicalCopyAllReduce(2), tf.distribute.ReductionToOneDevice(),
     tf.distribute.ReductionToOneDevice("/cpu:1", tf.accumulate_n)],
)  # fmt: skip
def test_sums_and_means(ops: Any) -> None:
    x, n = placed([[1.0, 2.0], [3.0, 6.0]]), placed([3, 4])
    everywhere = ops.reduce(SUM, x, x)
    assert isinstance(everywhere, Mirrored) and [t.device for t in everywhere.values] == TWO
    one = ops.reduce("mean", x, "/cpu:1")
    assert one.device == "/device:CPU:1"
    total, mean = ops.batch_reduce(SUM, [(x, x), (n, "/cpu:0")])
    found = run([list(everywhere.values), one, list(total.values), mean, ops.reduce(MEAN, n, "/cpu:0")])
    np.testing.assert_array_equal(found[0], [[4.0, 8.0]] * 2)
    np.testing.assert_array_equal(found[1], [2.0, 4.0])
    np.testing.assert_array_equal(found[2], [[4.0, 8.0]] * 2)
    assert found[3:] == [7, 3]
    sent = ops.broadcast(tf.constant(5.0), TWO)
    assert [t.device for t in sent.values] == TWO and run(list(sent.values)) == [5.0, 5.0]


def test_rows_are_put_behind_one_another() -> None:
    with tf.device("/cpu:0"):
        one = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.constant([3, 1]))
        two = tf.IndexedSlices(tf.constant([[3.0], [5.0]]), tf.constant([2, 0]), tf.constant([3, 1]))
    ops = tf.distribute.NcclAllReduce()
    mean = ops.reduce(MEAN, PerReplica([one, two]), TWO).values[1]
    assert run([mean.values, mean.indices, mean.dense_shape])[0].tolist() == [[0.5], [1.5], [2.5]]
    with pytest.raises(ValueError, match="IndexedSlices in some replicas and a tensor in others"):
        ops.reduce(SUM, PerReplica([one, tf.constant([1.0])]), "/cpu:0")


def test_what_cannot_be_combined_is_refused() -> None:
    ops = tf.distribute.NcclAllReduce()
    with pytest.raises(TypeError, match=r"reduce_op must be tf.distribute.ReduceOp.SUM or MEAN, got 'MAX'"):
        ops.reduce("MAX", placed([1.0, 2.0]), "/cpu:0")
    with pytest.raises(ValueError, match="must be a value of replicas, got 3"):
        ops.reduce(SUM, 3, "/cpu:0")
    with pytest.raises(ValueError, match="A destination is a device, a variable or a value of replicas, got 3"):
        ops.reduce(SUM, placed([1.0, 2.0]), 3)
    with pytest.raises(ValueError, match="num_packs must be a number that is not negative, got -1"):
        tf.distribute.NcclAllReduce(-1)
    with pytest.raises(NotImplementedError, match="CrossDeviceOps does not say how a value is reduced"):
        tf.distribute.CrossDeviceOps().reduce(SUM, placed([1.0, 2.0]), "/cpu:0")


def test_one_s_own_way_to_combine() -> None:
    class Largest(tf.distribute.CrossDeviceOps):
        def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
            return self.broadcast(tf.maximum(*per_replica_value), destinations)

    strategy = tf.distribute.MirroredStrategy(TWO, Largest())
    with strategy.scope():
        value = strategy.experimental_run_v2(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group)
        assert run(strategy.reduce(SUM, value)) == 1
