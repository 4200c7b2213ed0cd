"""Transformations of tf.data.experimental that the golden chains do not have."""

import numpy as np
import pytest
from library.data.taking import take
from resources.data.chains import check_cuts

import headrace as tf
from headrace.resources.data.chain import Take
from headrace.resources.data.choose import Directed, IgnoreErrors, Unique
from headrace.resources.data.function import Map, Reduction
from headrace.resources.data.group import Batch
from headrace.resources.data.source import Listed, Random, Range
from headrace.resources.data.window import GroupByWindow

Dataset = tf.data.Dataset
experimental = tf.data.experimental


def test_group_by_window():
    dataset = Dataset.range(7).apply(
        experimental.group_by_window(lambda x: x % 2, lambda key, window: window.batch(2).map(lambda b: (key, b)), 2)
    )
    assert [(int(k), b.tolist()) for k, b in take(dataset)] == [(0, [0, 2]), (1, [1, 3]), (0, [4, 6]), (1, [5])]
    sizes = experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(9), window_size_func=lambda k: k + 1)
    assert [b.tolist() for b in take(Dataset.range(5).apply(sizes))] == [[0], [2], [1, 3], [4]]
    with pytest.raises(ValueError, match="Must pass either window_size or window_size_func"):
        experimental.group_by_window(lambda x: x, lambda k, w: w)
    with pytest.raises(ValueError, match="`key_func` must return a single tf.int64 scalar"):
        Dataset.range(5).apply(experimental.group_by_window(lambda x: 1.0, lambda k, w: w, 2))


def test_choosing_and_sampling():
    parts = [Dataset.from_tensors(word).repeat(2) for word in ("a", "b")]
    choice = Dataset.from_tensor_slices(np.int64([1, 0, 1, 1, 0]))
    assert take(experimental.choose_from_datasets(parts, choice)) == [b"b", b"a", b"b", b"a"]
    sampled = take(experimental.sample_from_datasets(parts, [0.5, 0.5], seed=1))
    assert sorted(sampled) == [b"a", b"a", b"b", b"b"]
    assert take(experimental.sample_from_datasets(parts, [1.0, 0.0], seed=1), limit=2) == [b"a", b"a"]


def test_random_numbers_and_samples_are_tensorflows():
    """The numbers and orders are those of TensorFlow 2.21's tf.compat.v1."""
    numbers = [3568415791, 2798973839, 2476249224, 2816106479, 2507884952]
    assert take(experimental.RandomDataset(5), limit=5) == numbers
    assert take(experimental.RandomDataset(5).take(2).repeat(2)) == numbers[:2] * 2
    assert take(experimental.RandomDataset(), limit=2) != take(experimental.RandomDataset(), limit=2)
    endless = [Dataset.from_tensors(word).repeat() for word in "abc"]
    sampled = experimental.sample_from_datasets(endless, [0.2, 0.3, 0.5], seed=7)
    assert b"".join(take(sampled, limit=30)) == b"cacbbcccacccbabacabaaacbbcaabc"
    assert b"".join(take(experimental.sample_from_datasets(endless, seed=7), limit=20)) == b"bacabbbcacccaabacaba"
    weights = Dataset.from_tensor_slices([[0.1, 0.8, 0.1], [0.8, 0.1, 0.1]]).repeat()
    assert b"".join(take(experimental.sample_from_datasets(endless, weights, 7), limit=15)) == b"babababbaabcbab"
    ending = [Dataset.from_tensors(word).repeat(4) for word in "abc"]
    assert b"".join(take(experimental.sample_from_datasets(ending, [0.2, 0.3, 0.5], 7))) == b"cacbbccababa"
    tf.set_random_seed(3)
    assert take(experimental.RandomDataset(5), limit=3) == [2058544851, 32233798, 302027796]
    with pytest.raises(ValueError, match="one number for each of 2 datasets"):
        experimental.sample_from_datasets(ending[:2], [0.2, 0.3, 0.5])


def test_a_single_element(session):
    element = experimental.get_single_element(Dataset.range(6).batch(6).map(tf.reduce_sum))
    none = experimental.get_single_element(Dataset.range(0))
    several = experimental.get_single_element(Dataset.range(2))
    assert session.run(element) == 15
    with pytest.raises(tf.errors.InvalidArgumentError, match="Dataset was empty"):
        session.run(none)
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than one element"):
        session.run(several)


def test_parallel_interleave_and_counter():
    made = experimental.parallel_interleave(lambda n: Dataset.from_tensors(n).repeat(2), cycle_length=2)
    assert take(Dataset.range(3).apply(made)) == [0, 1, 0, 1, 2, 2]
    assert take(experimental.Counter(5, -2), limit=3) == [5, 3, 1]
    assert take(experimental.Counter(dtype=tf.int32), limit=2) == [0, 1]


def odd_key(x):
    return (np.int64(int(x) % 2),)


def fails(x):
    if int(x) in (1, 2):
        raise tf.errors.InvalidArgumentError(None, None, "no")
    return (x,)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Unique(Listed([(np.int64(n),) for n in (3, 1, 3, 2, 1)])), [(3,), (1,), (2,)]),
        (lambda: IgnoreErrors(Map(Range(range(4)), fails)), [(0,), (3,)]),
        (
            lambda: Directed(Listed([(np.int64(n),) for n in (0, 1, 1, 0)]), [Range(range(2)), Range(range(5, 9))]),
            [(0,), (5,), (6,), (1,)],
        ),
        (
            lambda: GroupByWindow(
                Range(range(5)), odd_key, [], lambda k, w: (Batch(w, 2, False),), lambda k: (np.int64(2),)
            ),
            [([0, 2],), ([1, 3],), ([4],)],
        ),
        (lambda: Take(Random(87654321, 5), 3), [(3568415791,), (2798973839,), (2476249224,)]),
        (lambda: Reduction(Range(range(4)), [np.int64(1)], lambda s, x: (s + x,)), [(7,)]),
    ],
)
def test_they_go_on_from_every_position(make, expected):
    assert check_cuts(make) == expected


def test_whole_batches_only():
    rows = Dataset.range(5).map(lambda n: tf.range(n))
    (batch,) = take(Dataset.range(5).apply(tf.contrib.data.batch_and_drop_remainder(3)))
    assert batch.tolist() == [0, 1, 2]
    make = tf.contrib.data.padded_batch_and_drop_remainder(2, [None], np.int64(-1))
    assert [one.tolist() for one in take(rows.apply(make))] == [[[-1], [0]], [[0, 1, -1], [0, 1, 2]]]
