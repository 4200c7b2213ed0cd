"""Buckets, reducers, sparse batches and resampling.  What is expected is what TensorFlow 2.21's tf.compat.v1 gives."""

import numpy as np
import pytest
from library.data.positions import check_positions
from library.data.taking import take
from resources.data.chains import check_cuts

import headrace as tf
from headrace.resources.data.choose import Directed
from headrace.resources.data.reducer import GroupByReducer
from headrace.resources.data.source import Listed, Range

Dataset = tf.data.Dataset
experimental = tf.data.experimental


def sequences():
    return Dataset.from_tensor_slices([1, 4, 3, 5, 6, 2, 9, 3]).map(lambda n: (tf.range(n), tf.fill([n], 1.5)))


def buckets(**kwargs):
    return experimental.bucket_by_sequence_length(lambda a, b: tf.shape(a)[0], [3, 5], [2, 2, 2], **kwargs)


def firsts(dataset):
    return [e if isinstance(e, str) else e[0].tolist() for e in take(dataset)]


def test_buckets():
    dataset = sequences().apply(buckets())
    assert [s.as_list() for s in dataset.output_shapes] == [[None, None], [None, None]]
    expected = [
        [[0, 1, 2, 3], [0, 1, 2, 0]], [[0, 1, 2, 3, 4, 0], [0, 1, 2, 3, 4, 5]], [[0, 0], [0, 1]], [[0, 1, 2]],
        [[0, 1, 2, 3, 4, 5, 6, 7, 8]],
    ]  # fmt: skip
    assert firsts(dataset) == expected
    assert take(dataset)[0][1].tolist() == [[1.5, 1.5, 1.5, 1.5], [1.5, 1.5, 1.5, 0.0]]
    assert firsts(sequences().apply(buckets(drop_remainder=True))) == expected[:3]
    padded = firsts(sequences().apply(buckets(padding_values=(-1, 0.0))))
    assert padded[:3] == [[[0, 1, 2, 3], [0, 1, 2, -1]], [[0, 1, 2, 3, 4, -1], [0, 1, 2, 3, 4, 5]], [[0, -1], [0, 1]]]
    check_positions(dataset)


def test_buckets_padded_to_their_boundaries():
    given = firsts(sequences().apply(buckets(pad_to_bucket_boundary=True)))
    assert given[0] == [[0, 1, 2, 3], [0, 1, 2, 0]] and given[2:4] == [[[0, 0], [0, 1]], [[0, 1, 2, 0]]]
    assert given[1] == "InvalidArgumentError"  # lengths beyond the last boundary
    same = Dataset.range(6).map(lambda n: tf.fill([2], n))
    plain = experimental.bucket_by_sequence_length(lambda a: tf.to_int32(a[0]), [3], [2, 2], no_padding=True)
    assert [b[:, 0].tolist() for b in take(same.apply(plain))] == [[0, 1], [3, 4], [2], [5]]
    with pytest.raises(ValueError, match="must equal `len"):
        experimental.bucket_by_sequence_length(lambda a: 1, [3], [2])


def test_reducers():
    reducer = experimental.Reducer(
        lambda key: (tf.constant(0, tf.int64), tf.constant([], tf.int64)),
        lambda state, x: (state[0] + x, tf.concat([state[1], [x]], 0)),
        lambda total, every: {"sum": total, "all": every},
    )
    dataset = Dataset.range(10).apply(experimental.group_by_reducer(lambda x: (x * 7) % 3, reducer))
    assert {k: s.as_list() for k, s in dataset.output_shapes.items()} == {"sum": [], "all": [None]}
    given = [(int(e["sum"]), e["all"].tolist()) for e in take(dataset)]
    assert given == [(18, [0, 3, 6, 9]), (12, [1, 4, 7]), (15, [2, 5, 8])]
    with pytest.raises(ValueError, match="`key_func` must return a single tf.int64 scalar"):
        Dataset.range(3).apply(experimental.group_by_reducer(lambda x: 1.0, reducer))


