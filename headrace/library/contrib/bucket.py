"""``tf.contrib.training.bucket``: batches of examples that are alike, such as sequences of about the same length.

Each example goes to the queue of its bucket; the first bucket with enough of them gives the next batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from headrace.core import dtypes, errors
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import group, no_op
from headrace.library.input.batch import (
    Batches,
    Example,
    checked_keep_input,
    common_dtypes,
    common_shapes,
    common_sparse,
)
from headrace.library.input.producer import summarize_fullness
from headrace.library.numeric import math, reduction
from headrace.library.queue.base import QueueBase
from headrace.library.queue.kinds import FIFOQueue, PaddingFIFOQueue
from headrace.library.scope import name_scope
from headrace.library.state.smart_cond import smart_cond
from headrace.library.summary.summary import scalar
from headrace.library.train.queue_runner import QueueRunner, add_queue_runner

_CLOSED = (errors.OutOfRangeError, errors.CancelledError)


def bucket(
    tensors: Example, which_bucket: Any, batch_size: Any, num_buckets: int, num_threads: int = 1, capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, keep_input: Any = True, shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Batches of ``tensors``, another example in each step; all examples of a batch are of one bucket.

    Args:
      tensors: The tensors of an example: a list or a dictionary.
      which_bucket: The number of the example's bucket, an int32 scalar tensor from 0 to `num_buckets` - 1.
      batch_size: How many examples a batch has; a list has a number for each bucket.
      num_buckets: How many buckets there are, at least 2.
      num_threads: How many threads fill the buckets; with more than 1 the order is not kept.
      capacity: How many batches, and how many examples of each bucket, wait.
      bucket_capacities: A list with the number of examples that each bucket holds; None for `capacity`.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      dynamic_pad: Whether dimensions that are not known are padded with zeros, to the longest of a batch.
      allow_smaller_final_batch: Whether the last batch of each bucket may have fewer examples.
      keep_input: A bool scalar tensor: whether to keep the example.
      shared_name: A name under which several sessions share the queues; None for none.
      name: A name for the ops; None for `bucket`.

    Returns:
      The number of the batch's bucket, and the batch: a list or a dictionary of tensors, or the tensor itself if a list has only
      one.

    >>> number = tf.train.range_input_producer(10).dequeue()
    >>> which, batch = tf.contrib.training.bucket([number], number % 2, batch_size=4, num_buckets=2)
    >>> batch.shape.as_list()
    [4]
    """
    if num_buckets < 2:
        raise ValueError(f"num_buckets must be >= 2, got {num_buckets} {at()}")
    sizes = _for_each("batch_size", batch_size, num_buckets)
    capacities = _for_each(
        "bucket_capacities", capacity if bucket_capacities is None else bucket_capacities, num_buckets
    )
    queue_class = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    buckets = _Buckets("bucket", name, [tensors], keep_input, False, shapes)
    return buckets.build_buckets(
        queue_class, which_bucket, sizes, capacities, num_threads, capacity, allow_smaller_final_batch, shared_name
    )


def _for_each(what: str, value: Any, count: int) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise ValueError(f"If {what} is a list it must have num_buckets = {count} elements, got {values} {at()}")
    return values


class _Buckets(Batches):
    def build_buckets(
        self, queue_class: Any, which: Any, sizes: list[Any], capacities: list[int], num_threads: int, capacity: int,
        smaller: bool, shared_name: str | None,
    ) -> tuple[Tensor, Any]:  # fmt: skip
        with name_scope(self._name, self._function, [*self._examples[0], self._keep_input]):
            example = self._converted(self._examples[0])
            keep = checked_keep_input(self._keep_input, False)
            sparse = common_sparse([example], False)
            parts = self._stored(example)
            types, shapes = common_dtypes([parts]), self._shapes or common_shapes([parts], False)
            queues = [
                queue_class(
                    each, types, shapes, name=f"bucket_queue_{i}",
                    shared_name=None if shared_name is None else f"{shared_name}_{i}",
                )
                for i, each in enumerate(capacities)
            ]  # fmt: skip
            top = _top_queue(capacity, types, shapes, sizes, smaller, shared_name)
            put = smart_cond(keep, lambda: _put(queues, convert_to_tensor(which), parts), no_op)
            add_queue_runner(_runner(queues, [put] * num_threads))
            moves = [_move(top, queue, i, sizes[i], smaller) for i, queue in enumerate(queues)]
            add_queue_runner(QueueRunner(top, moves, queue_closed_exception_types=_CLOSED))
            for queue in queues:
                scalar(f"bucket/{queue.name}/size", math.cast(queue.size(), dtypes.float32))
            summarize_fullness(f"bucket/{top.name}/fraction_of_{capacity:d}_full", top.size(), capacity)
            number, *batch = top.dequeue(name="dequeue_top")
            return number, self._restored(batch, sparse)


