"""tf.TextLineReader and the others: what turns the names of files, taken from a queue, into records."""

from __future__ import annotations

from typing import Any, NoReturn

from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.library.text.record import TFRecordOptions


class ReaderBase:
    """A reader: its place in the current file outlives steps, and belongs to the session.

    ``key, value = reader.read(queue)``: one record for each step.  When a file is used up, the reader takes the next name from
    the queue; when the queue is closed and empty, reading raises OutOfRangeError.  Concurrent reads are served in their order.

    Args:
      reader_ref: The tensor that stands for the reader.
      supports_serialize: Whether `serialize_state` and `restore_state` work.

    >>> isinstance(tf.IdentityReader(), tf.ReaderBase)
    True
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether `serialize_state` and `restore_state` work."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> Any:
        """The next record, as ``(key, value)``.  ``queue`` is a queue of file names, or its handle."""
        return raw_ops.ReaderReadV2(self._reader_ref, _handle(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """At most ``num_records`` records of one file, at least one, as ``(keys, values)``."""
        return raw_ops.ReaderReadUpToV2(self._reader_ref, _handle(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records the reader has given since it was made or reset."""
        return raw_ops.ReaderNumRecordsProducedV2(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files the reader has used up."""
        return raw_ops.ReaderNumWorkUnitsCompletedV2(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The state as a string; UnimplementedError when it runs for readers that cannot be saved."""
        return raw_ops.ReaderSerializeStateV2(self._reader_ref, name=name)

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Continues from a state that `serialize_state` gave."""
        return raw_ops.ReaderRestoreStateV2(self._reader_ref, state, name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Forgets the current file and all counts."""
        return raw_ops.ReaderResetV2(self._reader_ref, name=name)


def _handle(queue: Any) -> Tensor:
    handle = queue if isinstance(queue, Tensor) else getattr(queue, "queue_ref", None)
    if not isinstance(handle, Tensor):
        raise TypeError(
            "queue must be a queue of file names, such as tf.train.string_input_producer gives, or its handle; "
            f"got {queue!r} {at()}"
        )
    return handle


class WholeFileReader(ReaderBase):
    """One record for each file: its name and its contents.

    Args:
      name: A name for the op.

    >>> queue = tf.train.string_input_producer(['a.jpg', 'b.jpg'])
    >>> name, contents = tf.WholeFileReader().read(queue)
    """

    def __init__(self, name: str | None = None) -> None:
        _check_not_eager()
        super().__init__(raw_ops.WholeFileReaderV2(name=name), supports_serialize=True)


class IdentityReader(ReaderBase):
    """One record for each string of the queue: the string, twice.

    Args:
      name: A name for the op.

    >>> queue = tf.FIFOQueue(2, tf.string, [[]])
    >>> key, value = tf.IdentityReader().read(queue)
    >>> with tf.Session() as sess:
    ...     sess.run(queue.enqueue('work'))
    ...     print(sess.run([key, value]))
    [b'work', b'work']
    """

    def __init__(self, name: str | None = None) -> None:
        _check_not_eager()
        super().__init__(raw_ops.IdentityReaderV2(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """One record for each line, without its end; the first ``skip_header_lines`` of each file are left out.

    Args:
      skip_header_lines: How many lines to leave out; None for none.
      name: A name for the op.

    >>> queue = tf.train.string_input_producer(['a.csv', 'b.csv'])
    >>> key, line = tf.TextLineReader(skip_header_lines=1).read(queue)
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        _check_not_eager()
        super().__init__(raw_ops.TextLineReaderV2(skip_header_lines=skip_header_lines or 0, name=name))


class FixedLengthRecordReader(ReaderBase):
    """One record for each ``record_bytes`` bytes between a header and a footer, a new one every ``hop_bytes`` bytes.

    ``encoding`` is "", "ZLIB" or "GZIP".

    Args:
      record_bytes: The length of a record.
      header_bytes: How many bytes at the start of each file to leave out; None for none.
      footer_bytes: How many bytes at the end of each file to leave out; None for none.
      hop_bytes: Bytes from the start of one record to that of the next; None or 0 for `record_bytes`.
      name: A name for the op.
      encoding: How the files are compressed; None for not at all.

    >>> queue = tf.train.string_input_producer(['data_batch_1.bin'])
    >>> key, image = tf.FixedLengthRecordReader(record_bytes=1 + 32 * 32 * 3).read(queue)
    """

    def __init__(
        self, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None,
        hop_bytes: int | None = None, name: str | None = None, encoding: str | None = None,
    ) -> None:  # fmt: skip
        _check_not_eager()
        handle = raw_ops.FixedLengthRecordReaderV2(
            record_bytes=record_bytes, header_bytes=header_bytes or 0, footer_bytes=footer_bytes or 0,
            hop_bytes=hop_bytes or 0, encoding=encoding or "", name=name,
        )  # fmt: skip
        super().__init__(handle)


class TFRecordReader(ReaderBase):
    """One record for each record of a TFRecord file; ``options`` tell how the files are compressed.

    Args:
      name: A name for the op.
      options: A `tf.python_io.TFRecordOptions`; None for files that are not compressed.

    >>> queue = tf.train.string_input_producer(['train.tfrecord'])
    >>> key, example = tf.TFRecordReader().read(queue)
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        _check_not_eager()
        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(raw_ops.TFRecordReaderV2(compression_type=compression, name=name))


class LMDBReader(ReaderBase):
    """Not supported: raises NotImplementedError.

    Args:
      name: Not used.
      options: Not used.

    >>> tf.LMDBReader()
    Traceback (most recent call last):
    NotImplementedError: ...
    """

    def __init__(self, name: str | None = None, options: Any = None) -> NoReturn:
        raise NotImplementedError(
            f"LMDB databases are not supported; write the records to a TFRecord file (tf.python_io.TFRecordWriter) and use "
            f"tf.TFRecordReader {at()}"
        )


def _check_not_eager() -> None:
    if context.executing_eagerly():
        raise RuntimeError(
            "Readers are not supported when eager execution is enabled; read files with Python, or in a tf.Graph with a "
            f"tf.Session {at()}"
        )
