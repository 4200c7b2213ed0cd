"""tf.contrib.distribute: constructors by numbers of GPUs, and elements of a replica's own."""

import pytest

import headrace as tf

contrib = tf.contrib.distribute


def test_devices_by_number() -> None:
    assert contrib.MirroredStrategy(num_gpus=2).extended.worker_devices == ("/device:GPU:0", "/device:GPU:1")
    assert contrib.MirroredStrategy(num_gpus_per_worker=0).extended.worker_devices == ("/device:CPU:0",)
    assert isinstance(contrib.OneDeviceStrategy("/cpu:0"), contrib.DistributionStrategy)
    with pytest.raises(ValueError, match="cannot specify both"):
        contrib.MirroredStrategy(num_gpus=1, num_gpus_per_worker=1)
    with pytest.raises(ValueError, match="Must only specify one of"):
        contrib.MirroredStrategy(["/cpu:0"], num_gpus=1)
    with pytest.raises(ValueError, match="num_gpus must be a number that is not negative, got -1"):
        contrib.MirroredStrategy(num_gpus=-1)


def test_each_replica_takes_an_element() -> None:
    strategy = contrib.MirroredStrategy(["/cpu:0", "/cpu:1"])
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(4).batch(2))
    parts = strategy.experimental_local_results(iterator.get_next())
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        sess.run(iterator.initialize())
        assert [part.tolist() for part in sess.run(parts)] == [[0, 1], [2, 3]]
