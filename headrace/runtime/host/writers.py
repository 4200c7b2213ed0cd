"""Writers: the plans of a worker whose steps write variables, so that a save knows which steps it overlaps with.

A step that writes variables is noted in its plan's `running` from its beginning to its end; that is all it costs while nobody
saves.  A save *watches* the variables that it reads.  By default it only notes the steps that overlap with it (OSDI 4.3).  A
consistent one waits until no such step runs, and lets no new one begin until it has read everything.

No lock is needed to begin a step: a step is first noted and then looks whether somebody watches; a save first watches and then
looks which steps are noted.  So at least one of them sees the other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final, Protocol

from headrace.core.errors import DeadlineExceededError, InvalidArgumentError
from headrace.core.source import at
from headrace.passes.step_graph import StepGraph
from headrace.passes.written import all_names
from headrace.resources.stepping.saving import Saving
from headrace.resources.stepping.step import Steps, current

Variables = frozenset[Any]  # of headrace.resources.state.variable.Variable
LOOK: Final = 0.002  # seconds after which a consistent save looks again whether steps have ended


class Plan(Protocol):
    """What is asked here of a plan whose steps write variables or save them."""

    request: Any  # of a whole step: its ops and fetches
    graph: StepGraph
    steps: Steps
    writers: Any  # the worker's `Writers`
    writes: Variables
    running: list[None]
    saves: Variables | None
    saves_elsewhere: tuple[str, ...]


class _Watch:
    """A save that is reading."""

    def __init__(self, plan: Plan, consistent: bool) -> None:
        assert plan.saves is not None
        self._plan, self.variables = plan, plan.saves
        self.consistent = consistent
        self.seen: dict[int, Plan] = {}  # plans of steps that overlap with it

    def concerns(self, plan: Plan) -> bool:
        """Whether its steps may write what is saved; a step that also saves orders its own reads and writes itself."""
        return plan is not self._plan and not self.variables.isdisjoint(plan.writes)


class Writers:
    """Thread-safe."""

    def __init__(self) -> None:
        self.watched = False
        self._plans: dict[int, list[Plan]] = {}  # those that write, by the owner of their graph
        self._watches: list[_Watch] = []
        self._changed = threading.Condition()

    # ---- plans

    def add(self, plan: Plan, owner: int) -> None:
        """Steps of the plan will be noted."""
        with self._changed:
            self._plans.setdefault(owner, []).append(plan)

    def forget(self, owner: int) -> None:
        """Drops the plans of one graph."""
        with self._changed:
            self._plans.pop(owner, None)

    # ---- steps

    def enter(self, plan: Plan) -> None:
        """A step that is noted begins while somebody watches: the save is told, or the step waits until it may write."""
        with self._changed:
            while any(watch.consistent and watch.concerns(plan) for watch in self._watches):
                plan.running.pop()
                try:
                    self._wait_to_write()
                finally:
                    plan.running.append(None)
            for watch in self._watches:
                if watch.concerns(plan):
                    watch.seen[id(plan)] = plan

    def _wait_to_write(self) -> None:
        until = current.until
        if not self._changed.wait(None if until is None else max(until - monotonic(), 0.0)):
            raise DeadlineExceededError(
                None, None,
                "Timed out waiting for notification: the step ran out of time (RunOptions.timeout_in_ms) waiting for a "
                f"consistent save to read the variables that it writes {at()}",
            )  # fmt: skip

    # ---- saves

    @contextmanager
    def watching(self, plan: Plan, saving: Saving) -> Iterator[None]:
        """Watches the variables that the plan saves while it reads them; then tells the saving which ones others wrote."""
        if plan.saves_elsewhere:
            _note_elsewhere(plan.saves_elsewhere, saving)
        watch = _Watch(plan, saving.consistent)
        with self._changed:
            self._watches.append(watch)
            self.watched = True
        try:
            if saving.consistent:
                self._wait_for_writers(watch, saving.wait_secs)
            else:
                with self._changed:
                    watch.seen.update((id(plan), plan) for plan in self._running(watch))
            yield
        finally:
            with self._changed:
                self._watches.remove(watch)
                self.watched = bool(self._watches)
                self._changed.notify_all()
        torn = {variable.name for plan in watch.seen.values() for variable in plan.writes & watch.variables}
        saving.torn = tuple(sorted(torn))

    def _running(self, watch: _Watch) -> list[Plan]:
        return [plan for plans in self._plans.values() for plan in plans if plan.running and watch.concerns(plan)]

    def _wait_for_writers(self, watch: _Watch, wait_secs: float) -> None:
        until = monotonic() + wait_secs
        if current.until is not None:
            until = min(until, current.until)
        with self._changed:
            while running := self._running(watch):
                if monotonic() >= until:
                    break
                self._changed.wait(LOOK)
            else:
                return
        listed = "".join(f"\n\t {_described(plan)}" for plan in running)
        raise DeadlineExceededError(
            None, None,
            f"a consistent save waited {wait_secs:g} s for steps that write what it saves, and nothing was saved:{listed}\n\t "
            f"If such a step waits for another one that writes, neither can go on while the save waits {at()}",
        )  # fmt: skip


def _note_elsewhere(names: Sequence[str], saving: Saving) -> None:
    """Variables on other tasks cannot be watched, held up or copied from here."""
    for option in ("consistent", "asynchronous"):
        if getattr(saving, option):
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            raise InvalidArgumentError(
                None, None,
                f"Saver({option}=True) saves variables of the client's own task only; on other tasks are {shown}. Leave "
                f"{option} out: a save over several tasks is as TensorFlow's, and steps may change variables meanwhile {at()}",
            )  # fmt: skip
    saving.unwatched = tuple(names)


def _described(plan: Plan) -> str:
    """A running step in words: what it was asked for, and what it waits for."""
    ops = [*plan.request.targets, *(tensor.op for tensor in plan.request.fetches)]
    asked = ", ".join(f"{op.name} (made at {op.source})" for op in ops[:3])
    more = f" and {len(ops) - 3} more" if len(ops) > 3 else ""
    waits = plan.steps.report(all_names(plan.graph))
    return f"the step that runs {asked}{more}" + (f"; {waits}" if waits else "")
