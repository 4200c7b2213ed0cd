"""Who waits at a queue, and who may go on: a machine without threads.

Attempts to add and attempts to take stand in two lines.  Only the first of each line may progress, piece by piece if it
moves many elements.  Closing is an attempt too, in the line of those that add, so it waits for what came before it.
What an element is, and in which order elements come, is the business of the store.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence

from headrace.core.errors import CancelledError, OpError, OutOfRangeError
from headrace.resources.state.queue.store import Element, ShuffleStore, Store
from headrace.resources.stepping.attempt import Attempt, Ended
from headrace.resources.stepping.waiting import Done


class Offer(Attempt):
    """Adds `elements`, in order."""

    __slots__ = ("added", "elements")

    called = "Enqueue"
    for_room = True

    def __init__(self, elements: Sequence[Element], done: Done) -> None:
        super().__init__(done)
        self.elements = elements
        self.added = 0

    @property
    def left(self) -> int:
        return len(self.elements) - self.added


class Take(Attempt):
    """Takes `count` elements; with `up_to`, fewer if the queue is closed and has fewer.  Its result is a list."""

    __slots__ = ("count", "gathered", "up_to")

    called = "Dequeue"

    def __init__(self, count: int, done: Done, up_to: bool = False) -> None:
        super().__init__(done)
        self.count = count
        self.up_to = up_to
        self.gathered: list[Element] = []


class TakeOne(Take):
    """Takes one element, which is its result."""

    __slots__ = ()

    def __init__(self, done: Done) -> None:
        super().__init__(1, done)


class Close(Attempt):
    """Closes the queue: after the pending attempts to add, or instead of them (`cancel_pending`)."""

    __slots__ = ("cancel_pending",)

    def __init__(self, cancel_pending: bool, done: Done) -> None:
        super().__init__(done)
        self.cancel_pending = cancel_pending


class QueueMachine:
    """The lines before a store that holds at most `capacity` elements; a negative capacity means no limit.

    `title` names the queue in messages: "FIFOQueue 'q'".  Not thread-safe.  Between two events the first of neither
    line can progress.  Elements may be above `capacity` after an attempt has given back what it had gathered.
    """

    def __init__(self, store: Store, capacity: int, title: str) -> None:
        self.store = store
        self.capacity = capacity if capacity >= 0 else sys.maxsize
        self.title = title
        self.closed = False
        self.adders: deque[Offer | Close] = deque()
        self.takers: deque[Take] = deque()

    # ---- events

    def offer(self, attempt: Offer) -> Ended:
        if not attempt.elements:
            return [attempt.end()]
        self.adders.append(attempt)
        return self._advance()

    def take(self, attempt: Take) -> Ended:
        if not attempt.count:
            return [attempt.end([])]
        self.takers.append(attempt)
        return self._advance()

    def close(self, attempt: Close) -> Ended:
        if not attempt.cancel_pending:
            self.adders.append(attempt)
            return self._advance()
        return [attempt.end(), *self.shut()]

    def shut(self) -> Ended:
        """Closes the queue now and refuses those that wait to add, or to close it."""
        self.closed = True
        refused = [adder.end(self._refusal(adder, waited=True)) for adder in self.adders]
        self.adders.clear()
        return [*refused, *self._advance()]

    def serve_fewer(self) -> Ended:
        """The first that takes gets what it has gathered, if it may take fewer than it wants, and has any."""
        first = self.takers[0] if self.takers else None
        if first is not None and first.up_to and first.gathered:
            first.count = len(first.gathered)
        return self._advance()

    def cancel(self, attempt: Attempt, error: Exception) -> Ended:
        """Elements that `attempt` has gathered go back; those that it has added stay."""
        if attempt.ended:
            return []
        if isinstance(attempt, Take):
            self.takers.remove(attempt)
            self.store.give_back(attempt.gathered)
        else:
            self.adders.remove(attempt)  # type: ignore[arg-type]
        return [attempt.end(error), *self._advance()]

    # ---- the common case, in which nobody waits: what `offer` and `take` would do, without an attempt

    def put_now(self, element: Element) -> bool:
        """Adds `element` if that can be done without waiting and lets nobody else go on."""
        if self.takers or self.adders or self.closed or len(self.store) >= self.capacity:
            return False
        self.store.put(element)
        return True

    def take_now(self) -> Element | None:
        """An element, if it can be had without waiting and lets nobody else go on."""
        if self.takers or self.adders or not self.store.ready(self.closed):
            return None
        return self.store.take()

    # ---- the state as a whole

    def elements(self) -> list[Element]:
        """What the queue would hold if nobody waited: what was gathered is given back, what waits to be added is not there."""
        return self.store.elements([element for taker in self.takers for element in taker.gathered])

    def replace(self, elements: Sequence[Element], position: Sequence[int], closed: bool) -> Ended:
        """Holds these elements instead of its own.  Those that wait lose what they gathered, and are served or wait on."""
        self.store.replace(elements, position)
        self.closed = closed
        for taker in self.takers:
            taker.gathered = []
        return self._advance()

    # ---- progress

    def _advance(self) -> Ended:
        ended: Ended = []
        while self._advance_adders(ended) or self._advance_takers(ended):
            pass
        return ended

    def _advance_adders(self, ended: Ended) -> bool:
        """Lets those that add go on until the first cannot; says whether anything changed."""
        changed = False
        while self.adders:
            adder = self.adders[0]
            if self.closed:
                outcome: OpError | None = self._refusal(adder)
            elif isinstance(adder, Close):
                self.closed = True
                outcome = None
            else:
                changed |= self._add(adder)
                if adder.left:
                    return changed
                outcome = None
            changed = True
            self.adders.popleft()
            ended.append(adder.end(outcome))
        return changed

    def _add(self, adder: Offer) -> bool:
        count = min(adder.left, self.capacity - len(self.store))
        if count <= 0:
            return False
        whole = count == len(adder.elements)
        self.store.put_all(adder.elements if whole else adder.elements[adder.added : adder.added + count])
        adder.added += count
        return True

    def _advance_takers(self, ended: Ended) -> bool:
        """Lets those that take go on until the first cannot; says whether anything changed."""
        changed = False
        while self.takers:
            taker = self.takers[0]
            error = self._settle(taker) if self.closed else None
            if error is None:
                changed |= self._gather(taker)
                if len(taker.gathered) < taker.count:
                    return changed
            changed = True
            self.takers.popleft()
            result = taker.gathered[0] if isinstance(taker, TakeOne) and not error else taker.gathered
            ended.append(taker.end(error or result))
        return changed

    def _settle(self, taker: Take) -> OutOfRangeError | None:
        """Decides what `taker` gets from a closed queue: all it wants, what there is, or an error."""
        if len(taker.gathered) + len(self.store) >= taker.count:
            return None
        self.store.give_back(taker.gathered)
        taker.gathered = []
        size = len(self.store)
        if taker.up_to and size:
            taker.count = size
            return None
        return OutOfRangeError(
            None, None,
            f"{self.title} is closed and has insufficient elements (requested {taker.count}, current size {size})",
        )  # fmt: skip

    def _gather(self, taker: Take) -> bool:
        count = min(taker.count - len(taker.gathered), self.store.ready(self.closed))
        if count <= 0:
            return False
        taker.gathered += self.store.take_some(count)
        return True

    # ---- messages

    def _refusal(self, adder: Offer | Close, waited: bool = False) -> CancelledError:
        """``waited``: the adder was in line before the queue was closed."""
        if isinstance(adder, Close):
            return CancelledError(None, None, f"{self.title} is already closed.")
        cancelled = "Enqueue operation was cancelled: " if waited else ""
        return CancelledError(None, None, f"{cancelled}{self.title} is closed.")

    def describe(self, attempt: Attempt) -> str:
        if isinstance(attempt, Take):
            wish = f"{attempt.count} {'is' if attempt.count == 1 else 'are'} asked for"
            if attempt.gathered:
                wish += f" and {len(attempt.gathered)} of them gathered"
        elif isinstance(attempt, Offer):
            wish = f"{attempt.left} {'waits' if attempt.left == 1 else 'wait'} to be added"
        else:
            wish = "closing it waits for those that add before"
        return f"{self.contents()}, {wish}"

    def contents(self) -> str:
        """How full the queue is, in words."""
        size = len(self.store)
        text = f"{self.title} has {size} of {self.capacity} elements"
        if self.capacity == sys.maxsize:
            text = f"{self.title} has {size} element{'s' * (size != 1)}"
        if isinstance(self.store, ShuffleStore) and not self.closed:
            text += f", of which {self.store.min_after_dequeue} must stay"
        return text + (" and is closed" if self.closed else "")
