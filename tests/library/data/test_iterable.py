"""Python iterables as datasets, torch's among them."""

from collections import namedtuple

import numpy as np
import pytest
import torch
from library.data.positions import check_positions
from library.data.taking import take
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import headrace as tf

from_iterable = tf.data.from_iterable


class Rows(torch.utils.data.Dataset):
    """A torch dataset that says which rows it was asked for."""

    def __init__(self):
        self.asked = []

    def __len__(self):
        return 6

    def __getitem__(self, i):
        self.asked.append(i)
        return {"x": torch.full((2,), float(i)), "word": f"w{i}"}


class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.arange(4))


def test_a_torch_dataset_is_read_by_index():
    rows = Rows()
    dataset = from_iterable(rows)
    assert dataset.output_types == {"x": tf.float32, "word": tf.string}
    assert dataset.output_shapes["x"].as_list() == [2]
    assert [(r["x"].tolist(), r["word"]) for r in take(dataset.skip(4))] == [([4, 4], b"w4"), ([5, 5], b"w5")]
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        for _ in range(4):
            sess.run(element)
        path = saver.save(sess, tf.test.get_temp_dir() + "/rows")
    rows.asked.clear()
    with tf.Session() as sess:
        saver.restore(sess, path)
        sess.run(iterator.initializer)
        assert sess.run(element)["word"] == b"w4"
    assert rows.asked == [4]  # none before it


def test_positions_of_all_kinds():
    for iterable in (Rows(), [1, 2, 3], DataLoader(TensorDataset(torch.arange(5.0)), 2), Stream(), range(3)):
        check_positions(from_iterable(iterable).repeat(2))


def test_a_loader():
    data = TensorDataset(torch.arange(10.0).reshape(5, 2), torch.arange(5))
    dataset = from_iterable(DataLoader(data, batch_size=2))
    assert dataset.output_types == (tf.float32, tf.int64)
    assert [s.as_list() for s in dataset.output_shapes] == [[None, 2], [None]]
    assert [y.tolist() for x, y in take(dataset.map(lambda x, y: (x, y * 10)))] == [[0, 10], [20, 30], [40]]
    words = from_iterable(DataLoader(Rows(), batch_size=4))
    assert [r["word"].tolist() for r in take(words)] == [[b"w0", b"w1", b"w2", b"w3"], [b"w4", b"w5"]]


def test_other_iterables():
    assert take(from_iterable([1.5, 2.5])) == [1.5, 2.5]
    assert [e.tolist() for e in take(from_iterable([[1, 2], [3, 4]]))] == [[1, 2], [3, 4]]
    assert take(from_iterable({"a", "b"}).shuffle(2)) in ([b"a", b"b"], [b"b", b"a"])
    assert take(from_iterable(np.int64([5, 6]))) == [5, 6]
    pair = namedtuple("pair", "n word")
    assert take(from_iterable([pair(1, "x")])) == [pair(1, b"x")]
    assert take(from_iterable([], tf.int32)) == []
    assert from_iterable([[1], [2, 3]], output_shapes=[None]).output_shapes.as_list() == [None]
    assert take(from_iterable(Stream(), tf.int32)) == [0, 1, 2, 3]


def test_mistakes():
    with pytest.raises(TypeError, match="can be gone through again, got the iterator"):
        from_iterable(iter([1, 2]))
    with pytest.raises(TypeError, match="something that a for loop takes, got 3"):
        from_iterable(3)
    with pytest.raises(ValueError, match="the list is empty, so `output_types` are needed"):
        from_iterable([])
    element = from_iterable([[1], [2, 3]]).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        sess.run(element)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"the list yielded an element of shape \(2,\) where .*\(1,\)"
        ):
            sess.run(element)
