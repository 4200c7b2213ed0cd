"""When to compile a step, and whether to keep what came of it.

A machine: it hears what happened, and says what to do.  It has no clock, no threads and no plans.  Feeds whose shapes recur get a
compiled plan of their own, up to a bound.  Then both plans run in turn on the program's own data, and the faster one is kept: the
best time of each counts, for other work on the machine only ever adds to a time.  Where the shapes are many, one plan is compiled
for all of them.
"""

from __future__ import annotations

import os
from enum import Enum, auto
from typing import Any, Final

from headrace.core.config import ConfigProto
from headrace.runtime.host.device import deterministic

MODES: Final = ("auto", "off", "always")
RECURS: Final = 2  # interpreted runs with the same shapes after which the compiler is started
RUNS: Final = 10  # such runs after which a plan is compiled
TRIALS: Final = 12  # timed runs of either plan; a new plan chooses its number of threads in the first ten
ARTIFACTS: Final = 8  # compiled plans of one step
MANY: Final = 16  # combinations of shapes after which one plan is compiled for all
COUNTED: Final = 1024  # combinations of shapes, at most

Key = tuple[Any, ...]


class Do(Enum):
    """What the machine says to do."""

    NOTHING = auto()
    PREPARE = auto()
    COMPILE = auto()
    COMPILE_MANY = auto()
    KEEP = auto()
    DROP = auto()


class Tier:
    """The machine of one step.  For one thread at a time."""

    def __init__(self) -> None:
        self._runs: dict[Key, int] = {}
        self._asked: set[Key] = set()
        self._asked_many = False
        self.trials: dict[Key, Trial] = {}

    def ran(self, key: Key) -> Do:
        """An interpreted run is over, of feeds with these shapes."""
        runs = self._runs.get(key, 0) + 1
        if runs > 1 or len(self._runs) < COUNTED:
            self._runs[key] = runs
        if not self._asked_many and len(self._runs) > MANY:
            self._asked_many = True
            return Do.COMPILE_MANY
        if runs < RUNS or key in self._asked or len(self._asked) >= ARTIFACTS:
            return Do.PREPARE if runs == RECURS and not self._asked else Do.NOTHING
        self._asked.add(key)
        return Do.COMPILE

    @property
    def seen(self) -> list[Key]:
        """The shapes that have come."""
        return list(self._runs)

    def compiled(self, key: Key) -> None:
        """A compiled plan is there: the trial begins."""
        self.trials[key] = Trial()

    def tried(self, key: Key, compiled: bool, seconds: float) -> Do:
        """A run of either plan on trial is over."""
        trial = self.trials.get(key)
        if trial is None or not trial.note(compiled, seconds):
            return Do.NOTHING
        del self.trials[key]
        return Do.KEEP if trial.best[True] < trial.best[False] else Do.DROP


class Trial:
    """The comparison of a compiled plan with the one that there was."""

    __slots__ = ("_left", "best")

    def __init__(self, runs: int = TRIALS) -> None:
        self._left = {True: runs, False: runs}
        self.best = {True: float("inf"), False: float("inf")}

    def new_next(self) -> bool:
        """Whether the next run is the new plan's turn."""
        return self._left[True] >= self._left[False]

    def note(self, new: bool, seconds: float) -> bool:
        """Notes how long a run of one plan took; returns whether the comparison is over."""
        self._left[new] -= 1
        self.best[new] = min(self.best[new], seconds)
        return max(self._left.values()) <= 0


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
