"""tf.train.batch and the others: examples that QueueRunners collect in a queue, and batches of what it holds.

Four functions, of which each has a form that leaves examples out (``maybe_``):

    batch          examples of one source, in order             batch_join          of several sources
    shuffle_batch  examples of one source, in random order      shuffle_batch_join  of several sources

Each adds a summary of how full its queue is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.library.control.dependency import no_op
from headrace.library.input.producer import NOT_EAGER, fullness_name, summarize_fullness
from headrace.library.numeric.math import cast, maximum
from headrace.library.queue.base import QueueBase
from headrace.library.queue.kinds import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from headrace.library.scope import name_scope
from headrace.library.state.smart_cond import smart_cond
from headrace.library.tensor.indexing import dynamic_partition
from headrace.library.text.serialize import deserialize_many_sparse, serialize_many_sparse, serialize_sparse
from headrace.library.train.queue_runner import QueueRunner, add_queue_runner

Example = Sequence[Any] | dict[Any, Any]
"""Tensors and sparse tensors, in a list or a dictionary."""

# ---- TensorFlow's functions


def batch(
    tensors: Example, batch_size: Any, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches of ``tensors``, which are another example in each step, or with ``enqueue_many`` several examples.

    Returns tensors with the batch as their first dimension: a list, or a dictionary if ``tensors`` is one, or the tensor
    itself if a list has only one.  ``dynamic_pad`` pads the dimensions that are not known with zeros to the longest of a batch.
    What does not fill the last batch is left out, unless ``allow_smaller_final_batch``.

    Args:
      tensors: The tensors of an example: a list or a dictionary.
      batch_size: How many examples a batch has, an integer or a scalar tensor.
      num_threads: How many threads fill the queue; with more than 1 the order is not kept.
      capacity: How many examples the queue holds.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      dynamic_pad: Whether dimensions that are not known are padded with zeros.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A list or a dictionary of tensors, or the tensor itself if a list has only one.

    >>> image, label = tf.zeros([28, 28]), tf.constant(3)
    >>> images, labels = tf.train.batch([image, label], batch_size=32)
    >>> images.shape.as_list(), labels.shape.as_list()
    ([32, 28, 28], [32])
    """
    return maybe_batch(
        tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
        shared_name, name,
    )  # fmt: skip


