"""Conditional accumulators: gradients are summed until somebody takes enough of them; late gradients are dropped.

`AccumulatorMachine` decides who may take, without threads; a sum (`DenseSum`, `SparseSum`) holds the values;
`ConditionalAccumulator` and `SparseConditionalAccumulator` are the locks around them.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError
from headrace.core.shape import Dims, TensorShape
from headrace.resources.stepping.attempt import Attempt, Driver, Ended, finish
from headrace.resources.stepping.waiting import Done, Wait

log = logging.getLogger("headrace")


class SparseGradient(NamedTuple):
    """Rows of a gradient: `values[i]` belongs to row `indices[i]`; `shape` is the whole's, None if it is not known."""

    indices: torch.Tensor
    values: torch.Tensor
    shape: Sequence[int] | None


class GradientSum(Protocol):
    """The gradients since the last were taken."""

    def check(self, gradient: Any) -> None:
        """Raises InvalidArgumentError if `gradient` does not fit the shape or the gradients before."""

    def add(self, gradient: Any) -> None:
        """Adds a gradient that was checked; keeps no memory of it."""

    def take(self, mean: bool) -> Any:
        """The sum, or the mean; forgets it."""


class DenseSum:
    """A sum of tensors of one shape."""

    def __init__(self, shape: Any) -> None:
        self._shape = TensorShape(shape)
        self._total: torch.Tensor | None = None
        self._count = 0

    def check(self, gradient: torch.Tensor) -> None:
        sizes = tuple(gradient.shape)
        if self._total is not None and tuple(self._total.shape) != sizes:
            raise _mismatch(f"expected {_text(tuple(self._total.shape))}, got {_text(sizes)}")
        if not self._shape.is_compatible_with(sizes):
            raise _mismatch(f"expected {_text(self._shape.tuple)}, got {_text(sizes)}")

    def add(self, gradient: torch.Tensor) -> None:
        self._total = gradient.clone() if self._total is None else self._total.add_(gradient)
        self._count += 1

    def take(self, mean: bool) -> torch.Tensor:
        assert self._total is not None
        total = self._total.div_(self._count) if mean else self._total
        self._total, self._count = None, 0
        return total


