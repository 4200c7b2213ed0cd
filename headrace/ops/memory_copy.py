"""Copies of variables in another task's memory: a session's share in them, keeping, finding, taking and dropping them."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes as types
from headrace.core.dtypes import ANY
from headrace.core.registry import op
from headrace.ops.shared.resource import check_resource
from headrace.resources.state.memory_copy import CopyShare, Generation, MemoryCopies

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


# It copies what may be gigabytes: other steps go on meanwhile.
keep = op(
    "_KeepCopy(share: resource, last: host int64, number: host int64, step: host int64, values: list(T); layout: string) -> ()",
    T=_KEPT, stateful=True, host=True, blocking=True,
)  # fmt: skip
keep.not_differentiable()
keep.shape(lambda *arguments: [])


@keep.kernel
def _(share, last, number, step, values, layout):
    check_resource(share, CopyShare)
    share.copies.keep(share, int(last), Generation(int(number), int(step), layout, values))


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


drop = op("_DropCopies(share: resource) -> ()", stateful=True, host=True)
drop.not_differentiable()
drop.shape(lambda share: [])


@drop.kernel
def _(share):
    check_resource(share, CopyShare)
    share.copies.drop()
