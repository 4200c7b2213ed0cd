"""An array of tensors that is written in place, as TensorFlow 1's are: for imported graphs that hold its gradients.

It lives as long as the step that made it.  An array that holds the gradients of another one has its size and the shapes of its
elements; what is written to one place adds up, and what was not written is zero.
"""

from __future__ import annotations

import threading
from typing import Any

from headrace.core.errors import InvalidArgumentError


class MutableArray:
    """Thread-safe; never waits."""

    def __init__(self, name: str, size: int, dynamic: bool, clears: bool, of: MutableArray | None = None) -> None:
        self.name = name
        self.clears = clears  # an element is dropped when it was read
        self._dynamic = dynamic
        self._of = of  # the array whose gradients these are
        self._elements: list[Any] = [None] * size
        self._shapes: list[tuple[int, ...] | None] = [None] * size
        self._gradients: dict[str, MutableArray] = {}
        self._lock = threading.RLock()

    @property
    def size(self) -> int:
        return len(self._elements)

    def gradient(self, source: str) -> MutableArray:
        """The array of the gradients of this one that ``source`` asks for, the same one each time."""
        with self._lock:
            self._dynamic = False
            if source not in self._gradients:
                self._gradients[source] = MutableArray(f"{self.name}@{source}", self.size, False, False, self)
            return self._gradients[source]

    def write(self, index: int, value: Any) -> None:
        with self._lock:
            if index < 0 or (index >= self.size and not self._dynamic):
                why = "but array size is:" if self._dynamic else "but array is not resizeable and size is:"
                raise InvalidArgumentError(
                    None, None, f"TensorArray {self.name}: Tried to write to index {index} {why} {self.size}"
                )
            missing = index + 1 - self.size
            self._elements += [None] * missing
            self._shapes += [None] * missing
            before = self._elements[index]
            if before is not None and self._of is not None:
                value = before + value
            elif self._shapes[index] is not None:
                raise InvalidArgumentError(
                    None, None,
                    f"TensorArray {self.name}: Could not write to TensorArray index {index} because it has already been "
                    "written to.",
                )  # fmt: skip
            self._elements[index] = value
            self._shapes[index] = tuple(value.shape)

    def read(self, index: int) -> Any:
        """The element; None if it was not written."""
        with self._lock:
            if not 0 <= index < self.size:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"TensorArray {self.name}: Tried to read from index {index} but array size is: {self.size}",
                )
            value = self._elements[index]
            if value is None and self._shapes[index] is not None:
                raise InvalidArgumentError(
                    None, None,
                    f"TensorArray {self.name}: Could not read index {index} twice because it was cleared after a previous read "
                    "(perhaps try setting clear_after_read = false?)",
                )  # fmt: skip
            if self.clears:
                self._elements[index] = None
            return value

    def shape_of(self, index: int) -> tuple[int, ...] | None:
        """The shape of an element, also of one that was read; None if it is not known."""
        with self._lock:
            known = self._shapes[index] if index < self.size else None
            return known if known is not None or self._of is None else self._of.shape_of(index)

    def close(self) -> None:
        with self._lock:
            self._elements.clear()
            self._shapes.clear()
