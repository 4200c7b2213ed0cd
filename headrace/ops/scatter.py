"""Updates of parts of a variable: rows by index (Scatter*), elements or slices by coordinates (ScatterNd*); counting.

Everything happens in the variable's buffer: rows that no index names are not touched.  On the CPU an index out of range
raises an error that names it; the search for it runs only after torch has refused.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY, INDEX, NUMERIC
from headrace.core.errors import OutOfRangeError
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.core.signature import Attr
from headrace.core.wording import in_brackets
from headrace.ops.declare.resource import resource_form
from headrace.resources.state.variable import mark_rows

_MANY = 512  # rows
ORDERED = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def _same(indices):
    return indices


def _declare(name, types, locking, shape, apply, strings=None, rows=_same, **traits):
    """Declares ``name(ref, indices, updates)``; ``apply(buffer, indices, updates)`` changes the buffer.

    ``rows(indices)`` are the numbers of the rows that it changes; None for all.
    """
    definition = op(
        f"{name}(ref: ref T, indices: Tindices, updates: T; use_locking: bool = {locking}) -> (output_ref: ref T)",
        T=types, Tindices=INDEX, writes=True, stateful=True, rows="indices" if rows is _same else "", **traits,
    )  # fmt: skip
    definition.not_differentiable()
    definition.shape(lambda ref, indices, updates, use_locking: shape(ref, indices, updates))

    def kernel(apply):
        def run(ref, indices, updates, use_locking):
            try:
                if use_locking:
                    with ref.lock:
                        apply(ref.value, indices, updates)
                else:
                    apply(ref.value, indices, updates)
            finally:
                if ref.touched is not None:
                    mark_rows((ref,), rows(indices))
            return ref

        return run

    definition.kernel(kernel(apply))
    if strings is not None:
        definition.kernel(kernel(strings), T=dtypes.string)
    if name.startswith("ScatterNd"):
        locks = Attr("use_locking", "bool", True)
        resource_form(definition, f"Resource{name}", drop=["use_locking"], attrs=[locks])
    else:
        resource_form(definition, f"Resource{name}", names={"ref": "resource", "T": "dtype"}, drop=["use_locking"])
    return definition


# ---- rows


def _rows_shape(ref, indices, updates):
    if ref.ndims == 0:
        raise ValueError("Shape must be at least rank 1 but is rank 0: a scatter update needs a variable with rows")
    if ref.ndims is not None and indices.ndims is not None and updates.ndims != 0:
        want = indices.concatenate(ref[1:])
        if not want.is_compatible_with(updates):
            raise ValueError(
                f"Shapes {updates} and {want} are not compatible: must have updates.shape = indices.shape + "
                "params.shape[1:] or updates.shape = []"
            )
    return ref


def _rows(buffer, indices, updates):
    """-> the indices in one dimension, and one row of updates for each; a scalar update serves all rows."""
    rest = buffer.shape[1:]
    if indices.ndim == 1 and updates.shape == indices.shape + rest:
        return indices, updates
    count = math.prod(indices.shape)
    if updates.ndim == 0:
        return indices.reshape(-1), updates.expand(count, *rest)
    if updates.shape != indices.shape + rest:
        raise ValueError(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape "
            f"{list(updates.shape)}, indices.shape {list(indices.shape)}, params.shape {list(buffer.shape)}"
        )
    return indices.reshape(-1), updates.reshape(count, *rest)


def _check(indices, size):
    """Raises the error for the first index outside [0, size), if there is one."""
    flat = indices.reshape(-1).cpu()
    bad = ((flat < 0) | (flat >= size)).nonzero()
    if bad.numel():
        first = int(bad[0, 0])
        where = ",".join(str(int(i)) for i in np.unravel_index(first, tuple(indices.shape))) if indices.ndim else ""
        raise ValueError(f"indices[{where}] = {int(flat[first])} is not in [0, {size})")


def _by_row(change):
    """``change(buffer, flat indices, rows)`` with a check of the indices."""

    def apply(buffer, indices, updates):
        flat, rows = _rows(buffer, indices, updates)
        if not buffer.shape[0]:  # torch does not look at the indices then
            _check(indices, 0)
        try:
            change(buffer, flat, rows)
        except (IndexError, RuntimeError):
            _check(indices, buffer.shape[0])
            raise

    return apply


def _reduce(how):
    def change(buffer, flat, rows):
        index = flat.long().reshape(-1, *[1] * (buffer.ndim - 1)).expand(rows.shape)
        buffer.scatter_reduce_(0, index, rows, how, include_self=True)

    return _by_row(change)


def _divide(buffer, flat, rows):
    """Divides row after row: a row that is named twice is divided twice, with TF1's rounding."""
    _check(flat, buffer.shape[0])
    mode = None if buffer.is_floating_point() or buffer.is_complex() else "trunc"
    for i, row in zip(flat.tolist(), rows, strict=True):
        if mode and bool((row == 0).any()):
            raise ValueError("Integer division by zero")
        buffer[i].div_(row, rounding_mode=mode)


