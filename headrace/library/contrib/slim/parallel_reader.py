"""Several readers that fill one queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.dtypes import as_dtype, string
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.input.producer import fullness_name, string_input_producer, summarize_fullness
from headrace.library.input.reader import ReaderBase
from headrace.library.numeric.math import add_n
from headrace.library.queue.kinds import FIFOQueue, RandomShuffleQueue
from headrace.library.scope import name_scope
from headrace.library.system.file import Glob
from headrace.library.train.queue_runner import QueueRunner, add_queue_runner


class ParallelReader(ReaderBase):
    """Readers that read at the same time and fill one queue, from which ``read`` takes.

    Args:
      reader_class: The class of the readers, such as `tf.TFRecordReader`.
      common_queue: The queue to fill, of two components of strings: keys and values.
      num_readers: How many readers there are.
      reader_kwargs: A dictionary with the arguments of `reader_class`; None for none.

    >>> names = tf.train.string_input_producer(["a.txt", "b.txt"])
    >>> queue = tf.FIFOQueue(256, [tf.string, tf.string])
    >>> reader = tf.contrib.slim.parallel_reader.ParallelReader(tf.TextLineReader, queue, num_readers=2)
    >>> key, line = reader.read(names)
    """

    def __init__(
        self, reader_class: Callable[..., Any], common_queue: Any, num_readers: int = 4, reader_kwargs: Any = None
    ) -> None:
        if len(common_queue.dtypes) != 2 or any(as_dtype(dtype).base_dtype != string for dtype in common_queue.dtypes):
            raise TypeError(
                f"common_queue must have two components of strings, got the types {common_queue.dtypes} {at()}"
            )
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    @property
    def common_queue(self) -> Any:
        """The queue that the readers fill."""
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """The next record, as ``(key, value)``; ``queue`` is a queue of file names."""
        self._read_from(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """At most ``num_records`` records, as ``(keys, values)``."""
        self._read_from(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _read_from(self, queue: Any) -> None:
        enqueues = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, enqueues))

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records all readers have given."""
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files all readers have used up."""
        return add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def parallel_read(
    data_sources: Any, reader_class: Callable[..., Any], num_epochs: int | None = None, num_readers: int = 4,
    reader_kwargs: Any = None, shuffle: bool = True, dtypes: Any = None, capacity: int = 256,
    min_after_dequeue: int = 128, seed: int | None = None, scope: str | None = None,
) -> Any:  # fmt: skip
    """The next record of files that several readers read at the same time.

    Args:
      data_sources: The files: a name, a pattern, or a list of them.
      reader_class: The class of the readers, such as `tf.TFRecordReader`.
      num_epochs: How often each file is read; None for no end. The count is a local variable.
      num_readers: How many readers there are.
      reader_kwargs: A dictionary with the arguments of `reader_class`; None for none.
      shuffle: Whether files and records come at random.
      dtypes: The types of key and value; None for strings.
      capacity: How many records the queue holds.
      min_after_dequeue: How many records stay in the queue, so that those taken are mixed.
      seed: The seed of the order; None for the graph's, or a random one.
      scope: A name for the ops; None for `parallel_read`.

    Returns:
      The key and the value of a record, which are others in each step.

    >>> key, value = tf.contrib.slim.parallel_reader.parallel_read(["a.tfrecord"], tf.TFRecordReader, shuffle=False)
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames")
        types = dtypes or [string, string]
        queue: Any
        if shuffle:
            queue = RandomShuffleQueue(capacity, min_after_dequeue, types, seed=seed, name="common_queue")
        else:
            queue = FIFOQueue(capacity, types, name="common_queue")
        summarize_fullness(fullness_name(capacity), queue.size(), capacity)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(
    data_sources: Any, reader_class: Callable[..., Any], reader_kwargs: Any = None, scope: str | None = None
) -> Any:
    """The next record of files that one reader reads once, in their order.

    Args:
      data_sources: The files: a name, a pattern, or a list of them.
      reader_class: The class of the reader, such as `tf.TFRecordReader`.
      reader_kwargs: A dictionary with the arguments of `reader_class`; None for none.
      scope: A name for the ops; None for `single_pass_read`.

    Returns:
      The key and the value of a record, which are others in each step.

    >>> key, value = tf.contrib.slim.parallel_reader.single_pass_read(["a.tfrecord"], tf.TFRecordReader)
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: Any) -> list[str]:
    """The names of the files that names and patterns stand for.

    Args:
      data_sources: A name, a pattern with ``*``, ``?`` or ``[...]``, or a list of them, lists among them too.

    Returns:
      A list of names; a name that is no pattern is in it whether there is such a file or not.

    >>> tf.contrib.slim.parallel_reader.get_data_files(["a.tfrecord", ["b.tfrecord"]])
    ['a.tfrecord', 'b.tfrecord']
    """
    if isinstance(data_sources, (list, tuple)):
        files = [file for source in data_sources for file in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        files = Glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources!r} {at()}")
    return files
