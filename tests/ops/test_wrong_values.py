"""Values that ops refuse when they run: TensorFlow's class and key words, never torch's or Python's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as tf


def late(value: Any) -> Any:
    """A tensor whose shape and value are known only when it runs."""
    return tf.placeholder_with_default(value, None)


def entries() -> Any:
    return tf.SparseTensor(np.int64([[0, 1], [2, 3]]), [1.0, 2.0], np.int64([3, 4]))


def stored(*ranks: int) -> Any:
    """Serialized sparse tensors of int32 with one entry each."""
    ones = [tf.SparseTensor(np.zeros([1, rank], np.int64), [1], np.int64([2] * rank)) for rank in ranks]
    return tf.stack([tf.serialize_sparse(one) for one in ones])


SINGULAR = np.float32([[1, 2], [2, 4]])
EMPTY = np.zeros([2, 0], np.float32)

RUNNING: dict[str, tuple[Callable[[], Any], str]] = {
    "indices of rank 3": (
        lambda: tf.sparse_to_dense(late([[[1], [3]]]), [5], 1, 0),
        r"sparse_indices should be a scalar, vector, or matrix, got shape \[1, 2, 1\]",
    ),
    "shape of rank 2": (
        lambda: tf.sparse_to_dense([1, 3], late([[5], [3]]), 1, 0),
        r"output_shape should be a vector, got \[\[5\], \[3\]\]",
    ),
    "shape of rank 0": (lambda: tf.sparse_to_dense([1], late(5), 1, 0), "output_shape should be a vector, got 5"),
    "too many dimensions": (
        lambda: tf.sparse_to_dense([[1, 2], [3, 4]], [5], 1, 0),
        "output_shape has incorrect number of elements: 1 should be: 2",
    ),
    "values of rank 2": (
        lambda: tf.sparse_to_dense([1, 3], [5], [[5], [3]], 0),
        r"sparse_values has incorrect shape \[2, 1\], should be \[\] or \[2\]",
    ),
    "too many values": (
        lambda: tf.sparse_to_dense([1, 3], [5], [1, 2, 3], 0),
        r"sparse_values has incorrect shape \[3\], should be \[\] or \[2\]",
    ),
    "default of rank 1": (
        lambda: tf.sparse_to_dense([1, 3], [5], [1, 2], late([1, 2])),
        r"default_value should be a scalar, got shape \[2\]",
    ),
    "index beyond": (lambda: tf.sparse_to_dense(late([1, 5]), [5], 1, 0), r"indices\[1\] = \[5\] is out of bounds"),
    "repeated": (lambda: tf.sparse_to_dense([1, 1], [5], 1, 0), r"indices\[1\] = \[1\] is repeated"),
    "disorder": (lambda: tf.sparse_to_dense([3, 1], [5], 1, 0), r"indices\[1\] = \[1\] is out of order"),
    "stored as another type": (
        lambda: tf.deserialize_many_sparse(stored(1), tf.float32), "Type mismatch between parsed tensor.*and dtype"
    ),
    "stored ranks": (lambda: tf.deserialize_many_sparse(stored(1, 2), tf.int32), "Inconsistent rank across SparseTensors"),
    "stored in two columns": (
        lambda: tf.deserialize_many_sparse(late([["a", "b"]]), tf.int32), "Serialized sparse should .* 3 columns"
    ),
    "stored nonsense": (
        lambda: tf.deserialize_many_sparse([["a", "b", "c"]], tf.int32), "Could not parse `serialized`"
    ),
    "sparse axis": (
        lambda: tf.sparse_reduce_sum(entries(), late(np.int32(2))),
        "Invalid reduction dimension 2, for input with 2 dimensions",
    ),
    "sparse axes of rank 2": (
        lambda: tf.sparse_reduce_sum(entries(), late([[0]])), "reduction_axes should be a scalar or a vector"
    ),
    "no classes": (lambda: tf.multinomial(late(EMPTY), 3), "num_classes should be positive, got 0"),
    "no classes, stateless": (
        lambda: tf.random.stateless_multinomial(late(EMPTY), 3, [1, 2]), "num_classes should be positive, got 0"
    ),
    "integer with precision": (lambda: tf.as_string([1], precision=2), "precision not supported for datatype int"),
    "bool with precision": (lambda: tf.as_string([True], precision=2), "precision not supported for datatype bool"),
    "integer in short form": (
        lambda: tf.as_string([1], shortest=True), "scientific and shortest format not supported for datatype int"
    ),
    "two forms": (
        lambda: tf.as_string([1.0], scientific=True, shortest=True), "Cannot select both scientific and shortest notation"
    ),
    "long fill": (lambda: tf.as_string([1.0], fill="ab"), "Fill string must be one or fewer characters"),
    "strange fill": (lambda: tf.as_string([1.0], fill="x"), "Fill argument not supported"),
    "half a number": (
        lambda: tf.decode_raw(["aaa"], tf.int16), "has length 3 that is not a multiple of 2, the size of int16"
    ),
    "unequal strings": (
        lambda: tf.decode_raw(["aa", "aaaa"], tf.int16), "requires input strings to all be the same size"
    ),
    "singular inverse": (lambda: tf.matrix_inverse(SINGULAR), r"^Input is not invertible\."),
    "singular system": (lambda: tf.matrix_solve(SINGULAR, [[1.0], [1.0]]), r"^Input matrix is not invertible\."),
    "not positive definite": (
        lambda: tf.cholesky(-SINGULAR), r"^Cholesky decomposition was not successful\. The input might not be valid\."
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RUNNING)
def test_refused_when_it_runs(session: tf.Session, case: str) -> None:
    build, words = RUNNING[case]
    node = build()
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(node)


BUILDING: dict[str, tuple[Callable[[], Any], str]] = {
    "shape of rank 2": (lambda: tf.sparse_to_dense([1], [[5], [3]], 1, 0), "Shape must be rank 1 but is rank 2"),
    "sparse axes of rank 2": (lambda: tf.sparse_reduce_sum(entries(), [[0]]), "should be a scalar or a vector"),
    "sparse axis": (lambda: tf.sparse_reduce_sum(entries(), 2), "Invalid reduction dimension 2"),
    "no classes": (lambda: tf.multinomial(EMPTY, 3), "num_classes should be positive"),
}


@pytest.mark.parametrize("case", BUILDING)
def test_refused_while_building(case: str) -> None:
    build, words = BUILDING[case]
    with pytest.raises(ValueError, match=words):
        build()


def test_what_is_accepted(session: tf.Session) -> None:
    strings = tf.as_string(["text"], shortest=True)
    none = tf.multinomial(np.zeros([0, 3], np.float32), 2)
    pooled = tf.nn.fractional_avg_pool(
        np.arange(16, dtype=np.int32).reshape(1, 4, 4, 1), [1, 2.0, 2.0, 1], deterministic=True, seed=1
    )
    dense = tf.matrix_determinant(np.float32([SINGULAR, np.zeros([2, 2]), np.ones([2, 2])]))
    assert session.run(strings).tolist() == [b"text"]
    assert session.run(none).shape == (0, 2)
    assert session.run(pooled[0]).ravel().tolist() == [2, 4, 10, 12]  # cut off, as TensorFlow's
    np.testing.assert_allclose(session.run(dense), [0, 0, 0], atol=1e-6)


def test_products_of_float32_and_bfloat16(session: tf.Session) -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x, y = tf.constant(a), tf.cast(tf.constant(a), tf.bfloat16)
    products = [
        tf.matmul(x, y, transpose_b=True),
        tf.matmul(y, x, transpose_b=True, a_is_sparse=True),
        tf.matmul(x, tf.transpose(y), b_is_sparse=True),
    ]
    gradients = tf.gradients(products[0], [x, y])
    assert [p.dtype for p in products] == [tf.float32] * 3 and [g.dtype for g in gradients] == [tf.float32, tf.bfloat16]
    for value in session.run(products):
        np.testing.assert_array_equal(value, a @ a.T)
    for value in session.run(gradients):
        np.testing.assert_array_equal(value, [[3, 5, 7]] * 2)


@pytest.mark.parametrize("weights", [None, 1.0, [1.0, 0.0], [0.0, 0.0]])
def test_precision_and_recall_at_k_with_weights(session: tf.Session, weights: Any) -> None:
    labels, predictions = np.int64([[0], [1]]), np.float32([[0.1, 0.9, 0.0], [0.2, 0.3, 0.5]])
    keywords = {} if weights is None else {"weights": np.float32(weights)}
    precision = tf.metrics.precision_at_k(labels, predictions, 2, **keywords)[1]
    recall = tf.metrics.recall_at_k(labels, predictions, 2, **keywords)[1]
    average = tf.metrics.average_precision_at_k(labels, predictions, 2, **keywords)[1]
    session.run(tf.local_variables_initializer())
    values = session.run([precision, recall, average])
    nan = float("nan")
    expected = {"None": (0.5, 1, 0.5), "1.0": (0.5, 1, 0.5), "[1.0, 0.0]": (0.5, 1, 0.5), "[0.0, 0.0]": (nan, nan, 0)}
    np.testing.assert_allclose(values, expected[str(weights)])