def test_sparse_batches():
    numbers = Dataset.from_tensor_slices([2, 1, 3, 0]).map(lambda n: tf.range(n) * 10)
    dataset = numbers.apply(experimental.dense_to_sparse_batch(3, [4]))
    assert dataset.output_shapes.as_list() == [None, 4] and dataset.output_classes is tf.SparseTensor
    first, last = take(dataset)
    assert first.indices.tolist() == [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 2]]
    assert first.values.tolist() == [0, 10, 0, 0, 10, 20] and first.dense_shape.tolist() == [3, 4]
    assert last.indices.shape == (0, 2) and last.dense_shape.tolist() == [1, 4]
    words = Dataset.from_tensor_slices([2, 1, 3, 0]).map(lambda n: tf.fill([n, 2], "x"))
    dataset = words.apply(experimental.dense_to_sparse_batch(3, [None, 2]))
    assert dataset.output_shapes.as_list() == [None, None, 2]
    assert [(e.dense_shape.tolist(), len(e.values)) for e in take(dataset)] == [([3, 3, 2], 12), ([1, 0, 2], 0)]
    check_positions(numbers.apply(experimental.dense_to_sparse_batch(1, [4])).prefetch(1))
    assert take(numbers.apply(experimental.dense_to_sparse_batch(3, [2])))[0] == "DataLossError"
    scalars = Dataset.range(3).apply(experimental.dense_to_sparse_batch(3, [2]))
    assert take(scalars, limit=1) == ["InvalidArgumentError"]
    with pytest.raises(TypeError, match="elements have a single component"):
        Dataset.zip((Dataset.range(2), Dataset.range(2))).apply(experimental.dense_to_sparse_batch(3, [2]))


def test_parsed_examples():
    def example(n):
        feature = {"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[n]))}
        feature["w"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x"] * n))
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    features = {"n": tf.FixedLenFeature([], tf.int64), "w": tf.VarLenFeature(tf.string)}
    batches = Dataset.from_tensor_slices([example(n) for n in range(3)]).batch(2)
    dataset = batches.apply(experimental.parse_example_dataset(features, num_parallel_calls=2))
    given = take(dataset)
    assert [e["n"].tolist() for e in given] == [[0, 1], [2]]
    assert [e["w"].indices.tolist() for e in given] == [[[1, 0]], [[0, 0], [0, 1]]]
    with pytest.raises(TypeError, match="vectors of strings"):
        Dataset.range(3).apply(experimental.parse_example_dataset(features))


@pytest.mark.parametrize("initial", [[0.9, 0.1], None])
def test_resampling(initial):
    kinds = Dataset.from_tensor_slices(np.array([0] * 9 + [1], np.int32)).repeat(150)
    dataset = kinds.apply(experimental.rejection_resample(lambda c: c, [0.5, 0.5], initial, seed=5))
    given = take(dataset)
    assert all(kind == element for kind, element in given)
    assert 0.4 < np.mean([kind for kind, _ in given]) < 0.6  # it is 0.1 before
    assert 200 < len(given) < 700


def test_resampling_what_is_right_already():
    even = experimental.rejection_resample(lambda c: tf.to_int32(c % 2), [0.5, 0.5], [0.5, 0.5])
    assert take(Dataset.range(4).apply(even)) == [(0, 0), (1, 1), (0, 2), (1, 3)]
    kinds = Dataset.from_tensor_slices(np.array([0, 0, 1, 0, 1, 0, 0, 1], np.int32))
    check_positions(kinds.apply(experimental.rejection_resample(lambda c: c, [0.3, 0.7], [0.6, 0.4], seed=2)))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: GroupByReducer(
                Range(range(5)), lambda x: (x % 2,), [], lambda k: (np.int64(0),), lambda s, x: (s + x,), lambda s: (s,)
            ),
            [(6,), (4,)],
        ),
        (
            lambda: Directed(Listed([(np.int64(n),) for n in (0, 1, 0, 1)]), [Range(range(1)), Range(range(9))], True),
            [(0,), (0,)],
        ),
    ],
)
def test_they_go_on_from_every_position(make, expected):
    assert check_cuts(make) == expected
