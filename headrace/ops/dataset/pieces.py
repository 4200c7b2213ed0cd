"""Pieces of input that the sessions of several workers take from one task."""

from __future__ import annotations

import numpy as np

from headrace.core.registry import op
from headrace.ops.shared.resource import check_resource
from headrace.resources.state.pieces import Pieces, PieceTaker

taker = op(
    "_PieceTaker(; shared_name: string, container: string, pieces: int, epochs: int, digest: string) -> (handle: resource)",
    handle=True, stateful=True, host=True,
)  # fmt: skip
taker.not_differentiable()
taker.shape(lambda *arguments: ())


@taker.state
def _(context):
    """One for each session; what it takes from is everybody's."""
    attrs = context.attrs
    given = attrs["pieces"], attrs["epochs"], attrs["digest"]
    pieces = context.resource(Pieces, lambda: Pieces(attrs["shared_name"], *given))
    pieces.check(*given)
    return context.resources.get_or_create(
        attrs["container"], context.name, PieceTaker, lambda: PieceTaker(pieces), context.device_name, context.owner
    )


take = op("_TakePiece(taker: resource) -> (answer: int64)", stateful=True, host=True)
take.not_differentiable()
take.shape(lambda taker: (3,))


@take.kernel
def _(taker):
    """What came of it (`resources.state.pieces`), the number of the handout, the number of the piece."""
    check_resource(taker, PieceTaker)
    return np.array(taker.pieces.take(taker), np.int64)


finish = op("_FinishPiece(taker: resource, handout: host int64) -> ()", stateful=True, host=True)
finish.not_differentiable()
finish.shape(lambda taker, handout: [])


@finish.kernel
def _(taker, handout):
    check_resource(taker, PieceTaker)
    taker.pieces.finish(taker, handout)
