"""The heuristics that look at no costs: each unit on the first site that it may have, and each on the next one."""

from __future__ import annotations

from headrace.passes.placement.problem import Assignment, Problem


def first(problem: Problem) -> Assignment:
    """What is done without any heuristic."""
    return [sites[0] for sites in problem.feasible]


def round_robin(problem: Problem) -> Assignment:
    """Units in turn over the sites, in their order."""
    assignment, turn = [], 0
    for sites in problem.feasible:
        assignment.append(sites[turn % len(sites)])
        turn += len(sites) > 1
    return assignment
