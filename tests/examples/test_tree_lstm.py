"""The TreeLSTM example: it learns, and batching by depth changes nothing but the speed."""

import numpy as np


def test_it_learns_to_evaluate_expressions(example):
    losses, accuracy = example("tree_lstm")["main"](["--steps", "120"])
    assert losses[0] > 0.6 and np.mean(losses[-5:]) < 0.05
    assert accuracy > 0.95  # twice the leaves of those it was trained on


def test_batching_by_depth_changes_nothing(example):
    main = example("tree_lstm")["main"]
    flags = ["--steps", "3", "--leaves", "4"]
    by_depth, by_node = (main([*flags, "--batch", batch])[0] for batch in ("depth", "node"))
    np.testing.assert_allclose(by_depth, by_node, rtol=1e-5)


def test_a_forest_is_in_order(example):
    names = example("tree_lstm")
    forest = names["plant"](np.random.RandomState(0), [1, 5, 3])
    count = len(forest.symbols)
    assert count == 1 + 1 + 9 + 5 and forest.ends[0] == 1 and forest.ends[-1] == count
    starts = np.repeat(np.append(0, forest.ends[:-1]), np.diff(forest.ends, prepend=0))
    assert (forest.left[1:] < starts[1:]).all() and (forest.right[1:] < starts[1:]).all()
    inner = np.flatnonzero(forest.symbols >= 2)
    for node in inner:
        operator = names["OPERATORS"][forest.symbols[node] - 2]
        left, right = (int(forest.truths[children[node]]) for children in (forest.left, forest.right))
        assert forest.truths[node] == operator(left, right)
    assert sorted(set(range(1, count)) - {*forest.left, *forest.right}) == sorted(forest.roots)


def test_bad_flags(refuses):
    assert "--leaves must be at least 1, not 0" in refuses("tree_lstm", "--leaves", "0")
    assert "invalid choice: 'width'" in refuses("tree_lstm", "--batch", "width")
