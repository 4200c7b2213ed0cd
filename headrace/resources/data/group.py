"""Stages that make batches of elements, and elements of batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headrace.core.errors import DataLossError, InvalidArgumentError, OpError
from headrace.resources.calling.batch import Element, stack
from headrace.resources.calling.value import tensor_held
from headrace.resources.data.source import Slices
from headrace.resources.data.sparse import SparseValue
from headrace.resources.data.stage import Cursor, OneCursor, OneInput, Run, Stage, State, pause


class Batch(OneInput):
    """So many elements as one.  Their shapes must agree."""

    shares = False

    def __init__(self, input: Stage, size: int, drop_remainder: bool, by_place: bool = False) -> None:
        """``by_place``: an error belongs to the batch in which its element would be, and so does each element of that batch,
        dropped or not: the next batch has what it has without errors."""
        super().__init__(input)
        self.by_place = by_place
        if size < 1:
            raise InvalidArgumentError(None, None, "Batch size must be greater than zero.")
        self.size, self.drop_remainder = size, drop_remainder

    def begin(self, run: Run) -> Cursor:
        return BatchCursor(self, run)

    def made_of(self, elements: Sequence[Element]) -> Element:
        """A batch."""
        try:
            return stack(elements)
        except (RuntimeError, ValueError):
            _check_shapes(elements)
            raise


class BatchCursor(OneCursor):
    over = False

    def next(self) -> Element | None:
        if self.over:
            return None
        stage = self.stage
        elements: list[Element] = []
        self.collect(elements)
        self.over = len(elements) < stage.size
        dropped = stage.drop_remainder and len(elements) < stage.size
        if not elements or (dropped and not stage.by_place):
            return None
        batch: Element = stage.made_of(elements)
        return None if dropped else batch

    def collect(self, elements: list[Element]) -> None:
        """Takes the elements of the batch; by place all of them, before the first error is raised."""
        if not self.stage.by_place:
            self.input.fill(elements, self.stage.size)
            return
        first: OpError | None = None
        while (missing := self.stage.size - len(elements)) > 0:
            try:
                self.input.fill(elements, missing)
                break
            except OpError as e:
                pause()
                self.run.check_open()
                first = first or e
                elements.append(())
        if first is not None:
            self.over = len(elements) < self.stage.size
            raise first

    def position(self) -> State:
        return self.over

    def move(self, position: State) -> None:
        self.over = position


def _check_shapes(elements: Sequence[Element]) -> None:
    for i, values in enumerate(zip(*elements, strict=True)):
        first = tuple(values[0].shape)
        for k, value in enumerate(values):
            if tuple(value.shape) != first:
                raise InvalidArgumentError(
                    None, None,
                    f"Cannot batch tensors with different shapes in component {i}. First element had shape "
                    f"{_shown(first)} and element {k} had shape {_shown(value.shape)}.",
                )  # fmt: skip


def _shown(shape: Sequence[int | None]) -> str:
    return f"[{','.join('?' if n is None else str(n) for n in shape)}]"


class PaddedBatch(Batch):
    """So many elements as one, each component padded to a shape, or in its dimensions of -1 to the longest of the batch."""

    def __init__(
        self, input: Stage, size: int, drop_remainder: bool, padded_shapes: Sequence[Sequence[int]],
        padding_values: Sequence[Any],
    ) -> None:  # fmt: skip
        super().__init__(input, size, drop_remainder)
        self.padded_shapes, self.padding_values = padded_shapes, padding_values

    def made_of(self, elements: Sequence[Element]) -> Element:
        columns = zip(*elements, strict=True)
        settings = zip(columns, self.padded_shapes, self.padding_values, strict=True)
        return tuple(_padded(i, values, shape, pad) for i, (values, shape, pad) in enumerate(settings))


def _padded(component: int, values: Sequence[Any], padded_shape: Sequence[int], pad: Any) -> Any:
    shapes = {tuple(value.shape): None for value in values}  # in order: the first that does not fit is the error
    sizes = list(padded_shape)
    for shape in shapes:
        if len(shape) != len(padded_shape):
            raise InvalidArgumentError(
                None, None,
                "All elements in a batch must have the same rank as the padded shape for component"
                f"{component}: expected rank {len(padded_shape)} but got element with rank {len(shape)}",
            )  # fmt: skip
        for d, (n, target) in enumerate(zip(shape, padded_shape, strict=True)):
            if target < 0:
                sizes[d] = max(sizes[d], n)
            elif n > target:
                raise DataLossError(
                    None, None,
                    f"Attempted to pad to a smaller size than the input element. {_shown(shape)} does not fit into "
                    f"{_shown([None if w < 0 else w for w in padded_shape])} in component {component}",
                )  # fmt: skip
    sizes = [max(n, 0) for n in sizes]
    if list(shapes) == [tuple(sizes)]:
        return stack([(value,) for value in values])[0]
    if any(isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16 for value in values):  # numpy lacks it
        values = [tensor_held(value) for value in values]
        batch: Any = values[0].new_full((len(values), *sizes), pad.item())
    else:
        values = [np.asarray(value) for value in values]
        batch = np.empty((len(values), *sizes), values[0].dtype)
        batch.fill(pad.item())  # np.full takes zeros off the end of bytes
    if len(sizes) == 1:
        for row, value in zip(batch, values, strict=True):
            row[: len(value)] = value
    else:
        for row, value in zip(batch, values, strict=True):
            row[tuple(map(slice, value.shape))] = value
    return batch if isinstance(batch, torch.Tensor) or batch.dtype.hasobject else torch.from_numpy(batch)


class SparseBatch(Batch):
    """So many elements as one sparse tensor.  Each must fit into a shape; sizes of -1 are those of the largest element."""

    def __init__(self, input: Stage, size: int, row_shape: Sequence[int]) -> None:
        super().__init__(input, size, False)
        self.row_shape = tuple(row_shape)

    def begin(self, run: Run) -> Cursor:
        return _SparseBatchCursor(self, run)

    def made_of(self, elements: Sequence[Element]) -> Element:
        rows = [_sparse(tensor_held(value)) for (value,) in elements]
        batch = SparseValue.stacked(rows)
        sizes = [n if most < 0 else most for n, most in zip(batch.shape[1:], self.row_shape, strict=True)]
        return (SparseValue(batch.indices, batch.values, (len(rows), *sizes)),)


class _SparseBatchCursor(BatchCursor):
    def collect(self, elements: list[Element]) -> None:
        """One that does not fit is an error immediately, and the elements after it are the next batch."""
        while len(elements) < self.stage.size:
            element = self.input.next()
            if element is None:
                return
            shape, row_shape = tuple(element[0].shape), self.stage.row_shape
            pairs = zip(shape, row_shape, strict=False)
            fits = len(shape) == len(row_shape)
            if not fits or any(0 <= most < n for n, most in pairs):
                error_class = DataLossError if fits else InvalidArgumentError
                raise error_class(
                    None, None,
                    f"Input element had shape ({_shown(shape)}) that is incompatible with the row shape "
                    f"({_shown([None if n < 0 else n for n in row_shape])}).",
                )  # fmt: skip
            elements.append(element)


def _sparse(value: Any) -> SparseValue:
    """A dense value, zeros included."""
    shape = tuple(value.shape)
    indices = torch.cartesian_prod(*map(torch.arange, shape)).reshape(-1, len(shape)) if shape else torch.zeros(1, 0)
    return SparseValue(indices.to(torch.int64), value.reshape(-1), shape)


class Unbatch(OneInput):
    """The rows of each element."""

    def begin(self, run: Run) -> Cursor:
        return _UnbatchCursor(self, run)


class _UnbatchCursor(OneCursor):
    def __init__(self, stage: Unbatch, run: Run) -> None:
        super().__init__(stage, run)
        self._batch: Element | None = None
        self._rows: Cursor | None = None

    def next(self) -> Element | None:
        while True:
            if self._rows is not None:
                element = self._rows.next()
                if element is not None:
                    return element
            batch = self.input.next()
            if batch is None:
                self._batch = self._rows = None
                return None
            self._open(batch)

    def _open(self, batch: Element) -> None:
        batch = tuple(tensor_held(value) for value in batch)
        for i, value in enumerate(batch):
            if not value.ndim:
                raise InvalidArgumentError(None, None, "Input element must have a non-scalar value in each component.")
            if isinstance(value, SparseValue) and value.ndim < 2:
                raise InvalidArgumentError(None, None, "Rank of input SparseTensor should be > 1, but saw rank: 1")
            if len(value) != len(batch[0]):
                raise InvalidArgumentError(
                    None, None,
                    "Input element must have the same batch size in each component. Component 0 had size "
                    f"{len(batch[0])} but component {i} had size, {len(value)}.",
                )  # fmt: skip
        self._batch, self._rows = batch, Slices(batch).begin(self.run)

    def position(self) -> State:
        return None if self._rows is None else [list(self._batch or ()), self._rows.save()]

    def move(self, position: State) -> None:
        if position is not None:
            self._open(tuple(position[0]))
            assert self._rows is not None
            self._rows.restore(position[1])
