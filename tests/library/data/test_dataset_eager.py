"""Datasets where ops run eagerly: an element for each turn of a loop."""

import numpy as np
import pytest

import headrace as tf

Dataset = tf.data.Dataset


def test_a_loop_over_a_dataset():
    with tf.eager_mode():
        dataset = Dataset.range(7).map(lambda x: x * 10).batch(3)
        assert [b.numpy().tolist() for b in dataset] == [[0, 10, 20], [30, 40, 50], [60]]
        assert [b.numpy().tolist() for b in dataset] == [[0, 10, 20], [30, 40, 50], [60]]


def test_functions_of_all_kinds():
    with tf.eager_mode():
        made = Dataset.range(1, 4).flat_map(Dataset.range).filter(lambda x: x > 0)
        assert [int(x) for x in made] == [1, 1, 2]
        parallel = Dataset.range(5).map(lambda x: x + 1, num_parallel_calls=3).prefetch(2)
        assert [int(x) for x in parallel] == [1, 2, 3, 4, 5]
        assert int(Dataset.range(5).reduce(np.int64(0), lambda s, x: s + x)) == 10
        generated = Dataset.from_generator(lambda: iter([(1, "a"), (2, "b")]), (tf.int32, tf.string))
        assert [(int(n), word.numpy()) for n, word in generated] == [(1, b"a"), (2, b"b")]
        words = Dataset.from_tensor_slices({"w": ["x", "yz"], "n": [1.0, 2.0]}).shuffle(2, seed=1).repeat(2)
        assert sorted(row["w"].numpy() for row in words) == [b"x", b"x", b"yz", b"yz"]


def test_a_function_sees_a_variable_as_it_is():
    with tf.eager_mode():
        v = tf.contrib.eager.Variable(1.0)
        seen = []
        for x in Dataset.range(3).map(lambda x: tf.to_float(x) + v):
            seen.append(float(x))
            v.assign_add(10.0)
        assert seen == [1.0, 12.0, 23.0]


def test_one_shot_iterators_and_sparse_elements():
    with tf.eager_mode():
        iterator = Dataset.range(2).make_one_shot_iterator()
        assert int(iterator.get_next()) == 0 and int(next(iterator)) == 1
        with pytest.raises(tf.errors.OutOfRangeError):
            iterator.get_next()
        sparse = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
        rows = [tf.sparse_tensor_to_dense(row).numpy().tolist() for row in Dataset.from_tensor_slices(sparse)]
        assert rows == [[0, 5], [0, 0], [6, 0]]
        with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
            Dataset.range(2).make_initializable_iterator()
    with pytest.raises(RuntimeError, match="only supported when eager execution is enabled"):
        iter(Dataset.range(2))


def test_errors_name_the_element():
    with tf.eager_mode():
        numbers = iter(Dataset.from_tensor_slices(["1", "two", "3"]).map(lambda text: tf.string_to_number(text)))
        assert float(next(numbers)) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="in element 1 of MapDataset"):
            next(numbers)
        assert float(next(numbers)) == 3.0
