"""Copies of variables in another task's memory: a session's share in them, keeping, finding, taking and dropping them."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core import dtypes as types
from headrace.core.dtypes import ANY
from headrace.core.registry import op
from headrace.ops.shared.resource import check_resource
from headrace.resources.state.memory_copy import ALL, CopyShare, Generation, MemoryCopies, RowMarks

_KEPT = tuple(dtype for dtype in ANY if dtype not in (types.resource, types.variant))

share = op(
    "_CopyShare(; shared_name: string, container: string) -> (handle: resource)", handle=True, stateful=True, host=True
)
share.not_differentiable()
share.shape(lambda *arguments: ())


@share.state
def _(context):
    """One for each session; the copies are everybody's."""
    copies = context.resource(MemoryCopies, lambda: MemoryCopies(context.attrs["shared_name"]))
    return context.own(CopyShare, lambda: CopyShare(copies))


marks = op("_RowMarks(; container: string) -> (handle: resource)", handle=True, stateful=True, host=True)
marks.not_differentiable()
marks.shape(lambda *arguments: ())


@marks.state
def _(context):
    return context.own(RowMarks, RowMarks)


change = op(
    "_NewRows(ref: ref T, marks: resource, turn: host int64, base: host int64, number: host int64; small: int)"
    " -> (rows: int64[1], values: T)",
    T=_KEPT, stateful=True, opaque=True, dynamic_shape=True, view=True,
)  # fmt: skip
change.not_differentiable()
change.shape(lambda *arguments: [(None,), None])


@change.kernel
def _(ref, marks, turn, base, number, small):
    """The rows that were written since ``base`` was read; all if they are more than half, or the variable has few bytes."""
    check_resource(marks, RowMarks)
    if not isinstance(ref.value, torch.Tensor) or ref.value.nbytes < small:
        return ALL, ref.value
    rows = marks.rows(ref, int(turn), int(base), int(number))  # before the values are read
    value = ref.value
    if rows is None or 2 * len(rows) > len(value):
        return ALL, value
    return rows, value.index_select(0, rows)


# It copies what may be gigabytes: other steps go on meanwhile.
keep = op(
    "_KeepCopy(share: resource, last: host int64, base: host int64, number: host int64, step: host int64, rows: N*int64, "
    "values: list(T); layout: string) -> ()",
    T=_KEPT, stateful=True, host=True, blocking=True,
)  # fmt: skip
keep.not_differentiable()
keep.shape(lambda *arguments: [])


@keep.kernel
def _(share, last, base, number, step, rows, values, layout):
    check_resource(share, CopyShare)
    rows = [one.clone() for one in rows]  # their memory is the step's
    share.copies.keep(share, int(last), Generation(int(number), int(step), layout, values, int(base), rows))


generations = op("_CopyGenerations(share: resource; layout: string) -> (generations: int64)", stateful=True, host=True)
generations.not_differentiable()
generations.shape(lambda share, layout: (None, 2))


@generations.kernel
def _(share, layout):
    check_resource(share, CopyShare)
    return np.array(share.copies.generations(layout), np.int64).reshape(-1, 2)


take = op(
    "_TakeCopy(share: resource, number: host int64; layout: string, T: list(type)) -> (values: list(T))",
    T=_KEPT, stateful=True, host=True,
)  # fmt: skip
take.not_differentiable()
take.shape(lambda share, number, layout, T: [None] * len(T))


@take.kernel
def _(share, number, layout, T):  # noqa: N803
    check_resource(share, CopyShare)
    return share.copies.take(int(number), layout)


take_change = op(
    "_TakeNewRows(share: resource, number: host int64; layout: string, N: int, T: list(type)) -> "
    "(rows: N*int64, values: list(T))",
    T=_KEPT, stateful=True, host=True,
)  # fmt: skip
take_change.not_differentiable()
take_change.shape(lambda share, number, layout, N, T: [*[(None,)] * N, *[None] * len(T)])


@take_change.kernel
def _(share, number, layout, N, T):  # noqa: N803
    check_resource(share, CopyShare)
    return share.copies.change(int(number), layout)


drop = op("_DropCopies(share: resource) -> ()", stateful=True, host=True)
drop.not_differentiable()
drop.shape(lambda share: [])


@drop.kernel
def _(share):
    check_resource(share, CopyShare)
    share.copies.drop()
