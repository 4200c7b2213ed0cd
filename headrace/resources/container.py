"""Containers: named stores of state (white paper 4.7).  A session has a default one; resetting one drops what it holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Containers:
    """State objects by (container, class, name).  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[str, dict[tuple[type, str], Any]] = {}
        self.generation = 0

    def get_or_create(self, container: str, name: str, resource_class: type[T], make: Callable[[], T]) -> T:
        with self._lock:
            store = self._items.setdefault(container, {})
            resource = store.get((resource_class, name))
            if resource is None:
                resource = store[(resource_class, name)] = make()
            return resource  # type: ignore[no-any-return]

    def find(self, container: str, name: str, resource_class: type[T]) -> T | None:
        with self._lock:
            return self._items.get(container, {}).get((resource_class, name))

    def all(self, resource_class: type[T]) -> list[T]:
        with self._lock:
            return [v for store in self._items.values() for (k, _), v in store.items() if k is resource_class]

    def reset(self, container: str) -> None:
        """Forgets everything in the container; plans made before must look their state up again."""
        with self._lock:
            self._items.pop(container, None)
            self.generation += 1

    def clear(self) -> None:
        with self._lock:
            self._items.clear()
            self.generation += 1
