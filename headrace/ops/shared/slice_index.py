"""A strided slice with its masks as the Python index it stands for, which numpy and torch read alike."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def python_index(begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
    """-> (index, whether a step is negative).  Where Ellipsis, newaxis and shrinking meet, the first one counts."""
    if not len(begin) == len(end) == len(strides):
        raise ValueError(f"begin {begin}, end {end} and strides {strides} must have equally many elements")
    if ellipsis_mask & (ellipsis_mask - 1):
        raise ValueError("Multiple ellipses in slice spec not allowed")
    index, backwards = [], False
    for i, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif s == 0:
            raise ValueError(f"strides[{i}] must be non-zero")
        elif shrink_axis_mask & bit:
            if s < 0:
                raise ValueError("only stride 1 allowed on non-range indexing.")
            index.append(b)
        else:
            index.append(slice(None if begin_mask & bit else b, None if end_mask & bit else e, s))
            backwards |= s < 0
    return tuple(index), backwards
