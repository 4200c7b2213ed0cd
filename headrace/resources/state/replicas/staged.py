"""Gradients of one variable that wait at its server until it is decided which of them count."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import torch

from headrace.core.errors import AbortedError, InvalidArgumentError
from headrace.core.shape import TensorShape

log = logging.getLogger("headrace")

Gradient = TypeVar("Gradient")


class StagedGradients(Generic[Gradient]):
    """The last gradient of each member.  Thread-safe.

    They are added in the order in which they are asked for, so that the sum does not depend on who was first.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._gradients: dict[int, Gradient] = {}
        self._last: int | None = None  # the ticket of the last update

    def stage(self, member: int, gradient: Gradient) -> None:
        """Puts a member's gradient in place of the one before."""
        with self._lock:
            self._gradients[member] = gradient

    def _take(self, ticket: int, counted: Sequence[int], present: Sequence[int]) -> list[Gradient] | None:
        """Those that count; None if this update was made here before."""
        with self._lock:
            if self._last == ticket:
                log.warning(
                    "an update of %s is made again, as the worker that made it was lost: its gradients count once",
                    self.name,
                )
                return None
            missing = [member for member in counted if member not in self._gradients]
            if missing:
                raise AbortedError(
                    None,
                    None,
                    f"{len(missing)} of {len(counted)} gradients of {self.name} are not here: they were lost",
                )
            taken = [self._gradients.pop(member) for member in counted]
            for gone in self._gradients.keys() - set(present):
                del self._gradients[gone]
            self._last = ticket
            return taken

    def describe(self) -> str:
        return f"gradients of {self.name}: {len(self._gradients)} wait"


class StagedTensors(StagedGradients[torch.Tensor]):
    """Dense gradients."""

    def __init__(self, name: str, shape: Any, dtype: torch.dtype) -> None:
        super().__init__(name)
        self._shape, self._dtype = TensorShape(shape), dtype

    def stage(self, member: int, gradient: torch.Tensor) -> None:
        if not self._shape.is_compatible_with(tuple(gradient.shape)):
            sizes = list(gradient.shape)
            raise InvalidArgumentError(None, None, f"a gradient of {self.name}, {self._shape}, has shape {sizes}")
        super().stage(member, gradient.clone())  # its memory is the step's

    def take(
        self, ticket: int, counted: Sequence[int], present: Sequence[int], otherwise: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The mean of those that count; ``otherwise``, by default zeros, if this update was made here before."""
        taken = self._take(ticket, counted, present)
        if taken is None:
            if otherwise is not None:
                return otherwise.clone()
            return torch.zeros(tuple(size or 0 for size in self._shape.tuple or ()), dtype=self._dtype)
        total, *rest = taken
        for one in rest:
            total.add_(one)
        return total.div_(len(taken)) if rest else total


class StagedRows(StagedGradients[tuple[torch.Tensor, torch.Tensor]]):
    """Gradients that have some rows only: indices and values.  A row that a member has not is zero in its gradient."""

    def __init__(self, name: str, shape: Any, dtype: torch.dtype) -> None:
        super().__init__(name)
        self._row = tuple(size or 0 for size in (TensorShape(shape).tuple or (0,))[1:])
        self._dtype = dtype

    def stage(self, member: int, gradient: tuple[torch.Tensor, torch.Tensor]) -> None:
        indices, values = gradient
        if indices.dim() != 1 or not values.dim() or len(indices) != len(values):
            sizes = f"indices of shape {list(indices.shape)} and values of shape {list(values.shape)}"
            raise InvalidArgumentError(None, None, f"a gradient of {self.name} has {sizes}: one index for each row")
        super().stage(member, (indices.clone(), values.clone()))

    def take(
        self, ticket: int, counted: Sequence[int], present: Sequence[int], index_dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows of all that count, each divided by how many count; a row may come several times."""
        taken = self._take(ticket, counted, present)
        if taken is None:
            return torch.zeros(0, dtype=index_dtype), torch.zeros((0, *self._row), dtype=self._dtype)
        if len(taken) == 1:
            return taken[0]
        indices = torch.cat([indices for indices, _ in taken])
        return indices, torch.cat([values for _, values in taken]).div_(len(taken))
