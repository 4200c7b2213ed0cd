"""Gradients of one variable that wait at its server until it is decided which of them count."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import torch

from headrace.core.errors import AbortedError, InvalidArgumentError
from headrace.core.shape import TensorShape

Gradient = TypeVar("Gradient")


class StagedGradients(Generic[Gradient]):
    """The last gradient of each member.  Thread-safe.

    They are added in the order in which they are asked for, so that the sum does not depend on who was first.
    """

    def __init__(self, name: str, shape: Any) -> None:
        self.name, self._shape = name, TensorShape(shape)
        self.settings: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._gradients: dict[int, Gradient] = {}

    def stage(self, member: int, gradient: Gradient) -> None:
        """Puts a member's gradient in place of the one before."""
        with self._lock:
            self._gradients[member] = gradient

    def _counted(self, counted: Sequence[int], present: Sequence[int]) -> list[Gradient]:
        """Those that count.  They stay until their members bring others: somebody else may have to finish the update."""
        with self._lock:
            missing = [member for member in counted if member not in self._gradients]
            if missing:
                raise AbortedError(
                    None,
                    None,
                    f"{len(missing)} of {len(counted)} gradients of {self.name} are not here: they were lost",
                )
            found = [self._gradients[member] for member in counted]
            for gone in self._gradients.keys() - {*counted, *present}:
                del self._gradients[gone]
            return found

    def describe(self) -> str:
        return f"gradients of {self.name}: {len(self._gradients)} wait"


class StagedTensors(StagedGradients[torch.Tensor]):
    """Dense gradients."""

    def stage(self, member: int, gradient: torch.Tensor) -> None:
        if not self._shape.is_compatible_with(tuple(gradient.shape)):
            sizes = list(gradient.shape)
            raise InvalidArgumentError(None, None, f"a gradient of {self.name}, {self._shape}, has shape {sizes}")
        super().stage(member, gradient.clone())  # its memory is the step's

    def mean(self, counted: Sequence[int], present: Sequence[int]) -> torch.Tensor:
        """The mean of those that count."""
        first, *rest = self._counted(counted, present)
        if not rest:
            return first
        total = first + rest[0]
        for one in rest[1:]:
            total.add_(one)
        return total.div_(len(counted))


class StagedRows(StagedGradients[tuple[torch.Tensor, torch.Tensor]]):
    """Gradients that have some rows only: indices and values.  A row that a member has not is zero in its gradient."""

    def stage(self, member: int, gradient: tuple[torch.Tensor, torch.Tensor]) -> None:
        indices, values = gradient
        if indices.dim() != 1 or not values.dim() or len(indices) != len(values):
            sizes = f"indices of shape {list(indices.shape)} and values of shape {list(values.shape)}"
            raise InvalidArgumentError(None, None, f"a gradient of {self.name} has {sizes}: one index for each row")
        super().stage(member, (indices.clone(), values.clone()))

    def mean(self, counted: Sequence[int], present: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows of all that count, each divided by how many count; a row may come several times."""
        taken = self._counted(counted, present)
        if len(taken) == 1:
            return taken[0]
        indices = torch.cat([indices for indices, _ in taken])
        return indices, torch.cat([values for _, values in taken]).div_(len(taken))
