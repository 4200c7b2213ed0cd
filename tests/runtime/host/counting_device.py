"""A device type with hooks that counts its bytes and keeps a log of copies and launches."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from headrace import extend


class Counting:
    """The hooks of a device type over the CPU, and what they were asked for."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}  # in use now, by device
        self.most: dict[str, int] = {}
        self.limit: int | None = None  # of the bytes of one tensor
        self.allocations: list[tuple[str, tuple[int, ...]]] = []
        self.copies: list[tuple[str, str, int]] = []  # from, to, bytes
        self.launches: list[tuple[str, str]] = []  # op, device
        self.nodes: list[extend.LaunchedNode] = []
        self._lock = threading.RLock()

    @property
    def hooks(self) -> extend.DeviceHooks:
        return extend.DeviceHooks(self.allocate, self.copy, self.launch)

    @property
    def ops(self) -> list[str]:
        return [op for op, _ in self.launches]

    def clear(self) -> None:
        """Forgets the log, not the count."""
        for log in (self.allocations, self.copies, self.launches, self.nodes):
            log.clear()

    def _count(self, device: str, size: int) -> None:
        with self._lock:
            now = self.bytes[device] = self.bytes.get(device, 0) + size
            self.most[device] = max(now, self.most.get(device, 0))

    def allocate(self, shape: tuple[int, ...], dtype: torch.dtype, device: extend.Device) -> torch.Tensor:
        memory = torch.empty(shape, dtype=dtype)
        if self.limit is not None and memory.nbytes > self.limit:
            raise MemoryError(f"{memory.nbytes} bytes are too many")
        self.allocations.append((short(device), shape))
        self._count(short(device), memory.nbytes)
        weakref.finalize(memory.untyped_storage(), self._count, short(device), -memory.nbytes)
        return memory

    def copy(
        self, source: torch.Tensor, target: torch.Tensor, before: extend.Device | None, after: extend.Device | None
    ) -> None:
        self.copies.append((short(before), short(after), source.nbytes))
        target.copy_(source)

    def launch(self, run: Callable[[], Any], node: extend.LaunchedNode) -> Any:
        self.launches.append((node.op, short(node.device)))
        self.nodes.append(node)
        return run()


def short(device: extend.Device | None) -> str:
    return "host" if device is None else device.name.rpartition("/device:")[2]


@contextmanager
def registered(name: str, hooks: extend.DeviceHooks | None, count: int = 2) -> Iterator[None]:
    extend.register_device(name, "cpu", count=count, priority=-1, hooks=hooks)
    try:
        yield
    finally:
        extend.unregister_device(name)
