"""Bystander: a task's part in the move of another task of its job.

Steps over both tasks must meet the same fate on both: either they are held up and begin after all, or their sessions end.  The
task that moves decides which, by ending its own sessions.  A bystander keeps what is held up, even if the process that takes over
is lost, until it knows: it lines up for a hold of its own, which begins in the same moment as the other one ends.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from headrace.cluster.residence import Residence
from headrace.cluster.sessions import Sessions
from headrace.core.errors import OpError
from headrace.runtime.host.worker import LocalWorker

log = logging.getLogger("headrace.cluster")

OWNER: Final = -1  # of holds that belong to no session


class Bystander:
    """Thread-safe."""

    def __init__(self, worker: LocalWorker, sessions: Sessions, residence: Residence) -> None:
        self._worker, self._sessions, self._residence = worker, sessions, residence
        self._ended: set[str] = set()  # holders that have had the sessions ended

    def stand_by(self, task: str, holder: str, has_settled: Callable[[], bool], check: Callable[[], None]) -> None:
        """Keeps what the session ``holder`` holds up until it is known how the move of a task ends.  No session begins meanwhile.

        ``has_settled`` asks the task whether it has ended its sessions, and waits until that is decided.  ``check`` raises
        unless the holder holds up steps.
        """
        number = secrets.randbits(53)
        self._residence.defer()
        then = partial(self._holds, number, task, holder, has_settled)
        self._worker.writers.open(number, None, True, OWNER, (), then)
        try:
            check()
        except BaseException:
            self._ended.add(holder)
            raise

    def end_sessions(self, task: str, holder: str) -> None:
        """The move goes on: ends the sessions that use the task, but not that of the holder."""
        names = [name for name in self._sessions.using(task) if name != holder]
        self._sessions.fence(names, f"{task} moves to another process")

    def note_ended(self, holder: str) -> None:
        self._ended.add(holder)

    def _holds(
        self, number: int, task: str, holder: str, has_settled: Callable[[], bool], _: Any, error: BaseException | None
    ) -> None:
        """The holder holds nothing any more, and this task does instead."""
        if error is None:
            self._worker.pool.submit(partial(self._decide, number, task, holder, has_settled))

    def _decide(self, number: int, task: str, holder: str, has_settled: Callable[[], bool]) -> None:
        try:
            if holder not in self._ended and has_settled():
                self.end_sessions(task, holder)
        except OpError as e:
            log.warning(
                "%s does not know how the move of %s has ended, and goes on: %s", self._worker.task, task, e.message
            )
        finally:
            self._ended.discard(holder)
            self._worker.writers.release(number)
            self._residence.go_on()
