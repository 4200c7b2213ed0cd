"""The beam-search example: the network learns, and the beam reads it better than the greedy reader."""

import numpy as np


def test_it_sorts(example, capsys):
    losses, (greedy, beam) = example("beam_search")["main"]([])
    assert losses[0] > 2.0 and np.mean(losses[-5:]) < 0.15
    assert greedy > 0.75
    assert beam >= greedy
    assert f"greedy {greedy:.1%}, beam of 8 {beam:.1%}" in capsys.readouterr().out


def test_a_beam_of_one_is_greedy(example):
    _, (greedy, beam) = example("beam_search")["main"](["--steps", "30", "--width", "1"])
    assert beam == greedy


def test_problems(example):
    names = example("beam_search")
    digits, lengths, answers = names["problems"](np.random.RandomState(0), 50)
    for given, length, wanted in zip(digits, lengths, answers, strict=True):
        assert names["text"](wanted) == "".join(sorted(names["text"](given)))
        assert len(names["text"](given)) == length
    assert names["share_right"]([[1, 2, 10, 10], [1, 2, 3, 10]], [[1, 2, 10], [1, 2, 10]]) == 0.5


def test_bad_flags(refuses):
    assert "--width must be at least 1, not 0" in refuses("beam_search", "--width", "0")
