"""Rendezvous: where the partitions of one step meet: what one sends, another takes (white paper 3.2.2, OSDI 3.3).

A table of (step, key) -> messages that wait for a taker, or a taker that waits for messages.  Messages under one key are taken
in the order in which they were sent: a loop sends one in each iteration, and takes them in the same order.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any, Final

from headrace.core.errors import OpError, ResourceExhaustedError
from headrace.resources.stepping.waiting import Done

ENDED_STEPS: Final = 1024  # of these a late message is known to be late
FEED: Final = "feed "  # how the keys of what comes from the client begin
UNTAKEN: Final = 100_000  # messages that may wait for a taker; also the steps that may have something here

Message = Sequence[Any]


class _Taker:
    """A taker that waits for one message under each of several keys, and its `Wait`."""

    __slots__ = ("_table", "done", "messages", "missing", "step")

    def __init__(self, table: Rendezvous, step: int, keys: Sequence[str], done: Done) -> None:
        self._table = table
        self.step = step
        self.messages: dict[str, Message] = dict.fromkeys(keys, ())
        self.missing = set(keys)
        self.done = done

    def cancel(self, error: Exception) -> None:
        self._table._give_up(self, error)

    def describe(self) -> str:
        fed = sorted(key.removeprefix(FEED) for key in self.missing if key.startswith(FEED))
        if fed:
            return f"partial_run has not fed {', '.join(fed)}"
        senders = sorted({sender for key in self.missing for sender, part, _ in [key.partition(">")] if part})
        who = " and ".join(senders) or "another partition"
        return f"{who} {'have' if len(senders) > 1 else 'has'} not sent {', '.join(sorted(self.missing))}"

    def values(self) -> list[Any]:
        return [value for message in self.messages.values() for value in message]


class _StepTable:
    __slots__ = ("error", "messages", "takers")

    def __init__(self) -> None:
        self.messages: dict[str, deque[Message]] = {}
        self.takers: dict[str, deque[_Taker]] = {}
        self.error: OpError | None = None


class Rendezvous:
    """Thread-safe; callbacks run outside the lock, on the thread that sent what was missing."""

    def __init__(self, most: int = UNTAKEN) -> None:
        """``most``: messages that may wait for a taker, and steps.  A step that sends more ends with an error."""
        self._lock = threading.Lock()
        self._most = most
        self.untaken = 0
        self._steps: dict[int, _StepTable] = {}
        self._ended: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        """The steps that have something here."""
        return len(self._steps)

    def send(self, step: int, key: str, message: Message) -> None:
        """Leaves a message, or hands it to whoever waits for it.  A message of a step that is over is dropped.

        Where too many messages wait, the step ends: whoever takes from it hears why.  Where too many steps have something
        here, nothing can be noted of another one, and ResourceExhaustedError goes to the sender.
        """
        with self._lock:
            table = self._table(step)
            if table is None and step not in self._ended:
                raise self._refusal(f"steps have messages to be taken, so {key} of step {step} was not accepted")
            if table is None or table.error is not None:
                return
            waiting = table.takers.get(key)
            full = not waiting and self.untaken >= self._most
            if not waiting and not full:
                table.messages.setdefault(key, deque()).append(message)
                self.untaken += 1
                return
            if waiting:
                taker = waiting.popleft()
                taker.messages[key] = message
                taker.missing.discard(key)
                if taker.missing:
                    return
        if full:
            self.abort(step, self._refusal(f"messages wait to be taken, so {key} was not accepted"))
        else:
            taker.done(taker.values(), None)

    def _refusal(self, what: str) -> OpError:
        return ResourceExhaustedError(None, None, f"{self._most} {what}")

    def recv(self, step: int, keys: Sequence[str], done: Done) -> _Taker | None:
        """Takes one message under each key: ``done`` gets all their values.  None if all were there."""
        taker = _Taker(self, step, keys, done)
        with self._lock:
            table = self._table(step)
            error = None if table is None else table.error
            if table is not None and error is None:
                for key in keys:
                    there = table.messages.get(key)
                    if there:
                        taker.messages[key] = there.popleft()
                        self.untaken -= 1
                        taker.missing.discard(key)
                    else:
                        table.takers.setdefault(key, deque()).append(taker)
                if taker.missing:
                    return taker
        if table is None:
            error = OpError(None, None, f"step {step} is over", 1)
            if step not in self._ended:
                error = self._refusal(f"steps have messages to be taken, so step {step} was not accepted")
        done(None if error else taker.values(), error)
        return None

    def abort(self, step: int, error: OpError) -> None:
        """Ends all waits of the step with the error, those of now and later ones."""
        with self._lock:
            table = self._table(step)
            if table is None or table.error is not None:
                return
            table.error = error
            takers = {taker for waiting in table.takers.values() for taker in waiting}
            table.takers.clear()
            self.untaken -= sum(map(len, table.messages.values()))
            table.messages.clear()
        for taker in takers:
            taker.done(None, error)

    def end(self, step: int) -> None:
        """Forgets the step."""
        with self._lock:
            table = self._steps.pop(step, None)
            if table is not None:
                self.untaken -= sum(map(len, table.messages.values()))
            self._ended[step] = None
            while len(self._ended) > ENDED_STEPS:
                self._ended.popitem(last=False)

    def is_over(self, step: int) -> bool:
        """Whether the step has ended, as far as that is still known."""
        return step in self._ended

    def _table(self, step: int) -> _StepTable | None:
        table = self._steps.get(step)
        if table is None and step not in self._ended and len(self._steps) < self._most:
            table = self._steps[step] = _StepTable()
        return table

    def _give_up(self, taker: _Taker, error: Exception) -> None:
        with self._lock:
            table = self._steps.get(taker.step)
            waits = table is not None and any(taker in table.takers.get(key, ()) for key in taker.missing)
            if table is not None and waits:
                for key in taker.missing:
                    if taker in table.takers.get(key, ()):
                        table.takers[key].remove(taker)
        if waits:
            taker.done(None, error)
