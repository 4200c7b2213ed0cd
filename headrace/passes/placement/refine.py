"""Refine: takes the best of the other heuristics and moves units across the cut as long as the simulated step gets faster.

As in the refinement of minimal cuts (Fiduccia and Mattheyses, 1982) units are tried in the order of what they would save in
transfers; here the simulated time decides, not the cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.passes.placement.greedy import greedy
from headrace.passes.placement.look_ahead import look_ahead
from headrace.passes.placement.plain import first
from headrace.passes.placement.problem import Assignment, Problem
from headrace.passes.placement.schedule import simulate

BUDGET: Final = 100_000  # nodes that are simulated, all moves together: about a second; a round number
ROUNDS: Final = 8  # over all units, at most


def refine(problem: Problem, starts: Sequence[Assignment] | None = None) -> Assignment:
    """A site for each unit.  ``starts``: where to begin; by default what the other heuristics say."""
    candidates = [first(problem), greedy(problem), look_ahead(problem)] if starts is None else starts
    best = min(candidates, key=lambda one: simulate(problem, one).rank)
    return _moved(problem, list(best))


def _moved(problem: Problem, assignment: Assignment) -> Assignment:
    left = BUDGET // max(len(problem.unit), 1)
    rank = simulate(problem, assignment).rank
    for _ in range(ROUNDS):
        moved = False
        for unit, site in _moves(problem, assignment):
            if left <= 0:
                return assignment
            left -= 1
            before, assignment[unit] = assignment[unit], site
            after = simulate(problem, assignment).rank
            if after < rank:
                rank, moved = after, True
            else:
                assignment[unit] = before
        if not moved:
            return assignment
    return assignment


def _moves(problem: Problem, assignment: Assignment) -> list[tuple[int, int]]:
    """Units with another site, those first that save most seconds of transfers."""
    saved: dict[tuple[int, int], float] = {}
    for node, values in enumerate(problem.inputs):
        mine = problem.unit[node]
        for value in values:
            other = problem.unit[problem.maker[value]]
            if other == mine:
                continue
            for unit, near in ((mine, assignment[other]), (other, assignment[mine])):
                here = assignment[unit]
                for site in problem.feasible[unit]:
                    if site != here:
                        gain = problem.transfer(value, near, here) - problem.transfer(value, near, site)
                        saved[unit, site] = saved.get((unit, site), 0.0) + gain
    for unit in problem.free_units():
        for site in problem.feasible[unit]:
            if site != assignment[unit]:
                saved.setdefault((unit, site), 0.0)
    return sorted(saved, key=lambda move: (-saved[move], move))
