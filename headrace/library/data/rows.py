"""Rows of tables: pyarrow's, those of Parquet files, of Ray's datasets and of others that give batches or rows.

The libraries are known by the methods of what is given; pyarrow is imported for the path of a file only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import Any, Final

from headrace.core.errors import DataLossError
from headrace.core.source import at

BATCH: Final = 1024  # rows that are converted together


class Seekable:
    """A source that can begin at any element: called with its number."""

    def __call__(self, start: int = 0) -> Iterator[Any]:
        raise NotImplementedError


def check_start(start: int, count: int) -> None:
    if start > count:
        raise DataLossError(None, None, f"the dataset had given {start} elements, it has only {count} now")


def source_of_rows(data: Any) -> Seekable | None:
    """What gives the rows, if these are data with rows."""
    if isinstance(data, os.PathLike) or (isinstance(data, str) and data.endswith(".parquet")):
        return _ParquetPath(os.fspath(data))
    if hasattr(data, "read_row_group"):
        return _Parquet(data)
    if hasattr(data, "column_names") and hasattr(data, "slice") and hasattr(data, "num_rows"):
        return _Table(data)
    if hasattr(data, "iter_batches"):
        return _Batches(data)
    return _Rows(data) if hasattr(data, "iter_rows") else None


class _Table(Seekable):
    """A table of pyarrow."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __call__(self, start: int = 0) -> Iterator[Any]:
        check_start(start, self._table.num_rows)
        for first in range(start, self._table.num_rows, BATCH):
            piece = self._table.slice(first, BATCH)
            yield from _rows({name: piece.column(name).to_numpy() for name in piece.column_names})


class _Parquet(Seekable):
    """A Parquet file, opened by pyarrow: row group by row group."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __call__(self, start: int = 0) -> Iterator[Any]:
        metadata = self._file.metadata
        check_start(start, metadata.num_rows)
        for i in range(metadata.num_row_groups):
            count = metadata.row_group(i).num_rows
            if start < count:
                yield from _Table(self._file.read_row_group(i))(start)
            start = max(0, start - count)


class _ParquetPath(Seekable):
    """A Parquet file, open while it is read."""

    def __init__(self, path: str) -> None:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise ImportError(f"reading {path!r} needs pyarrow: pip install pyarrow {at()}") from None
        self._path, self._open = path, ParquetFile

    def __call__(self, start: int = 0) -> Iterator[Any]:
        with closing(self._open(self._path)) as file:
            yield from _Parquet(file)(start)


class _Batches(Seekable):
    """What gives batches of rows, such as a dataset of Ray: those before the first row are passed over as a whole."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __call__(self, start: int = 0) -> Iterator[Any]:
        passed = 0
        for batch in self._data.iter_batches(batch_size=BATCH, batch_format="numpy"):
            count = len(next(iter(batch.values()))) if isinstance(batch, Mapping) else len(batch)
            if passed + count > start:
                yield from islice(_rows(batch), max(0, start - passed), None)
            passed += count
        check_start(start, passed)


class _Rows(Seekable):
    """What gives one row after the other."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __call__(self, start: int = 0) -> Iterator[Any]:
        rows = iter(self._data.iter_rows())
        check_start(start, sum(1 for _ in islice(rows, start)))
        return rows


def _rows(batch: Any) -> Iterable[Any]:
    """The rows of columns by name, or of one array."""
    if not isinstance(batch, Mapping):
        return batch  # type: ignore[no-any-return]
    names = list(batch)
    return (dict(zip(names, row, strict=True)) for row in zip(*batch.values(), strict=True))
