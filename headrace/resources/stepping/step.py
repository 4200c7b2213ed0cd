"""Step: one running step, while it waits: when it must be over, what ended it, and what it waits for.

Steps that can neither wait nor loop do without one.  `current` tells kernels of this thread which step they belong to.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from logging import INFO, WARNING
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol

from headrace.core.errors import CancelledError, DeadlineExceededError, OpError
from headrace.core.leaving import SLEEP
from headrace.core.registry import REGISTRY, Rule
from headrace.core.source import at
from headrace.resources.stepping.interrupt import Shield, shield
from headrace.resources.stepping.waiting import Done, Later, Wait

log = logging.getLogger("headrace.step")

MOMENT: Final = 1.0  # seconds within which a wait that was ended says so
REPORT_AFTER: Final = 10.0  # seconds without progress after which a step says what it waits for
_numbers = itertools.count(1)

# (what is over, its result, its error).  The step's own end is told as (None, None, None).
Event = tuple[Any, Any, BaseException | None]
NOTHING: Final[Event] = (None, None, None)


class _Current(threading.local):
    def __init__(self) -> None:
        self.step: Step | None = None
        self.until: float | None = None  # when steps of this thread must be over, on the clock of time.monotonic
        self.switch: Switch | None = None  # what may end the steps of this thread


current: Final = _Current()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Steps run inside must be over ``seconds`` from now."""
    old = current.until
    current.until = monotonic() + seconds
    try:
        yield
    finally:
        current.until = old


class Post(Protocol):
    """What a partition of a step sends and takes."""

    def send(self, destination: str, key: str, values: Sequence[Any]) -> None: ...
    def recv(self, keys: Sequence[str], done: Done) -> Wait | None: ...


class Waiting(NamedTuple):
    """A node that was begun, and what it waits for; None for a call on another thread."""

    node: Any  # with name, type and source; None in eager code
    wait: Wait | None

    def __str__(self) -> str:
        node = self.node
        who = f"{node.name} ({node.type} made at {node.source})" if node is not None else "an eager op"
        return f"{who} waits: {reason}" if (reason := self.reason) else f"{who} runs"

    @property
    def reason(self) -> str:
        """What it waits for, in words; empty if its own work is under way."""
        if self.wait is not None:
            return self.wait.describe()
        return "its Python function runs" if self.node.op_def.traits.blocking else ""


class Awaited(Waiting):
    """What the thread of a step waits for where no node does: partitions of other threads and tasks, a save."""

    __slots__ = ()

    def __str__(self) -> str:
        assert self.wait is not None
        return self.wait.describe()


