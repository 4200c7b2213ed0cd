"""A stack of values that lives as long as the step that made it."""

from __future__ import annotations

import threading
from typing import Any

from headrace.core.errors import InvalidArgumentError


class Stack:
    """Last in, first out.  Thread-safe; never waits."""

    def __init__(self, name: str, limit: int, dtype: Any) -> None:
        self.name = name
        self.limit = limit  # the most values; negative: any number
        self.dtype = dtype  # of the values, as kernels see it
        self._values: list[Any] = []
        self._closed = False
        self._lock = threading.Lock()

    def push(self, value: Any) -> None:
        with self._lock:
            self._check_open()
            if 0 <= self.limit <= len(self._values):
                raise InvalidArgumentError(None, None, f"Stack[{self.name}] overflowed its max_size ({self.limit})")
            self._values.append(value)

    def pop(self) -> Any:
        with self._lock:
            self._check_open()
            if not self._values:
                raise InvalidArgumentError(None, None, f"Stack[{self.name}] is empty when calling Pop().")
            return self._values.pop()

    def close(self) -> None:
        """Frees the values; using the stack afterwards is an error."""
        with self._lock:
            self._closed = True
            self._values.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidArgumentError(None, None, f"Stack[{self.name}] has already been closed.")
