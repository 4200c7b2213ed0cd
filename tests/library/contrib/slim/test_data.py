"""slim's data sets, from files of records to batches; readers, queues, and their mistakes."""

from pathlib import Path
from typing import Any

import pytest
from library.input.pipeline import drained

import headrace as tf

slim = tf.contrib.slim


@pytest.fixture
def files(tmp_path: Path) -> str:
    for shard in range(2):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"train-{shard}.tfrecord")) as writer:
            for label in range(3):
                value = tf.train.Feature(int64_list=tf.train.Int64List(value=[10 * shard + label]))
                example = tf.train.Example(features=tf.train.Features(feature={"label": value}))
                writer.write(example.SerializeToString())
    return str(tmp_path / "train-*")


def _dataset(files: Any, item: str = "label") -> Any:
    decoder = slim.tfexample_decoder.TFExampleDecoder(
        {"label": tf.FixedLenFeature([], tf.int64)}, {item: slim.tfexample_decoder.Tensor("label")}
    )
    return slim.dataset.Dataset(files, tf.TFRecordReader, decoder, 6, {item: "A number."}, num_classes=20)


def test_examples_in_order(files: str) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(_dataset(files), shuffle=False, num_epochs=2)
    assert provider.num_samples() == 6 and provider.list_items() == ["label", "record_key"]
    label, key = provider.get(["label", "record_key"])
    rows = drained([label, key])
    assert [int(row[0]) for row in rows] == [0, 1, 2, 10, 11, 12] * 2
    assert rows[0][1].endswith(b"train-0.tfrecord:0")


def test_examples_at_random_from_several_readers(files: str) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(
        _dataset(files), num_readers=2, num_epochs=2, common_queue_capacity=8, common_queue_min=4, seed=3, scope="data"
    )
    (label,) = provider.get(["label"])
    assert sorted(int(one) for one in drained(label)) == sorted([0, 1, 2, 10, 11, 12] * 2)
    assert [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)][-1] == "data/fraction_of_8_full:0"


def test_a_single_pass_and_batches_made_before(files: str) -> None:
    _, value = slim.parallel_reader.single_pass_read(files, tf.TFRecordReader)
    label = _dataset(files).decoder.decode(value)[0]
    batch = tf.train.batch({"label": label}, 2)
    queue = slim.prefetch_queue.prefetch_queue(batch, capacity=2)
    assert [row["label"].tolist() for row in drained(queue.dequeue())] == [[0, 1], [2, 10], [11, 12]]


def test_prefetching_what_is_not_of_one_size() -> None:
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    row = tf.reshape(tf.tile([number], [number + 1]), [-1])
    queue = slim.prefetch_queue.prefetch_queue([row], capacity=4, dynamic_pad=True)
    assert [batch.tolist() for batch in drained(queue.dequeue_many(3))] == [[[0, 0, 0], [1, 1, 0], [2, 2, 2]]]


def test_records_of_a_parallel_reader_are_counted(files: str) -> None:
    names = tf.train.string_input_producer(slim.parallel_reader.get_data_files(files), num_epochs=1, shuffle=False)
    reader = slim.parallel_reader.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(9, [tf.string] * 2, [[], []]), 2)
    keys, _ = reader.read_up_to(names, 6)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    assert reader.num_readers == 2
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(sess):
            assert sum(len(sess.run(keys)) for _ in range(1)) == 6
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(keys)  # only when both readers are done
            assert sess.run(counts) == [6, 2]


def test_queue_runners_are_not_nested() -> None:
    number = tf.train.range_input_producer(3, shuffle=False).dequeue()
    with tf.Session() as sess, slim.queues.QueueRunners(sess):
        with (
            pytest.raises(slim.queues.NestedQueueRunnerError, match="cannot be nested"),
            slim.queues.QueueRunners(sess),
        ):
            pass
        assert sess.run(number) == 0
    with tf.Session() as sess, slim.queues.QueueRunners(None):  # and can be used again
        assert sess.run(number) == 0


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"No data files found in .*nothing"):
        slim.parallel_reader.get_data_files(str(tmp_path / "nothing*"))
    provider = slim.data_provider.DataProvider({"image": tf.zeros([2])}, 1)
    with pytest.raises(ValueError, match=r"Item \[label\] is invalid. Valid entries include: \['image'\]"):
        provider.get(["label"])
    with pytest.raises(ValueError, match="items must be a list or tuple, got 'image'"):
        provider.get("image")
    with pytest.raises(ValueError, match="'record_key', used for record_key, is that of an item"):
        slim.dataset_data_provider.DatasetDataProvider(_dataset(["a"], item="record_key"))
    with pytest.raises(TypeError, match="two components of strings"):
        slim.parallel_reader.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(1, [tf.string]))
    assert _dataset("x").num_classes == 20