class Step:
    """Thread-safe.  Threads of the step wait in `next`; any other thread may `cancel` the step or ask for a `report`."""

    __slots__ = (
        "_listeners", "_reported", "ask_others", "before_wait", "begun_at", "divided", "error", "number", "post", "until",
        "waits",
    )  # fmt: skip

    def __init__(self, until: float | None = None) -> None:
        self.number = next(_numbers)
        self.until = until
        self.error: OpError | None = None  # set when somebody ends the step
        self.begun_at = monotonic()
        self.waits: dict[Any, Waiting] = {}
        self.post: Post | None = None  # of a partition: how it sends to others and takes from them
        self.divided = False  # into partitions, which have steps of their own
        self.before_wait: Callable[[], None] | None = None  # called once, before its thread waits for the first time
        self.ask_others: Callable[[], str] | None = None  # what partitions on other tasks wait for: lines, for a report
        self._listeners: list[SimpleQueue[Event]] = []
        self._reported = until == inf  # a step that may wait for ever is not asked why

    def __str__(self) -> str:
        return f"step {self.number}"

    def events(self, events: SimpleQueue[Event] | None = None) -> SimpleQueue[Event]:
        """A queue for one thread of the step to wait at, a new one if none is given."""
        events = SimpleQueue() if events is None else events
        self._listeners.append(events)
        if self.error is not None:
            events.put((None, None, None))
        return events

    def forget(self, events: SimpleQueue[Event]) -> None:
        self._listeners.remove(events)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Kernels of this thread belong to the step inside."""
        outer, current.step = current.step, self
        try:
            yield
        finally:
            current.step = outer

    def cancel(self, error: OpError) -> None:
        """Ends the step with the error: its threads stop where they wait, or before the next node."""
        if self.error is None:
            self.error = error
        for events in list(self._listeners):
            events.put((None, None, None))

    def next(self, events: SimpleQueue[Event], patience: float = inf, since: float | None = None) -> Event:
        """The next event.  Raises if the step is cancelled or out of time; says after a while what it waits for.

        ``patience``: seconds after which it gives up: `NOTHING`.  ``since``: when the thread has begun to wait, if not now.
        """
        if self.error is None and not events.empty():
            event = events.get()
            if event[0] is not None:
                return event
        if self.before_wait is not None:
            call, self.before_wait = self.before_wait, None
            call()
        end = monotonic() + patience
        since = monotonic() if since is None else since
        guard = shield()
        while True:
            if guard is not None:
                guard.wake(events)
            if self.error is not None:
                raise self.error
            try:
                moment = min(self.due(since), end, inf if guard is None else monotonic() + SLEEP)
                event = events.get(True, max(moment - monotonic(), 0.0) if moment < inf else None)
            except Empty:
                self.stop_if_over()
                if not self._reported and monotonic() - since >= REPORT_AFTER:
                    self._reported = True
                    if report := self.report():
                        level = INFO if self._waits_for_room() else WARNING
                        others = "" if self.ask_others is None or not log.isEnabledFor(level) else self.ask_others()
                        log.log(level, "%s", report + others)
                if monotonic() >= end:
                    return NOTHING
                continue
            if event[0] is not None:
                return event

    def due(self, since: float) -> float:
        """When a thread that waits since then has something to do though nothing comes."""
        return min(inf if self._reported else since + REPORT_AFTER, inf if self.until is None else self.until)

    def stop_if_over(self, doing: str = "") -> None:
        """Raises if the step was cancelled or its time is over.  ``doing``: what the step is about, if it does not wait."""
        if self.error is not None:
            raise self.error
        if self.until is not None and monotonic() > self.until:
            what = self._waits_for() or (f" {doing}" if doing else "")
            error = DeadlineExceededError(
                None, None,
                "Timed out waiting for notification: the step ran out of time (RunOptions.timeout_in_ms or "
                f"ConfigProto.operation_timeout_in_ms){what}",
            )  # fmt: skip
            if self.error is None:  # the first of the step's threads knows best what the step waited for
                self.error = error
            raise self.error

    def _waits_for_room(self) -> bool:
        """Whether all it waits for is room in a queue: a producer that is ahead does so all the time."""
        return all(getattr(waiting.wait, "for_room", False) for waiting in list(self.waits.values()))

    def report(self) -> str:
        """Who waits for what, one line each; empty if nothing waits."""
        if not self.waits:
            return ""
        return f"step {self.number} runs for {monotonic() - self.begun_at:.1f} s and waits:{self._waits_for()}"

    def cancelled(self) -> str:
        """How TensorFlow says that the first wait was ended, for a message; empty if nothing waits that it has words for."""
        calls = (getattr(waiting.wait, "called", "") for waiting in list(self.waits.values()))
        call = next(filter(None, calls), "")
        return f"{call} operation was cancelled: " if call else ""

    def _waits_for(self) -> str:
        return "".join(f"\n\t {waiting}" for waiting in list(self.waits.values()))


class Switch:
    """Ends the steps of the threads that are inside it, and those that they start later.  Thread-safe."""

    def __init__(self) -> None:
        self._steps: set[Step] = set()
        self._error: OpError | None = None

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The steps that this thread starts inside end when the switch is turned off."""
        outer, current.switch = current.switch, self
        try:
            yield
        finally:
            current.switch = outer

    def enter(self, step: Step) -> None:
        self._steps.add(step)
        if self._error is not None:  # looked at after adding: `off` ends what was added before
            step.cancel(self._error)

    def leave(self, step: Step) -> None:
        self._steps.discard(step)

    def off(self, error: OpError) -> None:
        """Ends the steps with the error."""
        self._error = error
        for step in self._steps.copy():
            step.cancel(error)


@dataclass(frozen=True, slots=True)
class StepStatus:
    """A step under way: how long it has run, and what it waits for."""

    number: int
    seconds: float
    waits: tuple[Waiting, ...]


