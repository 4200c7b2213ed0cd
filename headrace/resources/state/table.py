"""Lookup tables: keys to values, held on the host as long as their container lives.

Keys and values are Python numbers, bytes, or tuples of them (values that are vectors).  A table that must be
initialised (``fixed``) is filled once and refuses look-ups before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from headrace.core import errors
from headrace.core.dtypes import DType, string, uint64
from headrace.resources.state.movable import Contents, Movable


class Table(Movable):
    """Thread-safe."""

    def __init__(self, name: str, key_dtype: DType, value_dtype: DType, fixed: bool, value_shape: Any = ()) -> None:
        self.name = name
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.fixed = fixed
        self.value_shape = tuple(value_shape)
        self._items: dict[Any, Any] | None = None if fixed else {}
        self._by_number: _ByNumber | None | bool = False  # False: not yet built
        self._lock = threading.Lock()

    def check(self, key_dtype: Any, value_dtype: Any) -> None:
        """Refuses keys or values of other dtypes than the table's."""
        if (key_dtype, value_dtype) != (self.key_dtype, self.value_dtype):
            raise ValueError(
                f"Key and value dtypes of {self.name} are {self.key_dtype.name} and {self.value_dtype.name}; got "
                f"{key_dtype.name} and {value_dtype.name}"
            )

    def initialize(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Fills a fixed table; again only with the same entries."""
        items: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if items.setdefault(key, value) != value:
                raise errors.FailedPreconditionError(
                    None, None,
                    f"HashTable has different value for same key. Key {key!r} has {items[key]!r} and trying to add value "
                    f"{value!r}",
                )  # fmt: skip
        with self._lock:
            if self.fixed and self._items is not None:
                if self._items != items:
                    raise errors.FailedPreconditionError(
                        None, None, f"Table {self.name} was already initialized with different data."
                    )
                return
            self._items = items

    def _filled(self) -> dict[Any, Any]:
        if self._items is None:
            raise errors.FailedPreconditionError(
                None, None, f"Table not initialized. Run tf.tables_initializer() first: {self.name}"
            )
        return self._items

    def find(self, keys: Iterable[Any], default: Any) -> list[Any]:
        """The values of the keys; ``default`` for those that are not there (or one default for each key)."""
        with self._lock:
            items = self._filled()
            return list(map(items.get, keys, default if isinstance(default, list) else repeat(default)))

    def find_numbers(self, keys: np.ndarray[Any, Any], default: Any) -> np.ndarray[Any, Any] | None:
        """The values of an array of keys, looked up by position; None if the table's keys or values do not suit that."""
        rows = self._by_number
        if rows is False:
            with self._lock:
                rows = self._by_number = _ByNumber.of(self._filled(), self)
        return rows.find(keys, default) if isinstance(rows, _ByNumber) else None

    def insert(self, keys: Iterable[Any], values: Iterable[Any]) -> None:
        self._check_mutable()
        with self._lock:
            self._filled().update(zip(keys, values, strict=True))

    def replace(self, keys: Iterable[Any], values: Iterable[Any]) -> None:
        """These entries instead of all others."""
        self._check_mutable()
        with self._lock:
            self._items = dict(zip(keys, values, strict=True))

    def remove(self, keys: Iterable[Any]) -> None:
        self._check_mutable()
        with self._lock:
            for key in keys:
                self._filled().pop(key, None)

    def _check_mutable(self) -> None:
        if self.fixed:
            raise errors.UnimplementedError(None, None, f"Table {self.name} cannot be changed after it was initialized")

    def export(self) -> tuple[list[Any], list[Any]]:
        with self._lock:
            items = self._filled()
            return list(items), list(items.values())

    def __len__(self) -> int:
        with self._lock:
            return len(self._items or ())

    def packed(self) -> Contents | None:
        if self._items is None:
            return None
        keys, values = self.export()
        return {}, [_as_array(keys, self.key_dtype), _as_array(values, self.value_dtype)]

    def unpack(self, data: dict[str, Any], tensors: Sequence[Any]) -> None:
        keys, values = map(_as_list, tensors)
        with self._lock:
            self._items = dict(zip(keys, values, strict=True))


def _as_array(items: list[Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Keys or values in the widest dtype of their kind, which holds them exactly; tuples as rows."""
    return np.array(items, {string: object, uint64: np.uint64}.get(dtype))


def _as_list(array: Any) -> list[Any]:
    items = np.asarray(array).tolist()
    return list(map(tuple, items)) if np.ndim(array) > 1 else items


_SPREAD = 4  # places for each key, at most
_SPARE = 1024


class _ByNumber:
    """The entries of a fixed table whose keys are integers close to each other, at the place of the key.

    The first and the last place are for keys outside.
    """

    def __init__(self, low: int, values: np.ndarray[Any, Any], present: np.ndarray[Any, Any]) -> None:
        self._before, self._values, self._present = low - 1, values, present
        self._filled: tuple[Any, Any] = (None, None)  # with the last default

    @classmethod
    def of(cls, items: dict[Any, Any], table: Table) -> _ByNumber | None:
        """None where that does not suit."""
        numeric = table.key_dtype.is_integer and (table.value_dtype.is_integer or table.value_dtype.is_floating)
        if not (table.fixed and numeric and items and not table.value_shape):
            return None
        low, high = min(items), max(items)
        if high - low >= _SPREAD * len(items) + _SPARE or low <= np.iinfo(np.int64).min:
            return None
        places = np.fromiter(items, np.int64, len(items)) - (low - 1)
        values = np.zeros(high - low + 3, table.value_dtype.as_numpy_dtype)
        present = np.zeros(high - low + 3, np.bool_)
        values[places], present[places] = list(items.values()), True
        return cls(low, values, present)

    def find(self, keys: np.ndarray[Any, Any], default: Any) -> np.ndarray[Any, Any]:
        """Keys outside come to the first or the last place."""
        filled, filler = self._filled
        if filler != default:
            filled = np.where(self._present, self._values, default).astype(self._values.dtype, copy=False)
            self._filled = filled, default
        return np.asarray(filled.take(keys.astype(np.int64, copy=False) - self._before, mode="clip"))
