"""A variable: a named buffer on one device that lives as long as its container (OSDI 3.1).

Reading ``value`` gives the buffer itself, not a copy; it is unset until the first assignment, so reading an uninitialised
variable raises AttributeError, which the executor turns into FailedPreconditionError.  Updates happen in place, so the
buffer's address is stable.  ``lock`` serialises the updates that ask for it (``use_locking``); reads never take it.

Every kernel that writes a variable marks, afterwards and also if it fails, the rows that it wrote, or all, in ``touched`` if that
is there: once somebody has asked which rows are written (`touched.py`).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from headrace.core.dtypes import DType
from headrace.core.shape import fits
from headrace.resources.state.movable import Contents, Movable
from headrace.resources.state.touched import TouchedRows

_first_question = threading.Lock()
_noting = False  # whether anybody has asked about any variable; it spares the updates a look at each


class Variable(Movable):
    """State behind a variable's handle.  Safe for concurrent steps as far as the paper promises: updates may race."""

    __slots__ = (
        "__weakref__", "array", "device", "dtype", "lock", "memory", "name", "order", "shape", "touched", "value", "version",
        "viewed",
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
        self.touched: TouchedRows | None = None

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

    def take_touched(self, asker: str, since: str, now: str) -> Any:
        """The numbers of the rows written since ``asker`` called a moment ``since``, in order; this moment is called ``now``.

        None for all rows: also the first time, and of scalars and strings.  Read the values afterwards, not before.
        """
        global _noting
        buffer = self.value
        if not isinstance(buffer, torch.Tensor) or not buffer.ndim:
            return None
        with _first_question:
            _noting = True
            if self.touched is None:
                self.touched = TouchedRows()
            return self.touched.take(asker, since, now, buffer.shape[0], buffer.device)

    def forget_touched(self, asker: str) -> None:
        """Notes no rows for this asker any more."""
        with _first_question:
            if self.touched is not None and not self.touched.forget(asker):
                self.touched = None

    def packed(self) -> Contents | None:
        return ({}, [self.value]) if self.initialized else None

    def unpack(self, data: dict[str, Any], tensors: Sequence[Any]) -> None:
        self.assign(tensors[0], validate_shape=False, own=True)

    def __repr__(self) -> str:
        return f"<variable {self.name} {self.dtype.name} {'set' if self.initialized else 'uninitialised'}>"


def locked(variables: Sequence[Variable], locking: bool) -> contextlib.AbstractContextManager[Any]:
    """All the locks if ``locking``, always taken in the same order, so that two updates cannot wait for each other."""
    stack = contextlib.ExitStack()
    if locking:
        for variable in sorted(variables, key=id):
            stack.enter_context(variable.lock)
    return stack


def mark_all(variables: Sequence[Variable]) -> None:
    """Any row of these variables may have been written."""
    mark_rows(variables, None)


def mark_rows(variables: Sequence[Variable], rows: Any) -> None:
    """The rows with these numbers, of these variables, may have been written; None: all rows."""
    if not _noting:
        return
    for variable in variables:
        touched = variable.touched
        if touched is None:
            continue
        if rows is None:
            touched.mark_all()
        else:
            touched.mark(rows)


def mark_written(
    variables: Sequence[Variable], values: Sequence[Any], written: Sequence[tuple[int, int | None]]
) -> None:
    """Marks what compiled code wrote: pairs of a variable's position and that of the numbers of its rows (None: all rows)."""
    if _noting:
        for at, rows in written:
            mark_rows((variables[at],), None if rows is None else values[rows])