class Steps:
    """The running steps of one session.  Thread-safe."""

    def __init__(self, timeout: float = 0.0) -> None:
        """``timeout``: seconds a step may take unless its run says otherwise; 0: as long as it likes."""
        self._timeout = timeout
        self._running: set[Step] = set()
        self._closed = False
        self._loss: OpError | None = None

    def start(self, until: float | None = None) -> Step:
        """A new step.  ``until``: when it must be over, if its thread does not say."""
        until = until or current.until
        if until is None and self._timeout:
            until = monotonic() + self._timeout
        step = Step(until)
        self._running.add(step)
        if self._closed:  # looked at after adding: `close` cancels what was added before
            self._running.discard(step)
            raise RuntimeError(f"Attempted to use a closed Session. {at()}")
        if self._loss is not None:
            step.cancel(self._loss)
        if current.switch is not None:
            current.switch.enter(step)
        return step

    def finish(self, step: Step) -> None:
        self._running.discard(step)
        if current.switch is not None:
            current.switch.leave(step)

    def running(self) -> Running:
        """A new step, which kernels of this thread find in `current`; inside a step of this session, that step."""
        return Running(self)

    def lose(self, error: OpError) -> None:
        """Ends the steps that run now, and those that are started later, with the error."""
        self._loss = error
        for step in self._running.copy():
            step.cancel(error)

    def close(self) -> None:
        """Cancels all steps; there will be no more."""
        self._closed = True
        for step in self._running.copy():
            closed = f"the session was closed while {step.report() or 'a step ran'}"
            step.cancel(CancelledError(None, None, f"{step.cancelled()}{closed}"))

    def status(self) -> list[StepStatus]:
        """The steps under way that may wait or loop, oldest first; of one that is divided, its partitions here."""
        now, steps = monotonic(), sorted(self._running.copy(), key=lambda step: step.number)
        return [
            StepStatus(step.number, now - step.begun_at, tuple(step.waits.copy().values()))
            for step in steps
            if not step.divided
        ]

    def report(self, names: Container[str] | None = None) -> str:
        """What all steps that wait are waiting for, or those in which a node of these names waits; empty if none does."""
        steps = sorted(self._running.copy(), key=lambda step: step.number)
        if names is not None:
            steps = [step for step in steps if any(_named(waiting, names) for waiting in list(step.waits.values()))]
        return "\n".join(text for step in steps if (text := step.report()))


def _named(waiting: Waiting, names: Container[str]) -> bool:
    return waiting.node is not None and waiting.node.name in names


class Running:
    """The context manager of `Steps.running`; written out because steps with small loops are short."""

    __slots__ = ("_outer", "_step", "_steps")

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def __enter__(self) -> Step:
        outer = self._outer = current.step
        if outer is not None and outer in self._steps._running:
            self._step = None
            return outer
        step = current.step = self._step = self._steps.start()
        return step

    def __exit__(self, *error: object) -> None:
        if self._step is not None:
            current.step = self._outer
            self._steps.finish(self._step)


def _begin_and_wait(begin: Rule, node: Any, wants_step: bool, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Begins an asynchronous op and waits on this thread until it is over: the op's derived kernel."""
    with Shield():
        result = _wait_for(begin, node, wants_step, args, keywords)
    return result.call() if isinstance(result, Later) else result


def _wait_for(begin: Rule, node: Any, wants_step: bool, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    step = current.step or Step(current.until)
    events = step.events()
    token = object()

    def done(result: Any, error: BaseException | None) -> None:
        events.put((token, result, error))

    try:
        if wants_step:
            keywords = {**keywords, "step": step}
        wait: Wait | None = begin(*args, done=done, **keywords)
        if wait is not None:
            step.waits[token] = Waiting(node, wait)
        try:
            _, result, error = step.next(events)
        except OpError as e:
            event = end_of(token, wait, e, events)
            if event is None:
                raise
            _, result, error = event
        except BaseException as e:
            give_up(wait, e)
            raise
        finally:
            step.waits.pop(token, None)
    finally:
        step.forget(events)
    if error is not None:
        raise error
    return result


def end_of(token: Any, wait: Wait | None, reason: OpError, events: SimpleQueue[Event]) -> Event | None:
    """Ends a wait because the step ends.  If it was over before, its event: what it has taken would be lost otherwise."""
    give_up(wait, reason)
    while True:
        try:
            event = events.get(True, MOMENT)
        except Empty:
            return None
        if event[0] == token:
            return event if event[2] is None else None


def give_up(wait: Wait | None, reason: BaseException) -> None:
    """Ends a wait because the step ends."""
    if wait is not None:
        wait.cancel(CancelledError(None, None, f"the step was ended by another error: {reason}"))


REGISTRY.wait = _begin_and_wait
