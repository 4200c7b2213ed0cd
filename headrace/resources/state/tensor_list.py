"""Arrays of tensors as values: writing gives a new array and leaves the old one as it was, at the cost of one assignment.

The newest version holds the items; an older one only knows in which place it differs from a newer one (Baker's trick).  Whoever
always goes on with the newest version, as a loop does, never notices.  Two arrays that grow from one, as in a loop that fills
several, part after a few steps: a version far from the holder takes a copy.  An item that was not written is None.  As a
gradient, an item that is None is zero.  A value belongs to one step, so nothing here is locked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

FAR = 8  # versions: a longer way to the holder costs more, each time, than one copy


class TensorList:
    """One version of an array."""

    __slots__ = ("_items", "_newer", "_place", "_value", "size")

    def __init__(self, items: list[Any], size: int | None = None) -> None:
        self._items: list[Any] | None = items  # may be longer than ``size``: newer versions may have grown
        self._newer: TensorList | None = None
        self._place = 0
        self._value: Any = None
        self.size = len(items) if size is None else size

    def _held(self) -> list[Any]:
        """The items, after making this the version that holds them."""
        if self._items is not None:
            return self._items
        path = []
        version = self
        while version._items is None:
            path.append(version)
            version = version._newer  # type: ignore[assignment]
        items = version._items
        if len(path) > FAR:
            items = list(items)
            for older in reversed(path):
                items[older._place] = older._value
            self._items, self._newer, self._value = items, None, None
            return items
        for older in reversed(path):
            newer: TensorList = older._newer  # type: ignore[assignment]
            place = older._place
            newer._items, newer._newer, newer._place, newer._value = None, older, place, items[place]
            items[place] = older._value
            older._items, older._newer, older._value = items, None, None
        return items

    def get(self, index: int) -> Any:
        return self._held()[index]

    def find(self, index: int) -> Any:
        """The item, None if there is none."""
        return self._held()[index] if index < self.size else None

    def items(self) -> list[Any]:
        return self._held()[: self.size]

    def set(self, index: int, value: Any) -> TensorList:
        """A version with one item changed, and grown if need be."""
        items = self._items
        if items is None:
            items = self._held()
        if index >= len(items):
            items.extend([None] * (index + 1 - len(items)))
        newer = TensorList(items, self.size if index < self.size else index + 1)
        self._items, self._newer, self._place, self._value = None, newer, index, items[index]
        items[index] = value
        return newer

    def written(self) -> Any:
        """Some item that was written, else None."""
        return next((v for v in self.items() if v is not None), None)

    def zeros(self) -> TensorList:
        return TensorList([None] * self.size)

    def add(self, other: TensorList | FewTensors) -> TensorList:
        """The sum of two gradients."""
        if isinstance(other, FewTensors):
            total = self
            for index, value in other.few.items():
                before = total.find(index)
                total = total.set(index, value if before is None else _sum(index, before, value))
            return total
        mine, theirs = self.items(), other.items()
        longest = max(len(mine), len(theirs))
        mine += [None] * (longest - len(mine))
        theirs += [None] * (longest - len(theirs))
        return TensorList([b if a is None else a if b is None else a + b for a, b in zip(mine, theirs, strict=True)])


def _sum(index: int, before: Any, value: Any) -> Any:
    if before.shape != value.shape:
        raise ValueError(
            f"Could not aggregate to TensorArray index {index} because the existing shape is {list(before.shape)} but the new "
            f"input shape is {list(value.shape)}."
        )
    return before + value


class FewTensors:
    """A gradient that is zero but in a few places."""

    __slots__ = ("few",)

    def __init__(self, few: Mapping[int, Any]) -> None:
        self.few = dict(few)

    @classmethod
    def of(cls, indices: Iterable[int], values: Iterable[Any]) -> FewTensors:
        few: dict[int, Any] = {}
        for index, value in zip(indices, values, strict=True):
            few[index] = _sum(index, few[index], value) if index in few else value
        return cls(few)

    @property
    def size(self) -> int:
        return max(self.few, default=-1) + 1

    def get(self, index: int) -> Any:
        return self.few.get(index)

    find = get

    def items(self) -> list[Any]:
        return [self.few.get(i) for i in range(self.size)]

    def zeros(self) -> FewTensors:
        return FewTensors({})

    def add(self, other: TensorList | FewTensors) -> TensorList | FewTensors:
        if isinstance(other, TensorList):
            return other.add(self)
        return FewTensors.of([*self.few, *other.few], [*self.few.values(), *other.few.values()])
