"""The policy-gradient example: it learns, and gives the same episodes in the graph, beside it and eagerly."""

import numpy as np
import pytest

import headrace as tf


def test_it_learns_to_balance_in_the_graph(example, capsys):
    lengths = example("policy_gradient")["main"](["--steps", "20"])
    assert lengths[0] < 40
    assert np.mean(lengths[-3:]) > 150
    assert "step    0" in capsys.readouterr().out


def test_the_modes_play_the_same_episodes(example):
    main = example("policy_gradient")["main"]
    inside, beside = (main(["--mode", mode, "--steps", "5"]) for mode in ("graph", "feed"))
    with tf.eager_mode():
        eager = main(["--mode", "eager", "--steps", "5"])
    assert inside == pytest.approx(beside, abs=1.0) and inside == pytest.approx(eager, abs=1.0)
    assert inside[:2] == beside[:2] == eager[:2]
    assert len(set(inside)) == 5


def test_bad_flags(refuses):
    assert "invalid choice: 'lazy'" in refuses("policy_gradient", "--mode", "lazy")
