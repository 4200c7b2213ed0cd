"""Containers: named stores of state (white paper 4.7).  A worker has a default one; resetting one drops what it holds.

State in a container is found by its class, its name and the device it lives on, by every graph that runs on the worker.  What
belongs to one graph alone (its *owner*) lives in a container too, so that a reset reaches it, and is released with the graph.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

T = TypeVar("T")

DEFAULT: Final = "localhost"  # TensorFlow's name for the container of nodes that name none
EVERYBODY: Final = 0  # the owner of what all graphs share

_Key = tuple[type, str, str, int]


class NodeState(ABC):
    """State that has something to end: threads, processes, open files."""

    @abstractmethod
    def end(self) -> None:
        """Called when its container drops it; of state in no container, when the session is closed.  Quick."""


class Containers:
    """State objects by container, class, name, device and owner.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[str, dict[_Key, Any]] = {}
        self.generation = 0

    def get_or_create(
        self, container: str, name: str, resource_class: type[T], make: Callable[[], T], device: str = "",
        owner: int = EVERYBODY,
    ) -> T:  # fmt: skip
        with self._lock:
            store = self._items.setdefault(container or DEFAULT, {})
            key = (resource_class, name, device, owner)
            resource = store.get(key)
            if resource is None:
                resource = store[key] = make()
            return resource  # type: ignore[no-any-return]

    def all_of(self, resource_class: type[T], device: str) -> list[T]:
        """What there is of this class on the device, in all containers."""
        with self._lock:
            return [
                item
                for store in self._items.values()
                for key, item in store.items()
                if key[0] is resource_class and key[2] == device
            ]

    def everything_of(self, resource_class: type[T]) -> list[tuple[str, str, T]]:
        """What there is of this class on all devices: container, device, and the thing itself."""
        with self._lock:
            return [
                (container, key[2], item)
                for container, store in self._items.items()
                for key, item in store.items()
                if key[0] is resource_class
            ]

    def forget(self, owner: int) -> None:
        """Drops what belongs to one graph alone."""
        with self._lock:
            dropped = [item for store in self._items.values() for key, item in store.items() if key[3] == owner]
            for container, store in self._items.items():
                self._items[container] = {key: item for key, item in store.items() if key[3] != owner}
        _end(dropped)

    def reset(self, container: str) -> None:
        """Forgets everything in the container; plans made before must look their state up again."""
        with self._lock:
            dropped = self._items.pop(container or DEFAULT, {})
            self.generation += 1
        _end(dropped.values())

    def clear(self) -> None:
        with self._lock:
            dropped = [item for store in self._items.values() for item in store.values()]
            self._items.clear()
            self.generation += 1
        _end(dropped)


def _end(dropped: Iterable[Any]) -> None:
    for item in dropped:
        if isinstance(item, NodeState):
            item.end()
