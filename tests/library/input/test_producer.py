"""Producers.  What they give is compared with TensorFlow in tests/tensorflow/programs/input_pipeline.py."""

from pathlib import Path

import numpy as np
import pytest
from library.input.pipeline import OFF, drained

import headrace as tf


def test_shuffling_is_another_order_in_each_epoch_and_the_same_with_a_seed() -> None:
    orders = []
    for _ in range(2):
        with tf.Graph().as_default():
            numbers = drained(tf.train.range_input_producer(20, num_epochs=2, seed=7).dequeue())
        first, second = numbers[:20], numbers[20:]
        assert sorted(first) == sorted(second) == list(range(20)) and first != second
        orders.append(numbers)
    assert orders[0] == orders[1]


def test_a_small_capacity_holds_the_producer_back() -> None:
    queue = tf.train.range_input_producer(1000, shuffle=False, capacity=3)
    assert drained(queue.dequeue(), 50) == list(range(50))
    with tf.Session(config=OFF) as sess:
        assert sess.run(queue.size()) == 0  # each session has queues of its own


def test_string_producers_take_arrays_and_variables(tmp_path: Path) -> None:
    assert drained(tf.train.string_input_producer(np.array(["a", "b"]), 1, False).dequeue()) == [b"a", b"b"]
    for name in "cab":
        (tmp_path / name).touch()
    files = tf.io.match_filenames_once([str(tmp_path / "[ab]"), str(tmp_path / "c")])
    found = drained(tf.train.string_input_producer(files, num_epochs=1, shuffle=False).dequeue())
    assert found == [str(tmp_path / name).encode() for name in "abc"]


def test_no_names_at_run_time_is_an_error_of_the_runner() -> None:
    strings = tf.placeholder_with_default(np.array([], object), [None])
    queue = tf.train.string_input_producer(strings)
    with pytest.raises(tf.errors.InvalidArgumentError, match="string_input_producer requires a non-null input tensor"):
        drained(queue.dequeue())


def test_epochs_that_nobody_initialized(interpreted: tf.Session) -> None:
    queue = tf.train.range_input_producer(3, num_epochs=1)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(interpreted, coord)
    with pytest.raises(tf.errors.FailedPreconditionError, match="limit_epochs/epochs"):
        coord.join(threads)
    with pytest.raises(tf.errors.OutOfRangeError):
        interpreted.run(queue.dequeue())


def test_cancel_op_runs_when_the_coordinator_stops() -> None:
    stopped = tf.Variable(0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    stop = tf.assign(stopped, 1)
    queue = tf.train.string_input_producer(["a"], cancel_op=stop.op)
    assert tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].cancel_op is stop.op
    coord = tf.train.Coordinator()
    with tf.Session(config=OFF) as sess:
        sess.run(tf.local_variables_initializer())
        threads = tf.train.start_queue_runners(sess, coord)
        assert sess.run(queue.dequeue()) == b"a"
        coord.request_stop()
        sess.run(queue.close(cancel_pending_enqueues=True))  # which the runner's own op would have done
        coord.join(threads)
        assert sess.run(stopped) == 1


def test_shared_names_reach_the_queue() -> None:
    queue = tf.train.input_producer([1, 2], shared_name="numbers")
    assert queue.queue_ref.op.get_attr("shared_name") == b"numbers"


def test_slices_of_unequal_tensors_fail_where_one_ends() -> None:
    a, b = tf.train.slice_input_producer([tf.range(3), tf.constant([1.0, 2.0])], num_epochs=1, shuffle=False)
    assert drained(a) == [0, 1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 is not in"):
        drained([a, b])


def test_wrong_use() -> None:
    with pytest.raises(
        ValueError, match=r"string_input_producer requires a non-null input tensor, got \[\].*test_producer"
    ):
        tf.train.string_input_producer([])
    with pytest.raises(ValueError, match=r"num_epochs must be > 0 not 0.*test_producer.py"):
        tf.train.range_input_producer(3, num_epochs=0)
    with pytest.raises(ValueError, match=r"`element_shape` must be specified: got shape \(\?, \?\)"):
        tf.train.input_producer(tf.placeholder(tf.float32, [None, None]))
    with pytest.raises(ValueError, match="are not compatible|incompatible"):
        tf.train.input_producer([[1, 2]], element_shape=[3])
    with tf.eager_mode(), pytest.raises(RuntimeError, match="based on Queues are not supported when eager"):
        tf.train.string_input_producer(["a"])
