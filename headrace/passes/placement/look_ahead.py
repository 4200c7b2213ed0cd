"""Look ahead: as greedy, but what comes after a node counts too, and what is on the longest way to the end comes first.

For each node and device it is worked out from the end what the rest of the step takes at best if the node is there (the
"optimistic cost table" of Arabnejad and Barbosa, 2014).
"""

from __future__ import annotations

from math import inf

from headrace.passes.placement.greedy import Settler
from headrace.passes.placement.problem import Assignment, Problem


def look_ahead(problem: Problem) -> Assignment:
    """A site for each unit."""
    ahead = rest_of_step(problem)
    feasible = [problem.feasible[unit] for unit in problem.unit]
    urgency = [-sum(ahead[node][site] for site in sites) / len(sites) for node, sites in enumerate(feasible)]
    return Settler(problem, ahead).settled(urgency)


def rest_of_step(problem: Problem) -> list[list[float]]:
    """Of each node, by site: the longest chain of nodes after it, each where that is best for the chain."""
    count = len(problem.sites)
    slow = [1.0 / share for share in problem.shares()]
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    latency = sum(problem.latency[a][b] for a, b in pairs) / max(len(pairs), 1)
    pace = sum(problem.pace[a][b] for a, b in pairs) / max(len(pairs), 1)
    ahead = [[0.0] * count for _ in problem.unit]
    for node in range(len(problem.unit) - 1, -1, -1):
        work, launch, after = problem.work[node], problem.launch[node], ahead[node]
        whole = [inf] * count
        for site in problem.feasible[problem.unit[node]]:
            whole[site] = launch[site] + work[site] * slow[site] + after[site]
        least = min(whole)
        for value in problem.inputs[node]:
            maker = problem.maker[value]
            moved = least + latency + problem.size[value] * pace
            if moved > min(ahead[maker]):
                ahead[maker] = [max(a, min(b, moved)) for a, b in zip(ahead[maker], whole, strict=True)]
    return ahead
