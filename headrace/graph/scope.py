"""The scopes a graph keeps per thread: current name prefix, control dependencies, devices, colocation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core.device import DeviceSpec
from headrace.core.source import at, user_source
from headrace.graph.operation import Operation


class ControlScope:
    """One ``control_dependencies`` block: its ops, and the nodes made inside that already depend on them.

    ``outer`` are the block's ops in the graphs around the one the block is for.
    """

    __slots__ = ("_inside", "ops", "outer")

    def __init__(self, ops: list[Operation]) -> None:
        self.ops = ops
        self.outer: list[Operation] = []
        self._inside: set[Operation] = set()

    def knows(self, op: Operation) -> bool:
        return op in self._inside

    def note(self, op: Operation) -> None:
        self._inside.add(op)


class DeviceScope:
    """One ``device`` block: a (partial) spec, or a function of the node, or neither (``device(None)``); and its line."""

    __slots__ = ("_cache", "function", "source", "spec")

    def __init__(self, device: Any) -> None:
        self.function: Callable[[Operation], Any] | None = None
        self.spec: DeviceSpec | None = None
        self.source = user_source()
        self._cache: dict[str, str] = {}
        if device is None:
            return
        if isinstance(device, DeviceSpec):
            self.spec = device
        elif isinstance(device, str):
            try:
                self.spec = DeviceSpec.from_string(device)
            except ValueError as e:
                raise ValueError(f"{e} {at()}") from None
        elif callable(device):
            self.function = device
        else:
            raise TypeError(
                f"device takes a string, a DeviceSpec, a function of the node or None, got {device!r} {at()}"
            )

    def merged(self, inner: str) -> str:
        """This scope's device with the fields that ``inner`` already fixes winning."""
        device = self._cache.get(inner)
        if device is None:
            spec = DeviceSpec.from_string(self.spec.to_string() if self.spec else "")
            device = spec.make_merged_spec(DeviceSpec.from_string(inner)).to_string() if inner else spec.to_string()
            self._cache[inner] = device
        return device


class ColocationScope:
    """One ``colocate_with`` block: with an op, or with one that is still to be made under a name already reserved."""

    __slots__ = ("op",)

    def __init__(self, op: Operation | str) -> None:
        self.op = op

    def groups(self) -> list[str]:
        if isinstance(self.op, str):
            return [f"loc:@{self.op}"]
        return list(self.op.colocation) or [f"loc:@{self.op.name}"]

    @property
    def device(self) -> str:
        return "" if isinstance(self.op, str) else self.op._device


class ThreadScopes(threading.local):
    """What is in force in this thread for one graph.  Lists are replaced, never changed in place."""

    def __init__(self) -> None:
        self.name = ""
        self.control: list[ControlScope] = []
        self.devices: list[DeviceScope] = []
        self.colocation: list[ColocationScope] = []


@contextmanager
def setting(owner: Any, attribute: str, value: Any) -> Iterator[None]:
    """Sets an attribute inside a ``with`` block."""
    old = getattr(owner, attribute)
    setattr(owner, attribute, value)
    try:
        yield
    finally:
        setattr(owner, attribute, old)
