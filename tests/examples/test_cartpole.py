"""The cart and pole: its physics, its episodes, its refusals; and the progress lines beside a bar."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def cartpole():
    return runpy.run_path(str(EXAMPLES / "cartpole.py"))


def test_a_push_from_rest_moves_cart_and_pole_as_in_the_literature(cartpole):
    advance = cartpole["advance"]
    rest = np.zeros(4, np.float32)
    right, left = (np.array(advance(*rest, action)) for action in (1.0, 0.0))
    np.testing.assert_allclose(right, [0.0, 0.195122, 0.0, -0.292683], atol=1e-6)
    np.testing.assert_allclose(left, -right)


def test_arrays_and_tensors_move_alike(cartpole):
    names = cartpole
    states = names["first_states"](5, np.random.RandomState(0)) * 4
    actions = np.float32([0, 1, 1, 0, 1])
    arrays = names["advance"](*states.T, actions)
    assert all(column.dtype == np.float32 for column in arrays)
    columns = names["advance"](*tf.unstack(tf.constant(states), axis=1), tf.constant(actions), tf.sin, tf.cos)
    up = names["standing"](columns[0], columns[2])
    with tf.Session() as session:
        tensors, stands = session.run([columns, up])
    np.testing.assert_allclose(tensors, arrays, rtol=1e-6, atol=1e-7)
    assert stands.tolist() == names["standing"](arrays[0], arrays[2]).tolist()


def test_random_pushes_last_about_22_steps(cartpole):
    carts = cartpole["CartPoles"](50, seed=0)
    random = np.random.RandomState(0)
    lengths = []
    for _ in range(400):
        _, _, ended = carts.step(random.randint(0, 2, 50))
        lengths += ended
    assert 20 < np.mean(lengths) < 25


def test_episodes_end_when_a_pole_falls_or_time_is_up(cartpole):
    carts = cartpole["CartPoles"](2, seed=3, limit=4)
    for i in range(4):
        reached, fell, ended = carts.step([i % 2, i % 2])
    assert ended == [4, 4] and not fell.any() and carts.ages.tolist() == [0, 0]
    assert (abs(carts.states) <= 0.05).all() and not np.array_equal(reached, carts.states)
    carts = cartpole["CartPoles"](1, seed=3)
    while not (step := carts.step([1]))[2]:
        pass
    assert step[1].tolist() == [True] and 7 < step[2][0] < 12


def test_the_same_seed_gives_the_same_carts(cartpole):
    make = cartpole["CartPoles"]
    assert np.array_equal(make(3, seed=1).states, make(3, seed=1).states)
    assert not np.array_equal(make(3, seed=1).states, make(3, seed=2).states)


@pytest.mark.parametrize("actions", [[0], [0, 2], [0.5, 1]])
def test_bad_pushes_are_refused(cartpole, actions):
    with pytest.raises(ValueError, match="a 0 or a 1 for each of 2 carts"):
        cartpole["CartPoles"](2).step(actions)


def test_no_carts_are_refused(cartpole):
    with pytest.raises(ValueError, match="at least one cart and one step, not 0 carts"):
        cartpole["CartPoles"](0)


def test_progress_without_tqdm(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    names = runpy.run_path(str(EXAMPLES / "progress.py"))
    assert list(names["steps"](3)) == [0, 1, 2]
    names["say"]("a line")
    assert capsys.readouterr().out == "a line\n"


def test_progress_with_tqdm(capsys):
    pytest.importorskip("tqdm")
    names = runpy.run_path(str(EXAMPLES / "progress.py"))
    for i in names["steps"](2):
        names["say"](f"line {i}")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("line 0\nline 1\n", "")  # no bar where nobody watches
