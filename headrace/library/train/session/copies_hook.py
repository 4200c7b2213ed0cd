"""The hook of `copies_secs` and `copies_steps`: a thread of the chief that copies the variables of the parameter servers."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any, Final

from headrace.core.errors import OpError
from headrace.core.source import at
from headrace.library import log
from headrace.library.state.global_step import get_global_step
from headrace.library.train.session.chief_lease import ChiefLease
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.library.train.session.server_copies import ServerCopies

AGAIN: Final = 1.0  # seconds at least until a chief that could not copy tries it again


class CopiesHook(SessionRunHook):
    """Keeps a share in the copies of its job and, in the chief's process, makes them: the first immediately, beside the steps."""

    def __init__(self, copies: ServerCopies, lease: ChiefLease, secs: float | None, steps: int | None) -> None:
        self.copies = copies
        self._lease, self._secs, self._steps = lease, secs, steps
        self._thread: threading.Thread | None = None
        self._due = threading.Event()
        self._due_at: int | None = None  # the global step at which the next copy is due; None before there is a first
        self._not_before = 0.0
        self._closed = False

    def begin(self) -> None:
        self._fetches = None if self._steps is None else SessionRunArgs(get_global_step())

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.copies.join()
        self._not_before = 0.0
        self._lead()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return self._fetches

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._lead()  # not before a run: if a task is lost, that finds out
        if self._steps is None:
            return
        step = run_values.results + 1  # it may have been read before it was counted
        if self._due_at is not None and step >= self._due_at:
            self._due.set()
        if self._due_at is None or step >= self._due_at:
            self._due_at = step + self._steps

    def _lead(self) -> None:
        """Starts the thread, if this process is the chief and has none."""
        running = self._thread is not None and self._thread.is_alive()
        if running or not self._lease.number or monotonic() < self._not_before:
            return
        self._not_before = monotonic() + max(AGAIN, self._secs or 0.0)
        self.copies.join()
        self._thread = threading.Thread(target=self._make_copies, name="headrace-copies", daemon=True)
        self._thread.start()

    def _make_copies(self) -> None:
        try:
            while not self._closed:
                self._due.clear()
                self.copies.copy()
                self._due.wait(self._secs)
        except (OpError, RuntimeError) as error:
            if not self._closed:
                log.warning(
                    "The variables of the parameter servers are not copied for now: %s", str(error).partition("\n")[0]
                )

    def close(self) -> None:
        """Ends the thread and gives up the share."""
        self._closed = True
        self.copies.close()
        self._due.set()
        if self._thread is not None:
            self._thread.join()


def checked_intervals(secs: Any, steps: Any) -> tuple[float | None, int | None]:
    """The two arguments of a session, at most one of which is asked for; None for 0."""
    for name, value in (("copies_secs", secs), ("copies_steps", steps)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0):
            raise ValueError(f"{name} must be a number of at least 0, or None for no copies; got {value!r} {at()}")
    if secs and steps:
        raise ValueError(
            f"copies_secs or copies_steps says how often variables are copied, not both: got {secs!r} and {steps!r} {at()}"
        )
    return secs or None, steps or None
