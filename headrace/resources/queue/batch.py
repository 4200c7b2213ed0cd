"""Elements to batches and back: stacking, padding, splitting.

A value is a torch tensor, or a numpy array of bytes objects for strings.  An element is a tuple of values, a batch a
tuple of values with one more dimension in front.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from headrace.core.dtypes import DType, string
from headrace.core.shape import TensorShape
from headrace.resources.queue.store import Element
from headrace.resources.value import Value, torch_dtype


def stack(elements: Sequence[Element]) -> tuple[Value, ...]:
    """Elements of equal shapes as a batch, copied once; there must be at least one."""
    return tuple(_stack_values(values) for values in zip(*elements, strict=True))


def pad_and_stack(elements: Sequence[Element], shapes: Sequence[Any], dtypes: Sequence[DType]) -> tuple[Value, ...]:
    """Elements as a batch in which dimensions that are None in `shapes` have the size of the longest element.

    The rest is filled with zeros, False or empty strings.
    """
    if not elements:
        return empty_batch(shapes, dtypes)
    return tuple(_pad_values(values) for values in zip(*elements, strict=True))


def empty_batch(shapes: Sequence[Any], dtypes: Sequence[DType]) -> tuple[Value, ...]:
    """A batch of no elements; dimensions that are not fixed have size 0."""
    batch: list[Value] = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        sizes = (0, *(size or 0 for size in TensorShape(shape).as_list()))
        batch.append(np.empty(sizes, object) if dtype == string else torch.empty(sizes, dtype=torch_dtype(dtype)))
    return tuple(batch)


def split(components: Sequence[Value], n: int) -> list[Element]:
    """The `n` elements of a batch, each in memory of its own.

    One copy of the batch with views into it would be twice as fast for small rows, but the last row left in a queue,
    which shuffling may leave there for long, would keep the whole batch alive.
    """
    if not components:
        return [()] * n
    return list(zip(*(_rows(value) for value in components), strict=True))


def _rows(value: Value) -> Sequence[Value]:
    if isinstance(value, torch.Tensor):
        rows: Sequence[Value] = torch.unbind_copy(value)  # type: ignore[func-returns-value, assignment]  # it returns a tuple
        return rows
    if value.ndim > 1:
        return [row.copy() for row in value]
    return [np.array(item, object) for item in value]


def _stack_values(values: Sequence[Value]) -> Value:
    first = values[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(values)  # type: ignore[arg-type]
    batch = np.empty((len(values), *first.shape), first.dtype)
    for i, value in enumerate(values):
        batch[i] = value if value.ndim else value[()]
    return batch


def _pad_values(values: Sequence[Value]) -> Value:
    first = values[0]
    shapes = {value.shape for value in values}
    if len(shapes) == 1:
        return _stack_values(values)
    if isinstance(first, torch.Tensor):
        if len({shape[1:] for shape in shapes}) == 1:
            return pad_sequence(values, batch_first=True)  # type: ignore[arg-type]
        batch: Value = first.new_zeros(_sizes(shapes, len(values)))
    else:
        batch = np.full(_sizes(shapes, len(values)), b"", object)
    for i, value in enumerate(values):
        batch[(i, *map(slice, value.shape))] = value
    return batch


def _sizes(shapes: Iterable[Sequence[int]], count: int) -> tuple[int, ...]:
    """The shape of a batch that has room for all shapes."""
    return (count, *map(max, zip(*shapes, strict=True)))
