"""The summaries of how full the queues of input functions are: tags and node names as TensorFlow 2.21 gives them."""

from typing import Any

import headrace as tf


def merged(session: Any) -> dict[str, float]:
    summary = tf.Summary.FromString(session.run(tf.summary.merge_all()))
    return {value.tag: round(value.simple_value, 4) for value in summary.value}


def test_each_input_function_adds_its_summary(session: tf.Session) -> None:
    tf.train.string_input_producer(["a", "b"])
    tf.train.string_input_producer(["a"], capacity=5, name="files")
    tf.train.input_producer([1, 2])
    tf.train.input_producer([1, 2], summary_name="my full")
    tf.train.range_input_producer(7)
    with tf.name_scope("scope"):
        row = tf.train.slice_input_producer([[1, 2], [3.0, 4.0]])
    tf.train.batch(row, 2)
    tf.train.batch_join([row, row], 2, capacity=9, name="bj")
    tf.train.shuffle_batch(row, 2, 10, 3)
    tf.train.shuffle_batch_join([row, row], 2, 10, 3)
    tf.train.maybe_batch(row, True, 2)
    tf.train.maybe_shuffle_batch(row, 2, 10, 3, True)
    tags = merged(session)
    assert list(tags) == [
        "input_producer/fraction_of_32_full",
        "files/fraction_of_5_full",
        "input_producer_2/my_full",
        "input_producer_3/fraction_of_32_full",
        "scope/input_producer/input_producer/fraction_of_32_full",
        "batch/fraction_of_32_full",
        "bj/fraction_of_9_full",
        "shuffle_batch/fraction_over_3_of_7_full",
        "shuffle_batch_join/fraction_over_3_of_7_full",
        "batch_1/fraction_of_32_full",
        "shuffle_batch_1/fraction_over_3_of_7_full",
    ]
    assert set(tags.values()) == {0.0}


def test_the_value_is_the_fraction_that_is_there(session: tf.Session) -> None:
    queue = tf.train.input_producer([1, 2, 3], num_epochs=1, shuffle=False, capacity=4, summary_name="full")
    tf.train.shuffle_batch([tf.constant(1)], 1, capacity=6, min_after_dequeue=2)
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    session.run(tf.local_variables_initializer())
    session.run(runners[0].enqueue_ops)
    for expected in ([0.75, 0.0], [0.5, 0.0], [0.25, 0.25]):
        assert list(merged(session).values()) == expected
        session.run([queue.dequeue(), runners[1].enqueue_ops])
        session.run(runners[1].enqueue_ops if expected == [0.75, 0.0] else tf.no_op())
