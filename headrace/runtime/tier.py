"""Tiers: a step starts as generated Python and, when it proves hot, moves to compiled code without stalling.

Decides only when to compile what; ``plan`` knows how.  Each combination of feed shapes that recurs gets its own compiled plan,
up to a bound; rare ones stay interpreted.  Where there are many combinations, one plan is compiled for all of them.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import process
from headrace.core.config import ConfigProto
from headrace.runtime.plan import StepPlan

log = logging.getLogger("headrace.compile")

MODES = ("auto", "off", "always")
SECONDS = 2.0  # interpreted runs must have cost as long as compiling is likely to take ...
SECONDS_PER_NODE = 0.05
RUNS = 10  # ... and shapes must have recurred so often after that
ARTIFACTS = 8  # compiled plans kept per kind of step
MANY = 16  # combinations of shapes after which one plan is made for all

Key = tuple[Any, ...]
Compile = Callable[[StepPlan, Sequence[Sequence[int]]], StepPlan]
CompileMany = Callable[[StepPlan, Sequence[Sequence[Sequence[int]]]], StepPlan]


def compile_mode(config: ConfigProto) -> str:
    """``HEADRACE_COMPILE`` wins over ``ConfigProto(compile=...)``, which wins over TF1's ``global_jit_level``."""
    given = os.environ.get("HEADRACE_COMPILE")
    mode = given or config.compile
    if mode not in MODES:
        where = "HEADRACE_COMPILE" if given else "ConfigProto.compile"
        raise ValueError(f"{where} must be one of {', '.join(MODES)}, got {mode!r}")
    if mode == "auto":
        level = int(config.graph_options.optimizer_options.global_jit_level)
        mode = {-1: "off", 0: "auto"}.get(level, "always")
    return mode


class Tier:
    """The tiers of one planned step.  ``choose`` and ``consider`` are thread-safe; ``spent`` is a rough sum and may race."""

    def __init__(self, plan: StepPlan, mode: str, compile_plan: Compile, compile_many: CompileMany) -> None:
        self.mode = mode
        self.hot = mode == "always"
        self.spent = 0.0  # seconds of interpreted runs since the last look
        self.cost = SECONDS + SECONDS_PER_NODE * len(plan.graph.nodes)
        self._plan = plan
        self._compile = compile_plan
        self._compile_many = compile_many
        self.dynamic: StepPlan | None = None  # for shapes without a plan of their own
        self._asked_many = False
        self._seen: dict[Key, int] = {}
        self._asked: set[Key] = set()
        self.compiled: dict[Key, StepPlan] = {}
        self._lock = threading.Lock()

    @staticmethod
    def key(feeds: Sequence[Any]) -> Key:
        return tuple([f.shape for f in feeds])

    def choose(self, feeds: Sequence[Any]) -> StepPlan | None:
        """The compiled plan for feeds of these shapes, if there is one by now; in mode "always" it is made here."""
        key = self.key(feeds)
        found = self.compiled.get(key)
        if found is None and self.mode == "always":
            with self._lock:
                found = self.compiled.get(key)
                if found is None:
                    found = self._make(key)
        return found or self.dynamic

    def _make(self, key: Key) -> StepPlan | None:
        """A plan for these shapes at once, or, where there are many, for all."""
        try:
            if len(self.compiled) < ARTIFACTS:
                self.compiled[key] = self._compile(self._plan, key)
                return self.compiled[key]
            if self._asked_many:
                return None
            self._asked_many = True
            found = self._compile_many(self._plan, [*self.compiled, key])
            self.dynamic = found if found.regions else None
            return self.dynamic
        except Exception as e:  # noqa: BLE001 - most likely feeds that do not fit: the interpreted run says what is wrong
            log.warning("a step could not be compiled and runs interpreted: %s: %s", type(e).__name__, e)
            if len(self.compiled) < ARTIFACTS:
                self.compiled[key] = self._plan
            return self._plan

    def consider(self, feeds: Sequence[Any]) -> None:
        """Called when interpretation has cost as much as compiling would: asks for shapes that keep coming."""
        key = self.key(feeds)
        with self._lock:
            if len(self._seen) < 1024:
                self._seen[key] = self._seen.get(key, 0) + 1
            if not self._asked_many and len(self._seen) > MANY:
                self._asked_many = True
                seen = list(self._seen)
                queue.submit(lambda: self._install_many(seen))
            if self._seen.get(key, 0) < RUNS or key in self._asked or len(self._asked) >= ARTIFACTS:
                return
            self._asked.add(key)
        queue.submit(lambda: self._install(key))

    def _install(self, key: Key) -> None:
        self.compiled.update(self._timed(lambda: self._compile(self._plan, key), key))

    def _install_many(self, seen: list[Key]) -> None:
        self.dynamic = self._timed(lambda: self._compile_many(self._plan, seen), None).get(None)

    def _timed(self, make: Callable[[], StepPlan], key: Any) -> dict[Any, StepPlan]:
        """The plan under its key; nothing if the compiler took no part of it."""
        start = time.perf_counter()
        plan = make()
        if not plan.regions:
            return {}
        self.hot = True
        log.info("compiled a step of %d nodes in %.1f s", len(self._plan.graph.nodes), time.perf_counter() - start)
        return {key: plan}


class CompileQueue:
    """Compiles one thing at a time on a thread of its own, which ends when there is nothing left to do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None
        self._stopped = False

    def submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            if self._stopped:
                return
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="headrace-compile", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job = self._jobs.pop(0)
            try:
                with process.short_turns():
                    job()
            except Exception:  # noqa: BLE001 - a failed compilation must never hurt the step
                log.warning("compilation failed; the step stays interpreted", exc_info=True)

    def wait(self, timeout: float | None = None) -> None:
        """Waits until everything submitted so far is done (for tests and benchmarks)."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def stop(self) -> None:
        """Drops what waits, interrupts what runs, and takes nothing more.

        For the interpreter's exit, which ends a thread wherever it is: torch's C++ answers that by aborting the process.
        """
        with self._lock:
            self._stopped = True
            self._jobs.clear()
            thread = self._thread
        report = sys.unraisablehook  # the exit may come in the middle of a weak reference's callback, which is no news
        sys.unraisablehook = lambda what: None if what.exc_type is SystemExit else report(what)
        while thread is not None and thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
            thread.join(1.0)  # a call into C++ or of the C++ compiler ends first; what swallows the exit is told again


queue = CompileQueue()
atexit.register(queue.stop)
