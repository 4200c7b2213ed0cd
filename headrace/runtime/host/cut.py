"""A cut between steps: while a block runs, nobody writes certain variables, wherever they are, and no step has written only some.

    with cut(sides, steps, wait_secs=60.0):
        ...  # read the variables

Each task has a `Side` (what it does is decided by cut_machine.py).  All sides are opened before anything is read, and released
after everything is, so a step over several tasks is wholly before the block or wholly after it.

Two cuts at the same time come one after the other, even if they have only some tasks in common: a step that one of them waits
for could be held by the other.  So each first takes its ``turn``: a side that watches nothing, the same one for all sessions.
Where sessions see different tasks, those that watch the same variables still wait for each other, in the order of the tasks.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from time import monotonic
from typing import Any, Final, Protocol

from headrace.core.errors import DeadlineExceededError, OpError
from headrace.core.source import at
from headrace.resources.stepping.interrupt import Shield
from headrace.resources.stepping.step import Awaited, Step, Steps
from headrace.resources.stepping.waiting import Done
from headrace.runtime.host.cut_machine import Begun, Key, Outcome

GRACE: Final = 1.0  # seconds that tasks have to answer when a cut is given up


class Side(Protocol):
    """The variables of one task that are watched."""

    task: str

    def open(self, cut: int, holds: bool, done: Done) -> None:
        """Begins to watch, and to hold up steps if it ``holds``.  Tells ``done`` the steps that have `Begun`."""

    def let(self, cut: int, keys: Sequence[Key], waits: bool, done: Done) -> None:
        """Lets these steps begin and go on.  Tells ``done``, when it waits no longer, those that are not over."""

    def release(self, cut: int, torn: Sequence[Key], done: Done) -> None:
        """Ends the watch; ``torn``: steps that were not over somewhere.  Tells ``done`` an `Outcome`."""


@contextmanager
def cut(
    sides: Sequence[Side], steps: Steps, wait_secs: float, holds: bool = True, turn: Side | None = None
) -> Iterator[list[str]]:
    """Holds up all steps that write the variables of these sides; those under way are waited for, ``wait_secs`` at most.

    Unless it ``holds``, nobody waits.  The list has the names of the variables that others wrote, or may have written, after the
    block.
    """
    one = _Cut(sorted(sides, key=lambda side: side.task), steps, wait_secs)
    torn: list[str] = []
    with cut([turn], steps, wait_secs) if turn is not None and holds else nullcontext():
        try:
            one.begin(holds)
            yield torn
        except BaseException:
            one.give_up()
            raise
        torn += one.end()


class _Cut:
    """Used by one thread.  Is the `Wait` of its questions."""

    def __init__(self, sides: Sequence[Side], steps: Steps, wait_secs: float) -> None:
        self._sides = sides
        self._steps = steps
        self._wait_secs = wait_secs
        self._number = secrets.randbits(53)
        self._asked: list[Side] = []  # those that may be open
        self._until = monotonic() + wait_secs
        self._torn: list[Key] = []

    def begin(self, holds: bool) -> None:
        begun: dict[Key, Begun] = {}
        # One after the other, in the same order as every other cut: so two cuts cannot wait for each other.
        for group in [[side] for side in self._sides] if holds else [list(self._sides)]:
            self._asked += group
            for told in self._ask([partial(side.open, self._number, holds) for side in group]):
                begun.update((one.key, one) for one in told)
        asks = []
        for side in self._sides:
            keys = [one.key for one in begun.values() if side.task in one.tasks]
            if keys or holds:
                asks.append(partial(side.let, self._number, keys, holds))
        self._torn = [key for left in self._ask(asks) for key in left]

    def end(self) -> list[str]:
        """Lets everybody go on; the names of the variables that others wrote."""
        self._until = monotonic() + self._wait_secs
        names = {name for outcome in self._ask(self._releases()) for name in outcome.torn}
        return sorted(names)

    def give_up(self) -> None:
        """Lets everybody go on, whether they can say that they have heard of it or not."""
        for release in self._releases():
            release(lambda result, error: None)

    def _releases(self) -> list[Callable[[Done], None]]:
        asked, self._asked = self._asked, []
        return [partial(side.release, self._number, self._torn) for side in asked]

    def _ask(self, asks: Sequence[Callable[[Done], None]]) -> list[Any]:
        """The answers to questions that are asked together."""
        answers: list[Any] = []
        with Shield(), self._steps.running() as step:
            events = step.events()
            step.waits[self] = Awaited(None, self)
            try:
                for ask in asks:
                    ask(lambda result, error: events.put((self, result, error)))
                while len(answers) < len(asks):
                    _, answer, error = step.next(events, max(self._until - monotonic(), 0.0))
                    if error is not None:
                        raise error
                    if answer is None:
                        raise self._too_late(step)
                    answers.append(answer)
            finally:
                step.waits.pop(self, None)
                step.forget(events)
        return answers

    def _too_late(self, step: Step) -> OpError:
        """The error of a cut that did not come about, with the steps that it waited for."""
        events, late = step.events(), []
        until, releases = monotonic() + GRACE, self._releases()
        try:
            for release in releases:
                release(lambda result, error: events.put((self, result, error)))
            for _ in releases:
                _, outcome, error = step.next(events, max(until - monotonic(), 0.0))
                if isinstance(outcome, Outcome):
                    late += outcome.late
        finally:
            step.forget(events)
        listed = "".join(f"\n\t {one}" for one in dict.fromkeys(late))
        return DeadlineExceededError(
            None, None,
            f"a consistent save waited {self._wait_secs:g} s for steps that write what it saves, and nothing was saved:{listed}"
            f"\n\t If such a step waits for another one that writes, neither can go on while the save waits {at()}",
        )  # fmt: skip

    def cancel(self, error: Exception) -> None:
        """It ends with its step."""

    def describe(self) -> str:
        return "a save waits for steps that write what it saves"