def _update_strings(buffer, indices, updates):
    _check(indices, buffer.shape[0])
    want = tuple(indices.shape) + buffer.shape[1:]
    if updates.shape not in ((), want):
        raise ValueError(f"updates have shape {list(updates.shape)}; the indices ask for {list(want)}")
    buffer[indices.numpy()] = updates if updates.ndim else updates[()]


scatter_update = _declare(
    "ScatterUpdate", ANY, True, _rows_shape,
    _by_row(lambda buffer, flat, rows: buffer.index_copy_(0, flat.long(), rows)), _update_strings,
)  # fmt: skip


def _add(sign):
    def change(buffer, flat, rows):
        if (
            rows.shape[0] > _MANY
            and buffer.is_cpu
            and buffer.ndim == 2
            and buffer.dtype in (torch.float32, torch.float64)
        ):
            # index_add_ takes long for each row, scatter_add_ to begin with.  Measured on one core of 64-bit Arm: 192 rows of
            # 128, 29 against 46 us; 1,000 of 64, 105 against 97; 10,000 of 32, 1,010 against 650.  It may use more cores.
            index = flat.long().unsqueeze(1).expand(rows.shape)
            buffer.scatter_add_(0, index, rows if sign > 0 else rows.neg())
        else:
            buffer.index_add_(0, flat, rows, alpha=sign)

    return _by_row(change)


scatter_add = _declare("ScatterAdd", NUMERIC, False, _rows_shape, _add(1), opaque_on_cpu=True)
scatter_sub = _declare("ScatterSub", NUMERIC, False, _rows_shape, _add(-1), opaque_on_cpu=True)
scatter_mul = _declare("ScatterMul", NUMERIC, False, _rows_shape, _reduce("prod"))
scatter_div = _declare("ScatterDiv", NUMERIC, False, _rows_shape, _by_row(_divide), opaque=True)
scatter_min = _declare("ScatterMin", ORDERED, False, _rows_shape, _reduce("amin"))
scatter_max = _declare("ScatterMax", ORDERED, False, _rows_shape, _reduce("amax"))


# ---- coordinates


def _nd_shape(ref, indices, updates):
    if indices.ndims == 0:
        raise ValueError("Shape must be at least rank 1 but is rank 0: indices hold coordinates along their last axis")
    if ref.ndims is not None and indices.ndims is not None:
        depth = indices.tuple[-1]
        if depth is not None:
            if depth > ref.ndims:
                raise ValueError(
                    f"The inner dimension of indices ({depth}) is larger than the rank of ref ({ref.ndims})"
                )
            want = TensorShape(indices.tuple[:-1] + ref.tuple[depth:])
            if not want.is_compatible_with(updates):
                raise ValueError(
                    f"Shape of updates {updates} must match indices.shape[:-1] + ref.shape[indices.shape[-1]:] = {want}"
                )
    return ref


