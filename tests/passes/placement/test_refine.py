"""Moves across the cut, and the heuristics that look at no costs."""

from hypothesis import given, settings
from passes.placement.problems import problem_of, problems

from headrace.passes.placement.greedy import greedy
from headrace.passes.placement.look_ahead import look_ahead
from headrace.passes.placement.plain import first, round_robin
from headrace.passes.placement.refine import refine
from headrace.passes.placement.schedule import simulate


@given(problems())
@settings(max_examples=40, deadline=None)
def test_it_is_at_least_as_good_as_where_it_begins(problem):
    assignment = refine(problem)
    assert all(site in sites for site, sites in zip(assignment, problem.feasible, strict=True))
    best = min(simulate(problem, one(problem)).rank for one in (first, greedy, look_ahead))
    assert simulate(problem, assignment).rank <= best


def test_it_takes_back_what_is_cut_for_nothing():
    problem = problem_of([(1, [], 9), (1, [0], 9), (1, [1], 9)], 2)
    assert refine(problem, [[0, 1, 0]]) in ([0, 0, 0], [1, 1, 1])


def test_in_turn_and_first():
    problem = problem_of([(1, [], 0), (1, [], 0, [1]), (1, [], 0, [1, 0]), (1, [], 0)], 2)
    assert round_robin(problem) == [0, 1, 0, 0]
    assert first(problem) == [0, 1, 1, 0]
