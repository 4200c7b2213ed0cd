"""ParkedRun: a step in parts that holds no thread while it waits.  Whatever brings what it waits for finds it one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import inf
from queue import SimpleQueue
from time import monotonic, thread_time
from typing import Any, Final

from headrace.resources.stepping.saving import carried
from headrace.resources.stepping.step import Event, Step, current
from headrace.resources.stepping.waiting import Done
from headrace.runtime.drive.plans import PartsPlan, StepRun
from headrace.runtime.host.turn import Pace
from headrace.runtime.host.writers import Entrance

IDLE_SECONDS: Final = 1.0  # after which the clock's thread ends if nothing is parked


_put: Final = SimpleQueue.put


class _Mailbox(SimpleQueue[Event]):
    """The events of a run; one that comes while the run is parked lets it go on."""

    def __init__(self) -> None:
        self._parked: list[Callable[[], None]] = []  # what goes on; whoever takes it out calls it

    def put(self, item: Event, block: bool = True, timeout: float | None = None) -> None:
        _put(self, item)
        if self._parked:  # looked at after putting, as `park` looks for events after it has parked
            self.wake()

    def park(self, go_on: Callable[[], None]) -> bool:
        """Calls ``go_on`` when an event has come; False if one has come already."""
        self._parked.append(go_on)
        if not self.empty():
            try:
                self._parked.pop()
            except IndexError:  # what has put the event calls it
                return True
            return False
        return True

    def wake(self) -> None:
        try:
            go_on = self._parked.pop()
        except IndexError:
            return
        go_on()


class ParkedRun:
    """Used by one thread at a time."""

    def __init__(
        self, plan: PartsPlan, step: Step, done: Done, soon: Callable[[Callable[[], None]], None], pace: Pace | None,
        entrance: Entrance | None,
    ) -> None:  # fmt: skip
        """``done`` is told the fetches or the error.  ``soon`` finds a thread to go on; ``pace`` hears how long one is held."""
        self._soon = soon
        self._pace = pace
        self._step = step
        self._done = done
        self._since = monotonic()
        self.mailbox = _Mailbox()
        self._run = StepRun(plan, step, None, entrance, self.mailbox)
        self._go_on = carried(self.go_on)

    def start(self, feeds: Sequence[Any]) -> None:
        """Begins on this thread."""
        self.go_on(lambda: self._run.begin(feeds))

    def go_on(self, first: Callable[[], None] | None = None) -> None:
        """Runs until there is nothing to do for now, or nothing at all."""
        begin = thread_time()
        outer, current.step = current.step, self._step
        try:
            if first is None:
                self._settle()  # something has come, or the step must look at the clock
            else:
                first()
            while self._run.waits:
                if self.mailbox.empty():
                    self._note(begin)  # from here on another thread may have it
                    if self._park():
                        return
                    begin = thread_time()
                self._settle()
            results = self._run.results()
        except BaseException as e:  # noqa: BLE001 - whatever waits for the step raises it
            self._run.values.clear()  # a lock among them must not live as long as the traceback
            self._run.waits.close(e)
            self._done(None, e)
        else:
            self._run.waits.close(None)
            self._done(results, None)
        finally:
            current.step = outer
        self._note(begin)

    def _settle(self) -> None:
        if self._run.settle(0.0, self._since):
            self._since = monotonic()

    def _note(self, begin: float) -> None:
        if self._pace is not None:
            self._pace.note(thread_time() - begin)

    def _park(self) -> bool:
        """Lets the thread go, unless something has come."""
        due = self._step.due(self._since)
        if due < inf:
            _clock.add(self.mailbox, due)
        parked = self.mailbox.park(self._resume)
        if not parked:
            _clock.remove(self.mailbox)
        return parked

    def _resume(self) -> None:
        _clock.remove(self.mailbox)
        try:
            self._soon(self._go_on)
        except RuntimeError:  # the worker is closed, and its steps are
            self.go_on()


class _Clock:
    """Wakes runs whose time is over, or that have something to report.  One thread, and none while nothing is parked."""

    def __init__(self) -> None:
        self._due: dict[_Mailbox, float] = {}
        self._changed = threading.Condition()
        self._runs = False
        self._next = inf

    def add(self, mailbox: _Mailbox, due: float) -> None:
        self._due[mailbox] = due  # before it looks: the thread looks at this before it ends
        if not self._runs or due < self._next:
            with self._changed:
                if not self._runs:
                    self._runs = True
                    threading.Thread(target=self._run, name="headrace-parked", daemon=True).start()
                else:
                    self._changed.notify()

    def remove(self, mailbox: _Mailbox) -> None:
        self._due.pop(mailbox, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._next = min(self._due.copy().values(), default=inf)
                wait = min(self._next - monotonic(), IDLE_SECONDS)
                if wait > 0:
                    self._changed.wait(wait)
                if not self._due:
                    self._runs = False
                    if not self._due:  # none was added before it could be known that the thread ends
                        return
                    self._runs = True
                now = monotonic()
                late = [mailbox for mailbox, due in self._due.copy().items() if due <= now]
            for mailbox in late:
                if self._due.pop(mailbox, None) is not None:
                    mailbox.wake()


_clock: Final = _Clock()
