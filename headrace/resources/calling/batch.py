"""Elements to batches and back: stacking, padding, splitting.

A value is a torch tensor, or a numpy array of bytes objects for strings.  An element is a tuple of values, a batch a
tuple of values with one more dimension in front.  A row of a batch waits in a queue or a dataset as an array or a number of
numpy's, which is made in a tenth of the time of a tensor: `whole` and `stack` give tensors again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from headrace.core.dtypes import DType, string
from headrace.core.shape import TensorShape
from headrace.resources.calling.value import Value, tensor_held, torch_dtype

Element = tuple[Any, ...]

PIECE: Final = (
    4096  # bytes of a batch that may stay alive for one small row of it; the row's own objects take about 300
)


def whole(element: Element) -> Element:
    """An element as ops take it: its numbers as tensors."""
    return tuple(map(tensor_held, element))


def own(element: Element) -> Element:
    """An element as ops take it, in memory that nobody else has."""
    values = whole(element)
    return tuple(v.clone() if hasattr(v, "clone") else v.copy() if hasattr(v, "copy") else v for v in values)


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
    """The `n` elements of a batch, in memory of their own.

    Small rows share a piece of memory, but never more than `PIECE`: the last row left in a queue, which shuffling may
    leave there for long, keeps the piece alive.
    """
    if not components:
        return [()] * n
    return list(zip(*(rows_of(value) for value in components), strict=True))


def rows_of(value: Value) -> Sequence[Value]:
    """The rows of one component, as `split` gives them."""
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:  # which numpy lacks
            rows: Sequence[Value] = torch.unbind_copy(value)  # type: ignore[func-returns-value, assignment]  # it returns a tuple
            return rows
        value = value.numpy()
        return list(value) if value.ndim == 1 else _pieces(value)
    if value.ndim > 1:
        return [row.copy() for row in value]
    return [np.array(item, object) for item in value]


def _pieces(batch: np.ndarray[Any, Any]) -> list[Value]:
    """The rows of a batch as views of pieces of a copy."""
    count = max(1, PIECE // max(1, batch[:1].nbytes))
    rows: list[Value] = []
    for start in range(0, len(batch), count):
        rows.extend(batch[start : start + count].copy())
    return rows


def _stack_values(values: Sequence[Value]) -> Value:
    types = set(map(type, values))
    if hasattr(values[0], "stacked"):  # sparse
        return values[0].stacked(values)
    if torch.Tensor in types:
        return torch.stack(values if len(types) == 1 else [tensor_held(value) for value in values])  # type: ignore[arg-type]
    first = values[0]
    if any(value.shape != first.shape for value in values):  # numpy would repeat some of them, or cut them elsewhere
        raise ValueError(f"cannot stack values of shapes {', '.join(str(tuple(value.shape)) for value in values)}")
    if first.dtype.hasobject:
        return _stack_strings(values)
    if not first.ndim:
        return torch.from_numpy(np.array(values))
    return torch.from_numpy(np.concatenate(values).reshape(len(values), *first.shape))


def _stack_strings(values: Sequence[Value]) -> Value:
    if not any(value.ndim for value in values):
        return np.fromiter([value.item() for value in values], object, len(values))
    batch = np.empty((len(values), *values[0].shape), object)
    for i, value in enumerate(values):
        batch[i] = value if value.ndim else value[()]
    return batch


def _pad_values(values: Sequence[Value]) -> Value:
    shapes = {value.shape for value in values}
    if len(shapes) == 1:
        return _stack_values(values)
    values = [tensor_held(value) for value in values]
    first = values[0]
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
