"""Containers: named stores of state (white paper 4.7).  A worker has a default one; resetting one drops what it holds.

State in a container is found by its class, its name and the device it lives on, by every graph that runs on the worker.  What
belongs to one graph alone (its *owner*) lives in a container too, so that a reset reaches it, and is released with the graph.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from headrace.resources.state.movable import Movable, Parcel

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
        self._arrived: dict[tuple[str, str, str, str], Parcel] = {}  # from another process; nobody has asked for it yet
        self.generation = 0

    def get_or_create(
        self, container: str, name: str, resource_class: type[T], make: Callable[[], T], device: str = "",
        owner: int = EVERYBODY,
    ) -> T:  # fmt: skip
        with self._lock:
            container = container or DEFAULT
            store = self._items.setdefault(container, {})
            key = (resource_class, name, device, owner)
            resource = store.get(key)
            if resource is None:
                resource = make()
                if self._arrived and owner == EVERYBODY:
                    self._fill(resource, (container, resource_class.__name__, name, device))
                store[key] = resource
            return resource  # type: ignore[no-any-return]

    # ---- what moves to another process

    def parcels(self, takes: Callable[[str], bool]) -> list[Parcel]:
        """What all graphs share and what can move, of the classes with these names, packed.

        The tensors may be the state's own.
        """
        with self._lock:
            arrived = [parcel for parcel in self._arrived.values() if takes(parcel.class_name)]
            shared = [
                (item, Parcel(container, key[0].__name__, key[1], key[2]))
                for container, store in self._items.items()
                for key, item in store.items()
                if key[3] == EVERYBODY and isinstance(item, Movable) and takes(key[0].__name__)
            ]
        parcels = []
        for item, parcel in shared:
            contents = item.packed()
            if contents is not None:
                parcel.data, parcel.tensors = contents
                parcels.append(parcel)
        return [*parcels, *arrived]

    def arrive(self, parcels: Iterable[Parcel]) -> None:
        """Keeps what has come from another process for those who will ask for it."""
        with self._lock:
            for one in parcels:
                self._arrived[one.container, one.class_name, one.name, one.device] = one

    def _fill(self, resource: Any, key: tuple[str, str, str, str]) -> None:
        parcel = self._arrived.get(key)
        if parcel is not None:
            resource.unpack(parcel.data, parcel.tensors)
            del self._arrived[key]

    # ---- looking at what there is

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

    def everything(self) -> list[tuple[str, _Key, Any]]:
        """All that there is: container, key, and the thing itself."""
        with self._lock:
            return [(container, key, item) for container, store in self._items.items() for key, item in store.items()]

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
            for key in [key for key in self._arrived if key[0] == (container or DEFAULT)]:
                del self._arrived[key]
            self.generation += 1
        _end(dropped.values())

    def clear(self) -> None:
        with self._lock:
            dropped = [item for store in self._items.values() for item in store.values()]
            self._items.clear()
            self._arrived.clear()
            self.generation += 1
        _end(dropped)


def _end(dropped: Iterable[Any]) -> None:
    for item in dropped:
        if isinstance(item, NodeState):
            item.end()
