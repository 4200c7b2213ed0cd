"""Strategies where ops run eagerly."""

import numpy as np

import headrace as tf


def test_a_training_that_runs_eagerly() -> None:
    with tf.eager_mode():
        strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
        other = tf.distribute.OneDeviceStrategy("/cpu:0")
        batches = tf.data.Dataset.from_tensors(np.ones([4, 2], np.float32)).repeat(2)
        found = []
        for one in (strategy, other):
            with one.scope():
                w = tf.Variable([1.0, 2.0])
                optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
                mean = tf.Variable(
                    1.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.MEAN
                )

                def step(x, w=w, optimizer=optimizer, mean=mean):
                    optimizer.minimize(lambda: tf.reduce_mean(tf.reduce_sum(w * x, 1)))
                    mean.assign_add(1.0)
                    return tf.reduce_sum(w * x)

                totals = [
                    one.reduce("SUM", one.experimental_run_v2(step, (x,))).numpy()
                    for x in one.experimental_distribute_dataset(batches)
                ]
                w.assign_add([1.0, 1.0])
                found.append([totals, w.numpy().tolist(), mean.numpy()])
        assert found[0] == found[1] and found[0][2] == 3.0
