"""Datasets of the records of files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.data import nest
from headrace.library.data.dataset import AUTOTUNE, Dataset
from headrace.library.data.structure import flat_shapes, flat_types

_BUFFER = 256 * 1024


class _Files(Dataset):
    """Records of files, one file after the other, or of ``num_parallel_reads`` files in turn."""

    def __init__(self, filenames: Any, num_parallel_reads: Any, read: Callable[[Any], Tensor]) -> None:
        if isinstance(filenames, Dataset):
            self._names: Dataset | None = filenames
            spec = filenames.element_spec
            if not isinstance(spec, TensorSpec) or spec.dtype != dtypes.string:
                raise TypeError(
                    f"`filenames` must be a `tf.data.Dataset` of `tf.string` elements, got {spec!r}. {at()}"
                )
        else:
            names = convert_to_tensor(filenames, dtypes.string, name="filenames")
            names = raw_ops.Reshape(names, [-1])
            self._names = None if num_parallel_reads is None else Dataset.from_tensor_slices(names)
        if self._names is None:
            self._made = read(names)
        else:

            def of_one(name: Any) -> Dataset:
                return Dataset._of(read(raw_ops.Reshape(name, [-1])), TensorSpec([], dtypes.string))

            if num_parallel_reads is None:
                self._made = self._names.flat_map(of_one)._variant_tensor
            else:
                cycle = num_parallel_reads
                self._made = self._names.interleave(of_one, cycle, 1, AUTOTUNE)._variant_tensor
        super().__init__()

    def _as_variant_tensor(self) -> Tensor:
        return self._made

    def _inputs(self) -> list[Dataset]:
        return [] if self._names is None else [self._names]

    @property
    def element_spec(self) -> Any:
        return TensorSpec([], dtypes.string)


def _compression(compression_type: Any) -> Any:
    return convert_to_tensor("" if compression_type is None else compression_type, dtypes.string)


class TextLineDataset(_Files):
    """The lines of text files, without their ends.

    Args:
      filenames: The name of a file, a list or a tensor of names, or a dataset of names.
      compression_type: "", "ZLIB" or "GZIP"; None for "".
      buffer_size: The number of bytes to read together; None for 256 KiB.
      num_parallel_reads: How many files are read in turn; None for one file after the other.

    Example: ``tf.data.TextLineDataset(["train.txt", "more.txt"]).skip(1)``
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ) -> None:
        def read(names: Any) -> Tensor:
            made: Tensor = raw_ops.TextLineDataset(names, _compression(compression_type), buffer_size or _BUFFER)
            return made

        super().__init__(filenames, num_parallel_reads, read)


class TFRecordDataset(_Files):
    """The records of TFRecord files; ``compression_type`` is "", "ZLIB" or "GZIP".

    Args:
      filenames: The name of a file, a list or a tensor of names, or a dataset of names.
      compression_type: "", "ZLIB" or "GZIP"; None for "".
      buffer_size: The number of bytes to read together; None for 256 KiB.
      num_parallel_reads: How many files are read in turn; None for one file after the other.

    Example: ``tf.data.TFRecordDataset("train.tfrecord.gz", compression_type="GZIP").map(parse)``
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ) -> None:
        def read(names: Any) -> Tensor:
            made: Tensor = raw_ops.TFRecordDataset(names, _compression(compression_type), buffer_size or _BUFFER)
            return made

        super().__init__(filenames, num_parallel_reads, read)


class FixedLengthRecordDataset(_Files):
    """Pieces of ``record_bytes`` of files, between a header and a footer.

    Args:
      filenames: The name of a file, a list or a tensor of names, or a dataset of names.
      record_bytes: The number of bytes of a record.
      header_bytes: The number of bytes to skip at the beginning of each file; None for 0.
      footer_bytes: The number of bytes to leave out at the end of each file; None for 0.
      buffer_size: The number of bytes to read together; None for 256 KiB.
      compression_type: "", "ZLIB" or "GZIP"; None for "".
      num_parallel_reads: How many files are read in turn; None for one file after the other.

    Example: ``tf.data.FixedLengthRecordDataset("data_batch_1.bin", record_bytes=3073)``
    """

    def __init__(
        self, filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None,
        buffer_size: Any = None, compression_type: Any = None, num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        def read(names: Any) -> Tensor:
            made: Tensor = raw_ops.FixedLengthRecordDatasetV2(
                names, header_bytes or 0, record_bytes, footer_bytes or 0, buffer_size or _BUFFER,
                _compression(compression_type),
            )  # fmt: skip
            return made

        super().__init__(filenames, num_parallel_reads, read)


class SqlDataset(Dataset):
    """The rows that a query to a database gives, a scalar for each column; ``driver_name`` is "sqlite".

    ``data_source_name`` is the database's file, which is only read.  What has another type in the database is converted as
    SQLite does, and NULL is 0 or "".  A position is the number of rows taken: the query must give the same rows again.

    Args:
      driver_name: The kind of database: "sqlite".
      data_source_name: The path of the database's file.
      query: The query in SQL.
      output_types: The types of the columns, in a tuple.

    Example: ``tf.data.experimental.SqlDataset("sqlite", "shop.db", "SELECT name, price FROM items", (tf.string, tf.float64))``
    """

    def __init__(self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any) -> None:
        arguments = {"driver_name": driver_name, "data_source_name": data_source_name, "query": query}
        self._arguments = [convert_to_tensor(a, dtypes.string, name=name) for name, a in arguments.items()]
        self._spec = nest.map_structure(lambda dtype: TensorSpec([], dtype), output_types)
        super().__init__()

    def _as_variant_tensor(self) -> Tensor:
        made: Tensor = raw_ops.SqlDataset(
            *self._arguments, output_types=flat_types(self._spec), output_shapes=flat_shapes(self._spec)
        )
        return made

    @property
    def element_spec(self) -> Any:
        return self._spec
