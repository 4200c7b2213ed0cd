"""Updates of parts of a variable, in its memory.

Nothing is written before all indices and shapes are known to be right: nobody else is asked for the error of an op that writes.
"""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import FLOATING
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._indices import check_inside
from headrace.ops.arrays._rows import add_rows, positions, put_rows

# ---- rows


def _fitting(buffer, indices, updates):
    """Raises for updates of another shape and indices of no row."""
    if updates.ndim and updates.shape != indices.shape + buffer.shape[1:]:
        raise ValueError(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape "
            f"{list(updates.shape)}, indices.shape {list(indices.shape)}, params.shape {list(buffer.shape)}"
        )
    size = buffer.shape[0]
    try:
        check_inside(indices, size)
    except IndexError:
        flat = indices.reshape(-1)
        first = int(((flat < 0) | (flat >= size)).argmax())
        where = ",".join(str(int(i)) for i in np.unravel_index(first, indices.shape)) if indices.ndim else ""
        raise ValueError(f"indices[{where}] = {int(flat[first])} is not in [0, {size})") from None


def _locked(change):
    def run(ref, indices, updates, use_locking):
        if use_locking:
            with ref.lock:
                change(ref.array, indices, updates)
        else:
            change(ref.array, indices, updates)
        return ref

    return run


def _update(buffer, indices, updates):
    _fitting(buffer, indices, updates)
    if updates.ndim:
        put_rows(buffer, indices, updates)
    else:
        buffer[indices] = updates


def _add(buffer, indices, updates):
    _fitting(buffer, indices, updates)
    if updates.ndim and buffer.flags.c_contiguous:
        add_rows(buffer, indices.reshape(-1), updates)
    else:
        np.add.at(buffer, indices, updates)


def _with(function):
    """An update that a ufunc makes, one row after another."""

    def change(buffer, indices, updates):
        _fitting(buffer, indices, updates)
        function.at(buffer, indices, updates)

    return change


on_arrays("ScatterUpdate", most=1 << 24, saves=8)(_locked(_update))
on_arrays("ScatterAdd", most=4096, saves=8)(_locked(_add))
on_arrays("ScatterSub", most=4096, saves=8)(_locked(lambda buffer, indices, updates: _add(buffer, indices, -updates)))
on_arrays("ScatterMul", most=1024, saves=8)(_locked(_with(np.multiply)))
on_arrays("ScatterMin", most=1024, saves=8)(_locked(_with(np.minimum)))
on_arrays("ScatterMax", most=1024, saves=8)(_locked(_with(np.maximum)))
on_arrays("ScatterDiv", most=1024, saves=8, T=FLOATING)(_locked(_with(np.divide)))

# ---- coordinates


def _by_coordinate(change):
    """``change(buffer with the leading dimensions flattened, positions, rows)``, for buffers in C order."""

    def apply(buffer, indices, updates):
        depth = indices.shape[-1]
        lead, rest = buffer.shape[:depth], buffer.shape[depth:]
        if depth > buffer.ndim or updates.shape != indices.shape[:-1] + rest:
            raise ValueError(
                f"updates of shape {list(updates.shape)} and indices of shape {list(indices.shape)} do not fit a "
                f"variable of shape {list(buffer.shape)}: updates.shape must be indices.shape[:-1] + "
                "ref.shape[indices.shape[-1]:]"
            )
        try:
            places = positions(indices, lead)
        except (IndexError, ValueError):
            flat = indices.reshape(-1, depth)
            row = int(((flat < 0) | (flat >= lead)).any(1).argmax())
            where = ",".join(str(int(i)) for i in np.unravel_index(row, indices.shape[:-1] or (1,)))
            raise ValueError(
                f"indices[{where}] = {flat[row].tolist()} does not index into shape {list(buffer.shape)}"
            ) from None
        whole = buffer if buffer.flags.c_contiguous else np.array(buffer, order="C")
        change(whole.reshape(math.prod(lead), *rest), places, updates.reshape(len(places), *rest))
        if whole is not buffer:
            buffer[...] = whole

    return _locked(apply)


on_arrays("ScatterNdUpdate", most=65536, saves=20)(_by_coordinate(put_rows))
on_arrays("ScatterNdAdd", most=16384, saves=20)(_by_coordinate(add_rows))
on_arrays("ScatterNdSub", most=16384, saves=20)(
    _by_coordinate(lambda flat, places, rows: add_rows(flat, places, -rows))
)
