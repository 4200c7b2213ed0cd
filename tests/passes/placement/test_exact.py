"""The exact placement, and how far from it the others are."""

from itertools import product
from statistics import median

import pytest
from hypothesis import given, settings
from passes.placement.problems import drawn, problem_of, problems

from headrace.passes.placement.exact import exact
from headrace.passes.placement.policy import HEURISTICS
from headrace.passes.placement.schedule import simulate


@given(problems(most=5))
@settings(max_examples=40, deadline=None)
def test_it_is_the_best_of_all_assignments(problem):
    best = min(simulate(problem, list(one)).rank for one in product(*problem.feasible))
    assert simulate(problem, exact(problem)).rank == best


@given(problems(most=7))
@settings(max_examples=40, deadline=None)
def test_no_heuristic_is_better(problem):
    best = simulate(problem, exact(problem)).seconds
    assert all(best <= simulate(problem, one(problem)).seconds for one in HEURISTICS.values())


def test_the_gap_on_random_graphs():
    """Nine nodes, three devices: the heuristics that count costs are near, those that do not are far."""
    gaps = {name: [] for name in HEURISTICS}
    for seed in range(12):
        problem = drawn(seed, 9)
        best = simulate(problem, exact(problem)).seconds
        for name, one in HEURISTICS.items():
            gaps[name].append(simulate(problem, one(problem)).seconds / best)
    assert median(gaps["refine"]) <= median(gaps["greedy"]) < 1.3
    assert median(gaps["look_ahead"]) < 1.3 < median(gaps["round_robin"]) < median(gaps["first"])
    assert max(gaps["refine"]) < 1.3


def test_it_is_for_small_problems():
    with pytest.raises(ValueError, match="for 12 units at most .* not 13"):
        exact(problem_of([(1, [], 0)] * 13, 2))
    assert len(exact(problem_of([(1, [], 0, [0])] * 13, 2))) == 13
