"""Datasets of whole tables in files: CSV files, and files of Examples."""

from __future__ import annotations

import csv
import io
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.file import matching, open_to_read
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.data.dataset import AUTOTUNE, Dataset, _int64, _Made, made
from headrace.library.data.grouping import parse_example_dataset
from headrace.library.data.readers import TFRecordDataset, _compression
from headrace.library.data.transform import ignore_errors as leave_out_errors
from headrace.library.data.transform import parallel_interleave

_TYPES = (
    dtypes.int32,
    dtypes.int64,
    dtypes.float32,
    dtypes.float64,
    dtypes.string,
)  # each takes what those before it take
_BUFFER = 4 * 1024 * 1024


class CsvDataset(_Made):
    """The records of CSV files as tuples of columns.

    ``record_defaults`` has, for each column, what stands in for an empty field; a dtype or an empty list where there must be one.

    Args:
      filenames: The name of a file, or a list or a tensor of names.
      record_defaults: A list with the default, or the type, of each column that is read.
      compression_type: "", "ZLIB" or "GZIP"; None for "".
      buffer_size: The number of bytes to read together; None for 4 MiB.
      header: True skips the first line of each file.
      field_delim: The character between two fields.
      use_quote_delim: False treats quotes as any other character.
      na_value: A text that stands for an empty field, as well as "".
      select_cols: The numbers of the columns to read, in rising order; None for all.

    Example: ``tf.data.experimental.CsvDataset("prices.csv", [tf.float32, 0.0, ""], header=True)``
    """

    def __init__(
        self, filenames: Any, record_defaults: Sequence[Any], compression_type: Any = None, buffer_size: Any = None,
        header: Any = False, field_delim: Any = ",", use_quote_delim: Any = True, na_value: Any = "",
        select_cols: Any = None,
    ) -> None:  # fmt: skip
        defaults = [_default(one) for one in record_defaults]
        spec = tuple(TensorSpec([], one.dtype) for one in defaults)
        dataset = made(
            "CSVDataset", spec, [], convert_to_tensor(filenames, dtypes.string, name="filenames"),
            _compression(compression_type), _int64(_BUFFER if buffer_size is None else buffer_size),
            convert_to_tensor(header, dtypes.bool), convert_to_tensor(field_delim, dtypes.string),
            convert_to_tensor(use_quote_delim, dtypes.bool), convert_to_tensor(na_value, dtypes.string),
            _int64(np.zeros(0, np.int64) if select_cols is None else select_cols), defaults, types=False,
        )  # fmt: skip
        super().__init__(dataset._variant_tensor, spec, [])


def _default(one: Any) -> Tensor:
    """The default of a column as a vector of one element, or none."""
    if isinstance(one, DType):
        one = np.zeros(0, one.as_numpy_dtype) if one != dtypes.string else convert_to_tensor([], dtypes.string)
    tensor = convert_to_tensor(one)
    if tensor.dtype not in _TYPES:
        raise TypeError(f"A column of a CSV file is one of {[t.name for t in _TYPES]}, got {tensor.dtype.name} {at()}")
    return tensor


