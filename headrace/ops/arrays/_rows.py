"""Rows by coordinates: what gathering and scattering share."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from headrace.ops.arrays._indices import check_inside


def positions(indices, lead):
    """Coordinates along the last axis as positions in the leading dimensions flattened; an error if they lie outside."""
    flat = indices.reshape(math.prod(indices.shape[:-1]), len(lead))
    if not flat.size:
        return np.zeros(len(flat), np.intp)
    if len(lead) == 1:
        flat = flat[:, 0]
        check_inside(flat, lead[0])
        return flat
    return np.ravel_multi_index(tuple(flat.T), lead)


_PAIRED = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}


def add_rows(flat, places, rows):
    """Adds each row to its place, as often as it comes; ``flat`` is contiguous and changed."""
    width = math.prod(flat.shape[1:])
    flat, rows = flat.reshape(-1), np.ascontiguousarray(rows).reshape(-1)
    if width != 1:
        if not width % 2 and flat.dtype in _PAIRED:  # two numbers are added at a time
            width //= 2
            flat, rows = flat.view(_PAIRED[flat.dtype]), rows.view(_PAIRED[flat.dtype])
        places = (places.astype(np.intp)[:, None] * width + np.arange(width)).reshape(-1)
    np.add.at(flat, places, rows)


@lru_cache(maxsize=256)
def _whole(size):
    """A row of so many bytes as one element, which is copied in one go."""
    return np.dtype((np.void, size))


def put_rows(flat, places, rows):
    """Writes each row to its place, the last of several; the places are known to be inside."""
    if flat.ndim > 1 and flat.flags.c_contiguous and flat.size and places.size:
        kind = _whole(flat.nbytes // len(flat))
        flat.reshape(-1).view(kind).put(places, np.ascontiguousarray(rows).reshape(-1).view(kind))
    else:
        flat[places] = rows
