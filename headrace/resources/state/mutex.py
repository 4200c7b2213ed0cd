"""A mutex that steps hold between two of their nodes.

An owner, such as a step, may take it again while holding it: what one step does is ordered by its graph.  Who waits
holds no thread.  What a failed step leaves behind gives the mutex back when Python drops it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any

from headrace.resources.stepping.attempt import Attempt, Driver, Ended, finish
from headrace.resources.stepping.waiting import Done, Wait


class Acquire(Attempt):
    """Takes the mutex for `owner`."""

    __slots__ = ("owner",)

    def __init__(self, owner: Hashable, done: Done) -> None:
        super().__init__(done)
        self.owner = owner


class MutexMachine:
    """Who holds the mutex, how often, and who waits for it, in the order they came.  Not thread-safe."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.owner: Hashable = None
        self.count = 0
        self.waiting: deque[Acquire] = deque()

    def acquire(self, attempt: Acquire) -> Ended:
        if self.count and self.owner == attempt.owner:
            self.count += 1
            return [attempt.end()]
        self.waiting.append(attempt)
        return self._advance()

    def release(self) -> Ended:
        self.count -= 1
        return self._advance()

    def cancel(self, attempt: Attempt, error: Exception) -> Ended:
        if attempt.ended:
            return []
        self.waiting.remove(attempt)  # type: ignore[arg-type]
        return [attempt.end(error)]

    def _advance(self) -> Ended:
        if self.count:
            return []
        self.owner = None
        if not self.waiting:
            return []
        first = self.waiting.popleft()
        self.owner, self.count = first.owner, 1
        ended = [first.end()]
        for again in [attempt for attempt in self.waiting if attempt.owner == first.owner]:
            self.waiting.remove(again)
            self.count += 1
            ended.append(again.end())
        return ended

    def describe(self, attempt: Attempt) -> str:
        before = list(self.waiting).index(attempt) if attempt in self.waiting else 0  # type: ignore[arg-type]
        return f"{self.title} is held by {self.owner}" + (f", {before} wait before" if before else "")


class Mutex(Driver):
    """Thread-safe, never blocks: `acquire` ends with a `Held` and calls `done` outside the lock."""

    _machine: MutexMachine

    def __init__(self, name: str = "", made_at: str = "") -> None:
        super().__init__(MutexMachine(f"Mutex '{name}'"), made_at)
        self._released: deque[None] = deque()

    def acquire(self, owner: Hashable, done: Done) -> Wait | None:
        """Ends with a `Held` when no other owner holds the mutex and whoever came before has had it."""

        def acquired(_: Any, error: BaseException | None) -> None:
            done(Held(self) if error is None else None, error)

        wait = self._begin(self._machine.acquire, Acquire(owner, acquired))
        self._settle()
        return wait

    def cancel(self, attempt: Attempt, error: Exception) -> None:
        super().cancel(attempt, error)
        self._settle()

    def _release(self) -> None:
        """May run in a destructor, on a thread that is inside the lock: never waits for it."""
        self._released.append(None)
        self._settle()

    def _settle(self) -> None:
        """Does what was released while the lock was taken.  Whoever gives the lock back calls this afterwards."""
        while self._released and self._lock.acquire(blocking=False):
            ended: Ended = []
            try:
                while self._released:
                    self._released.popleft()
                    ended += self._machine.release()
            finally:
                self._lock.release()
            finish(ended)

    def describe(self) -> str:
        """Who holds the mutex, and how many wait for it."""
        machine = self._machine
        state = f"is held by {machine.owner}" if machine.count else "is free"
        return f"{machine.title} {state}; {len(machine.waiting)} wait for it"


class Held:
    """The right to go on.  Given up by ``release``, or when a failed step drops it."""

    def __init__(self, mutex: Mutex) -> None:
        self._mutex: Mutex | None = mutex

    def release(self) -> None:
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex._release()

    def __del__(self) -> None:
        self.release()
