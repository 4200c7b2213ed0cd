"""What asynchronous ops agree on with the runtime: how a wait is ended before its time, and how its end is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

# done(result, None) or done(None, error): called exactly once, by any thread, never under a lock, possibly before the call that
# begins returns.  It is quick: the runtime's only puts into a queue.  Work on the result can be left to the step (`Later`).
Done = Callable[[Any, BaseException | None], None]


class Wait(Protocol):
    """Something that was begun and is not over."""

    def cancel(self, error: Exception) -> None:
        """Ends it with the error, unless it is over.  ``done`` is called exactly once in any case."""

    def describe(self) -> str:
        """For the report of a step that waits: "FIFOQueue 'q' has 3 of 10 elements, 5 are asked for (made at train.py:12)"."""


class Later:
    """A result that is still to be computed: the thread of the step that waits for it calls ``call``."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
