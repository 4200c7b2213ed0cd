"""A variable: a named buffer on one device that lives as long as its container (OSDI 3.1).

Reading ``value`` gives the buffer itself, not a copy; it is unset until the first assignment, so reading an uninitialised
variable raises AttributeError, which the executor turns into FailedPreconditionError.  Updates happen in place, so the
buffer's address is stable.  ``lock`` serialises the updates that ask for it (``use_locking``); reads never take it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from headrace.core.dtypes import DType
from headrace.core.shape import fits


class Variable:
    """State behind a variable's handle.  Safe for concurrent steps as far as the paper promises: updates may race."""

    __slots__ = (
        "__weakref__", "array", "device", "dtype", "lock", "memory", "name", "order", "shape", "value", "version", "viewed",
    )  # fmt: skip

    value: Any
    array: Any  # the same memory as a numpy array, made when it is first asked for

    def __init__(
        self, name: str, dtype: DType, device: Any, shape: tuple[int | None, ...] | None = None,
        order: tuple[int, ...] | None = None, memory: Callable[[Any, bool], Any] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.order = order  # of the axes in memory, outermost first, where it is not the usual one
        self.memory = memory  # gives a value, and whether it may be kept, as a buffer of the device; None: torch does
        self.shape = shape  # as declared; None, or None for a dimension, where any will do
        self.dtype = dtype
        self.device = device
        self.lock = threading.RLock()
        self.version = 0
        self.viewed = False  # whether ``array`` is there

    def __getattr__(self, name: str) -> Any:
        if name == "array":
            return self._view()
        raise AttributeError(f"a variable has no {name!r}", name=name, obj=self)

    def _view(self) -> Any:
        """Makes ``array``, again if another thread replaced the buffer meanwhile, so that it never shows an old buffer."""
        while True:
            value = self.value
            array = value.numpy()
            self.array, self.viewed = array, True
            if getattr(self, "value", None) is value:
                return array
            self._forget_array()

    def hold(self, value: Any) -> None:
        """Takes another buffer."""
        self.value = value
        self._forget_array()

    def _forget_array(self) -> None:
        if self.viewed:
            self.viewed = False
            with contextlib.suppress(AttributeError):  # another thread may do the same
                del self.array

    @property
    def initialized(self) -> bool:
        return hasattr(self, "value")

    def assign(self, value: Any, validate_shape: bool = True, own: bool = False) -> None:
        """Stores a copy.  Keeps the buffer when the shape is unchanged.  ``own``: the value may become the new one."""
        if not isinstance(value, torch.Tensor):  # strings
            self.hold(value.copy())
            return
        current = getattr(self, "value", None)
        if current is not None and current.shape == value.shape:
            current.copy_(value)
            return
        declared = self.shape if current is None else current.shape
        if validate_shape and declared is not None and not fits(value.shape, declared):
            raise ValueError(
                f"Assign requires shapes of both tensors to match. lhs shape= {list(declared)} rhs shape= {list(value.shape)}"
            )
        if self.memory is not None:
            self.hold(self.memory(value, own))
        else:
            self.hold(self._laid_out(value.to(self.device, copy=not own)))

    def _laid_out(self, value: Any) -> Any:
        order = self.order
        if order is None or value.dim() != len(order):
            return value.contiguous()
        return value.permute(order).contiguous().permute([order.index(axis) for axis in range(len(order))])

    def clear(self) -> None:
        if hasattr(self, "value"):
            del self.value
        self._forget_array()

    def __repr__(self) -> str:
        return f"<variable {self.name} {self.dtype.name} {'set' if self.initialized else 'uninitialised'}>"


def locked(variables: Sequence[Variable], locking: bool) -> contextlib.AbstractContextManager[Any]:
    """All the locks if ``locking``, always taken in the same order, so that two updates cannot wait for each other."""
    stack = contextlib.ExitStack()
    if locking:
        for variable in sorted(variables, key=id):
            stack.enter_context(variable.lock)
    return stack
