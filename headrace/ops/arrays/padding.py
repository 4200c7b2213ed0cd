"""Padding with a value or a mirror image."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._indices import MANY

_ALL = slice(None)


def _middle(input, paddings):
    """The padded shape, and the index of the input in it."""
    return _layout(input.shape, tuple(map(tuple, paddings)))


@lru_cache(maxsize=1024)
def _layout(sizes, paddings):
    shape, index = [], []
    for size, (before, after) in zip(sizes, paddings, strict=True):
        if before < 0 or after < 0:
            raise ValueError("paddings must not be negative")
        shape.append(before + size + after)
        index.append(slice(before, before + size))
    return shape, tuple(index)


@on_arrays("Pad", most=65536, saves=10)
def _pad(input, paddings):
    shape, index = _middle(input, paddings)
    found = np.zeros(shape, input.dtype)
    found[index] = input
    return found


@on_arrays("PadV2", most=65536, saves=10)
def _pad_v2(input, paddings, value):
    shape, index = _middle(input, paddings)
    found = np.empty(shape, input.dtype)
    found.fill(value)
    found[index] = input
    return found


def _mirrors(size, before, after, skip):
    """What is seen in the mirrors before and after, as slices of an axis: backwards."""
    if max(before, after) > size - skip:
        raise ValueError("paddings must be no greater than the size")
    first = skip + before - 1
    last = size - skip - after - 1
    head = slice(first, skip - 1 if skip else None, -1) if before else slice(0, 0)
    return head, slice(size - skip - 1, last if last >= 0 else None, -1) if after else slice(0, 0)


@on_arrays("MirrorPad", most=MANY, saves=20)
def _mirror_pad(input, paddings, mode):
    skip = 1 if mode == "REFLECT" else 0
    shape, index = _middle(input, paddings)
    found = np.empty(shape, input.dtype)
    found[index] = input
    # Axis by axis: those before are whole by then, of those behind only the input's part is there.
    for axis, (before, after) in enumerate(paddings):
        if not before and not after:
            continue
        size = input.shape[axis]
        head, tail = _mirrors(size, before, after, skip)
        lead, rest = (_ALL,) * axis, index[axis + 1 :]
        middle = found[(*lead, slice(before, before + size), *rest)]
        found[(*lead, slice(0, before), *rest)] = middle[(*lead, head)]
        found[(*lead, slice(before + size, None), *rest)] = middle[(*lead, tail)]
    return found


@on_arrays("MirrorPadGrad", most=MANY, saves=20)
def _mirror_pad_grad(input, paddings, mode):
    skip = 1 if mode == "REFLECT" else 0
    found = input
    for axis, (before, after) in enumerate(paddings):
        if not before and not after:
            continue
        size = found.shape[axis] - before - after
        head, tail = _mirrors(size, before, after, skip)
        lead = (_ALL,) * axis
        middle = found[(*lead, slice(before, before + size))].copy()
        middle[(*lead, head)] += found[(*lead, slice(0, before))]
        middle[(*lead, tail)] += found[(*lead, slice(before + size, None))]
        found = middle
    return input.copy() if found is input else found
