"""StepsHere: the steps of one session that have begun on a worker, by the master's numbers: what runs, what was aborted.

Saves ask it for the steps that write variables on several tasks (`headrace.runtime.host.writers.Partitions`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Protocol

from headrace.core.errors import AbortedError, OpError
from headrace.resources.stepping.rendezvous import Rendezvous
from headrace.resources.stepping.step import Step
from headrace.runtime.drive.plans import StepPlan
from headrace.runtime.host.cut_machine import Beginning, Share, Variables, Watch

ABORTED_STEPS: Final = 1024  # of one session: partitions of these that come late do not begin


class Registered(Protocol):
    """What is asked here of a partition."""

    @property
    def plan(self) -> StepPlan: ...
    @property
    def writers(self) -> Sequence[str]: ...
    @property
    def writes(self) -> Variables: ...
    @property
    def here(self) -> int: ...


class StepsHere:
    """Thread-safe."""

    def __init__(
        self, task: str, session: str, rendezvous: Rendezvous, partitions: Mapping[int, Registered],
        is_over: Callable[[int], bool] | None,
    ) -> None:  # fmt: skip
        """``partitions``: by handle.  ``is_over``: whether a step is over everywhere; None: the client tells (`heard`)."""
        self.session = session
        self._task = task
        self._rendezvous = rendezvous
        self._partitions = partitions
        self._oldest = 0
        self._known_over = is_over or (lambda step: step < self._oldest)
        self._running: dict[int, dict[int, Step]] = {}  # by step and handle
        self._begun: dict[int, set[int]] = {}  # by step that is not ended: the partitions it has begun here
        self._asking: dict[tuple[int, int], Beginning] = {}  # of these, those that asked a save whether they may begin
        self._aborted: dict[int, OpError] = {}
        self._broken: dict[int, OpError] = {}  # by handle: why its steps cannot run any more
        self._closed = False
        self._lock = threading.Lock()

    # ---- what happens

    def enter(self, number: int, handle: int, step: Step) -> None:
        """A partition begins."""
        with self._lock:
            error = self._aborted.get(number) or self._broken.get(handle)
            if self._rendezvous.is_over(number) or handle in self._begun.get(number, ()):
                raise AbortedError(
                    None, None, f"step {number} was begun on {self._task} before: a step runs at most once"
                )
            self._begun.setdefault(number, set()).add(handle)
            self._running.setdefault(number, {})[handle] = step
        if error is not None:
            raise error

    def ask(self, number: int, handle: int, beginning: Beginning) -> None:
        """A partition counts as one that has not begun until ``beginning`` has ended."""
        self._asking[number, handle] = beginning

    def leave(self, number: int, handle: int, step: Step) -> bool:
        """A partition is over; whether the step has no other one here."""
        with self._lock:
            running = self._running.get(number, {})
            if running.get(handle) is step:
                del running[handle]
                self._asking.pop((number, handle), None)
            over = not running
            if over:
                self._running.pop(number, None)
        return over

    def abort(self, number: int, error: OpError) -> list[Step]:
        """Keeps out what has not begun; returns what has."""
        with self._lock:
            self._aborted[number] = error
            self._begun.setdefault(number, set())
            while len(self._aborted) > ABORTED_STEPS:
                oldest = next(iter(self._aborted))
                del self._aborted[oldest]
                if not self._begun[oldest]:  # it never came
                    del self._begun[oldest]
            return list(self._running.get(number, {}).values())

    def break_off(self, handles: Collection[int], error: OpError) -> list[int]:
        """Keeps out all later steps of these partitions; returns the steps that have begun one."""
        with self._lock:
            self._broken.update((handle, error) for handle in handles)
            return [number for number in self._running if not self._begun.get(number, set()).isdisjoint(handles)]

    def end(self, number: int) -> None:
        with self._lock:
            self._aborted.pop(number, None)
            self._begun.pop(number, None)

    def heard(self, oldest: int) -> None:
        """All steps of the client with smaller numbers are over."""
        self._oldest = max(self._oldest, oldest)

    def close(self) -> list[int]:
        """No step begins any more; returns those that are not ended."""
        self._closed = True
        return list(self._begun)

    # ---- what saves ask for

    def parts(self) -> list[Share]:
        """The steps that have begun and write variables, in `Writers`' words."""
        with self._lock:
            parts = []
            for number in self._begun:
                begun = {
                    handle: self._partitions[handle] for handle in self._begun_of(number) if handle in self._partitions
                }
                writes = frozenset[Any]().union(*(one.writes for one in begun.values()))
                if writes:
                    runs = any(handle in self._running.get(number, ()) for handle in begun)
                    tasks = next(iter(begun.values())).writers
                    parts.append(Share((self.session, number), writes, tasks, runs))
            return parts

    def is_over(self, number: int, watch: Watch) -> bool:
        with self._lock:
            begun = self._begun_of(number)
            running = [self._partitions[one].writes for one in self._running.get(number, ()) if one in begun]
            if any(map(watch.concerns, running)):
                return False
            if self._closed or number in self._aborted or self._rendezvous.is_over(number) or self._known_over(number):
                return True
            return bool(begun) and len(begun) >= self._partitions[next(iter(begun))].here

    def report(self, number: int) -> str:
        """What the partitions of a step that run here wait for, in words; empty if they wait for nothing."""
        with self._lock:
            running = list(self._running.get(number, {}).values())
        return "; ".join(str(waiting) for step in running for waiting in list(step.waits.values()))

    def describe(self, number: int) -> str:
        with self._lock:
            begun = [self._partitions[handle] for handle in self._begun.get(number, ())]
            running = list(self._running.get(number, {}).values())
        if not begun:
            return f"step {number} of session {self.session}, which has begun elsewhere and not on {self._task}"
        nodes = [node for one in begun for node in one.plan.graph.nodes if node.op_def.traits.writes]
        shown = ", ".join(f"{node.name} (made at {node.source})" for node in nodes[:3])
        more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
        waits = "".join(f"; {report}" for step in running if (report := step.report()))
        return f"the step that runs {shown}{more} on {self._task}{waits}"

    def _begun_of(self, number: int) -> set[int]:
        begun = self._begun.get(number, set())
        return {one for one in begun if (asks := self._asking.get((number, one))) is None or asks.ended}
