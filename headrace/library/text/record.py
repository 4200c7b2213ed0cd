"""tf.python_io: files of records, written and read in Python."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import IO, Any

from headrace.core import errors
from headrace.core.file import file_errors, open_file, open_to_read
from headrace.core.record import frame, read_records
from headrace.library.compat import path_to_str


class TFRecordCompressionType:
    """How the file as a whole is compressed.

    >>> tf.io.TFRecordOptions(tf.io.TFRecordCompressionType.GZIP).compression_type
    2
    """

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """Compression of a file of records, and the settings of zlib.

    Args:
      compression_type: "ZLIB", "GZIP", or one of `TFRecordCompressionType`; None or "" for none.
      flush_mode: Accepted for TensorFlow's sake; it changes nothing.
      input_buffer_size: Accepted for TensorFlow's sake; it changes nothing.
      output_buffer_size: Accepted for TensorFlow's sake; it changes nothing.
      window_bits: The size of zlib's window as a power of two, 9 to 15; None for 15.
      compression_level: From 0, none, to 9, the smallest file; -1 or None for zlib's usual one.
      compression_method: Accepted for TensorFlow's sake; it changes nothing.
      mem_level: How much memory zlib takes, 1 to 9; None for 8.
      compression_strategy: Accepted for TensorFlow's sake; it changes nothing.

    >>> tf.io.TFRecordOptions("GZIP", compression_level=9).compression_level
    9
    """

    compression_type_map = {
        TFRecordCompressionType.ZLIB: "ZLIB", TFRecordCompressionType.GZIP: "GZIP", TFRecordCompressionType.NONE: "",
    }  # fmt: skip

    def __init__(
        self, compression_type: Any = None, flush_mode: Any = None, input_buffer_size: int | None = None,
        output_buffer_size: int | None = None, window_bits: int | None = None, compression_level: int | None = None,
        compression_method: Any = None, mem_level: int | None = None, compression_strategy: int | None = None,
    ) -> None:  # fmt: skip
        self.get_compression_type_string(compression_type)  # refuses what is not known
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """ "", "ZLIB" or "GZIP" for options, a type, its name, or None."""
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in ("ZLIB", "GZIP"):
            return str(options)
        raise ValueError(f"Not a valid compression_type: {options!r}; accepted: '', 'ZLIB', 'GZIP'")


class TFRecordWriter:
    """Writes records to a file; use it as a context manager, or close it.

    ``with tf.python_io.TFRecordWriter(path) as writer: writer.write(example.SerializeToString())``

    Args:
      path: The file's name; a file that is there is replaced.
      options: A `TFRecordOptions`, or what its `compression_type` takes; None for no compression.

    Example: ``tf.io.TFRecordWriter("train.tfrecord", tf.io.TFRecordOptions("GZIP"))``
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        settings = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        compression = TFRecordOptions.get_compression_type_string(settings)
        level = -1 if settings.compression_level is None else settings.compression_level
        self._path = path_to_str(path)
        self._compress: Any = None
        self._file: IO[bytes] | None = open_file(self._path, "wb")
        if compression:
            bits = abs(settings.window_bits or zlib.MAX_WBITS) + (16 if compression == "GZIP" else 0)
            self._compress = zlib.compressobj(level, zlib.DEFLATED, bits, settings.mem_level or 8)

    def write(self, record: bytes) -> None:
        """Appends one record."""
        if not isinstance(record, (bytes, bytearray)):
            raise TypeError(f"a record must be bytes, got {type(record).__name__}")
        data, file = frame(bytes(record)), self._open()
        with file_errors(self._path):
            file.write(self._compress.compress(data) if self._compress else data)

    def flush(self) -> None:
        """Makes what was written so far readable."""
        file = self._open()
        with file_errors(self._path):
            if self._compress:
                file.write(self._compress.flush(zlib.Z_SYNC_FLUSH))
            file.flush()

    def close(self) -> None:
        """Writes what is not written yet; the writer is closed even if that fails."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with file_errors(self._path), file:
            if self._compress:
                file.write(self._compress.flush())

    def _open(self) -> IO[bytes]:
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, f"the writer of {self._path} is closed")
        return self._file

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a file, one after another; DataLossError where it is damaged.

    Args:
      path: The file's name.
      options: The `TFRecordOptions` that the file was written with; None for no compression.

    Returns:
      An iterator of bytes, one for each record.

    Example: ``for record in tf.io.tf_record_iterator("train.tfrecord"): example = tf.train.Example.FromString(record)``
    """
    name = path_to_str(path)
    compression = TFRecordOptions.get_compression_type_string(options)
    with open_to_read(name, compression) as file:
        yield from read_records(file, name)
