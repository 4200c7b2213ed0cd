"""State that can go to another process: as plain data and tensors, from which the same state is made there.

What arrives waits in the containers until a node asks for it: the node's op knows how to make it, and the parcel fills it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Contents = tuple[dict[str, Any], list[Any]]  # plain data; tensors of the host or the device, and arrays


class Movable(ABC):
    """State with a name in a container.  Nobody may change it while it is packed."""

    __slots__ = ()

    @abstractmethod
    def packed(self) -> Contents | None:
        """What `unpack` needs.  The tensors may be the state's own memory.  None: it is as when it was made, or cannot move."""

    @abstractmethod
    def unpack(self, data: dict[str, Any], tensors: Sequence[Any]) -> None:
        """Takes over what `packed` gave, right after it was made.  The tensors belong to it."""


@dataclass(slots=True)
class Parcel:
    """One thing of a container: where it belongs, and its contents."""

    container: str
    class_name: str
    name: str
    device: str
    data: dict[str, Any] = field(default_factory=dict)
    tensors: list[Any] = field(default_factory=list)