def _positions(indices, lead):
    """Coordinates along the last axis as positions in the leading dimensions flattened; bad ones fall off the end."""
    flat = indices.reshape(math.prod(indices.shape[:-1]), len(lead)).long()
    position = flat.new_zeros(flat.shape[0])
    end = math.prod(lead)
    for i, size in enumerate(lead):
        column = flat[:, i]
        column = torch.where((column < 0) | (column >= size), end, column)
        position = position + column * math.prod(lead[i + 1 :])
    return position


def _check_nd(indices, shape):
    flat = indices.reshape(math.prod(indices.shape[:-1]), indices.shape[-1]).cpu()
    bad = ((flat < 0) | (flat >= torch.tensor(list(shape[: flat.shape[1]])))).any(1).nonzero()
    if bad.numel():
        row = int(bad[0, 0])
        where = ",".join(str(int(i)) for i in np.unravel_index(row, tuple(indices.shape[:-1]) or (1,)))
        raise ValueError(f"indices[{where}] = {flat[row].tolist()} does not index into shape {in_brackets(shape)}")


def _first_coordinate(indices):
    return indices[..., 0] if indices.shape[-1] else None


def _by_coordinate(change):
    def apply(buffer, indices, updates):
        depth = indices.shape[-1]
        want = (*indices.shape[:-1], *buffer.shape[depth:])
        if depth > buffer.ndim or tuple(updates.shape) != want:
            raise ValueError(
                f"updates of shape {list(updates.shape)} and indices of shape {list(indices.shape)} do not fit a "
                f"variable of shape {list(buffer.shape)}: updates.shape must be indices.shape[:-1] + "
                "ref.shape[indices.shape[-1]:]"
            )
        lead, rest = tuple(buffer.shape[:depth]), buffer.shape[depth:]
        position = _positions(indices, lead)
        try:
            change(buffer.view(math.prod(lead), *rest), position, updates.reshape(position.shape[0], *rest))
        except (IndexError, RuntimeError):
            _check_nd(indices, buffer.shape)
            raise

    return apply


def _update_strings_nd(buffer, indices, updates):
    _check_nd(indices, buffer.shape)
    buffer[tuple(np.moveaxis(indices.numpy(), -1, 0))] = updates


scatter_nd_update = _declare(
    "ScatterNdUpdate", ANY, True, _nd_shape,
    _by_coordinate(lambda flat, position, rows: flat.index_copy_(0, position, rows)), _update_strings_nd, _first_coordinate,
)  # fmt: skip
scatter_nd_add = _declare(
    "ScatterNdAdd", NUMERIC, False, _nd_shape,
    _by_coordinate(lambda flat, position, rows: flat.index_add_(0, position, rows)), rows=_first_coordinate,
)  # fmt: skip
scatter_nd_sub = _declare(
    "ScatterNdSub", NUMERIC, False, _nd_shape,
    _by_coordinate(lambda flat, position, rows: flat.index_add_(0, position, rows, alpha=-1)), rows=_first_coordinate,
)  # fmt: skip


# ---- counting

count_up_to = op("CountUpTo(ref: ref T; limit: int) -> (output: T)", T=INDEX, writes=True, stateful=True, opaque=True)
count_up_to.shape(lambda ref, limit: ref.with_rank(0))


@count_up_to.kernel
def _(ref, limit):
    """Adds one; the result is the value before that."""
    with ref.lock:
        before = ref.value.clone()
        if int(before) >= limit:
            raise OutOfRangeError(None, None, f"Reached limit of {limit}")
        ref.value.add_(1)  # a scalar has no rows to mark
    return before


resource_form(count_up_to, "ResourceCountUpTo", names={"ref": "resource"}, attrs=[Attr("T", "type")])
