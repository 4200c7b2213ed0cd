"""The queues: first in first out, with padding, by priority, at random."""

from __future__ import annotations

import hashlib
from typing import Any

from headrace.core.dtypes import int64
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.library.numeric.random import get_seed
from headrace.library.queue.base import QueueBase
from headrace.library.queue.component import dtype_list, name_list, shape_list


class FIFOQueue(QueueBase):
    """Elements leave in the order in which they came.

    Args:
      capacity: How many elements it holds; -1 for no limit.
      dtypes: The type of each component: a list, or one type.
      shapes: The shape of each component; None for any, and then ``dequeue_many`` is not possible.
      names: A name for each component; elements are dictionaries then.
      shared_name: A name under which several nodes or sessions share one queue; None for none.
      name: A name for the op.

    >>> queue = tf.FIFOQueue(capacity=10, dtypes=[tf.float32], shapes=[[]])
    >>> with tf.Session() as sess:
    ...     sess.run(queue.enqueue_many([[1.0, 2.0, 3.0]]))
    ...     print(sess.run(queue.dequeue()), sess.run(queue.dequeue_many(2)))
    1.0 [2. 3.]
    """

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:  # fmt: skip
        types = dtype_list(dtypes)
        sizes = shape_list(shapes, types)
        handle = raw_ops.FIFOQueueV2(
            component_types=types, shapes=sizes or [], capacity=_whole("capacity", capacity),
            shared_name=shared_name or "", name=name,
        )  # fmt: skip
        super().__init__(types, sizes, name_list(names, types), handle)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose elements may have different sizes: ``dequeue_many`` pads them with zeros to the longest.

    Sizes that may differ are None in ``shapes``.

    Args:
      capacity: How many elements it holds; -1 for no limit.
      dtypes: The type of each component: a list, or one type.
      shapes: The shape of each component, of known rank.
      names: A name for each component; elements are dictionaries then.
      shared_name: A name under which several nodes or sessions share one queue; None for none.
      name: A name for the op.

    >>> queue = tf.PaddingFIFOQueue(10, [tf.int32], shapes=[[None]])
    >>> with tf.Session() as sess:
    ...     sess.run([queue.enqueue([[1]]), queue.enqueue([[2, 3]])])
    ...     print(sess.run(queue.dequeue_many(2)).shape)
    [None, None]
    (2, 2)
    """

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any, names: Any = None, shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:  # fmt: skip
        types = dtype_list(dtypes)
        sizes = shape_list(shapes, types, partial=True)
        handle = raw_ops.PaddingFIFOQueueV2(
            component_types=types, shapes=sizes or [], capacity=_whole("capacity", capacity),
            shared_name=shared_name or "", name=name,
        )  # fmt: skip
        super().__init__(types, sizes, name_list(names, types), handle)


class RandomShuffleQueue(QueueBase):
    """Elements leave in random order; at least ``min_after_dequeue`` stay behind until the queue is closed.

    Args:
      capacity: How many elements it holds; -1 for no limit.
      min_after_dequeue: How many elements stay behind, so that the next one is chosen among many.
      dtypes: The type of each component: a list, or one type.
      shapes: The shape of each component; None for any, and then ``dequeue_many`` is not possible.
      names: A name for each component; elements are dictionaries then.
      seed: The seed of the order; None for the graph's, or a random one.
      shared_name: A name under which several nodes or sessions share one queue; None for none.
      name: A name for the op.

    >>> queue = tf.RandomShuffleQueue(10, min_after_dequeue=0, dtypes=tf.int32, shapes=[[]])
    >>> with tf.Session() as sess:
    ...     sess.run(queue.enqueue_many([[1, 2, 3]]))
    ...     print(sorted(sess.run(queue.dequeue_many(3)).tolist()))
    [1, 2, 3]
    """

    def __init__(
        self, capacity: int, min_after_dequeue: int, dtypes: Any, shapes: Any = None, names: Any = None,
        seed: int | None = None, shared_name: str | None = None, name: str = "random_shuffle_queue",
    ) -> None:  # fmt: skip
        types = dtype_list(dtypes)
        sizes = shape_list(shapes, types)
        first, second = get_seed(seed)
        if first is None and second is None:
            first, second = 0, 0
        elif seed is None and shared_name is not None:
            # All that share the queue must ask for the same seed, whatever their position in their graph.
            second = int(hashlib.md5(shared_name.encode(), usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF
        handle = raw_ops.RandomShuffleQueueV2(
            component_types=types, shapes=sizes or [], capacity=_whole("capacity", capacity),
            min_after_dequeue=_whole("min_after_dequeue", min_after_dequeue), seed=first, seed2=second,
            shared_name=shared_name or "", name=name,
        )  # fmt: skip
        super().__init__(types, sizes, name_list(names, types), handle)


class PriorityQueue(QueueBase):
    """Elements leave by priority, the lowest first.  The first component, an int64 scalar, is the priority.

    Args:
      capacity: How many elements it holds; -1 for no limit.
      types: The type of each component after the priority; [] for priorities alone.
      shapes: The shape of each of these components; it must be given if there are any.
      names: A name for each component, the priority included; elements are dictionaries then.
      shared_name: A name under which several nodes or sessions share one queue; None for none.
      name: A name for the op.

    >>> queue = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    >>> with tf.Session() as sess:
    ...     sess.run(queue.enqueue_many([np.int64([2, 1]), ['later', 'first']]))
    ...     print(sess.run(queue.dequeue())[1])
    b'first'
    """

    def __init__(
        self, capacity: int, types: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:  # fmt: skip
        others = dtype_list(types) if not isinstance(types, (list, tuple)) or types else []
        sizes = shape_list(shapes, others) if others else []
        if sizes is None:
            raise TypeError(f"Expected list for 'shapes' argument of a PriorityQueue, not None {at()}")
        handle = raw_ops.PriorityQueueV2(
            component_types=others, shapes=sizes, capacity=_whole("capacity", capacity), shared_name=shared_name or "",
            name=name,
        )  # fmt: skip
        every = [int64, *others]
        super().__init__(every, [TensorShape([]), *sizes], name_list(names, every), handle)


def _whole(argument: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"Expected int for argument '{argument}' not {value!r}. {at()}")
    return int(value)
