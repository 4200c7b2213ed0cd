"""contrib.layers for words: bags of words and scattered embeddings."""

import numpy as np
import pytest

import headrace as tf

layers = tf.contrib.layers


def _run(fetches: object) -> object:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_a_bag_of_words_is_the_mean_of_its_words() -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    ids = [[1, 2, 0], [3, 0, 0]]
    start = tf.constant_initializer(table)
    sparse = layers.bow_encoder(ids, 4, 3, initializer=start, scope="words")
    dense = layers.bow_encoder(ids, 4, 3, sparse_lookup=False, scope="words", reuse=True)
    given = layers.bow_encoder(layers.dense_to_sparse(ids), 4, 3, scope="words", reuse=True)
    values = _run([sparse, dense, given])
    np.testing.assert_allclose(values[0], [table[1:3].mean(0), table[3]])
    np.testing.assert_allclose(values[1], [table[:3].mean(0), table[[3, 0, 0]].mean(0)])
    np.testing.assert_array_equal(values[0], values[2])
    assert [v.op.name for v in tf.trainable_variables()] == ["words/embeddings"]
    with pytest.raises(TypeError, match="expected to be dense Tensor"):
        layers.bow_encoder(layers.dense_to_sparse(ids), 4, 3, sparse_lookup=False)


def test_words_without_a_token() -> None:
    value = _run(layers.dense_to_sparse([[5, 9], [9, 7]], eos_token=9))
    assert value.indices.tolist() == [[0, 0], [1, 1]] and value.values.tolist() == [5, 7]


def test_scattered_embeddings_are_numbers_of_a_vector() -> None:
    vector = tf.constant(np.arange(50, dtype=np.float32))
    words = tf.constant([["a", "b"], ["a", "c"]])
    value = _run(layers.scattered_embedding_lookup(vector, words, 4))
    assert value.shape == (2, 2, 4) and set(value.ravel()) <= set(range(50))
    np.testing.assert_array_equal(value[0, 0], value[1, 0])
    assert (value[0, 0] != value[0, 1]).any()
    shards = [vector[:30], vector[30:]]
    for shard, size in zip(shards, (30, 20), strict=True):
        shard.set_shape([size])
    other = _run(layers.scattered_embedding_lookup([vector[:25], vector[25:]], words, 4))
    np.testing.assert_array_equal(value, other)
    assert (_run(layers.scattered_embedding_lookup(vector, words, 4, hash_key=7)) != value).any()
    with pytest.raises(ValueError, match="Dimension should be > 0, got 0"):
        layers.scattered_embedding_lookup(vector, words, 0)
    with pytest.raises(ValueError, match=r"vectors of known length, got shape \(2, 3\)"):
        layers.scattered_embedding_lookup(tf.zeros([2, 3]), words, 4)


def test_scattered_embeddings_of_rows_are_combined() -> None:
    vector = tf.constant(np.arange(50, dtype=np.float32))
    words = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "a"], [3, 2])
    each = layers.scattered_embedding_lookup(vector, ["a", "b", ""], 4)
    means = layers.scattered_embedding_lookup_sparse(vector, words, 4)
    sums = layers.scattered_embedding_lookup_sparse(vector, words, 4, combiner="sum")
    roots = layers.scattered_embedding_lookup_sparse(vector, words, 4, combiner="sqrtn")
    (a, b, nothing), mean, total, root = _run([each, means, sums, roots])
    np.testing.assert_allclose(mean, [(a + b) / 2, nothing, a])
    np.testing.assert_allclose(total, [a + b, nothing, a])
    np.testing.assert_allclose(root, [(a + b) / 2**0.5, nothing, a], rtol=1e-6)
    with pytest.raises(ValueError, match="'mean', 'sqrtn' or 'sum', got 'max'"):
        layers.scattered_embedding_lookup_sparse(vector, words, 4, combiner="max")


def test_safe_lookup_means_by_default() -> None:
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 0, -1], [2, 2])
    table = tf.constant([[1.0], [2.0]])
    assert _run(layers.safe_embedding_lookup_sparse(table, ids)).tolist() == [[1.5], [0.0]]
    assert _run(layers.safe_embedding_lookup_sparse(table, ids, combiner="sum")).tolist() == [[3.0], [0.0]]