def maybe_batch(
    tensors: Example, keep_input: Any, batch_size: Any, num_threads: int = 1, capacity: int = 32,
    enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches as `batch` makes them, of the examples for which ``keep_input`` is true: a scalar, or a bool for each of many.

    Args:
      tensors: The tensors of an example: a list or a dictionary.
      keep_input: A boolean tensor: whether to keep the example; a vector for many examples.
      batch_size: How many examples a batch has, an integer or a scalar tensor.
      num_threads: How many threads fill the queue; with more than 1 the order is not kept.
      capacity: How many examples the queue holds.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      dynamic_pad: Whether dimensions that are not known are padded with zeros.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A list or a dictionary of tensors, or the tensor itself if a list has only one.

    >>> x = tf.random_uniform([])
    >>> tf.train.maybe_batch([x], keep_input=x > 0.5, batch_size=4).shape.as_list()
    [4]
    """
    make_queue = partial(_in_order(dynamic_pad), capacity, shared_name=shared_name)
    batches = Batches("batch", name, [tensors], keep_input, enqueue_many, shapes)
    return batches.build(make_queue, capacity, num_threads, batch_size, allow_smaller_final_batch)


def batch_join(
    tensors_list: Sequence[Example], batch_size: Any, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Batches as `batch` makes them, of several sources: each item of ``tensors_list`` gets a thread of its own.

    Args:
      tensors_list: A list with the tensors of an example, a list or a dictionary, from each source.
      batch_size: How many examples a batch has, an integer or a scalar tensor.
      capacity: How many examples the queue holds.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      dynamic_pad: Whether dimensions that are not known are padded with zeros.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A list or a dictionary of tensors, or the tensor itself if a list has only one.

    >>> sources = [[tf.zeros([2])], [tf.ones([2])]]
    >>> tf.train.batch_join(sources, batch_size=4).shape.as_list()
    [4, 2]
    """
    return maybe_batch_join(
        tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name,
        name,
    )  # fmt: skip


def maybe_batch_join(
    tensors_list: Sequence[Example], keep_input: Any, batch_size: Any, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches as `batch_join` makes them, of those examples for which ``keep_input`` is true.

    Args:
      tensors_list: A list with the tensors of an example, a list or a dictionary, from each source.
      keep_input: A boolean tensor: whether to keep the example; a vector for many examples.
      batch_size: How many examples a batch has, an integer or a scalar tensor.
      capacity: How many examples the queue holds.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      dynamic_pad: Whether dimensions that are not known are padded with zeros.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A list or a dictionary of tensors, or the tensor itself if a list has only one.

    >>> sources = [[tf.zeros([2])], [tf.ones([2])]]
    >>> tf.train.maybe_batch_join(sources, keep_input=True, batch_size=4).shape.as_list()
    [4, 2]
    """
    make_queue = partial(_in_order(dynamic_pad), capacity, shared_name=shared_name)
    batches = Batches("batch_join", name, tensors_list, keep_input, enqueue_many, shapes)
    return batches.build(make_queue, capacity, 1, batch_size, allow_smaller_final_batch)


def shuffle_batch(
    tensors: Example, batch_size: Any, capacity: int, min_after_dequeue: int, num_threads: int = 1,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches as `batch` makes them, in random order: drawn while more than ``min_after_dequeue`` examples are there.

    A larger ``min_after_dequeue`` mixes better, and takes longer to start.

    Args:
      tensors: The tensors of an example: a list or a dictionary.
      batch_size: How many examples a batch has, an integer or a scalar tensor.
      capacity: How many examples the queue holds.
      min_after_dequeue: How many examples stay in the queue, so that the next one is chosen among many.
      num_threads: How many threads fill the queue; with more than 1 the order is not kept.
      seed: The seed of the order; None for the graph's, or a random one.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A list or a dictionary of tensors, or the tensor itself if a list has only one.

    >>> x = tf.train.shuffle_batch([tf.zeros([2])], batch_size=4, capacity=100, min_after_dequeue=50)
    >>> x.shape.as_list()
    [4, 2]
    """
    return maybe_shuffle_batch(
        tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch(
    tensors: Example, batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any, num_threads: int = 1,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches as `shuffle_batch` makes them, of those examples for which ``keep_input`` is true.

    Args:
      tensors: The tensors of an example: a list or a dictionary.
      batch_size: How many examples a batch has, an integer or a scalar tensor.
      capacity: How many examples the queue holds.
      min_after_dequeue: How many examples stay in the queue, so that the next one is chosen among many.
      keep_input: A boolean tensor: whether to keep the example; a vector for many examples.
      num_threads: How many threads fill the queue; with more than 1 the order is not kept.
      seed: The seed of the order; None for the graph's, or a random one.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A list or a dictionary of tensors, or the tensor itself if a list has only one.

    >>> x = tf.random_uniform([])
    >>> kept = tf.train.maybe_shuffle_batch([x], 4, capacity=100, min_after_dequeue=50, keep_input=x > 0.5)
    >>> kept.shape.as_list()
    [4]
    """
    _check_capacity(capacity, min_after_dequeue)
    make_queue = partial(RandomShuffleQueue, capacity, min_after_dequeue, seed=seed, shared_name=shared_name)
    batches = Batches("shuffle_batch", name, [tensors], keep_input, enqueue_many, shapes)
    return batches.build(make_queue, capacity, num_threads, batch_size, allow_smaller_final_batch, min_after_dequeue)


def shuffle_batch_join(
    tensors_list: Sequence[Example], batch_size: Any, capacity: int, min_after_dequeue: int, seed: int | None = None,
    enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches as `shuffle_batch` makes them, of several sources: each item of ``tensors_list`` gets a thread of its own.

    Args:
      tensors_list: A list with the tensors of an example, a list or a dictionary, from each source.
      batch_size: How many examples a batch has, an integer or a scalar tensor.
      capacity: How many examples the queue holds.
      min_after_dequeue: How many examples stay in the queue, so that the next one is chosen among many.
      seed: The seed of the order; None for the graph's, or a random one.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A list or a dictionary of tensors, or the tensor itself if a list has only one.

    >>> sources = [[tf.zeros([2])], [tf.ones([2])]]
    >>> x = tf.train.shuffle_batch_join(sources, batch_size=4, capacity=100, min_after_dequeue=50)
    >>> x.shape.as_list()
    [4, 2]
    """
    return maybe_shuffle_batch_join(
        tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Example], batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches as `shuffle_batch_join` makes them, of those examples for which ``keep_input`` is true.

    Args:
      tensors_list: A list with the tensors of an example, a list or a dictionary, from each source.
      batch_size: How many examples a batch has, an integer or a scalar tensor.
      capacity: How many examples the queue holds.
      min_after_dequeue: How many examples stay in the queue, so that the next one is chosen among many.
      keep_input: A boolean tensor: whether to keep the example; a vector for many examples.
      seed: The seed of the order; None for the graph's, or a random one.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      shapes: The shapes of one example's tensors; None for those that the tensors have.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A list or a dictionary of tensors, or the tensor itself if a list has only one.

    >>> sources = [[tf.zeros([2])], [tf.ones([2])]]
    >>> x = tf.train.maybe_shuffle_batch_join(sources, 4, capacity=100, min_after_dequeue=50, keep_input=True)
    >>> x.shape.as_list()
    [4, 2]
    """
    _check_capacity(capacity, min_after_dequeue)
    make_queue = partial(RandomShuffleQueue, capacity, min_after_dequeue, seed=seed, shared_name=shared_name)
    batches = Batches("shuffle_batch_join", name, tensors_list, keep_input, enqueue_many, shapes)
    return batches.build(make_queue, capacity, 1, batch_size, allow_smaller_final_batch, min_after_dequeue)


def _check_capacity(capacity: int, min_after_dequeue: int) -> None:
    if capacity <= min_after_dequeue:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}. {at()}")


def _in_order(dynamic_pad: bool) -> Callable[..., Any]:
    return PaddingFIFOQueue if dynamic_pad else FIFOQueue


# ---- how they are built


class Batches:
    """Builds the queue of one of the functions above, what fills it, and what takes batches from it."""

    def __init__(
        self, function: str, name: str | None, examples: Sequence[Example], keep_input: Any, enqueue_many: bool,
        shapes: Any,
    ) -> None:  # fmt: skip
        if context.executing_eagerly():
            raise ValueError(f"{NOT_EAGER} {at()}")
        if not examples:
            raise ValueError(f"Expected at least one set of tensors in {function}(), got {examples!r} {at()}")
        self._function = function
        self._name = name
        self._examples = [_listed(e, examples[0]) for e in examples]
        self._keys = sorted(examples[0], key=str) if isinstance(examples[0], dict) else None
        self._keep_input = keep_input
        self._enqueue_many = enqueue_many
        self._shapes = shapes

    def build(
        self, make_queue: Callable[..., QueueBase], capacity: int, num_threads: int, batch_size: Any, smaller: bool,
        reserve: int | None = None,
    ) -> Any:  # fmt: skip
        """The batches.  Each source of examples gets ``num_threads`` threads; ``smaller``: the last batch may be smaller.

        ``reserve`` elements of a shuffling queue always stay in it.
        """
        values = [value for example in self._examples for value in example]
        with name_scope(self._name, self._function, [*values, self._keep_input]) as scope:
            examples = [self._converted(e) for e in self._examples]
            keep = checked_keep_input(self._keep_input, self._enqueue_many)
            sparse = common_sparse(examples, self._enqueue_many)
            components = [self._stored(e) for e in examples]
            shapes = self._shapes or common_shapes(components, self._enqueue_many)
            queue = make_queue(dtypes=common_dtypes(components), shapes=shapes)
            enqueues = [op for c in components for op in [self._enqueue(queue, c, keep)] * num_threads]
            add_queue_runner(QueueRunner(queue, enqueues))
            _summarize(queue, capacity, reserve)
            dequeued = (queue.dequeue_up_to if smaller else queue.dequeue_many)(batch_size, name=scope)
            return self._restored(dequeued, sparse)

    def _converted(self, example: Sequence[Any]) -> list[Tensor | SparseTensor]:
        if not example:
            raise ValueError(f"Expected at least one tensor in {self._function}(). {at()}")
        return [convert_to_tensor_or_sparse_tensor(value) for value in example]

    def _stored(self, example: Sequence[Tensor | SparseTensor]) -> list[Tensor]:
        """The components of a queue's elements: a sparse tensor goes through the queue as three strings."""
        store = serialize_many_sparse if self._enqueue_many else serialize_sparse
        return [store(value) if isinstance(value, SparseTensor) else value for value in example]

    def _enqueue(self, queue: QueueBase, components: list[Tensor], keep: Tensor) -> Any:
        add = queue.enqueue_many if self._enqueue_many else queue.enqueue
        if keep.shape.ndims == 1:
            which = cast(keep, dtypes.int32)
            return add([dynamic_partition(c, which, 2)[1] for c in components])
        return smart_cond(keep, lambda: add(components), no_op)

    def _restored(self, dequeued: Any, sparse: Sequence[tuple[DType, int | None] | None]) -> Any:
        """What a dequeue gives in the form of the examples."""
        components = [dequeued] if isinstance(dequeued, Tensor) else dequeued
        values = [c if s is None else deserialize_many_sparse(c, *s) for c, s in zip(components, sparse, strict=True)]
        if self._keys is not None:
            return dict(zip(self._keys, values, strict=True))
        return values[0] if len(values) == 1 else values


def _summarize(queue: QueueBase, capacity: int, reserve: int | None) -> None:
    """Adds a summary of how full the queue is, beyond the elements that it keeps in reserve."""
    if reserve is None:
        return summarize_fullness(fullness_name(capacity), queue.size(), capacity)
    free = capacity - reserve
    summarize_fullness(f"fraction_over_{reserve:d}_of_{free:d}_full", maximum(0, queue.size() - reserve), free)


def _listed(example: Example, first: Example) -> Sequence[Any]:
    """The tensors of an example in the order of their keys, which must be those of the first example."""
    if not isinstance(first, dict) and not isinstance(example, dict):
        return example
    if not isinstance(first, dict) or not isinstance(example, dict) or set(example) != set(first):
        keys = [list(e) if isinstance(e, dict) else f"none ({e})" for e in (first, example)]
        raise ValueError(
            f"All dictionaries in tensors_list must have the same keys: the first has {keys[0]}, another has {keys[1]} {at()}"
        )
    return [example[key] for key in sorted(example, key=str)]


def checked_keep_input(keep_input: Any, enqueue_many: bool) -> Tensor:
    keep = convert_to_tensor(keep_input)
    if keep.shape.ndims is None:
        raise ValueError(f"`keep_input` dimensions must be known at graph construction, got {keep} {at()}")
    if not enqueue_many and keep.shape.ndims == 1:
        raise ValueError(f"`keep_input` cannot be a vector when `enqueue_many=False`, got {keep} {at()}")
    if keep.shape.ndims > 1:
        raise ValueError(f"`keep_input` must be 0 or 1 dimensions, got {keep} {at()}")
    return keep


# ---- what all examples have in common


def common_sparse(examples: Sequence[Sequence[Any]], enqueue_many: bool) -> list[tuple[DType, int | None] | None]:
    """The type and rank of each sparse tensor, None for the others."""

    def sparse(value: Tensor | SparseTensor) -> tuple[DType, int | None] | None:
        if not isinstance(value, SparseTensor):
            return None
        rank = value.dense_shape.shape.with_rank(1).as_list()[0]
        return value.dtype, rank - 1 if rank is not None and enqueue_many else rank

    first = [sparse(value) for value in examples[0]]
    for example in examples[1:]:
        if [sparse(value) for value in example] != first:
            raise ValueError(f"Inconsistent SparseTensors list: {examples[0]} vs. {example} {at()}")
    return first


def common_dtypes(examples: Sequence[Sequence[Tensor]]) -> list[DType]:
    first = [t.dtype.base_dtype for t in examples[0]]
    for example in examples[1:]:
        other = [t.dtype.base_dtype for t in example]
        if other != first:
            shown = " vs. ".join(", ".join(d.name for d in several) for several in (first, other))
            raise TypeError(f"Expected types to be consistent: {shown}. {at()}")
    return first


def common_shapes(examples: Sequence[Sequence[Tensor]], enqueue_many: bool) -> list[TensorShape]:
    """The shapes of the first example; those of the others must be compatible."""
    for t in (t for example in examples for t in example):
        if t.shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {t}; pass `shapes` {at()}")
    every = [[t.shape.with_rank_at_least(1)[1:] if enqueue_many else t.shape for t in example] for example in examples]
    for other in every[1:]:
        for shape, another in zip(every[0], other, strict=True):
            shape.assert_is_compatible_with(another)
    return every[0]
