"""Tiers: a step starts as generated Python and, when it proves hot, moves to compiled code without stalling.

Decides only when to compile what, and which plan to keep; ``worth`` keeps the account, ``plan`` knows how.  Each combination of
feed shapes that recurs gets its own compiled plan, up to a bound; rare ones stay interpreted.  A compiled plan that turns out
slower than the interpreted one is dropped.  Where there are many combinations, one plan is compiled for all of them.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.config import ConfigProto
from headrace.runtime.compiler import archive
from headrace.runtime.compiler.background import queue
from headrace.runtime.compiler.idle_cores import IdleCores
from headrace.runtime.host.device import deterministic
from headrace.runtime.host.threads import default_threads
from headrace.runtime.planning.plan import StepPlan
from headrace.runtime.planning.trial import Trial
from headrace.runtime.planning.worth import IDLE, Worth
from headrace.runtime.planning.worth import MANY as MANY_CORES

log = logging.getLogger("headrace.compile")

MODES = ("auto", "off", "always")
RECURS = 2  # runs after which the cost of compiling on this machine is looked up
RUNS = 10  # runs with the same shapes before compiling is asked for, counted from when it would have paid for itself
ARTIFACTS = 8  # compiled plans kept per request
UNLIKELY = 4  # times the cost, for a step whose compiled plan was slower in an earlier program
MANY = 16  # combinations of shapes after which one plan is compiled for all
LARGE = 100  # nodes of a step for an accelerator for which the compiling process is started before its first run
COMPILERS = 8  # kernels for an accelerator that are compiled side by side, at most

_idle_cores = IdleCores()  # a step for an accelerator needs no more of them than the import

Key = tuple[Any, ...]
Compile = Callable[[StepPlan, Sequence[Sequence[int]]], StepPlan]
CompileMany = Callable[[StepPlan, Sequence[Sequence[Sequence[int]]]], StepPlan]


def compile_mode(config: ConfigProto) -> str:
    """``HEADRACE_COMPILE`` wins over ``ConfigProto(compile=...)``, which wins over TF1's ``global_jit_level``.

    Where determinism is asked for, "auto" means "off": when it moves to code that rounds differently depends on time.
    """
    from_environment = os.environ.get("HEADRACE_COMPILE")
    mode = from_environment or config.compile
    if mode not in MODES:
        where = "HEADRACE_COMPILE" if from_environment else "ConfigProto.compile"
        raise ValueError(f"{where} must be one of {', '.join(MODES)}, got {mode!r}")
    if mode == "auto":
        level = int(config.graph_options.optimizer_options.global_jit_level)
        mode = {-1: "off", 0: "off" if deterministic() else "auto"}.get(level, "always")
    return mode


class Tier:
    """The tiers of one planned step.  Thread-safe, but the account in ``worth`` is of rough sums and may race."""

    def __init__(
        self,
        plan: StepPlan,
        mode: str,
        compile_plan: Compile,
        compile_many: CompileMany,
        finish: Callable[[], None] | None = None,
    ) -> None:
        """``finish``: waits until the accelerators of the plan have done all that was asked of them."""
        self.mode = mode
        self._finish = finish
        self.hot = mode == "always"
        self.worth = Worth(len(plan.graph.nodes), _idle_cores.average)
        self._prepared = False
        self._plan = plan
        self._compile = compile_plan
        self._compile_many = compile_many
        self.dynamic: StepPlan | None = None  # for shapes without a plan of their own
        self._asked_many = False
        self._seen: dict[Key, int] = {}
        self._asked: set[Key] = set()
        self._begun: list[None] = []  # one for each plan that was asked for
        self._done: list[None] = []  # one for each of them that is there, or failed
        self.compiled: dict[Key, StepPlan] = {}
        self._trials: dict[Key, Trial] = {}  # of compiled plans that have yet to prove faster
        self._lock = threading.Lock()
        large = mode == "auto" and len(plan.graph.nodes) >= LARGE
        if large and _idle_cores.average() >= MANY_CORES:
            self._prepare()

    def loosen(self) -> None:
        """Breaks the circles that it is in: nobody notes runs of compiled plans any more."""
        for plan in list(self.compiled.values()):
            plan.tier = None

    @staticmethod
    def key(feeds: Sequence[Any]) -> Key:
        return tuple([f.shape for f in feeds])

    def choose(self, feeds: Sequence[Any]) -> StepPlan | None:
        """The compiled plan for feeds of these shapes, if there is one yet; in mode "always" it is compiled here."""
        key = self.key(feeds)
        trial = self._trials.get(key) if self._trials else None
        if trial is not None:
            self._wait()  # what earlier steps began is not a part of the next one
            if not trial.compiled_next():
                return None
        plan = self.compiled.get(key)
        if plan is None and self.mode == "always":
            with self._lock:
                plan = self.compiled.get(key)
                if plan is None:
                    plan = self._make(key)
        return plan or self.dynamic

    def _make(self, key: Key) -> StepPlan | None:
        """Compiles a plan for these shapes immediately, or one for all shapes if there are many."""
        try:
            if len(self.compiled) < ARTIFACTS:
                self.compiled[key] = self._compile(self._plan, key)
                return self.compiled[key]
            if self._asked_many:
                return None
            self._asked_many = True
            plan = self._compile_many(self._plan, [*self.compiled, key])
            self.dynamic = plan if plan.regions else None
            return self.dynamic
        except Exception as e:  # noqa: BLE001 - most likely feeds that do not fit: the interpreted run says what is wrong
            log.warning("a step could not be compiled and runs interpreted: %s: %s", type(e).__name__, e)
            if len(self.compiled) < ARTIFACTS:
                self.compiled[key] = self._plan
            return self._plan

    def note(self, plan: StepPlan, feeds: Sequence[Any], seconds: float) -> None:
        """Notes how long a run took of an interpreted plan, or of a compiled one on trial."""
        compiled = plan.regions > 0
        if not compiled:
            worth = self.worth
            worth.note(seconds)
            if worth.pays():
                self.consider(feeds)
            elif not self._prepared and worth.soon():
                self._prepare()
            if worth.runs in (RECURS, RUNS):
                self._look_closer(feeds)
        if self._trials:
            self._compare(compiled, self.key(feeds), seconds)

    def _look_closer(self, feeds: Sequence[Any]) -> None:
        """Learns more of a step that recurs: what earlier programs found out about it."""
        if self.mode != "auto":
            return
        if self.worth.runs == RECURS:
            self.worth.seconds *= archive.cost_factor()
        elif self.worth.runs == RUNS:
            key = self.key(feeds)
            faster = archive.find(archive.STEP, self._name(key))
            if faster:
                self._ask(key)
            elif faster is not None:
                self.worth.seconds *= UNLIKELY

    def _prepare(self) -> None:
        """Has the compiling process started."""
        self._prepared = True
        self._describe_machine()
        queue.prepare()

    def _describe_machine(self) -> None:
        """Says to the compiling process, which may have to be started, how many cores are idle."""
        idle = _idle_cores.average()
        queue.process.on_idle_cores = idle >= IDLE
        queue.process.compilers = min(max(int(idle), 1), COMPILERS)

    def _name(self, key: Key) -> str:
        """What the archive knows the step by."""
        return archive.key([self._plan.graph.to_text(), key, default_threads()])

    def consider(self, feeds: Sequence[Any]) -> None:
        """Asks for compiling for shapes that recur.  Called once compiling would have paid for itself."""
        key = self.key(feeds)
        with self._lock:
            if len(self._seen) < 1024:
                self._seen[key] = self._seen.get(key, 0) + 1
            if not self._asked_many and len(self._seen) > MANY:
                self._asked_many = True
                seen = list(self._seen)
                self._submit(lambda: self._install_many(seen))
            if self._seen.get(key, 0) < RUNS:
                return
        self._ask(key)

    def _ask(self, key: Key) -> None:
        """Asks for a plan for these shapes, unless that was done or there are enough."""
        with self._lock:
            if key in self._asked or len(self._asked) >= ARTIFACTS:
                return
            self._asked.add(key)
        self._describe_machine()
        self._submit(lambda: self._install(key))

    def _submit(self, install: Callable[[], None]) -> None:
        """Has a plan compiled in the background."""
        done = self._done.append
        self._begun.append(None)

        def job() -> None:
            try:
                install()
            finally:
                done(None)

        queue.submit(job)

    def _install(self, key: Key) -> None:
        before = queue.process.seconds
        plan = self._timed(lambda: self._compile(self._plan, key))
        used = queue.process.seconds - before
        if used:
            archive.learn_cost(used / self.worth.reckoned)
        if plan is None:
            return
        plan.tier = self  # its runs are noted
        self._trials[key] = Trial()
        self.compiled[key] = plan
        self.hot = True

    def _install_many(self, seen: list[Key]) -> None:
        self.dynamic = self._timed(lambda: self._compile_many(self._plan, seen))
        self.hot = self.hot or self.dynamic is not None

    @property
    def state(self) -> str:
        """How the next runs go: "compiled", "being compiled", "interpreted"; "to be compiled": at the first run, before it."""
        if any(plan.regions for plan in list(self.compiled.values())) or self.dynamic is not None:
            return "compiled"
        if self.mode == "always" and not self.compiled:
            return "to be compiled"
        return "being compiled" if len(self._begun) > len(self._done) else "interpreted"

    @property
    def regions(self) -> int:
        """How many regions the compiled plan has that has the most."""
        plans = [*self.compiled.values(), *([] if self.dynamic is None else [self.dynamic])]
        return max((plan.regions for plan in plans), default=0)

    def _timed(self, make: Callable[[], StepPlan]) -> StepPlan | None:
        """The plan; None if the compiler took no part of it."""
        start = time.perf_counter()
        plan = make()
        if not plan.regions:
            return None
        log.info("compiled a step of %d nodes in %.1f s", len(self._plan.graph.nodes), time.perf_counter() - start)
        return plan

    def _wait(self) -> float:
        """Waits for the accelerators of the plan; returns how many seconds that took."""
        if self._finish is None:
            return 0.0
        began = time.perf_counter()
        self._finish()
        return time.perf_counter() - began

    def _compare(self, compiled: bool, key: Key, seconds: float) -> None:
        """Notes a run of one of two plans; after enough of each, keeps the faster."""
        trial = self._trials.get(key)
        if trial is None or not trial.note(compiled, seconds + self._wait()):
            return
        with self._lock:
            if self._trials.pop(key, None) is None:
                return
            if trial.compiled_is_faster:
                self.compiled[key].tier = None
            else:
                del self.compiled[key]
                self.hot = bool(self.compiled) or self.dynamic is not None
        archive.keep(archive.STEP, self._name(key), trial.compiled_is_faster)
        log.info(
            "keeps the %s plan of a step of %d nodes: %.3g ms compiled, %.3g ms interpreted",
            "compiled" if trial.compiled_is_faster else "interpreted", len(self._plan.graph.nodes),
            trial.best[True] * 1e3, trial.best[False] * 1e3,
        )  # fmt: skip


def uses_accelerators(plan: StepPlan) -> bool:
    """Whether nodes run elsewhere than on the CPU: then work may go on when a run is over."""
    return any("device:CPU" not in n.device for n in plan.graph.nodes if n.device)
