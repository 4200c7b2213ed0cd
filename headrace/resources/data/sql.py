"""The rows of a query to a SQLite database, with the conversions that SQLite itself makes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError, NotFoundError, UnknownError
from headrace.resources.calling.batch import Element

TYPES = (
    dtypes.string, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.bool,
    dtypes.float64,
)  # fmt: skip
_MEMORY = ":memory:"


def rows(path: str, query: str, types: Sequence[DType]) -> Iterator[Element]:
    """The rows; the database is open, to be read only, while they are taken."""
    with closing(_opened(path)) as database, closing(database.cursor()) as cursor:
        try:
            cursor.execute(query)
            columns = len(cursor.description or ())
            if columns != len(types):
                raise InvalidArgumentError(
                    None, None,
                    f"The number of columns in query ({columns}) must match the number of elements in output_types "
                    f"({len(types)}).",
                )  # fmt: skip
            convert = [_converter(dtype, database) for dtype in types]
            for row in cursor:
                yield tuple([one(value) for one, value in zip(convert, row, strict=True)])
        except sqlite3.Error as e:
            failure = UnknownError if isinstance(e, sqlite3.OperationalError) else InvalidArgumentError
            raise failure(None, None, f"{path}: {e}: {query}") from None


def _opened(path: str) -> sqlite3.Connection:
    if path != _MEMORY and not os.path.exists(path):
        raise NotFoundError(None, None, f"{path}: there is no such database")
    name = path if path == _MEMORY else f"file:{quote(path)}?mode=ro"
    try:
        database = sqlite3.connect(name, uri=path != _MEMORY, check_same_thread=False)
    except sqlite3.Error as e:
        raise UnknownError(None, None, f"{path}: {e}") from None
    database.text_factory = bytes
    return database


def _converter(dtype: DType, database: sqlite3.Connection) -> Callable[[Any], Any]:
    """What makes a value of this type of one that SQLite has: what is of another type goes through SQLite's own CAST."""
    native: type
    none: Any
    if dtype == dtypes.string:
        native, name, none = bytes, "TEXT", b""
    elif dtype == dtypes.float64:
        native, name, none = float, "REAL", 0.0
    else:
        native, name, none = int, "INTEGER", 0
    array_type = dtype.as_numpy_dtype

    def convert(value: Any) -> Any:
        if value is None:
            value = none
        elif type(value) is not native:
            ((value,),) = database.execute(f"SELECT CAST(? AS {name})", (value,))
        if native is bytes:
            return np.array(value, object)
        return np.array(value).astype(array_type)[()]  # the lower bits of a larger number

    return convert
