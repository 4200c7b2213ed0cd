"""Batches of one bucket: by a number, by length; padding, dictionaries, sparse tensors, small batches at the end."""

from typing import Any

import pytest
from library.input.pipeline import drained

import headrace as tf

training = tf.contrib.training


def _numbers(count: int) -> Any:
    return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


def test_batches_are_of_one_bucket() -> None:
    number = _numbers(10)
    which, batch = training.bucket([number], number % 2, 3, 2, allow_smaller_final_batch=True)
    rows = [(int(w), b.tolist()) for w, b in drained([which, batch])]
    assert sorted(rows) == [(0, [0, 2, 4]), (0, [6, 8]), (1, [1, 3, 5]), (1, [7, 9])]
    assert batch.shape.as_list() == [None]
    tags = {op.op.name.split("/", 1)[-1].split("/")[-1] for op in tf.get_collection(tf.GraphKeys.SUMMARIES)}
    assert {"size", "fraction_of_32_full"} <= tags


def test_what_does_not_fill_a_batch_is_left_out() -> None:
    number = _numbers(9)
    which, batch = training.bucket({"n": number, "half": number / 2}, number % 2, [2, 3], 2, bucket_capacities=[4, 5])
    rows = sorted((int(w), b["n"].tolist(), b["half"].tolist()) for w, b in drained((which, batch)))
    assert rows == [(0, [0, 2], [0, 1]), (0, [4, 6], [2, 3]), (1, [1, 3, 5], [0.5, 1.5, 2.5])]


def test_lengths_are_padded_to_the_longest_of_a_batch() -> None:
    length = _numbers(6)
    lengths, batch = training.bucket_by_sequence_length(
        length, {"words": tf.range(length), "length": length}, 2, [2, 4], dynamic_pad=True
    )
    rows = {tuple(n.tolist()): b["words"].tolist() for n, b in drained((lengths, batch))}
    assert rows == {
        (0, 1): [[0], [0]],
        (2, 3): [[0, 1, 0], [0, 1, 2]],
        (4, 5): [[0, 1, 2, 3, 0], [0, 1, 2, 3, 4]],
    }


def test_examples_may_be_left_out() -> None:
    number = _numbers(6)
    lengths, batch = training.bucket_by_sequence_length(
        number, [number * 10], [1, 2], [3], keep_input=number > 1, shapes=[tf.TensorShape([])]
    )
    assert sorted((n.tolist(), b[0].tolist()) for n, b in drained((lengths, batch))) == [
        ([2], [20]),
        ([3, 4], [30, 40]),
    ]


def test_sparse_tensors() -> None:
    number = _numbers(4)
    row = tf.SparseTensor(tf.cast([[number]], tf.int64), [number], [4])
    _, batch = training.bucket([row], number // 2, 2, 2)
    rows = sorted(b.values.tolist() for b in drained(batch))
    assert rows == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"num_buckets": 1}, "num_buckets must be >= 2, got 1"),
        ({"num_buckets": 3, "batch_size": [1, 2]}, r"batch_size .* num_buckets = 3 elements, got \[1, 2\]"),
        ({"num_buckets": 2, "bucket_capacities": [1]}, "bucket_capacities is a list"),
    ],
)
def test_mistakes(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        training.bucket(**{"tensors": [tf.constant(1)], "which_bucket": 0, "batch_size": 2, **arguments})


@pytest.mark.parametrize(
    ("boundaries", "error"), [(5, TypeError), ([], ValueError), ([1.5], TypeError), ([2, 2], ValueError)]
)
def test_boundaries(boundaries: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"but (saw|received)|must not be empty"):
        training.bucket_by_sequence_length(tf.constant(1), [tf.constant(1)], 2, boundaries)
