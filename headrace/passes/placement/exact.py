"""Exact: the best assignment there is, by branch and bound.  For small problems: to say how far from it the heuristics are."""

from __future__ import annotations

from typing import Final

from headrace.passes.placement.problem import Assignment, Problem
from headrace.passes.placement.refine import refine
from headrace.passes.placement.schedule import simulate

MOST: Final = 12  # units that are not fixed


def exact(problem: Problem) -> Assignment:
    """A site for each unit.  Where several are as good, the one that `refine` finds."""
    free = problem.free_units()
    if len(free) > MOST:
        raise ValueError(
            f"the exact placement is for {MOST} units at most that may be in several places, not {len(free)}"
        )
    return _Search(problem, free).best


class _Search:
    def __init__(self, problem: Problem, free: list[int]) -> None:
        self._problem = problem
        self._free = free
        self._slow = self._fastest()
        self.best = refine(problem)
        self._rank = simulate(problem, self.best).rank
        at: list[int | None] = [sites[0] if len(sites) == 1 else None for sites in problem.feasible]
        self._try(at, 0)

    def _fastest(self) -> list[float]:
        """At least how much slower than its rates each site is: as if it were the only one in use."""
        problem = self._problem
        return [1.0 / problem.shares({site})[site] for site in range(len(problem.sites))]

    def _try(self, at: list[int | None], depth: int) -> None:
        if (0.0, self._bound(at)) >= self._rank:
            return
        if depth == len(self._free):
            assignment = [site for site in at if site is not None]
            rank = simulate(self._problem, assignment).rank
            if rank < self._rank:
                self._rank, self.best = rank, assignment
            return
        unit = self._free[depth]
        for site in self._problem.feasible[unit]:
            at[unit] = site
            self._try(at, depth + 1)
        at[unit] = None

    def _bound(self, at: list[int | None]) -> float:
        """No step with these units where they are is faster: by its longest chain, and by what each site has to do."""
        problem = self._problem
        finish = [0.0] * len(problem.unit)
        busy = [0.0] * len(problem.sites)
        for node, unit in enumerate(problem.unit):
            site = at[unit]
            ready = 0.0
            for value in problem.inputs[node]:
                maker = problem.maker[value]
                source = at[problem.unit[maker]]
                crossing = 0.0 if site is None or source is None else problem.transfer(value, source, site)
                ready = max(ready, finish[maker] + crossing)
            sites = problem.feasible[unit] if site is None else (site,)
            seconds = min(problem.launch[node][s] + problem.work[node][s] * self._slow[s] for s in sites)
            finish[node] = ready + seconds
            if site is not None:
                busy[site] += seconds
        return max(max(finish, default=0.0), *busy)
