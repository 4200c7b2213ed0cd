"""Greedy: the white paper's heuristic (3.2.1).  The step is simulated from its sources; a node that is reached goes to the device
where it is over first, transfers of its inputs counted, and that is where it will really run.

Nodes that share a device go together, by the first of them that has work.  State that nobody has used yet goes where its first
user goes.  A device whose memory is full is taken only if all are.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.passes.placement.problem import Assignment, Problem
from headrace.passes.placement.schedule import Schedule, walk


def greedy(problem: Problem) -> Assignment:
    """A site for each unit."""
    return Settler(problem).settled(None)


class Settler:
    """Settles units on sites, one after the other, while a step is simulated."""

    def __init__(self, problem: Problem, ahead: list[list[float]] | None = None) -> None:
        """``ahead``: of each node, by site, what comes after it at best; the sum decides."""
        self._problem = problem
        self._ahead = ahead
        self._schedule = Schedule(problem)
        self._at: list[int | None] = [None] * len(problem.feasible)
        self._rest = self._unit_seconds()
        for unit, sites in enumerate(problem.feasible):
            if len(sites) == 1:
                self._put(unit, sites[0])

    def settled(self, urgency: list[float] | None) -> Assignment:
        """A site for each unit.  ``urgency``: of each node; the least comes first.  None: in the order of execution."""
        walk(self._problem, self._step, None if urgency is None else urgency.__getitem__)
        for unit, site in enumerate(self._at):  # what no node with work uses
            if site is None:
                self._put(unit, self._first_with_room(unit, ()))
        return [site for site in self._at if site is not None]

    def _unit_seconds(self) -> list[list[float]]:
        """Of each unit without state, by site: all that its nodes take, for they go together."""
        problem = self._problem
        sites = range(len(problem.sites))
        total = [[0.0] * len(problem.sites) for _ in problem.feasible]
        for node, unit in enumerate(problem.unit):
            if not problem.lasts[unit] and len(problem.feasible[unit]) > 1:
                mine = total[unit]
                for site in sites:
                    mine[site] += self._schedule.seconds(node, site)
        return total

    def _step(self, node: int) -> float:
        problem = self._problem
        unit = problem.unit[node]
        site = self._at[unit]
        if site is None:
            if self._waits(node, unit):
                return 0.0
            site = self._choose(node, unit)
            self._put(unit, site)
        for value in problem.inputs[node]:
            other = problem.unit[problem.maker[value]]
            if self._at[other] is None:
                self._put(other, self._first_with_room(other, (site,)))
            if self._schedule.site[problem.maker[value]] is None:
                self._schedule.site[problem.maker[value]] = self._at[other]
        return self._schedule.run(node, site)

    def _waits(self, node: int, unit: int) -> bool:
        """Whether the node costs nothing and needs nothing from elsewhere: its first user decides."""
        problem = self._problem
        first = problem.feasible[unit][0]
        if problem.work[node][first] or problem.launch[node][first]:
            return False
        return all(problem.unit[problem.maker[value]] == unit for value in problem.inputs[node])

    def _choose(self, node: int, unit: int) -> int:
        """The site where the node, or all of its unit, is over first."""
        problem, schedule = self._problem, self._schedule
        need = problem.state[unit] + sum(
            problem.state[other]
            for other in {problem.unit[problem.maker[v]] for v in problem.inputs[node]}
            if self._at[other] is None and other != unit
        )
        best, least = problem.feasible[unit][0], (True, float("inf"))
        for site in problem.feasible[unit]:
            seconds = schedule.seconds(node, site) if problem.lasts[unit] else self._rest[unit][site]
            over = schedule.begin(node, site) + seconds
            if self._ahead is not None:
                over += self._ahead[node][site]
            rank = (not schedule.fits(site, need + self._room(node, site)), over)
            if rank < least:
                best, least = site, rank
        return best

    def _room(self, node: int, site: int) -> float:
        """Bytes that the node makes, or needs to be sent to the site."""
        problem, schedule = self._problem, self._schedule
        if not problem.sites[site].memory:
            return 0.0
        sent = sum(problem.size[v] for v in problem.inputs[node] if schedule.site[problem.maker[v]] not in (None, site))
        return sent + schedule.makes(node)

    def _first_with_room(self, unit: int, wished: Iterable[int]) -> int:
        """The wished site if the unit may be there and fits; else the first one where it fits; else the emptiest."""
        feasible, size = self._problem.feasible[unit], self._problem.state[unit]
        for site in (*(s for s in wished if s in feasible), *feasible):
            if self._schedule.fits(site, size):
                return site
        return min(feasible, key=lambda s: self._schedule.memory[s] - self._problem.sites[s].memory)

    def _put(self, unit: int, site: int) -> None:
        self._at[unit] = site
        self._schedule.take(site, self._problem.state[unit])
