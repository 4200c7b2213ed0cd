"""Who holds memory: the state of a session on one worker, each with what it keeps in tensors, arrays and strings.

What a thing holds is found by going from it to what it refers to, through containers of Python and objects of the resources, and
counts once: a buffer that two things share is the first one's.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import torch

from headrace.resources.state.container import EVERYBODY, Containers

_CONTAINERS: Final = (list, tuple, set, frozenset, deque)
_OURS: Final = ("headrace.resources.", "headrace.ops.")


class Holder(NamedTuple):
    """One holder.  ``what``: Variable, FIFOQueue, Iterator, Constants ...  ``device``: its full name, or that of the task."""

    what: str
    name: str
    device: str
    bytes: int
    container: str = ""


class Measure:
    """Counts bytes; what was counted before is not counted again."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._alive: list[Any] = []  # ids are of things that live
        self._memory: set[int] = set()

    def of(self, thing: Any) -> int:
        """The bytes that a thing keeps alive, as far as nothing before did."""
        total, waiting = 0, [thing]
        while waiting:
            one = waiting.pop()
            if id(one) in self._seen:
                continue
            self._seen.add(id(one))
            self._alive.append(one)
            if isinstance(one, torch.Tensor):
                storage = one.untyped_storage()
                total += self._new(storage.data_ptr(), storage.nbytes())
            elif isinstance(one, np.ndarray) and one.dtype != object:
                whole = _whole(one)
                total += self.of(whole) if whole is not one else self._new(one.ctypes.data, one.nbytes)
            elif isinstance(one, bytes):
                total += sys.getsizeof(one)
            else:
                waiting.extend(_held_by(one))
        return total

    def _new(self, address: int, size: int) -> int:
        if not size or address in self._memory:
            return 0
        self._memory.add(address)
        return size


def _whole(array: Any) -> Any:
    """What a view is a part of: another array, or a tensor."""
    while isinstance(array, np.ndarray) and isinstance(array.base, (np.ndarray, torch.Tensor)):
        array = array.base
    return array


def _held_by(thing: Any) -> Iterable[Any]:
    if isinstance(thing, np.ndarray):
        return list(thing.flat)
    if isinstance(thing, dict):
        return [*list(thing.keys()), *list(thing.values())]
    if isinstance(thing, _CONTAINERS):
        return list(thing)
    if not type(thing).__module__.startswith(_OURS):
        return ()
    slots = (name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ()) if name != "__weakref__")
    own = [value for name in slots if (value := _slot(thing, name)) is not None]
    return [*own, *getattr(thing, "__dict__", {}).values()]


def _slot(thing: Any, name: str) -> Any:
    """What is in a slot; None where nothing is, or where it is made on asking."""
    try:
        return object.__getattribute__(thing, name)
    except AttributeError:
        return None


def holders_in(resources: Containers, owner: int, measure: Measure) -> Iterator[Holder]:
    """What there is in containers for the graph of one owner, variables first."""
    items = [item for item in resources.everything() if item[1][3] in (EVERYBODY, owner)]
    items.sort(key=lambda item: (item[1][0].__name__ != "Variable", item[1][0].__name__, item[1][1]))
    for container, (cls, name, device, _), thing in items:
        yield Holder(getattr(thing, "class_name", None) or cls.__name__, name, device, measure.of(thing), container)