class SparseSum:
    """A sum row by row; the mean of a row is over the gradients that have it.

    Rows come out sorted, each once.  (TensorFlow keeps rows apart that one gradient has twice.)
    """

    def __init__(self, shape: Any) -> None:
        self._shape = TensorShape(shape).tuple or ()
        self._indices: torch.Tensor | None = None
        self._values: torch.Tensor | None = None
        self._counts: torch.Tensor | None = None

    def check(self, gradient: SparseGradient) -> None:
        indices, values, shape = gradient
        if indices.dim() != 1:
            raise _mismatch(f"indices should be a vector but have shape {_text(tuple(indices.shape))}")
        if not values.dim():
            raise _mismatch("values cannot be 0-dimensional")
        if len(values) != len(indices):
            raise _mismatch(f"expected {len(indices)} values, one for each index, got {len(values)}")
        if shape is not None:
            self._check_shape(shape)
        if self._shape and self._shape[0] is not None and len(indices) and int(indices.max()) >= self._shape[0]:
            raise _mismatch(f"index {int(indices.max())} is outside the {self._shape[0]} rows")
        self._check_rows(values)

    def _check_shape(self, shape: Sequence[int]) -> None:
        if len(self._shape) > len(shape):
            raise _mismatch(f"expected shape rank at least {len(self._shape)}, got {len(shape)}")
        for axis, (expected, size) in enumerate(zip(self._shape, shape, strict=False)):
            if expected is not None and expected != size:
                raise _mismatch(f"expected shape dim {axis} to be {expected}, got {size}")

    def _check_rows(self, values: torch.Tensor) -> None:
        if self._values is not None:
            if self._values.dim() != values.dim():
                raise _mismatch(f"expected values rank {self._values.dim()}, got {values.dim()}")
            expected_sizes: Dims = tuple(self._values.shape)
        else:
            if len(self._shape) > values.dim():
                raise _mismatch(f"expected values rank at least {len(self._shape)}, got {values.dim()}")
            expected_sizes = self._shape
        for axis, expected in enumerate(expected_sizes[1:], 1):
            if expected is not None and expected != values.shape[axis]:
                raise _mismatch(f"expected values dim {axis} to be {expected}, got {values.shape[axis]}")

    def add(self, gradient: SparseGradient) -> None:
        indices, values = _summed_rows(gradient.indices, gradient.values)
        counts = torch.ones_like(indices)
        if self._indices is None or self._values is None or self._counts is None:
            self._indices, self._values, self._counts = indices, values, counts
            return
        both = torch.cat([self._indices, indices])
        self._indices, self._values = _summed_rows(both, torch.cat([self._values, values]))
        _, self._counts = _summed_rows(both, torch.cat([self._counts, counts]))

    def take(self, mean: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Indices, values and the shape of the whole, whose first dimension is -1 if it is not known."""
        assert self._indices is not None and self._values is not None and self._counts is not None
        indices, values, counts = self._indices, self._values, self._counts
        self._indices = self._values = self._counts = None
        if mean:
            values.div_(counts.reshape(-1, *[1] * (values.dim() - 1)))
        rows = self._shape[0] if self._shape and self._shape[0] is not None else -1
        return indices, values, torch.tensor([rows, *values.shape[1:]], dtype=torch.int64)


def _summed_rows(indices: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Sorted indices, each once, and the sums of their rows, in memory of their own."""
    unique, places = torch.unique(indices, return_inverse=True)
    sums = values.new_zeros((len(unique), *values.shape[1:]))
    return unique, sums.index_add_(0, places, values)


def _mismatch(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, f"Shape mismatch: {what}")


def _text(shape: Dims | None) -> str:
    return "<unknown>" if shape is None else "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"


class TakeGradient(Attempt):
    """Takes the gradients when there are at least `count`."""

    __slots__ = ("count",)

    called = "TakeGrad"

    def __init__(self, count: int, done: Done) -> None:
        super().__init__(done)
        self.count = count


class AccumulatorMachine:
    """Who waits for gradients, and which are late.  Not thread-safe.

    It decides for every way in which replicas train together (OSDI 2016, section 4.4): synchronous if a take asks for as many
    gradients as there are replicas, with backup workers if it asks for fewer.  What it sums is the `GradientSum`'s business.
    """

    def __init__(self, gradients: GradientSum, mean: bool, title: str) -> None:
        self.title = title
        self.count = 0
        self.time_step = 0  # gradients of earlier steps are late
        self.takers: deque[TakeGradient] = deque()
        self._gradients = gradients
        self._mean = mean

    def apply(self, gradient: Any, local_step: int) -> Ended:
        """Adds a gradient unless it is late; raises InvalidArgumentError if it does not fit."""
        if not self.is_late(local_step):
            self._gradients.check(gradient)
            self._gradients.add(gradient)
            self.count += 1
        return self._advance()

    def is_late(self, local_step: int) -> bool:
        """Whether a gradient that was computed in `local_step` is dropped.  A bound on staleness would be this rule's."""
        return local_step < self.time_step

    def take(self, attempt: TakeGradient) -> Ended:
        if attempt.count <= 0:
            message = f"Argument num_required must be positive, but was {attempt.count}"
            return [attempt.end(InvalidArgumentError(None, None, message))]
        self.takers.append(attempt)
        return self._advance()

    def cancel(self, attempt: Attempt, error: Exception) -> Ended:
        if attempt.ended:
            return []
        self.takers.remove(attempt)  # type: ignore[arg-type]
        return [attempt.end(error), *self._advance()]

    def _advance(self) -> Ended:
        ended: Ended = []
        while self.takers and self.takers[0].count <= self.count:
            result = self._gradients.take(self._mean)
            self.time_step += 1
            self.count = 0
            ended.append(self.takers.popleft().end(result))
        return ended

    def describe(self, attempt: Attempt) -> str:
        count = attempt.count if isinstance(attempt, TakeGradient) else 0
        return f"{self.contents()}, {count} {'is' if count == 1 else 'are'} asked for"

    def contents(self) -> str:
        """How many gradients there are, in words."""
        return f"{self.title} has {self.count} gradient{'s' * (self.count != 1)} at step {self.time_step}"


class _Accumulator(Driver):
    """Thread-safe, never blocks: a `take_grad` that cannot end now returns a `Wait`; `done` is called outside the lock."""

    _machine: AccumulatorMachine
    class_name: str
    sum_class: type[DenseSum] | type[SparseSum]

    def __init__(self, name: str, dtype: DType, shape: Any, reduction_type: str = "MEAN", made_at: str = "") -> None:
        gradients = self.sum_class(shape)
        super().__init__(
            AccumulatorMachine(gradients, reduction_type == "MEAN", f"{self.class_name} '{name}'"), made_at
        )
        self.name, self.dtype, self.shape, self.reduction_type = name, dtype, shape, reduction_type

    def _apply(self, gradient: Any, local_step: int) -> None:
        with self._lock:
            ended = self._machine.apply(gradient, local_step)
        finish(ended)

    def take_grad(self, count: int, done: Done) -> Wait | None:
        """Waits for `count` gradients, ends with the mean or sum of all there are, and begins the next step."""
        return self._begin(self._machine.take, TakeGradient(count, done))

    def set_global_step(self, step: int) -> None:
        """Gradients of steps before `step` are late from now on."""
        if not isinstance(step, int):
            raise ValueError(f"new_global_step must be a scalar, got {step}")
        with self._lock:
            current, self._machine.time_step = self._machine.time_step, step
        if step < current:
            log.warning("%s goes back from step %s to step %s", self._machine.title, current, step)

    def num_accumulated(self) -> int:
        return self._machine.count

    def describe(self) -> str:
        """How many gradients there are, and who waits for them."""
        return f"{self._machine.contents()}; {len(self._machine.takers)} wait to take"


class ConditionalAccumulator(_Accumulator):
    """Sums tensors; `take_grad` ends with a tensor."""

    class_name, sum_class = "ConditionalAccumulator", DenseSum

    def apply_grad(self, gradient: torch.Tensor, local_step: int) -> None:
        """Adds a gradient, or drops it if `local_step` is before the accumulator's step."""
        self._apply(gradient, local_step)


class SparseConditionalAccumulator(_Accumulator):
    """Sums rows; `take_grad` ends with (indices, values, shape)."""

    class_name, sum_class = "SparseConditionalAccumulator", SparseSum

    def apply_grad(
        self, indices: torch.Tensor, values: torch.Tensor, shape: Sequence[int] | None, local_step: int
    ) -> None:
        """Adds rows, or drops them if `local_step` is before the accumulator's step; `shape` is None if not known."""
        self._apply(SparseGradient(indices, values, shape), local_step)
