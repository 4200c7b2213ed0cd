"""The variants of one plan: planned for the shapes that its feeds have, and compiled; and which of them runs next.

A placeholder of shape [None, n] leaves most shapes of a step open, and only values of known shapes can be arrays
(passes/arrays.py); nodes that ask for shapes, or undo what broadcasting did, are left out where the shapes are known.  So once
feeds of the same shapes have come for a while, the step is planned again with those shapes known.  Loops of known length are
unrolled then.  The new plan is used for such feeds if it has fewer loops, or fewer of its nodes run on tensors.

``tier`` decides when a plan is compiled in the background, and whether it is kept.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from headrace.passes.step_graph import Node, Value
from headrace.passes.unroll import LOOPS
from headrace.resources.stepping.step import current
from headrace.runtime.compiler.background import queue
from headrace.runtime.planning.tier import ARTIFACTS, Do, Key, Tier

if TYPE_CHECKING:
    from headrace.runtime.code.codegen import Program
    from headrace.runtime.drive.plans import SinglePlan

log = logging.getLogger("headrace.compile")

RUNS: Final = 32  # with the same shapes before the step is planned for them: planning takes about as long as these runs
PLANS: Final = 8  # for shapes, of one plan


class Maker(Protocol):
    """Makes variants of a plan."""

    def plan_for(self, plan: SinglePlan, shapes: Key) -> SinglePlan: ...

    def compile(self, plan: SinglePlan, shapes: Key) -> SinglePlan: ...

    def compile_many(self, plan: SinglePlan, seen: Sequence[Key]) -> SinglePlan: ...


class Variants:
    """Thread-safe: ``choose`` takes the lock only while something is undecided."""

    def __init__(
        self, plan: SinglePlan, maker: Maker, runs: int = 0, mode: str = "off", finish: Callable[[], None] | None = None
    ) -> None:
        """``runs``: how often feeds of the same shapes must come before the step is planned for them; 0: it never is.

        ``finish`` waits until the accelerators of the plan have done all that was asked of them.
        """
        self.mode = mode
        self.compiled: dict[Key, SinglePlan] = {}
        self.dynamic: SinglePlan | None = None  # compiled, for shapes without a plan of their own
        self._plan = plan
        self._maker = maker
        self._needed = runs
        self._runs: dict[Key, int] = {}
        self._plans: dict[Key, SinglePlan] = {}
        self._unrolled: set[Key] = set()
        self._tier = Tier()
        self._finish = finish
        self._waiting = 0  # plans that were asked for and are neither there nor refused
        self._lock = threading.Lock()

    def choose(self, feeds: Sequence[Any]) -> tuple[SinglePlan, bool]:
        """The plan to run with these feeds, and whether ``note`` is to hear how long that took."""
        key = tuple([f.shape for f in feeds])
        if self.mode == "off":
            return self._interpreted(key), False
        plan = self.compiled.get(key) or (self._compiled_now(key) if self.mode == "always" else self.dynamic)
        if plan is None:
            return self._interpreted(key), self.mode == "auto"
        trial = self._tier.trials.get(key)
        if trial is None:
            return plan, False
        self._wait()  # what earlier steps began is not a part of the next one
        return (plan if trial.new_next() else self._interpreted(key)), True

    def note(self, plan: SinglePlan, feeds: Sequence[Any], seconds: float) -> None:
        """Hears how long a run took."""
        key = tuple([f.shape for f in feeds])
        on_trial = key in self._tier.trials
        if on_trial:
            seconds += self._wait()
        with self._lock:
            do = self._tier.tried(key, plan.regions > 0, seconds) if on_trial else self._tier.ran(key)
            if do is Do.DROP:
                del self.compiled[key]
        if do is Do.PREPARE:
            queue.prepare()
        elif do is Do.COMPILE:
            self._submit(lambda: self._install(key))
        elif do is Do.COMPILE_MANY:
            self._submit(self._install_many)
        elif do is not Do.NOTHING:
            faster = "compiled" if do is Do.KEEP else "interpreted"
            log.info("keeps the %s plan of a step of %d nodes", faster, len(self._plan.graph.nodes))

    # ---- interpreted

    def _interpreted(self, key: Key) -> SinglePlan:
        """The interpreted plan for these shapes.  A step that must be over in time keeps its loops: they look at the clock."""
        if not self._needed:
            return self._plan
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan if len(self._plans) >= PLANS else self._count(key)
        if current.until is not None and key in self._unrolled:
            return self._plan
        return plan

    def _count(self, key: Key) -> SinglePlan:
        with self._lock:
            runs = self._runs[key] = self._runs.get(key, 0) + 1
            if len(self._runs) > 16 * PLANS:  # the shapes change all the time: begin again
                self._runs.clear()
            if runs < self._needed or key in self._plans:
                return self._plan
            self._plans[key] = self._plan  # until there is a better one
        plan = self._plans[key] = self.better(key)
        return plan

    def better(self, key: Key) -> SinglePlan:
        """A plan for these shapes if it has fewer loops, or fewer nodes on tensors, and borrows no more results.

        Else the general plan.
        """
        general = self._plan
        try:
            plan = self._maker.plan_for(general, key)
        except Exception:  # noqa: BLE001 - a branch that is not taken may not fit them; the step runs as before
            log.debug("a step could not be planned for the shapes %s", key, exc_info=True)
            return general
        lends = any(now and not before for now, before in zip(plan.borrowed, general.borrowed, strict=True))
        is_unrolled = loops(plan) < loops(general)
        if lends or not (is_unrolled or _on_tensors(plan) < _on_tensors(general)):
            return general
        if is_unrolled:
            self._unrolled.add(key)
        return plan

    # ---- compiled

    def _compiled_now(self, key: Key) -> SinglePlan | None:
        """Compiles a plan for these shapes immediately, or one for all shapes if there are many."""
        with self._lock:
            plan = self.compiled.get(key) or self.dynamic
            if plan is not None or len(self.compiled) > ARTIFACTS:
                return plan
            try:
                if len(self.compiled) < ARTIFACTS:
                    plan = self._maker.compile(self._plan, key)
                else:
                    self.dynamic = _with_regions(self._maker.compile_many(self._plan, [*self.compiled, key]))
                    plan = self.dynamic or self._plan
            except Exception as e:  # noqa: BLE001 - most likely feeds that do not fit: the interpreted run says what is wrong
                log.warning("a step could not be compiled and runs interpreted: %s: %s", type(e).__name__, e)
                plan = self._plan
            self.compiled[key] = plan
            return plan

    def _submit(self, install: Callable[[], SinglePlan | None]) -> None:
        """Has a plan compiled in the background."""
        with self._lock:
            self._waiting += 1

        def job() -> None:
            start = time.perf_counter()
            try:
                plan = install()
            finally:
                with self._lock:
                    self._waiting -= 1
            if plan is not None:
                seconds = time.perf_counter() - start
                log.info("compiled a step of %d nodes in %.1f s", len(self._plan.graph.nodes), seconds)

        queue.submit(job)

    def _install(self, key: Key) -> SinglePlan | None:
        plan = _with_regions(self._maker.compile(self._plan, key))
        if plan is not None:
            with self._lock:
                self._tier.compiled(key)
                self.compiled[key] = plan
        return plan

    def _install_many(self) -> SinglePlan | None:
        self.dynamic = _with_regions(self._maker.compile_many(self._plan, self._tier.seen))
        return self.dynamic

    def _wait(self) -> float:
        """Waits for the accelerators of the plan; returns how many seconds that took."""
        if self._finish is None:
            return 0.0
        began = time.perf_counter()
        self._finish()
        return time.perf_counter() - began

    # ---- what explain shows

    @property
    def state(self) -> str:
        """How the next runs go: "compiled", "being compiled", "interpreted"; "to be compiled": at the first run, before it."""
        if self.regions:
            return "compiled"
        if self.mode == "always" and not self.compiled:
            return "to be compiled"
        return "being compiled" if self._waiting else "interpreted"

    @property
    def regions(self) -> int:
        """How many regions the compiled plan has that has the most."""
        plans = [*self.compiled.values(), *([] if self.dynamic is None else [self.dynamic])]
        return max((plan.regions for plan in plans), default=0)

    @property
    def on_arrays(self) -> int:
        """How many nodes run on arrays in the plan that has the most of them."""
        return max(len(plan.program.on_arrays) for plan in [self._plan, *self._plans.values()])


def _with_regions(plan: SinglePlan) -> SinglePlan | None:
    """The plan, if the compiler took part of it."""
    return plan if plan.regions else None


def has_shapes(feeds: Sequence[Value]) -> bool:
    """Whether each feed is a tensor or an array of strings."""
    return not any(v.dtype.name in ("resource", "variant") for v in feeds)


def may_gain(plan: SinglePlan) -> bool:
    """Whether a plan may be better that is made later: the shapes of its feeds tell something new, or there are loops."""
    return has_shapes(plan.feeds) and (not all(v.shape.is_fully_defined() for v in plan.feeds) or loops(plan) > 0)


def loops(plan: SinglePlan) -> int:
    """How many loops the plan has that could be unrolled."""
    return sum(node in LOOPS for node in plan.graph.nodes)


def _on_tensors(plan: SinglePlan) -> int:
    """How many nodes of the plan, those of bodies among them, call a kernel on tensors."""
    return sum(len(nodes - plan.program.on_arrays) for nodes in _nodes(plan.program))


def _nodes(program: Program) -> Iterator[set[Node]]:
    yield set(program.lines.values())
    for body in program.bodies:
        yield from _nodes(body)
