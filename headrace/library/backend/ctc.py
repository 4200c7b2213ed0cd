"""Connectionist temporal classification, under Keras's names."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph.convert import convert_to_tensor
from headrace.graph.structures import SparseTensor
from headrace.library.backend.config import epsilon
from headrace.library.network import ctc
from headrace.library.numeric import math
from headrace.library.sparse.tensor import sparse_tensor_to_dense
from headrace.library.tensor import array, creation, indexing


def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> SparseTensor:
    """Labels in rows of one length as a sparse tensor.

    Args:
      labels: A matrix, a row for each sample.
      label_lengths: How many labels of each row count.

    Returns:
      A SparseTensor.

    >>> labels = tf.keras.backend.ctc_label_dense_to_sparse(tf.constant([[1, 2], [3, 0]]), tf.constant([2, 1]))
    >>> tf.keras.backend.get_value(labels.values)
    array([1, 2, 3], dtype=int32)
    """
    labels = convert_to_tensor(labels)
    sizes: Any = array.shape(labels)
    counted = creation.sequence_mask(label_lengths, sizes[1])
    indices = indexing.where(counted)
    return SparseTensor(indices, indexing.gather_nd(labels, indices), math.cast(sizes, dtypes.int64))


def _log_probabilities(y_pred: Any) -> Any:
    return math.log(array.transpose(y_pred, perm=[1, 0, 2]) + epsilon())


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Any:
    """The loss of each sample of a batch.

    Args:
      y_true: The labels, a row for each sample.
      y_pred: The probabilities [batch, steps, labels], the blank last.
      input_length: How many steps of each sample count, as a column.
      label_length: How many labels of each sample count, as a column.

    Returns:
      A column with the loss of each sample.

    >>> y = tf.keras.backend.softmax(tf.zeros([1, 4, 3]))
    >>> tf.keras.backend.ctc_batch_cost([[0, 1]], y, [[4]], [[2]]).shape.as_list()
    [1, 1]
    """
    lengths = math.cast(array.squeeze(convert_to_tensor(label_length), [-1]), dtypes.int32)
    steps = math.cast(array.squeeze(convert_to_tensor(input_length), [-1]), dtypes.int32)
    sparse = ctc_label_dense_to_sparse(math.cast(y_true, dtypes.int32), lengths)
    loss = ctc.ctc_loss(labels=sparse, inputs=_log_probabilities(y_pred), sequence_length=steps)
    return array.expand_dims(loss, 1)


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Any], Any]:
    """The likeliest labels of each sample of a batch.

    Args:
      y_pred: The probabilities [batch, steps, labels], the blank last.
      input_length: How many steps of each sample count, as a vector.
      greedy: Whether to take the likeliest label of each step; otherwise a search with `beam_width` candidates.
      beam_width: How many candidates the search keeps.
      top_paths: How many results the search gives.

    Returns:
      A list of matrices of labels, filled up with -1, and a matrix of the log probabilities.

    >>> y = tf.constant([[[0.9, 0.05, 0.05], [0.05, 0.9, 0.05]]])
    >>> decoded, _ = tf.keras.backend.ctc_decode(y, [2])
    >>> tf.keras.backend.get_value(decoded[0])
    array([[0, 1]])
    """
    inputs, steps = _log_probabilities(y_pred), math.cast(input_length, dtypes.int32)
    if greedy:
        decoded, log_prob = ctc.ctc_greedy_decoder(inputs, steps)
    else:
        decoded, log_prob = ctc.ctc_beam_search_decoder(
            inputs, steps, beam_width=beam_width, top_paths=top_paths, merge_repeated=False
        )
    return [sparse_tensor_to_dense(one, default_value=-1) for one in decoded], log_prob
