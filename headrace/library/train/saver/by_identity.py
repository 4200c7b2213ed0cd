"""A table of objects, compared by identity, that keeps none of them alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class ByIdentity(Generic[V]):
    """Values by object.  Objects that cannot be referred to weakly, such as plain lists, are left out.

    ``when_empty`` is called when the last object has gone.  Used by one thread at a time; objects may go in any.
    """

    def __init__(self, when_empty: Callable[[], None] | None = None) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], V]] = {}
        self._when_empty = None if when_empty is None else weakref.WeakMethod(when_empty)

    def __setitem__(self, key: Any, value: V) -> None:
        table, number = weakref.ref(self), id(key)

        def forget(reference: weakref.ref[Any]) -> None:
            own = table()
            if own is not None and number in own._entries and own._entries[number][0] is reference:
                own._remove(number)

        try:
            self._entries[number] = weakref.ref(key, forget), value
        except TypeError:
            return

    def __contains__(self, key: Any) -> bool:
        return id(key) in self._entries and self._entries[id(key)][0]() is key

    def __getitem__(self, key: Any) -> V:
        return self._entries[id(key)][1]

    def items(self) -> Iterator[tuple[Any, V]]:
        """The objects that live, and their values."""
        for reference, value in list(self._entries.values()):
            key = reference()
            if key is not None:
                yield key, value

    def pop(self, key: Any) -> None:
        """Takes an object out, if it is there."""
        if key in self:
            self._remove(id(key))

    def _remove(self, number: int) -> None:
        del self._entries[number]
        notify = None if self._when_empty is None or self._entries else self._when_empty()
        if notify is not None:
            notify()
