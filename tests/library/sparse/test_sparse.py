"""Sparse tensors: what is known before running, wrong arguments, feeding."""

import numpy as np
import pytest
from running import run

import headrace as tf

INDICES = [[0, 0], [0, 2], [2, 1], [2, 3]]
VALUES = [1.5, -2.0, 0.5, 3.0]


def sparse() -> tf.SparseTensor:
    return tf.SparseTensor(INDICES, VALUES, [3, 4])


def test_shapes_known_before_running() -> None:
    assert tf.sparse_reshape(sparse(), [2, -1]).shape.as_list() == [2, 6]
    assert tf.sparse_slice(sparse(), [1, 1], [5, 2]).shape.as_list() == [2, 2]
    assert tf.sparse_concat(1, [sparse(), sparse()]).shape.as_list() == [3, 8]
    assert tf.sparse_transpose(sparse()).shape.as_list() == [4, 3]
    assert tf.sparse_reduce_sum(sparse(), 1, keepdims=True).shape.as_list() == [3, 1]
    assert tf.sparse_tensor_to_dense(sparse()).shape.as_list() == [3, 4]
    assert tf.sparse_tensor_dense_matmul(sparse(), tf.placeholder(tf.float32, [None, 5])).shape.as_list() == [3, 5]


def test_shapes_of_fed_sparse_tensors(session: tf.Session) -> None:
    fed = tf.sparse_placeholder(tf.float32)
    assert tf.sparse_tensor_to_dense(fed).shape.ndims is None
    product = tf.sparse_tensor_dense_matmul(fed, tf.ones([4, 5]))
    assert product.shape.as_list() == [None, 5]
    value = tf.SparseTensorValue(INDICES, VALUES, [3, 4])
    found = session.run(product, {fed: value})
    np.testing.assert_allclose(found[:, 0], [-0.5, 0, 3.5])
    turned = session.run(tf.sparse_transpose(fed), {fed: value})
    assert isinstance(turned, tf.SparseTensorValue)
    assert turned.dense_shape.tolist() == [4, 3]


@pytest.mark.parametrize(
    "program",
    [
        lambda: tf.sparse_reshape(sparse(), [5, 2]),
        lambda: tf.sparse_retain(sparse(), [True, False]),
        lambda: tf.sparse_split(sparse(), 2, 0),
        lambda: tf.sparse_split(sp_input=sparse(), axis=0),
        lambda: tf.sparse_reset_shape(sparse(), [2, 4]),
        lambda: tf.sparse_tensor_dense_matmul(sparse(), tf.ones([3, 5])),
        lambda: tf.nn.embedding_lookup_sparse(tf.ones([3, 2]), sparse(), None, combiner="max"),
    ],
)
def test_wrong_values(program: object) -> None:
    with pytest.raises(ValueError):
        program()


@pytest.mark.parametrize(
    "program",
    [
        lambda: tf.sparse_reorder(tf.ones([2])),
        lambda: tf.sparse_concat(0, sparse()),
        lambda: tf.sparse_add(tf.ones([2]), tf.ones([2])),
        lambda: tf.sparse_merge(sparse(), sparse(), 2.5),
        lambda: tf.nn.embedding_lookup_sparse(tf.ones([3, 2]), tf.ones([2], tf.int32), None),
    ],
)
def test_wrong_types(program: object) -> None:
    with pytest.raises(TypeError):
        program()


def test_indices_out_of_order_name_the_row() -> None:
    mixed = tf.sparse_to_dense([[1], [0]], [3], [1.0, 2.0])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\].*out of order"):
        session.run(mixed)


def test_values_are_multiplied_by_the_matching_elements_only() -> None:
    scaled = run(sparse() * tf.constant([[10.0], [20.0], [30.0]]))
    np.testing.assert_allclose(scaled.values, [15, -20, 15, 90])


def test_an_empty_sparse_tensor() -> None:
    empty = tf.SparseTensor(np.zeros([0, 2]), np.zeros(0, np.float32), [2, 3])
    dense, total, filled = run(
        [tf.sparse_tensor_to_dense(empty), tf.sparse_reduce_sum(empty), tf.sparse_fill_empty_rows(empty, 1.0)[0]]
    )
    assert dense.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert total == 0
    assert filled.indices.tolist() == [[0, 0], [1, 0]]
