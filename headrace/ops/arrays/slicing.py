"""Parts of arrays by position, and their gradients."""

from __future__ import annotations

import numpy as np

from headrace.core.registry import ANY_SIZE
from headrace.ops._slice_index import python_index
from headrace.ops.arrays._declare import on_arrays


@on_arrays("Slice", most=ANY_SIZE, saves=4)
def _slice(input, begin, size):
    index = []
    for b, s, d in zip(begin, size, input.shape, strict=True):
        end = d if s == -1 else b + s
        if not 0 <= b <= end <= d:
            raise ValueError("the slice lies outside")
        index.append(slice(b, end))
    return input[tuple(index)]


@on_arrays("StridedSlice", most=ANY_SIZE, saves=2.5)
def _strided_slice(input, begin, end, strides, *masks):
    index, backwards = python_index(tuple(begin), tuple(end), tuple(strides), *masks)
    return input[index].copy() if backwards else input[index]  # torch has no steps backwards


@on_arrays("StridedSliceGrad", most=65536, saves=6)
def _strided_slice_grad(shape, begin, end, strides, dy, *masks):
    found = np.zeros(shape, dy.dtype)
    found[python_index(tuple(begin), tuple(end), tuple(strides), *masks)[0]] = dy
    return found
