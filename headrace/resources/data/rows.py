"""Many elements at once: a function of many, the elements stacked for it, and its results taken apart again.

A column is ``(values,)`` with a first dimension for the elements, or ``(joined, lengths)`` for vectors of different lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headrace.resources.calling.batch import Element, rows_of, stack
from headrace.resources.calling.value import tensor_held

Columns = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class RowFunction:
    """A function of many elements.  ``ragged``: which values of an element may differ in length."""

    run: Callable[[Columns, Sequence[Any]], Columns]
    ragged: Sequence[bool]
    differ: Sequence[bool]  # which results differ from element to element

    def __call__(self, elements: Sequence[Element], captured: Sequence[Any]) -> list[Element]:
        """The results for some elements, in the same order."""
        columns = [_column(values, r) for values, r in zip(zip(*elements, strict=True), self.ragged, strict=True)]
        results = self.run(columns, captured)
        count = len(elements)
        apart = [_rows(c) if d else [c[0]] * count for c, d in zip(results, self.differ, strict=True)]
        return list(zip(*apart, strict=True))


def _column(values: Sequence[Any], ragged: bool) -> tuple[Any, ...]:
    if not ragged:
        return stack([(value,) for value in values])
    lengths = torch.tensor([len(value) for value in values])
    if isinstance(values[0], torch.Tensor):
        return torch.cat([tensor_held(value) for value in values]), lengths
    joined = np.concatenate(values)
    return joined if joined.dtype.hasobject else torch.from_numpy(joined), lengths


def _rows(column: tuple[Any, ...]) -> Sequence[Any]:
    if len(column) == 1:
        return rows_of(column[0])
    joined, lengths = column
    ends = np.cumsum(lengths.numpy()).tolist()
    if isinstance(joined, torch.Tensor):
        joined = joined.numpy()
    return [joined[begin:end].copy() for begin, end in zip([0, *ends], ends, strict=False)]
