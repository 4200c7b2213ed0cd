"""Schedule: a step simulated over devices: when each node is over, and what memory is in use.

A node begins when its device is free and its inputs are there; a value that comes from elsewhere takes the time of its link.  The
nodes of one task are launched by one interpreter, one after the other.  Links carry any number of values at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from headrace.core.device import task_of
from headrace.passes.placement.problem import Assignment, Problem


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a simulated step takes.  ``memory``: the most bytes in use on each site; ``over``: those above the limits, summed."""

    seconds: float
    busy: list[float]
    memory: list[float]
    over: float
    sent: float  # bytes

    @property
    def rank(self) -> tuple[float, float]:
        """What is better is smaller: first of all a step fits into memory."""
        return self.over, self.seconds


class Schedule:
    """A step under way: nodes are added in an order in which each comes after those that it needs."""

    def __init__(self, problem: Problem, used: Collection[int] | None = None) -> None:
        """``used``: the sites that get nodes; None: any of them may."""
        self.problem = problem
        count = len(problem.sites)
        self._slow = [1.0 / share for share in problem.shares(used)]
        tasks = list(dict.fromkeys(task_of(site.name) for site in problem.sites))
        self._task = [tasks.index(task_of(site.name)) for site in problem.sites]
        self._launched = [0.0] * len(tasks)
        self.free = [0.0] * count
        self.busy = [0.0] * count
        self.finish = [0.0] * len(problem.unit)
        self.site: list[int | None] = [None] * len(problem.unit)
        self._there: list[dict[int, float]] = [
            {} for _ in problem.maker
        ]  # when a value is at a site to which it is sent
        takers, self._made = problem.takers()
        self._left = takers.copy()  # nodes that have yet to take a value
        self.memory = [0.0] * count
        self.peak = [0.0] * count
        self.sent = 0.0

    def arrival(self, node: int, site: int) -> float:
        """When all that the node takes is there.  What nobody has placed yet is there from the beginning."""
        problem, finish, sites = self.problem, self.finish, self.site
        latest = 0.0
        for value in problem.inputs[node]:
            maker = problem.maker[value]
            source = sites[maker]
            if source is None:
                continue
            at = finish[maker]
            if source != site:
                known = self._there[value].get(site)
                at = at + problem.transfer(value, source, site) if known is None else known
            if at > latest:
                latest = at
        return latest

    def seconds(self, node: int, site: int) -> float:
        """What the node takes there."""
        return self.problem.launch[node][site] + self.problem.work[node][site] * self._slow[site]

    def begin(self, node: int, site: int) -> float:
        """When the node could begin there."""
        launched = self._launched[self._task[site]] if self.problem.launch[node][site] else 0.0
        return max(self.free[site], self.arrival(node, site), launched)

    def fits(self, site: int, size: float) -> bool:
        """Whether so many bytes more fit into the memory there."""
        limit = self.problem.sites[site].memory
        return not limit or self.memory[site] + size <= limit

    def makes(self, node: int) -> float:
        """Bytes of memory that the node's results take."""
        return sum(self.problem.room[value] for value in self._made[node])

    def take(self, site: int, size: float) -> None:
        """Notes memory that is in use from now on."""
        self.memory[site] += size
        if self.memory[site] > self.peak[site]:
            self.peak[site] = self.memory[site]

    def run(self, node: int, site: int) -> float:
        """Adds the node; returns when it is over."""
        problem = self.problem
        begin = self.begin(node, site)
        launch = problem.launch[node][site]
        if launch:
            self._launched[self._task[site]] = begin + launch
        seconds = self.seconds(node, site)
        self.finish[node] = over = begin + seconds
        self.site[node] = site
        if seconds:
            self.free[site] = over
            self.busy[site] += seconds
        self._bring(node, site)
        for value in self._made[node]:
            self.take(site, problem.room[value])
            if not self._left[value]:
                self.memory[site] -= problem.room[value]
        self._let_go(node)
        return over

    def _bring(self, node: int, site: int) -> None:
        """Notes what is sent for the node."""
        problem = self.problem
        for value in problem.inputs[node]:
            maker = problem.maker[value]
            source = self.site[maker]
            if source is not None and source != site and site not in self._there[value]:
                self._there[value][site] = self.finish[maker] + problem.transfer(value, source, site)
                self.sent += problem.size[value]
                self.take(site, problem.size[value])

    def _let_go(self, node: int) -> None:
        """Notes the memory of what nobody needs any more."""
        problem = self.problem
        for value in problem.inputs[node]:
            self._left[value] -= 1
            if self._left[value]:
                continue
            source = self.site[problem.maker[value]]
            if source is not None:
                self.memory[source] -= problem.room[value]
            for one in self._there[value]:
                self.memory[one] -= problem.size[value]

    def outcome(self) -> Outcome:
        """What the step has taken so far."""
        limits = [site.memory for site in self.problem.sites]
        over = sum(max(0.0, peak - limit) for peak, limit in zip(self.peak, limits, strict=True) if limit)
        return Outcome(max(self.finish, default=0.0), self.busy, self.peak, over, self.sent)


def walk(problem: Problem, step: Callable[[int], float], urgency: Callable[[int], float] | None = None) -> None:
    """Calls ``step`` for each node once those that it needs are over, the first to be ready first.

    ``step`` says when the node is over.  ``urgency``: the node with the least comes first instead.
    """
    needs, users = problem.order()
    left = needs.copy()
    ready_at = [0.0] * len(left)
    ready = [(0.0 if urgency is None else urgency(node), node) for node, count in enumerate(left) if not count]
    heapify(ready)
    while ready:
        _, node = heappop(ready)
        over = step(node)
        for user in users[node]:
            left[user] -= 1
            if over > ready_at[user]:
                ready_at[user] = over
            if not left[user]:
                heappush(ready, (ready_at[user] if urgency is None else urgency(user), user))


def simulate(problem: Problem, assignment: Assignment) -> Outcome:
    """The step with each unit where the assignment has it."""
    at = [assignment[unit] for unit in problem.unit]
    used = {site for node, site in enumerate(at) if problem.work[node][site] or problem.launch[node][site]}
    schedule = Schedule(problem, used)
    for unit, site in enumerate(assignment):
        schedule.take(site, problem.state[unit])
    walk(problem, lambda node: schedule.run(node, at[node]))
    return schedule.outcome()
