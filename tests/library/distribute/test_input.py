"""Batches that are divided among replicas, and elements of their own."""

from typing import Any

import numpy as np
import pytest

import headrace as tf

CONFIG = tf.ConfigProto(device_count={"CPU": 2})


@pytest.fixture
def strategy() -> Any:
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def drained(strategy: Any, iterator: Any) -> list[Any]:
    parts = strategy.experimental_local_results(iterator.get_next())
    found = []
    with tf.Session(config=CONFIG) as sess:
        sess.run(iterator.initialize())
        while True:
            try:
                found.append([np.asarray(part).tolist() for part in sess.run(parts)])
            except tf.errors.OutOfRangeError:
                return found


def test_a_batch_is_divided_as_evenly_as_possible(strategy: Any) -> None:
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(12).batch(5))
    assert drained(strategy, iterator) == [[[0, 1, 2], [3, 4]], [[5, 6, 7], [8, 9]], [[10], [11]]]


def test_structures_and_shapes_that_are_known(strategy: Any) -> None:
    rows = tf.SparseTensor([[0, 1], [3, 0]], [5, 7], [4, 2])
    dataset = tf.data.Dataset.from_tensors({"x": tf.zeros([4, 3]), "s": rows})
    iterator = strategy.experimental_distribute_dataset(dataset).make_one_shot_iterator()
    one, two = strategy.experimental_local_results(iterator.get_next())
    assert one["x"].shape == two["x"].shape == [2, 3]
    assert iterator.output_types == {"x": tf.float32, "s": tf.int32}
    with tf.Session(config=CONFIG) as sess:
        found = sess.run(two["s"])
        assert (
            found.indices.tolist() == [[1, 0]] and found.values.tolist() == [7] and found.dense_shape.tolist() == [2, 2]
        )


def test_what_cannot_be_divided_is_refused(strategy: Any) -> None:
    with pytest.raises(ValueError, match="batch the dataset first"):
        strategy.make_dataset_iterator(tf.data.Dataset.range(3))
    with pytest.raises(TypeError, match=r"distributes a tf.data.Dataset, got \[1\]"):
        strategy.make_dataset_iterator([1])
    with pytest.raises(ValueError, match="InputReplicationMode.PER_WORKER is"):
        strategy.make_input_fn_iterator(lambda context: None, replication_mode=1)
    with pytest.raises(ValueError, match="must give a tf.data.Dataset or a function of no arguments, and gave 3"):
        strategy.make_input_fn_iterator(lambda context: 3)
    with pytest.raises(TypeError, match="input function must be callable, got 3"):
        strategy.make_input_fn_iterator(3)
    with pytest.raises(RuntimeError, match="run the tensors of get_next"):
        next(strategy.make_dataset_iterator(tf.data.Dataset.range(4).batch(2)))


def test_elements_that_do_not_go_around_are_not_lost(strategy: Any) -> None:
    def input_fn(context: Any) -> Any:
        assert (context.num_input_pipelines, context.input_pipeline_id) == (1, 0)
        return tf.data.Dataset.range(5).batch(2)

    iterator = strategy.make_input_fn_iterator(input_fn)
    assert drained(strategy, iterator) == [[[0, 1], [2, 3]], [[4], []]]
    dataset = strategy.experimental_distribute_datasets_from_function(
        lambda context: tf.data.Dataset.range(5).batch(2, drop_remainder=True).repeat(2)
    )
    assert drained(strategy, dataset.make_initializable_iterator()) == [[[0, 1], [2, 3]]] * 2


def test_an_input_function_of_tensors(strategy: Any) -> None:
    def input_fn(context: Any) -> Any:
        return lambda: tf.random_uniform([2], seed=1)

    iterator = strategy.make_input_fn_iterator(input_fn)
    one, two = strategy.experimental_local_results(iterator.get_next())
    assert iterator.initialize() == [] and one is not two and one.shape == [2]


def test_the_context_of_input() -> None:
    context = tf.distribute.InputContext(num_input_pipelines=2, input_pipeline_id=1, num_replicas_in_sync=4)
    assert context.get_per_replica_batch_size(8) == 2
    assert repr(context) == "tf.distribute.InputContext(input pipeline id 1, total: 2)"
    with pytest.raises(ValueError, match="global batch size 6 is not divisible by the number of replicas 4"):
        context.get_per_replica_batch_size(6)


def test_rows_of_arrays(strategy: Any) -> None:
    dataset = strategy.experimental_make_numpy_dataset((np.arange(3), np.arange(3.0)))
    assert dataset.output_types == (tf.int64, tf.float64)
