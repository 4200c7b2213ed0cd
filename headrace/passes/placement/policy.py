"""Policy: which heuristic decides, what it is told, and when its answer is taken.

The answer for one step is taken if the simulated step is faster than with every node on its first device; whether it really is,
the runtime finds out (runtime/session/rivals.py).  State cannot be tried in two places, so it is moved only where the
simulation says that much is gained, and never between devices that share their cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.core.device import task_of
from headrace.core.errors import ResourceExhaustedError
from headrace.core.source import user_source
from headrace.passes.cost.measured import Measured
from headrace.passes.cost.model import CostModel
from headrace.passes.cost.rates import Machine
from headrace.passes.placement.draft import Draft
from headrace.passes.placement.greedy import greedy
from headrace.passes.placement.look_ahead import look_ahead
from headrace.passes.placement.plain import first, round_robin
from headrace.passes.placement.problem import Assignment, Problem, Site
from headrace.passes.placement.refine import refine
from headrace.passes.placement.schedule import Outcome, simulate

HEURISTICS: Final[Mapping[str, Callable[[Problem], Assignment]]] = {
    "first": first,
    "greedy": greedy,
    "look_ahead": look_ahead,
    "refine": refine,
    "round_robin": round_robin,
}
GAIN: Final = 0.05  # of the step's seconds: for less nothing is moved
STATE_GAIN: Final = 0.25  # for less no state is moved, because nobody measures whether that was right; a round number


@dataclass(frozen=True, slots=True)
class Policy:
    """What the runtime hands down.

    ``sites``: all devices, in the order of the session.  ``part_of``: the partition of a device; of several that are one,
    only the first is taken, since they run on one thread.  ``measured``: what is known when a step is planned.
    ``lasting``: rates for state that other sessions must find too: the same for all of them.
    ``forced``: the heuristic's answer is taken whatever it is predicted to cost.
    """

    name: str
    sites: Sequence[Site]
    part_of: Callable[[str], str]
    machine: Machine
    measured: Callable[[], Measured | None] = lambda: None
    lasting: Machine | None = None
    forced: bool = False

    def draft(self, state: bool = False) -> Draft:
        """An empty problem.  ``state``: it is about where state is."""
        if state and self.lasting is not None:
            return Draft(self.sites, CostModel(self.lasting))
        return Draft(self.sites, CostModel(self.machine, self.measured()))

    def candidates(self, devices: Sequence[str]) -> list[int]:
        """Of devices that a node may have, those that it may be moved to."""
        numbers = {site.name: i for i, site in enumerate(self.sites)}
        parts: dict[str, int] = {}
        for device in devices:
            parts.setdefault(self.part_of(device), numbers[device])
        return list(parts.values())

    def homes(self, devices: Sequence[str]) -> list[int]:
        """Of devices that state may be on, those that it may be moved to: none that only has a part of the first one's cores.

        CPUs of one process share them and the interpreter, so nothing is gained there that a step could not gain without moving
        state, and a step is tried.  Their memory is one, too.
        """
        found = self.candidates(devices)
        return [n for n in found if n == found[0] or not self._share_cores(n, found[0])]

    def _share_cores(self, one: int, other: int) -> bool:
        a, b = self.sites[one], self.sites[other]
        return a.device_type == b.device_type == "CPU" and task_of(a.name) == task_of(b.name)

    def decide(self, problem: Problem, gain: float = GAIN) -> Decision:
        """Where the units go."""
        default = first(problem)
        plain = simulate(problem, default)
        if not problem.free_units():
            return Decision(problem, default, plain, plain)
        chosen = HEURISTICS[self.name](problem)
        outcome = simulate(problem, chosen)
        better = outcome.over < plain.over or (
            outcome.over == plain.over and outcome.seconds < plain.seconds * (1.0 - gain)
        )
        if not (better or self.forced):
            chosen, outcome = default, plain
        return Decision(problem, chosen, outcome, plain)


@dataclass(frozen=True, slots=True)
class Decision:
    """An assignment, what it is predicted to take, and what the default would."""

    problem: Problem
    assignment: Assignment
    outcome: Outcome
    plain: Outcome

    def device(self, unit: int) -> str:
        """The device of a unit."""
        return self.problem.sites[self.assignment[unit]].name

    def is_moved(self, unit: int) -> bool:
        """Whether the unit is not on the first device that it may have."""
        return self.assignment[unit] != self.problem.feasible[unit][0]

    def elsewhere(self, unit: int) -> list[tuple[str, float]]:
        """What the whole step would take with the unit on each of its other devices."""
        times = []
        for site in self.problem.feasible[unit]:
            if site != self.assignment[unit]:
                other = list(self.assignment)
                other[unit] = site
                times.append((self.problem.sites[site].name, simulate(self.problem, other).seconds))
        return times

    def check_state(self) -> None:
        """Raises if the state on a device is larger than its memory."""
        state = [0.0] * len(self.problem.sites)
        for unit, number in enumerate(self.assignment):
            state[number] += self.problem.state[unit]
        for site, size in zip(self.problem.sites, state, strict=True):
            if site.memory and size > site.memory:
                raise ResourceExhaustedError(
                    None, None,
                    f"The variables of the graph do not fit: those on {site.name} take {size:.0f} bytes of its {site.memory}. "
                    f"Free to be anywhere are {sum(map(self.problem.state.__getitem__, self.problem.free_units())):.0f} bytes; "
                    f"ask for other devices, or make the variables smaller (run at {user_source(2)})",
                )  # fmt: skip
