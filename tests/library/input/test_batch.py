"""Batches.  What they hold is compared with TensorFlow in tests/tensorflow/programs/input_pipeline.py."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library.input.pipeline import OFF, drained

import headrace as tf


def numbers(count: int, epochs: int = 1) -> Any:
    return tf.train.range_input_producer(count, num_epochs=epochs, shuffle=False).dequeue()


def test_several_threads_lose_nothing() -> None:
    n = numbers(500)
    batches = drained(tf.train.batch([n, tf.square(n)], 7, num_threads=4, allow_smaller_final_batch=True))
    assert sorted(np.concatenate([b[0] for b in batches])) == list(range(500))
    assert all((a * a == b).all() for a, b in batches)


def test_shuffled_batches_are_drawn_from_the_rest() -> None:
    batches = drained(tf.train.shuffle_batch([numbers(60)], 6, capacity=40, min_after_dequeue=20, seed=3))
    order = np.concatenate(batches).tolist()
    assert sorted(order) == list(range(60)) and order != sorted(order)
    assert max(order[:6]) < 40  # no more than the capacity can have been there


def test_an_error_in_the_input_reaches_whoever_joins(interpreted: tf.Session, tmp_path: Path) -> None:
    queue = tf.train.string_input_producer([str(tmp_path / "missing")], num_epochs=1)
    batch = tf.train.batch([tf.TextLineReader().read(queue).value], 2)
    coord = tf.train.Coordinator()
    interpreted.run(tf.local_variables_initializer())
    threads = tf.train.start_queue_runners(interpreted, coord)
    with pytest.raises((tf.errors.OutOfRangeError, tf.errors.CancelledError)):
        interpreted.run(batch)
    with pytest.raises(tf.errors.NotFoundError, match="missing; No such file or directory"):
        coord.join(threads)


def test_a_vector_that_keeps_nothing_adds_nothing() -> None:
    n = numbers(6)
    kept = tf.train.maybe_batch([tf.fill([2], n)], tf.stack([n > 3, tf.constant(False)]), 2, enqueue_many=True)
    assert [b.tolist() for b in drained(kept)] == [[4, 5]]


def test_keep_input_in_a_session_that_closes() -> None:
    """An enqueue inside a conditional waits for room; the end of the session ends it."""
    n = tf.train.range_input_producer(10).dequeue()
    batch = tf.train.maybe_batch([n], n >= 0, 2, capacity=2)
    coord = tf.train.Coordinator()
    with tf.Session(config=OFF) as sess:
        threads = tf.train.start_queue_runners(sess, coord)
        assert sess.run(batch).shape == (2,)
        coord.request_stop()
        coord.join(threads)
    assert not any(t.is_alive() for t in threads)


def test_shapes_make_up_for_what_is_not_known() -> None:
    x = tf.py_func(lambda: np.ones((2, 3), np.float32), [], tf.float32)
    with pytest.raises(ValueError, match="Cannot infer Tensor's rank: .*pass `shapes`.*test_batch.py"):
        tf.train.batch([x], 2)
    batch = tf.train.batch([x], 2, shapes=[[2, 3]])
    assert batch.shape.as_list() == [2, 2, 3] and drained(batch, 1)[0].shape == (2, 2, 3)


def test_an_element_of_another_shape_than_promised() -> None:
    x = tf.py_func(lambda: np.ones(5, np.float32), [], tf.float32)
    batch = tf.train.batch([x], 2, shapes=[[2]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[5\]"):
        drained(batch, 1)


def test_sparse_tensors_of_unequal_ranks_or_places() -> None:
    vector = tf.SparseTensor([[0]], [1], [3])
    matrix = tf.SparseTensor([[0, 0]], [1], [3, 3])
    for other in (matrix, tf.constant(1)):
        with pytest.raises(ValueError, match="Inconsistent SparseTensors list"):
            tf.train.batch_join([[vector], [other]], 2)
    with pytest.raises(ValueError, match="Inconsistent SparseTensors list|Expected types"):
        tf.train.batch_join([[vector], [tf.SparseTensor([[0]], [1.0], [3])]], 2)


def test_sparse_tensors_of_unknown_rank() -> None:
    shape = tf.placeholder_with_default(np.array([4], np.int64), [None])
    indices = tf.placeholder_with_default(np.array([[2]], np.int64), [None, None])
    batch = tf.train.batch([tf.SparseTensor(indices, tf.constant([5]), shape)], 2)
    assert batch.indices.shape.as_list() == [None, None]
    value = drained(batch, 1)[0]
    assert value.indices.tolist() == [[0, 2], [1, 2]] and value.dense_shape.tolist() == [2, 4]


def test_wrong_use() -> None:
    one = tf.constant(1)
    with pytest.raises(ValueError, match=r"Expected at least one set of tensors in batch_join\(\)"):
        tf.train.batch_join([], 2)
    with pytest.raises(ValueError, match="the first has .'a'., another has .'b'."):
        tf.train.batch_join([{"a": one}, {"b": one}], 2)
    with pytest.raises(ValueError, match="the first has .'a'., another has none .*Tensor"):
        tf.train.batch_join([{"a": one}, [one]], 2)
    with pytest.raises(ValueError, match="the first has none .*Tensor.*, another has .'a'."):
        tf.train.batch_join([[one], {"a": one}], 2)
    with pytest.raises(TypeError, match="Expected types to be consistent: int32 vs. float32.*test_batch.py"):
        tf.train.shuffle_batch_join([[one], [tf.constant(1.0)]], 2, 10, 5)
    with pytest.raises(ValueError, match="capacity 5 must be bigger than min_after_dequeue 5.*test_batch.py"):
        tf.train.shuffle_batch([one], 2, 5, 5)
    with tf.eager_mode(), pytest.raises(ValueError, match="based on Queues are not supported when eager"):
        tf.train.batch([1], 2)


def test_a_whole_pipeline_trains_and_leaves_no_thread(interpreted: tf.Session, tmp_path: Path) -> None:
    """TFRecord files, parsed, shuffled and batched by several threads, to a training step, until the epochs end."""
    paths = [str(tmp_path / f"part-{i}") for i in range(4)]
    rng = np.random.RandomState(0)
    for path in paths:
        with tf.python_io.TFRecordWriter(path) as writer:
            for x in rng.uniform(-1, 1, 50):
                features = {"x": [x], "y": [3 * x - 1]}
                feature = {k: tf.train.Feature(float_list=tf.train.FloatList(value=v)) for k, v in features.items()}
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    files = tf.train.string_input_producer(tf.train.match_filenames_once(str(tmp_path / "part-*")), num_epochs=10)
    example = tf.parse_single_example(
        tf.TFRecordReader().read(files).value,
        {"x": tf.FixedLenFeature([], tf.float32), "y": tf.FixedLenFeature([], tf.float32)},
    )
    batch = tf.train.shuffle_batch(example, 10, capacity=100, min_after_dequeue=40, num_threads=2)
    w, b = tf.Variable(0.0), tf.Variable(0.0)
    loss = tf.reduce_mean(tf.square(batch["x"] * w + b - batch["y"]))
    train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    coord = tf.train.Coordinator()
    steps = 0
    interpreted.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    threads = tf.train.start_queue_runners(interpreted, coord)
    try:
        while not coord.should_stop():
            interpreted.run(train)
            steps += 1
    except tf.errors.OutOfRangeError:
        coord.request_stop()
    coord.join(threads)
    assert steps == 200 and interpreted.run([w, b]) == pytest.approx([3, -1], abs=0.05)
    assert not [t for t in threading.enumerate() if t.name.startswith("QueueRunner")]
