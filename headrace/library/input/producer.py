"""tf.train.string_input_producer and the others: queues that a QueueRunner fills with the rows of a tensor, epoch by epoch.

Each adds a summary of how full its queue is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.assertion import Assert
from headrace.library.control.dependency import identity
from headrace.library.numeric.math import cast, greater
from headrace.library.numeric.random import random_shuffle
from headrace.library.queue.kinds import FIFOQueue
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.variable import Variable
from headrace.library.summary.summary import scalar
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather
from headrace.library.text.string import matching_files
from headrace.library.train.queue_runner import QueueRunner, add_queue_runner


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """A local variable whose initial value is the sorted names of the files that match one or several patterns.

    ``tf.local_variables_initializer()`` looks for them, once; they are kept.

    Args:
      pattern: A pattern with ``*``, ``?`` or ``[...]``, a list of them, or a string tensor.
      name: A name for the variable.

    Returns:
      A `tf.Variable` of strings.

    >>> files = tf.train.match_filenames_once('/data/train-*.tfrecord')
    >>> files.dtype.base_dtype
    tf.string
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            name=scope, initial_value=matching_files(pattern), trainable=False, validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )  # fmt: skip


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """``tensor``, which raises OutOfRangeError after it was computed ``num_epochs`` times; for None, ``tensor`` itself.

    The count is the local variable ``epochs``: run ``tf.local_variables_initializer()``.

    Args:
      tensor: A tensor.
      num_epochs: How often it may be computed, above 0; None for no limit.
      name: A name for the ops.

    Returns:
      A tensor.

    >>> x = tf.train.limit_epochs(tf.constant([1, 2]), num_epochs=3)
    >>> [v.name for v in tf.local_variables()]
    ['limit_epochs/epochs:0']
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}. {at()}")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, dtypes.int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: Any, element_shape: Any = None, num_epochs: int | None = None, shuffle: bool = True,
    seed: int | None = None, capacity: int = 32, shared_name: str | None = None, summary_name: str | None = None,
    name: str | None = None, cancel_op: Operation | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the rows of ``input_tensor``: all of them ``num_epochs`` times, or again and again.

    ``shuffle`` draws another order in each epoch.  ``element_shape`` is needed where the shape of a row is not known.
    ``tf.train.start_queue_runners`` starts to fill the queue.  ``summary_name`` is the tag of a summary of how full it is.

    Args:
      input_tensor: A tensor of rank 1 or more.
      element_shape: The shape of a row; None for that of `input_tensor`.
      num_epochs: How often each row comes; None for no end.
      shuffle: Whether the order is random in each epoch.
      seed: The seed of the order; None for the graph's, or a random one.
      capacity: How many rows the queue holds.
      shared_name: A name under which several sessions share the queue; None for none.
      summary_name: The tag of a summary; None for none.
      name: A name for the queue.
      cancel_op: What is run when the coordinator stops; None to close the queue and cancel enqueues that wait.

    Returns:
      A `tf.FIFOQueue`.

    >>> queue = tf.train.input_producer([[1, 2], [3, 4]], shuffle=False)
    >>> queue.dequeue().shape.as_list()
    [2]
    """
    if context.executing_eagerly():
        raise RuntimeError(f"{NOT_EAGER} {at()}")
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        row_shape = rows.shape[1:].merge_with(element_shape)
        if not row_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified: got shape "
                f"{rows.shape} and element_shape {element_shape} {at()}"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype.base_dtype], [row_shape], shared_name=shared_name, name=name)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            summarize_fullness(summary_name, queue.size(), capacity)
        return queue


def string_input_producer(
    string_tensor: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, name: str | None = None, cancel_op: Operation | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of strings, such as the names of files for a reader: each of them ``num_epochs`` times, or again and again.

    Args:
      string_tensor: A vector of strings, a list or a tensor; not empty.
      num_epochs: How often each string comes; None for no end.
      shuffle: Whether the order is random in each epoch.
      seed: The seed of the order; None for the graph's, or a random one.
      capacity: How many strings the queue holds.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.
      cancel_op: What is run when the coordinator stops; None to close the queue and cancel enqueues that wait.

    Returns:
      A `tf.FIFOQueue`.

    >>> queue = tf.train.string_input_producer(['a.csv', 'b.csv'], num_epochs=1)
    >>> key, value = tf.TextLineReader().read(queue)
    """
    required = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, (Tensor, Variable)) and not np.size(string_tensor):
        raise ValueError(f"{required}, got {string_tensor!r} {at()}")
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=dtypes.string)
        with control_dependencies([Assert(greater(array.size(strings), 0), [required])]):
            strings = identity(strings)
        return input_producer(
            strings, [], num_epochs, shuffle, seed, capacity, shared_name, fullness_name(capacity), scope, cancel_op
        )


def range_input_producer(
    limit: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, name: str | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the integers from 0 to ``limit`` - 1: each of them ``num_epochs`` times, or again and again.

    Args:
      limit: How many integers there are, an integer or a scalar tensor.
      num_epochs: How often each integer comes; None for no end.
      shuffle: Whether the order is random in each epoch.
      seed: The seed of the order; None for the graph's, or a random one.
      capacity: How many integers the queue holds.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A `tf.FIFOQueue`.

    >>> tf.train.range_input_producer(5, shuffle=False).dequeue().dtype
    tf.int32
    """
    with name_scope(name, "input_producer", [limit]) as scope:
        numbers = creation.range(limit)
        return input_producer(
            numbers, [], num_epochs, shuffle, seed, capacity, shared_name, fullness_name(capacity), scope
        )


def slice_input_producer(
    tensor_list: Sequence[Any], num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """One row of each tensor, the same of all: a list of tensors that is another row in each step.

    The tensors must have the same size in the first dimension.

    Args:
      tensor_list: A list of tensors of rank 1 or more.
      num_epochs: How often each row comes; None for no end.
      shuffle: Whether the order is random in each epoch.
      seed: The seed of the order; None for the graph's, or a random one.
      capacity: How many rows the queue holds.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops.

    Returns:
      A list of tensors, of one rank less.

    >>> image, label = tf.train.slice_input_producer([tf.zeros([10, 28, 28]), tf.range(10)])
    >>> image.shape.as_list(), label.shape.as_list()
    ([28, 28], [])
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError(f"Expected at least one tensor in slice_input_producer(). {at()}")
        count = raw_ops.Shape(tensors[0])[0]
        queue = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]


def fullness_name(capacity: int) -> str:
    """The name that TensorFlow gives the summary of a queue's fullness."""
    return f"fraction_of_{capacity:d}_full"


def summarize_fullness(name: str, count: Tensor, capacity: int) -> None:
    """Adds a summary of ``count`` as a fraction of ``capacity``."""
    scalar(name, cast(count, dtypes.float32) * (1.0 / capacity))


NOT_EAGER = (
    "Input pipelines based on Queues are not supported when eager execution is enabled: build them in a tf.Graph, and run "
    "them with a tf.Session."
)
