"""Hooks that only the process that leads a job calls: they sleep in the others, and wake when one takes over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core.errors import AbortedError, OpError, UnavailableError
from headrace.library import log
from headrace.library.state.global_step import get_global_step
from headrace.library.train.hook.checkpoint_saver import CheckpointSaverHook
from headrace.library.train.saver.state_file import get_checkpoint_state
from headrace.library.train.session.chief_lease import ChiefLease
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


class LeaseholderHook(SessionRunHook):
    """A hook that does something else where this process leads: it is given the job's lease before it begins, if there is one."""

    lease: ChiefLease | None = None


class ChiefHook(SessionRunHook):
    """Calls a hook while this process holds the lease of its job.

    The hook's ``after_create_session`` is called when a session begins that leads, or when the process takes over.  A saver hook
    is given the lease, so that what it writes is fenced by it.  A save that fails ends the program that was started as the chief;
    one that has taken over trains on, or a full disk would end all workers, one after the other.  At the end both say so.
    """

    def __init__(self, hook: Any, lease: ChiefLease) -> None:
        self._hook, self._lease = hook, lease
        self._has_begun = self._asked = False
        self._awake = 0  # the number of the lease under which the hook is called
        self._coord: Any = None
        saves = isinstance(hook, CheckpointSaverHook)
        self.saves = saves and lease.is_chief
        if saves:
            hook.lease = lease

    def begin(self) -> None:
        # In a worker later: few ever lead, and each would make an event file.  But listeners may add nodes.
        if self._lease.is_chief or getattr(self._hook, "_listeners", None):
            self._begin()

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._hook.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._coord, self._awake = coord, 0
        self._wake(session)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._wake(run_context.session)
        self._asked = bool(self._awake)
        return self._hook.before_run(run_context) if self._asked else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._asked:
            with self._may_fail():
                self._hook.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        if not self._awake or self._awake != self._lease.number:
            return
        try:
            self._hook.end(session)
        except AbortedError as error:
            if self._lease.number == self._awake:
                raise
            log.warning("The hooks of the chief do not end here: %s", error)

    def _wake(self, session: Any) -> None:
        number = self._lease.look()
        if number == self._awake:
            return
        self._awake = number
        if number:
            with session.graph.as_default():
                self._begin()
                with self._may_fail():
                    self._hook.after_create_session(session, self._coord)

    @contextmanager
    def _may_fail(self) -> Iterator[None]:
        """A save, in a process that has taken over; the loss of a task is no failure of a save."""
        try:
            yield
        except (AbortedError, UnavailableError):
            raise
        except OpError as error:
            if self._lease.is_chief or not isinstance(self._hook, CheckpointSaverHook):
                raise
            log.error("%s could not save, trains on, and tries again later: %s", self._lease.who, error)


class TakeOverHook(SessionRunHook):
    """Says that this process leads the job in place of another, and lets the saver know of the checkpoints there are."""

    def __init__(self, lease: ChiefLease, folder: Any, scaffold: Any) -> None:
        self._lease, self._folder, self._scaffold = lease, folder, scaffold
        self._news: tuple[Any, ...] | None = None  # what is to be said when training goes on under this chief
        self._has_run = False

    def before_run(self, run_context: Any) -> None:
        """Says it before the second step: where a job is at its end, workers lead for the one step that they still have."""
        if self._news is not None and self._has_run:
            log.warning("%s is the chief from global step %d on (lease %d)%s.", *self._news)
            self._news = None
        self._has_run = True

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._news, self._has_run = None, False
        if not self._lease.took_over:
            return
        state = get_checkpoint_state(self._folder) if self._folder else None
        if state is not None:
            self._scaffold.saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        where = f": it saves to {self._folder}" if self._folder else ""
        self._news = self._lease.who, session.run(get_global_step()), self._lease.number, where
