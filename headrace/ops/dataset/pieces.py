"""Pieces of input that the sessions of several workers take from one task."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.registry import op
from headrace.ops.shared.resource import check_resource
from headrace.ops.shared.string_array import array_of, scalar_of
from headrace.resources.state.pieces import Pieces, PieceTaker
from headrace.resources.state.queue.queue import Queue

taker = op(
    "_PieceTaker(; shared_name: string, container: string, pieces: int, epochs: int, digest: string, seed: int)"
    " -> (handle: resource)",
    handle=True, stateful=True, host=True,
)  # fmt: skip
taker.not_differentiable()
taker.shape(lambda *arguments: ())


@taker.state
def _(context):
    """One for each session; what it takes from is everybody's."""
    attrs = context.attrs
    given = attrs["pieces"], attrs["epochs"], attrs["digest"], attrs["seed"]
    pieces = context.resource(Pieces, lambda: Pieces(attrs["shared_name"], *given))
    pieces.check(*given)
    return context.own(PieceTaker, lambda: PieceTaker(pieces))


def _of_taker(signature, *shapes, **traits):
    """Declares an op on a taker; its kernel gets the pieces, the taker and the other inputs."""
    definition = op(signature, stateful=True, host=True, **traits)
    definition.not_differentiable()
    definition.shape(lambda *arguments: list(shapes))

    def with_kernel(kernel):
        def checked(taker, *arguments):
            check_resource(taker, PieceTaker)
            return kernel(taker.pieces, taker, *arguments)

        definition.kernel(checked)

    return with_kernel


@_of_taker("_TakePiece(taker: resource) -> (answer: int64)", (4,))
def _(pieces, taker):
    """What came of it (`resources.state.pieces`), the numbers of the handout and the piece, where to begin in it."""
    return np.array(pieces.take(taker), np.int64)


@_of_taker("_ReportPiece(taker: resource, handout: host int64, position: host int64) -> ()")
def _(pieces, taker, handout, position):
    pieces.report(taker, handout, position)


@_of_taker("_FinishPiece(taker: resource, handout: host int64) -> ()")
def _(pieces, taker, handout):
    pieces.finish(taker, handout)


@_of_taker("_FinishPieces(taker: resource, pieces: int64) -> ()")
def _(pieces, taker, numbers):
    pieces.finish_pieces(taker, numbers.tolist())


@_of_taker("_PiecePosition(taker: resource) -> (digest: string, position: int64)", (), (None,), reads=True)
def _(pieces, taker):
    digest, position = pieces.position()
    return scalar_of(digest.encode()), torch.tensor(position)


@_of_taker("_MovePieces(taker: resource, digest: string, position: int64) -> ()")
def _(pieces, taker, digest, position):
    pieces.move(digest.item().decode(), position.tolist())


finished = op("_FinishedUnits(queue: resource) -> (units: string)", stateful=True, host=True)
finished.not_differentiable()
finished.shape(lambda queue: (None,))


@finished.kernel
def _(queue):
    """What readers have read to the end of what this queue gave them, since it was asked last."""
    check_resource(queue, Queue)
    return array_of(queue.finished_units())
