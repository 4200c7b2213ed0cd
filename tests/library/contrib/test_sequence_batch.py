"""Segments of sequences with states: what batches hold, states that go on, padding, the end of the input, mistakes."""

from typing import Any

import numpy as np
import pytest

import headrace as tf

training = tf.contrib.training
LENGTHS = [5, 2, 7, 4]


def _input(**options: Any) -> Any:
    """Sequence ``i`` counts up from ``100 * i``."""
    number = tf.train.range_input_producer(len(LENGTHS), num_epochs=1, shuffle=False).dequeue()
    length = tf.gather(LENGTHS, number)
    arguments = {
        "input_key": tf.as_string(number), "input_sequences": {"x": tf.cast(100 * number + tf.range(length), tf.float32)},
        "input_context": {"number": number}, "input_length": None, "initial_states": {"sum": tf.zeros([1])},
        "num_unroll": 3, "batch_size": 2, "num_threads": 1, **options,
    }  # fmt: skip
    return training.batch_sequences_with_states(**arguments)


def _drained(fetch: Any) -> list[Any]:
    rows = []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        with tf.contrib.slim.queues.QueueRunners(sess), pytest.raises(tf.errors.OutOfRangeError):
            while True:
                rows.append(sess.run(fetch))
    return rows


@pytest.mark.parametrize("capacity", [2, 1000])
def test_states_go_on_from_segment_to_segment(capacity: int) -> None:
    batch = _input(capacity=capacity)
    total = batch.state("sum") + tf.reduce_sum(batch.sequences["x"], 1, keepdims=True)
    save = batch.save_state("sum", total)
    names = ("key", "next_key", "sequence", "sequence_count", "length", "total_length")
    fetch = {name: getattr(batch, name) for name in names}
    rows = _drained([fetch, batch.sequences["x"], batch.context["number"], total, batch.batch_size, save])
    segments = {}
    for fields, x, number, sums, size, _ in rows:
        assert len(x) == size <= 2
        for i, key in enumerate(fields["key"]):
            segments[key.decode()] = ({n: fields[n][i] for n in names}, x[i], number[i], float(sums[i, 0]))
    assert len(segments) == sum(-(-n // 3) for n in LENGTHS)
    for number, length in enumerate(LENGTHS):
        count, so_far = -(-length // 3), 0.0
        for part in range(count):
            fields, x, context, sums = segments[f"{part:05d}_of_{count:05d}:{number}"]
            expected = np.pad(100 * number + np.arange(length), (0, count * 3 - length))[3 * part : 3 * part + 3]
            so_far += expected.sum()
            assert x.tolist() == expected.tolist() and sums == so_far and context == number
            assert (fields["sequence"], fields["sequence_count"], fields["total_length"]) == (part, count, length)
            assert fields["length"] == min(3, length - 3 * part)
            last = part == count - 1
            assert fields["next_key"].decode() == (
                f"STOP:{number}" if last else f"{part + 1:05d}_of_{count:05d}:{number}"
            )


def test_a_network_that_saves_its_state() -> None:
    cell = tf.nn.rnn_cell.LSTMCell(3)
    batch = _input(initial_states={"c": tf.zeros([3]), "h": tf.zeros([3])}, batch_size=1)
    steps = tf.unstack(tf.expand_dims(batch.sequences["x"], 2), axis=1)
    outputs, _ = tf.nn.static_state_saving_rnn(cell, steps, batch, ("c", "h"), batch.length)
    rows = _drained([batch.key, batch.state("h"), outputs[-1]])
    assert len(rows) == 8
    started = {key[0].decode(): np.abs(h).max() > 0 for key, h, _ in rows}
    assert all(has_state == (not key.startswith("00000")) for key, has_state in started.items())


def test_without_padding() -> None:
    batch = _input(pad=False, input_length=tf.constant(4), num_unroll=2, input_sequences={"x": tf.range(4)},
                   make_keys_unique=True, num_threads=2)  # fmt: skip
    rows = _drained([batch.sequences["x"], batch.save_state("sum", batch.state("sum"))])
    assert sorted(x.tolist() for row in rows for x in row[0]) == [[0, 1]] * 4 + [[2, 3]] * 4


def test_what_does_not_fit_fails_in_the_step() -> None:
    batch = _input(pad=False, input_length=tf.constant(4))
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be a multiple of num_unroll"):
            coord.join(threads)
    assert batch.insertion_index.dtype == tf.int64


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"num_unroll": 0, "pad": False, "input_length": 1}, ValueError, "num_unroll must be at least 1, got 0"),
        ({"initial_states": {}}, ValueError, "at least one state"),
        ({"capacity": 1}, ValueError, "capacity must be at least batch_size, got 1 and 2"),
        ({"pad": False}, ValueError, "input_length must be given"),
        ({"input_context": {3: 1}}, TypeError, "names of the context must be strings, got 3"),
    ],
)
def test_mistakes(options: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        _input(**options)


def test_a_state_that_is_not_declared() -> None:
    batch = _input()
    with pytest.raises(KeyError, match="state was not declared: other; there are sum"):
        batch.state("other")
    with pytest.raises(KeyError, match="other"):
        batch.save_state("other", 1)
