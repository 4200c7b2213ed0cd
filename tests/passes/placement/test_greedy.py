"""The white paper's heuristic: a graph worked out by hand, its worst case, constraints and memory."""

from hypothesis import given, settings
from passes.placement.problems import problem_of, problems

from headrace.passes.placement.greedy import greedy
from headrace.passes.placement.look_ahead import look_ahead
from headrace.passes.placement.schedule import simulate


def test_a_graph_worked_out_by_hand():
    # Two devices, a second of latency, a second a byte.
    # a: over at 2 on the first, at 4 on the second.                              -> first, 2
    # b: first 2 + 3 = 5; second 2 + (1 + 1) + 0.5 = 4.5.                         -> second, 4.5
    # c: first 2 + 4 = 6; second is busy until 4.5, + 4 = 8.5.                    -> first, 6
    # d: first: b comes at 4.5 + (1 + 2) = 7.5, + 2 = 9.5; second: c comes at 12. -> first, 9.5
    problem = problem_of([((2, 4), [], 1), ((3, 0.5), [0], 2), ((4, 4), [0], 5), ((2, 1), [1, 2], 0)], 2)
    assert greedy(problem) == [0, 1, 0, 0]
    assert simulate(problem, [0, 1, 0, 0]).seconds == 9.5


def test_its_worst_case():
    """A node a little faster elsewhere makes a large value that is needed here: looking ahead sees that."""
    for size in (10, 1000):
        problem = problem_of([((2, 1.9), [], size), (1, [0], 0, [0])], 2)
        assert greedy(problem) == [1, 0]
        assert look_ahead(problem) == [0, 0]
        assert simulate(problem, [1, 0]).seconds > size > simulate(problem, [0, 0]).seconds


def test_state_that_nobody_has_used_goes_to_its_first_user():
    problem = problem_of([(0, [], 0), (5, [], 0), (0, [], 9), (5, [2], 0)], 2, lasts=(0, 2))
    assert greedy(problem) == [0, 0, 1, 1]


def test_nodes_of_one_unit_go_together():
    problem = problem_of([(1, [], 0, [0]), (10, [], 0, [0])], 2)
    unit = problem.add_unit([0, 1])
    for _ in range(3):
        problem.add_node(unit, [4.0, 5.0])
    assert greedy(problem) == [0, 0, 1]  # 15 s there; here 12 s, after what was there before


def test_a_graph_that_is_too_large_for_a_device_is_split():
    nodes = [(1, [], 0) for _ in range(4)]
    problem = problem_of(nodes, 3, latency=100.0, memory=10, lasts=range(4))
    problem.state = [6.0, 6.0, 4.0, 4.0]
    for heuristic in (greedy, look_ahead):
        assignment = heuristic(problem)
        assert simulate(problem, assignment).over == 0
        assert assignment[0] != assignment[1]


def test_live_values_count_as_memory():
    problem = problem_of([(1, [], 8), (1, [0], 8), (1, [0, 1], 0)], 2, latency=10.0, memory=20)
    assert greedy(problem) == [0, 0, 0]
    tight = problem_of([(1, [], 8), (1, [], 8), (1, [0], 0), (1, [1], 0)], 2, memory=12)
    assert simulate(tight, greedy(tight)).over == 0


@given(problems())
@settings(max_examples=60, deadline=None)
def test_every_unit_is_where_it_may_be(problem):
    for heuristic in (greedy, look_ahead):
        assignment = heuristic(problem)
        assert len(assignment) == len(problem.feasible)
        assert all(site in sites for site, sites in zip(assignment, problem.feasible, strict=True))
