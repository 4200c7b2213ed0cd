"""A queue of batches that are made before they are needed, and the threads that fill queues while a block runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.convert import convert_to_tensor
from headrace.library.input.producer import fullness_name, summarize_fullness
from headrace.library.queue.kinds import FIFOQueue, PaddingFIFOQueue
from headrace.library.scope import name_scope
from headrace.library.train.coordinator import Coordinator
from headrace.library.train.queue_runner import QueueRunner, add_queue_runner, start_queue_runners

_running = threading.Lock()  # held while a block of `QueueRunners` runs
_GRACE_SECS = 120


def prefetch_queue(
    tensors: Any, capacity: int = 8, num_threads: int = 1, dynamic_pad: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue | PaddingFIFOQueue:  # fmt: skip
    """A queue that threads keep filled with the values of ``tensors``, such as whole batches.

    Args:
      tensors: A list or dictionary of tensors; the elements of the queue have the same form.
      capacity: How many elements the queue holds.
      num_threads: How many threads fill it.
      dynamic_pad: True allows dimensions that are not known, which `dequeue_many` pads with zeros.
      shared_name: A name under which several sessions share the queue; None for none.
      name: A name for the ops; None for `prefetch_queue`.

    Returns:
      The queue; its `dequeue()` gives the tensors.

    >>> batch = [tf.zeros([32, 28, 28, 1]), tf.zeros([32], tf.int64)]
    >>> queue = tf.contrib.slim.prefetch_queue.prefetch_queue(batch, capacity=2)
    >>> images, labels = queue.dequeue()
    >>> images.shape.as_list()
    [32, 28, 28, 1]
    """
    if isinstance(tensors, dict):
        names = sorted(tensors)
        listed = [convert_to_tensor(tensors[key]) for key in names]
    else:
        names = None
        listed = [convert_to_tensor(tensor) for tensor in tensors]
    with name_scope(name, "prefetch_queue", listed) as scope:
        queue_class = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = queue_class(
            capacity, [t.dtype.base_dtype for t in listed], [t.shape for t in listed], names, shared_name, scope
        )
        enqueue = queue.enqueue(listed if names is None else dict(zip(names, listed, strict=True)))
        add_queue_runner(QueueRunner(queue, [enqueue] * num_threads))
        summarize_fullness(fullness_name(capacity), queue.size(), capacity)
        return queue


class NestedQueueRunnerError(Exception):
    """Raised where `QueueRunners` is used inside itself.

    Args:
      message: What is wrong.

    Example: ``except slim.queues.NestedQueueRunnerError``
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


@contextmanager
def QueueRunners(session: Any) -> Iterator[None]:  # noqa: N802 (TensorFlow's name)
    """Runs the queue runners of the graph while a block runs, and stops them at its end.

    Args:
      session: The session in which the queues are filled; None for the default session.

    Returns:
      A context manager.

    >>> number = tf.train.range_input_producer(3, shuffle=False).dequeue()
    >>> with tf.Session() as sess, tf.contrib.slim.queues.QueueRunners(sess):
    ...     print([int(sess.run(number)) for _ in range(4)])
    [0, 1, 2, 0]
    """
    session = session or context.get_default_session()
    if not _running.acquire(blocking=False):
        raise NestedQueueRunnerError(f"QueueRunners cannot be nested {at()}")
    try:
        coordinator = Coordinator()
        threads = start_queue_runners(session, coordinator)
        try:
            yield
        finally:
            coordinator.request_stop()
            try:
                coordinator.join(threads, stop_grace_period_secs=_GRACE_SECS)
            except RuntimeError:  # threads that do not stop end with their session
                session.close()
    finally:
        _running.release()
