"""Pieces that takers share: each once in an epoch, and again if its taker ends."""

import pytest

from headrace.core.errors import AbortedError, InvalidArgumentError
from headrace.resources.state.pieces import LATER, OVER, TAKEN, Pieces, PieceTaker


def made(count=3, epochs=1):
    pieces = Pieces("train", count, epochs, "digest")
    return pieces, PieceTaker(pieces), PieceTaker(pieces)


def test_each_piece_is_handed_out_once_in_an_epoch():
    pieces, first, second = made(epochs=2)
    taken = [pieces.take((first, second)[i % 2]) for i in range(6)]
    assert [piece for _, _, piece in taken] == [0, 1, 2, 0, 1, 2]
    assert len({handout for _, handout, _ in taken}) == 6
    assert pieces.take(first)[0] == LATER
    for i, (_, handout, _) in enumerate(taken):
        pieces.finish((first, second)[i % 2], handout)
    assert pieces.take(first)[0] == OVER


def test_what_a_taker_leaves_goes_to_others_first():
    pieces, first, second = made()
    (_, done, _), (_, begun, _) = pieces.take(first), pieces.take(first)
    pieces.finish(first, done)
    first.end()
    assert [pieces.take(second)[2] for _ in range(2)] == [1, 2]
    with pytest.raises(AbortedError, match=f"handout {begun} of pieces 'train' is not held by this session"):
        pieces.finish(first, begun)


def test_a_piece_is_not_done_twice():
    pieces, first, second = made()
    _, handout, _ = pieces.take(first)
    with pytest.raises(AbortedError):
        pieces.finish(second, handout)
    pieces.finish(first, handout)
    with pytest.raises(AbortedError):
        pieces.finish(first, handout)


def test_pieces_without_end_and_without_pieces():
    pieces, first, _ = made(2, -1)
    assert [pieces.take(first)[2] for _ in range(5)] == [0, 1, 0, 1, 0]
    pieces, first, _ = made(0, -1)
    assert pieces.take(first)[0] == OVER
    assert made()[0].take(first)[0] == TAKEN


@pytest.mark.parametrize("given", [(4, 1, "digest"), (3, 2, "digest"), (3, 1, "other")])
def test_others_must_mean_the_same_pieces(given):
    with pytest.raises(InvalidArgumentError, match="All must give the same pieces in the same order"):
        made()[0].check(*given)
