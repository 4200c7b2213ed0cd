"""Interpreted plans of one request for the shapes its feeds have.

A placeholder of shape [None, n] leaves most shapes of a step open, and only values of known shapes can be arrays
(passes/arrays.py); nodes that ask for shapes, or undo what broadcasting did, are left out where the shapes are known.  So once
feeds of the same shapes have come for a while, the step is planned again with those shapes known.  Loops of known length are
unrolled then.  The new plan is used for such feeds if it has fewer loops, or fewer of its nodes run on tensors.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace.passes.step_graph import Node, Value
from headrace.passes.unroll import LOOPS
from headrace.resources.stepping.step import current

if TYPE_CHECKING:
    from headrace.runtime.code.codegen import Program
    from headrace.runtime.planning.plan import StepPlan

log = logging.getLogger("headrace.plan")

RUNS = 32  # with the same shapes: planning takes about as long as so many runs
PLANS = 8  # kept for one request

Key = tuple[Any, ...]


def has_shapes(feeds: Sequence[Value]) -> bool:
    """Whether each feed is a tensor or an array of strings."""
    return not any(v.dtype.name in ("resource", "variant") for v in feeds)


def may_gain(plan: StepPlan) -> bool:
    """Whether a plan may be better that is made later: the shapes of its feeds tell something new, or there are loops."""
    return has_shapes(plan.feeds) and (not all(v.shape.is_fully_defined() for v in plan.feeds) or _loops(plan) > 0)


class FedShapes:
    """The plans by feed shapes.  Thread-safe: ``choose`` takes the lock only while it has not decided yet."""

    def __init__(self, plan: StepPlan, make: Callable[[Key], StepPlan], runs: int = RUNS) -> None:
        """``runs``: how often feeds of the same shapes must come before the step is planned for them."""
        self._needed = runs
        self._plan = plan
        self._make = make
        self._runs: dict[Key, int] = {}
        self._plans: dict[Key, StepPlan] = {}
        self._unrolled: set[Key] = set()
        self._lock = threading.Lock()

    def choose(self, feeds: Sequence[Any]) -> StepPlan:
        """The plan to run with these feeds.  A step that must be over in time keeps its loops: they look at the clock."""
        key = tuple([f.shape for f in feeds])
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan if len(self._plans) >= PLANS else self._count(key)
        if current.until is not None and key in self._unrolled:
            return self._plan
        return plan

    @property
    def on_arrays(self) -> int:
        """How many nodes run on arrays in the plan that has the most of them."""
        return max(map(_on_arrays, [self._plan, *list(self._plans.values())]))

    def _count(self, key: Key) -> StepPlan:
        with self._lock:
            runs = self._runs[key] = self._runs.get(key, 0) + 1
            if len(self._runs) > 16 * PLANS:  # the shapes change all the time: begin again
                self._runs.clear()
            if runs < self._needed or key in self._plans:
                return self._plan
            self._plans[key] = self._plan  # until there is a better one
        plan = self._better(key)
        self._plans[key] = plan
        return plan

    def _better(self, key: Key) -> StepPlan:
        """A plan for these shapes if it has fewer loops, or fewer nodes on tensors, and borrows no more results.

        Else the general plan.
        """
        general = self._plan
        try:
            plan = self._make(key)
        except Exception:  # noqa: BLE001 - a branch that is not taken may not fit them; the step runs as before
            log.debug("a step could not be planned for the shapes %s", key, exc_info=True)
            return general
        lends = any(now and not before for now, before in zip(plan.borrowed, general.borrowed, strict=True))
        is_unrolled = _loops(plan) < _loops(general)
        if lends or not (is_unrolled or _on_tensors(plan) < _on_tensors(general)):
            return general
        if is_unrolled:
            self._unrolled.add(key)
        plan.tier = general.tier
        return plan


def _on_arrays(plan: StepPlan) -> int:
    return sum(len(program.on_arrays) for program in plan.programs)


def _loops(plan: StepPlan) -> int:
    return sum(node in LOOPS for node in plan.graph.nodes)


def _on_tensors(plan: StepPlan) -> int:
    """How many nodes of the plan, those of bodies among them, call a kernel on tensors."""
    return sum(len(nodes - program.on_arrays) for program in plan.programs for nodes in _nodes(program))


def _nodes(program: Program) -> Iterator[set[Node]]:
    yield set(program.lines.values())
    for body in program.bodies:
        yield from _nodes(body)
