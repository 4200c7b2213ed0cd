"""Pieces that takers share: each once in an epoch, and again if its taker ends."""

import pytest

from headrace.core.errors import AbortedError, InvalidArgumentError
from headrace.resources.state.pieces import DRAWN, LATER, OVER, TAKEN, UNSHUFFLED, Pieces, PieceTaker


def made(count=3, epochs=1, seed=UNSHUFFLED):
    pieces = Pieces("train", count, epochs, "digest", seed)
    return pieces, PieceTaker(pieces), PieceTaker(pieces)


def test_each_piece_is_handed_out_once_in_an_epoch():
    pieces, first, second = made(epochs=2)
    taken = [pieces.take((first, second)[i % 2]) for i in range(6)]
    assert [piece for _, _, piece, _ in taken] == [0, 1, 2, 0, 1, 2]
    assert len({handout for _, handout, _, _ in taken}) == 6
    assert pieces.take(first)[0] == LATER
    for i, (_, handout, _, _) in enumerate(taken):
        pieces.finish((first, second)[i % 2], handout)
    assert pieces.take(first)[0] == OVER


def test_what_a_taker_leaves_goes_to_others_first():
    pieces, first, second = made()
    (_, done, *_), (_, begun, *_) = pieces.take(first), pieces.take(first)
    pieces.finish(first, done)
    first.end()
    assert [pieces.take(second)[2] for _ in range(2)] == [1, 2]
    with pytest.raises(AbortedError, match=f"handout {begun} of pieces 'train' is not held by this session"):
        pieces.finish(first, begun)


def test_a_piece_is_not_done_twice():
    pieces, first, second = made()
    _, handout, *_ = pieces.take(first)
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


@pytest.mark.parametrize(
    "given", [(4, 1, "digest", -1), (3, 2, "digest", -1), (3, 1, "other", -1), (3, 1, "digest", 7)]
)
def test_others_must_mean_the_same_pieces(given):
    with pytest.raises(InvalidArgumentError, match="All must give the same pieces in the same order"):
        made()[0].check(*given)


def order(pieces, taker, count):
    return [pieces.take(taker)[2] for _ in range(count)]


def test_the_order_of_an_epoch_depends_on_the_seed():
    first, again, other = (made(20, 2, seed)[0] for seed in (3, 3, 4))
    _, taker, _ = made()
    orders = [order(pieces, taker, 20) for pieces in (first, first, again, other)]
    assert all(sorted(one) == list(range(20)) for one in orders)
    assert orders[0] == orders[2]
    assert len({*map(tuple, orders)}) == 3
    drawn = [order(made(20, 1, DRAWN)[0], taker, 20) for _ in range(2)]
    assert drawn[0] != drawn[1]


def test_a_position_within_a_piece_goes_to_whoever_gets_it_next():
    pieces, first, second = made()
    _, handout, _, position = pieces.take(first)
    assert position == 0
    pieces.report(first, handout, 5)
    first.end()
    assert pieces.take(second)[2:] == (0, 5)
    with pytest.raises(AbortedError):
        pieces.report(first, handout, 6)


@pytest.mark.parametrize("seed", [UNSHUFFLED, 5, DRAWN])
def test_pieces_that_were_done_stay_done_after_a_restore(seed):
    pieces, first, second = made(10, 2, seed)
    handouts = [pieces.take((first, second)[i % 2]) for i in range(13)]
    for i in (0, 3, 5, 6, 11):
        pieces.finish((first, second)[i % 2], handouts[i][1])
    pieces.report(first, handouts[2][1], 4)
    second.end()
    saved = pieces.position()
    left = sorted((handouts[i][2], 4 if i == 2 else 0) for i in (1, 2, 4, 7, 8, 9, 10, 12))
    rest = order(pieces, first, 3 + 4)[3:]  # what second left comes first

    new, taker, _ = made(10, 2, seed)
    held = new.take(taker)[1]
    new.move(*saved)
    with pytest.raises(AbortedError, match="a checkpoint was restored meanwhile"):
        new.finish(taker, held)
    assert sorted(new.take(taker)[2:] for _ in left) == left
    assert order(new, taker, 4) == rest


def test_a_position_of_other_pieces_is_refused():
    saved = made(4)[0].position()
    for other in (made(3)[0], made(4, seed=1)[0], made(4, seed=DRAWN)[0]):
        with pytest.raises(InvalidArgumentError, match="the checkpoint has a position among 4 pieces, not shuffled"):
            other.move(*saved)
    made(4, epochs=7)[0].move(*saved)  # a longer training goes on


def test_pieces_are_finished_by_their_numbers_too():
    pieces, first, second = made(2, 2)
    for taker in (first, second, first, second):
        pieces.take(taker)
    pieces.finish_pieces(first, [0, 0])
    with pytest.raises(AbortedError):
        pieces.finish_pieces(first, [0])
    pieces.finish_pieces(second, [1, 1])
    assert pieces.take(first)[0] == OVER