def _top_queue(
    capacity: int, types: list[Any], shapes: Any, sizes: list[Any], smaller: bool, shared_name: str | None
) -> PaddingFIFOQueue:
    """The queue of batches, with the numbers of their buckets."""
    same = not smaller and all(isinstance(size, int) and size == sizes[0] for size in sizes)
    batches = [TensorShape([sizes[0] if same else None]).concatenate(shape) for shape in shapes]
    name = None if shared_name is None else f"{shared_name}_top"
    return PaddingFIFOQueue(
        capacity, [dtypes.int32, *types], [TensorShape([]), *batches], shared_name=name, name="top_queue"
    )


def _put(queues: list[QueueBase], which: Tensor, parts: list[Tensor]) -> Any:
    """Adds the example to the queue of its bucket."""
    adds = [cond(math.equal(which, i), partial(queue.enqueue, parts), no_op) for i, queue in enumerate(queues)]
    return group(*adds, name="group_enqueues")


def _move(top: QueueBase, queue: QueueBase, number: int, size: Any, smaller: bool) -> Any:
    """Takes a batch from a bucket and adds it to the queue of batches."""
    batch = (queue.dequeue_up_to if smaller else queue.dequeue_many)(size, name=f"read_bucket_{number}")
    parts = [batch] if isinstance(batch, Tensor) else list(batch)
    return top.enqueue([constant(number), *parts], name=f"enqueue_from_bucket_{number}")


def _runner(queues: list[QueueBase], puts: list[Any]) -> QueueRunner:
    """Fills all buckets, and closes them all at the end of the input."""
    close = group(*[queue.close() for queue in queues])
    cancel = group(*[queue.close(cancel_pending_enqueues=True) for queue in queues])
    return QueueRunner(queues[0], puts, close_op=close, cancel_op=cancel, queue_closed_exception_types=_CLOSED)


def bucket_by_sequence_length(
    input_length: Any, tensors: Example, batch_size: Any, bucket_boundaries: Sequence[int], num_threads: int = 1,
    capacity: int = 32, bucket_capacities: Sequence[int] | None = None, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, keep_input: Any = True, shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Batches of sequences of about the same length, so that little is padded.

    Args:
      input_length: The length of the example, an int32 scalar tensor.
      tensors: The tensors of an example: a list or a dictionary.
      batch_size: How many examples a batch has; a list has a number for each bucket.
      bucket_boundaries: Ints in ascending order. The first bucket has the lengths below the first, the second those from it up
        to but not including the second, the last those from the last on.
      num_threads: How many threads fill the buckets; with more than 1 the order is not kept.
      capacity: How many batches, and how many examples of each bucket, wait.
      bucket_capacities: A list with the number of examples that each bucket holds; None for `capacity`.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      dynamic_pad: Whether dimensions that are not known are padded with zeros, to the longest of a batch.
      allow_smaller_final_batch: Whether the last batch of each bucket may have fewer examples.
      keep_input: A bool scalar tensor: whether to keep the example.
      shared_name: A name under which several sessions share the queues; None for none.
      name: A name for the ops; None for `bucket_by_sequence_length`.

    Returns:
      The lengths [batch], and the batch: a list or a dictionary of tensors.

    >>> length = tf.train.range_input_producer(10).dequeue()
    >>> words = tf.range(length)
    >>> lengths, (batch,) = tf.contrib.training.bucket_by_sequence_length(length, [words], 4, [3, 6], dynamic_pad=True)
    >>> batch.shape.as_list()
    [4, None]
    """
    _check_boundaries(bucket_boundaries)
    keys = sorted(tensors, key=str) if isinstance(tensors, dict) else None
    listed = [tensors[key] for key in keys] if isinstance(tensors, dict) and keys is not None else list(tensors)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *listed]) as scope:
        length = convert_to_tensor(input_length, dtype=dtypes.int32, name="input_length")
        passed = math.cast(math.less_equal(constant(list(bucket_boundaries), dtypes.int32), length), dtypes.int32)
        all_shapes = None if shapes is None else [TensorShape([]), *shapes]
        _, (lengths, *batch) = bucket(
            [length, *listed], reduction.reduce_sum(passed), batch_size, len(bucket_boundaries) + 1, num_threads,
            capacity, bucket_capacities, all_shapes, dynamic_pad, allow_smaller_final_batch, keep_input, shared_name,
            scope,
        )  # fmt: skip
        return lengths, batch if keys is None else dict(zip(keys, batch, strict=True))


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {boundaries!r} {at()}")
    if not boundaries:
        raise ValueError(f"bucket_boundaries must not be empty {at()}")
    if not all(isinstance(one, int) for one in boundaries):
        raise TypeError(f"bucket boundaries must be integers, but saw: {boundaries!r} {at()}")
    if any(low >= high for low, high in zip(boundaries, boundaries[1:], strict=False)):
        raise ValueError(f"Buckets must contain sequential increasing lengths, but saw: {boundaries!r} {at()}")
