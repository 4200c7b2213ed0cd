"""Whether a write of an update is done: a worker that finishes the update of another leaves it out."""

from __future__ import annotations


class Written:
    """Of one write, on the device that it writes to.  A step that writes notes so in the strand that writes."""

    def __init__(self) -> None:
        self._ticket = -1  # of the last update whose write is done

    def note(self, ticket: int) -> None:
        self._ticket = ticket

    def is_done(self, ticket: int) -> bool:
        return self._ticket == ticket