def make_csv_dataset(
    file_pattern: Any, batch_size: Any, column_names: Sequence[str] | None = None, column_defaults: Any = None,
    label_name: str | None = None, select_columns: Sequence[Any] | None = None, field_delim: str = ",",
    use_quote_delim: bool = True, na_value: str = "", header: bool = True, num_epochs: int | None = None,
    shuffle: bool = True, shuffle_buffer_size: Any = 10000, shuffle_seed: int | None = None,
    prefetch_buffer_size: Any = None, num_parallel_reads: Any = None, sloppy: bool = False,
    num_rows_for_inference: int | None = 100, compression_type: str | None = None, ignore_errors: bool = False,
) -> Dataset:  # fmt: skip
    """Batches of the rows of CSV files: dictionaries by the names of columns, or pairs of one and the column ``label_name``.

    Names come from the first lines, and types from the first rows, unless they are given.

    Args:
      file_pattern: A pattern of names of files, or a list of patterns.
      batch_size: The number of rows of a batch.
      column_names: The names of all columns of the files; None takes them from the first lines.
      column_defaults: A list with the default, or the type, of each column that is read; None infers the types.
      label_name: The column that is given apart from the others; None for none.
      select_columns: The names or numbers of the columns to read; None for all.
      field_delim: The character between two fields.
      use_quote_delim: False treats quotes as any other character.
      na_value: A text that stands for an empty field, as well as "".
      header: True if the first line of each file has the names of the columns.
      num_epochs: How often the rows are given; None for ever.
      shuffle: False keeps the order of the files and of their rows.
      shuffle_buffer_size: The number of rows among which one is drawn.
      shuffle_seed: The seed of the order.
      prefetch_buffer_size: The number of batches that are ready before they are asked for; None to let Headrace choose it.
      num_parallel_reads: How many files are read in turn; None for 1.
      sloppy: Accepted and not used: rows come in a fixed order.
      num_rows_for_inference: The number of rows from which types are inferred; None for all.
      compression_type: "", "ZLIB" or "GZIP"; None for "".
      ignore_errors: True leaves out rows that cannot be parsed.

    Returns:
      A dataset of batches; without an end, only whole ones.

    Example: ``tf.data.experimental.make_csv_dataset("train/*.csv", 32, label_name="price", num_epochs=1)``
    """
    paths = _matching(file_pattern)

    def rows(path: str) -> Iterator[list[str]]:
        with open_to_read(path, compression_type or "") as file:
            text = io.TextIOWrapper(file, "utf-8", newline="")
            yield from csv.reader(
                text, delimiter=field_delim, quoting=csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
            )

    if column_names is None:
        if not header:
            raise ValueError(f"Cannot infer column names without a header: give `column_names` {at()}")
        column_names = _header(paths, rows)
    if len(column_names) != len(set(column_names)):
        raise ValueError(f"Cannot have duplicate column names, got {list(column_names)} {at()}")
    chosen = None if select_columns is None else _columns(select_columns, column_names)
    if column_defaults is None:
        lines = (row for path in paths for row in islice(rows(path), int(header), None))
        column_defaults = _inferred(
            lines, len(column_names), range(len(column_names)) if chosen is None else chosen, na_value,
            num_rows_for_inference,
        )  # fmt: skip
    if chosen is not None:
        if len(column_defaults) != len(chosen):
            raise ValueError(
                "If specified, `column_defaults` and `select_columns` must have the same length: they have "
                f"{len(column_defaults)} and {len(chosen)} {at()}"
            )
        column_names = [column_names[i] for i in chosen]
    if label_name is not None and label_name not in column_names:
        raise ValueError(f"`label_name` must be one of the columns {list(column_names)}, got {label_name!r} {at()}")
    names = list(column_names)

    def read(path: Any) -> Dataset:
        table = CsvDataset(
            path, column_defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, chosen
        )
        return table.apply(leave_out_errors()) if ignore_errors else table

    def named(*columns: Any) -> Any:
        features = OrderedDict(zip(names, columns, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    files = Dataset.from_tensor_slices(paths)
    if shuffle:
        files = files.shuffle(len(paths), shuffle_seed)
    dataset = files.apply(parallel_interleave(read, num_parallel_reads or 1, sloppy=sloppy))
    dataset = _epochs(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def make_batched_features_dataset(
    file_pattern: Any, batch_size: Any, features: Mapping[str, Any], reader: Any = TFRecordDataset,
    label_key: str | None = None, reader_args: Sequence[Any] | None = None, num_epochs: int | None = None,
    shuffle: bool = True, shuffle_buffer_size: Any = 10000, shuffle_seed: int | None = None,
    prefetch_buffer_size: Any = None, reader_num_threads: Any = None, parser_num_threads: Any = None,
    sloppy_ordering: bool = False, drop_final_batch: bool = False,
) -> Dataset:  # fmt: skip
    """Batches of the Examples of files as dictionaries of tensors, or pairs of one and the feature ``label_key``.

    Args:
      file_pattern: A pattern of names of files, or a list of patterns.
      batch_size: The number of Examples of a batch.
      features: A dictionary from the names of features to what they are, such as `tf.FixedLenFeature([], tf.float32)`.
      reader: The class of the dataset that reads a file.
      label_key: The feature that is given apart from the others; None for none.
      reader_args: Further arguments of `reader`, after the name of the file; None for none.
      num_epochs: How often the Examples are given; None for ever.
      shuffle: False keeps the order of the files and of their Examples.
      shuffle_buffer_size: The number of Examples among which one is drawn.
      shuffle_seed: The seed of the order.
      prefetch_buffer_size: The number of batches that are ready before they are asked for; None to let Headrace choose it.
      reader_num_threads: How many files are read in turn; None for 1.
      parser_num_threads: How many batches are parsed together; None for 2.
      sloppy_ordering: Accepted and not used: Examples come in a fixed order.
      drop_final_batch: True leaves out a last batch that is not full.

    Returns:
      A dataset of batches; without an end, only whole ones.

    Example: ``tf.data.experimental.make_batched_features_dataset("train*", 32, {"age": tf.FixedLenFeature([], tf.float32)})``
    """
    if label_key is not None and label_key not in features:
        raise ValueError(f"The `label_key` {label_key!r} must be one of the `features` {list(features)} {at()}")
    files = Dataset.list_files(file_pattern, shuffle, shuffle_seed)
    read = parallel_interleave(
        lambda name: reader(name, *(reader_args or ())), reader_num_threads or 1, sloppy=sloppy_ordering
    )
    dataset = files.apply(read)
    if dataset.output_types == (dtypes.string, dtypes.string):
        dataset = dataset.map(lambda _, value: value)
    dataset = _epochs(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key is not None:
        dataset = dataset.map(lambda row: (row, row.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _epochs(dataset: Dataset, count: int | None, shuffle: bool, size: Any, seed: int | None) -> Dataset:
    if shuffle:
        dataset = dataset.shuffle(size, seed)
    return dataset if count == 1 else dataset.repeat(count)


def _matching(file_pattern: Any) -> list[str]:
    patterns = [file_pattern] if isinstance(file_pattern, (str, bytes)) else list(file_pattern)
    if not patterns:
        raise ValueError(f"No files: `file_pattern` is empty {at()}")
    paths: list[str] = []
    for pattern in patterns:
        found = sorted(matching(pattern.decode() if isinstance(pattern, bytes) else pattern))
        if not found:
            raise ValueError(f"No files match `file_pattern` {file_pattern!r} {at()}")
        paths += found
    return sorted(paths)


def _header(paths: Sequence[str], rows: Callable[[str], Iterator[list[str]]]) -> list[str]:
    """The first line of the files, which must be the same in all."""
    first: list[str] = []
    for path in paths:
        line = next(rows(path), None)
        if line is None:
            raise ValueError(f"Received StopIteration when reading the header line of {path}. Empty file? {at()}")
        if first and line != first:
            raise ValueError(
                f"Files have different column names in the header row: {path} has {line}, not {first} {at()}"
            )
        first = line
    return first


def _columns(chosen: Sequence[Any], names: Sequence[str]) -> list[int]:
    places = []
    for one in chosen:
        if isinstance(one, int) and not 0 <= one < len(names):
            raise ValueError(f"Column index {one} of `select_columns` is not one of {len(names)} columns {at()}")
        if not isinstance(one, int) and one not in names:
            raise ValueError(f"Value {one!r} of `select_columns` is not one of the columns {list(names)} {at()}")
        places.append(one if isinstance(one, int) else list(names).index(one))
    if len(set(places)) != len(places):
        raise ValueError(f"`select_columns` has a column twice: {list(chosen)} {at()}")
    return sorted(places)


def _inferred(
    rows: Iterator[list[str]], width: int, chosen: Sequence[int], na_value: str, most: int | None
) -> list[Any]:
    """Defaults of the narrowest types that take all fields of the first rows."""
    ranks = [-1] * len(chosen)
    for number, row in enumerate(rows):
        if number == most:
            break
        if len(row) != width:
            raise ValueError(f"Problem inferring types: CSV row {number + 1} has {len(row)} fields, not {width} {at()}")
        for i, column in enumerate(chosen):
            if row[column] not in ("", na_value):
                ranks[i] = next(r for r in range(max(ranks[i], 0), len(_TYPES)) if _TAKES[r](row[column]))
    types = [_TYPES[rank] for rank in ranks]
    return [convert_to_tensor([""] if t == dtypes.string else [0], t) for t in types]


def _is_integer(text: str, bits: int) -> bool:
    try:
        return -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1)
    except ValueError:
        return False


def _is_number(text: str, array_type: Any) -> bool:
    with np.errstate(over="ignore"):
        try:
            return bool(array_type(text) < np.inf)
        except ValueError:
            return False


_TAKES: tuple[Callable[[str], bool], ...] = (
    lambda text: _is_integer(text, 32), lambda text: _is_integer(text, 64), lambda text: _is_number(text, np.float32),
    lambda text: _is_number(text, np.float64), lambda text: True,
)  # fmt: skip
