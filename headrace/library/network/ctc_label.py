"""Labels for CTC: repeated ones collapsed, and the distinct ones of each row."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation, indexing


def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Labels [batch, time] with each run of equal ones as one -> them, filled up with zeros, and the new lengths.

    Args:
      labels: A tensor [batch, time] of labels.
      seq_length: A vector [batch] of integers: how many labels of each row count.
      name: A name for the op.

    Returns:
      Two tensors: the labels [batch, the largest new length], and the lengths [batch].

    >>> tf.Session().run(tf.nn.collapse_repeated([[1, 1, 2, 2, 1]], [5]))
    (array([[1, 2, 1]], dtype=int32), array([3], dtype=int32))
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels, lengths = convert_to_tensor(labels, name="labels"), convert_to_tensor(seq_length, name="seq_length")
        first = creation.ones_like(labels[:, :1], dtype=dtypes.bool)
        changed = array.concat([first, math.not_equal(labels[:, 1:], labels[:, :-1])], 1)
        inside = creation.sequence_mask(lengths, maxlen=array.shape(labels)[1])
        starts = math.logical_and(changed, inside)
        counts = reduction.reduce_sum(math.cast(starts, lengths.dtype.base_dtype), 1)
        longest = reduction.reduce_max(counts)
        places = indexing.where(creation.sequence_mask(counts, maxlen=longest))
        collapsed = indexing.scatter_nd(
            places, indexing.boolean_mask(labels, starts),
            array.stack([array.shape(labels, out_type=dtypes.int64)[0], math.cast(longest, dtypes.int64)]),
        )  # fmt: skip
        collapsed.set_shape([labels.shape.as_list()[0], None])
        return collapsed, counts


def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The distinct labels of each row of a dense [batch, time], filled up with zeros, and the place of each label in them.

    Args:
      labels: A tensor [batch, time] of labels.
      name: A name for the op.

    Returns:
      Two tensors [batch, time]: the distinct labels, and int32 places.

    >>> unique, places = tf.nn.ctc_unique_labels([[3, 5, 3]])
    >>> [one.tolist() for one in tf.Session().run([unique, places])]
    [[[3, 5, 0]], [[0, 1, 0]]]
    """
    with name_scope(name, "ctc_unique_labels", [labels]):
        rows = convert_to_tensor(labels, name="labels")
        same = math.equal(array.expand_dims(rows, 2), array.expand_dims(rows, 1))
        number = array.shape(rows)[1]
        order = creation.range(number)
        # A label is new where no equal one comes before it; its place is the number of new ones up to its first occurrence.
        first = reduction.argmax(math.cast(same, dtypes.int32), 2, output_type=dtypes.int32)
        is_new = math.equal(first, array.expand_dims(order, 0))
        numbers = reduction.cumsum(math.cast(is_new, dtypes.int32), axis=1) - 1
        places = indexing.batch_gather(numbers, first)
        where = indexing.where(is_new)
        column = math.cast(indexing.gather_nd(numbers, where), dtypes.int64)
        target = array.stack([where[:, 0], column], 1)
        shape = array.shape(rows, out_type=dtypes.int64)
        unique = indexing.scatter_nd(target, indexing.gather_nd(rows, where), shape)
        unique.set_shape(rows.shape)
        places.set_shape(rows.shape)
        return unique, places
