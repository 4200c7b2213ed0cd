"""Lookup tables: keys to values, held on the host as long as their container lives.

Keys and values are Python numbers, bytes, or tuples of them (values that are vectors).  A table that must be
initialised (``fixed``) is filled once and refuses look-ups before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core import errors
from headrace.core.dtypes import DType


class Table:
    """Thread-safe."""

    def __init__(self, name: str, key_dtype: DType, value_dtype: DType, fixed: bool, value_shape: Any = ()) -> None:
        self.name = name
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.fixed = fixed
        self.value_shape = tuple(value_shape)
        self._items: dict[Any, Any] | None = None if fixed else {}
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
        found: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if found.setdefault(key, value) != value:
                raise errors.FailedPreconditionError(
                    None, None,
                    f"HashTable has different value for same key. Key {key!r} has {found[key]!r} and trying to add value "
                    f"{value!r}",
                )  # fmt: skip
        with self._lock:
            if self.fixed and self._items is not None:
                if self._items != found:
                    raise errors.FailedPreconditionError(
                        None, None, f"Table {self.name} was already initialized with different data."
                    )
                return
            self._items = found

    def _filled(self) -> dict[Any, Any]:
        if self._items is None:
            raise errors.FailedPreconditionError(
                None, None, f"Table {self.name} not initialized. Run tf.tables_initializer() first."
            )
        return self._items

    def find(self, keys: Iterable[Any], default: Any) -> list[Any]:
        """The values of the keys; ``default`` for those that are not there (or one default for each key)."""
        with self._lock:
            items = self._filled()
            if isinstance(default, list):
                return [items.get(k, d) for k, d in zip(keys, default, strict=True)]
            return [items.get(k, default) for k in keys]

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
