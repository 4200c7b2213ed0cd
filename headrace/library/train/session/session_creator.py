"""Session creators: how a monitored session gets a session, the first time and after a failure."""

from __future__ import annotations

import abc
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.core.silence import lost_seconds
from headrace.core.source import at
from headrace.graph import context
from headrace.library import log
from headrace.library.train.session.chief_lease import ChiefLease
from headrace.library.train.session.scaffold import Scaffold
from headrace.library.train.session.server_copies import ServerCopies
from headrace.library.train.session.session_manager import SessionManager, waits_for_tokens


class SessionCreator(abc.ABC):
    """Makes sessions for `tf.train.MonitoredSession`: once, and again when a session was lost.

    A subclass defines ``create_session()``, which returns a session.

    >>> class PlainSessionCreator(tf.train.SessionCreator):
    ...     def create_session(self):
    ...         return tf.Session()
    >>> with tf.train.MonitoredSession(PlainSessionCreator()) as sess:
    ...     print(sess.should_stop())
    False
    """

    @abc.abstractmethod
    def create_session(self) -> Any:
        """A new session that is ready."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class ChiefSessionCreator(SessionCreator):
    """Makes sessions that restore the newest checkpoint, or initialise the model if there is none.

    A session that is made because the one before has lost a task restores nothing if all variables have kept their values.
    Else it restores only those that have none any more, and says so in a warning; all of them in a synchronous job: with a
    `SyncReplicasOptimizer`, or `tf.train.replicas` that gather gradients.  ``restore``, Headrace's own, says "missing" or "all"
    for any job.

    Args:
      scaffold: A `tf.train.Scaffold`; None for one that is made from the graph.
      master: The session's target; "" for this process.
      config: A `tf.ConfigProto` for the sessions.
      checkpoint_dir: A folder whose newest checkpoint is restored; None to initialise the model.
      checkpoint_filename_with_path: The prefix of a checkpoint to restore; pass this or `checkpoint_dir`.
      restore: What to restore after a loss: "missing", "all", or None to choose by the job.
      copies: The copies of parameter servers that `tf.train.MonitoredTrainingSession` keeps; None for none.

    Example: ``tf.train.MonitoredSession(tf.train.ChiefSessionCreator(checkpoint_dir="/tmp/model"))``
    """

    def __init__(
        self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None, *, restore: str | None = None, copies: ServerCopies | None = None,
    ) -> None:  # fmt: skip
        if restore not in (None, "all", "missing"):
            raise ValueError(f'restore must be "all", "missing" or None, got {restore!r} {at()}')
        self._restore, self._copies = restore, copies
        self._has_made_one = False
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path
        self._scaffold = _checked_scaffold(scaffold)
        self._session_manager: SessionManager | None = None
        self._master = master
        self._config = config

    def create_session(self, goes_on: bool = False) -> Any:
        """A session that is ready.  ``goes_on``: others train already, so variables that have values keep them."""
        scaffold = self._scaffold.finalize()
        manager = self._get_session_manager()
        prepare: Any = manager.prepare_session
        if self._has_made_one or goes_on:
            prepare = partial(
                manager.prepare_next_session, restore=self._restore, copies=self._copies, seen_step=scaffold.seen_step
            )
        session = prepare(
            self._master, saver=scaffold.saver, checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path, config=self._config,
            init_op=scaffold.init_op, init_feed_dict=scaffold.init_feed_dict, init_fn=scaffold.init_fn,
        )  # fmt: skip
        if self._copies is not None and not (self._has_made_one or goes_on):
            self._copies.drop()  # they may be of another run
        self._has_made_one = True
        return session

    def keeps_values(self) -> bool:
        """Whether a job that lost its chief goes on with the values that it has."""
        asks_for_one_step = waits_for_tokens(context.get_default_graph())
        return self._restore == "missing" or (self._restore is None and not asks_for_one_step)

    def _get_session_manager(self) -> SessionManager:
        """The manager that makes the sessions; subclasses may give their own."""
        if self._session_manager is None:
            self._session_manager = _manager(self._scaffold)
        return self._session_manager


class WorkerSessionCreator(SessionCreator):
    """Makes sessions that wait until the chief has initialised the model, ``max_wait_secs`` at most.

    Args:
      scaffold: A `tf.train.Scaffold`; None for one that is made from the graph.
      master: The session's target, such as "grpc://localhost:2222".
      config: A `tf.ConfigProto` for the sessions.
      max_wait_secs: How long to wait for the chief.

    Example: ``tf.train.MonitoredSession(tf.train.WorkerSessionCreator(master=server.target))``
    """

    def __init__(
        self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, max_wait_secs: float = 30 * 60
    ) -> None:
        self._scaffold = _checked_scaffold(scaffold)
        self._session_manager: SessionManager | None = None
        self._master = master
        self._config = config
        self._max_wait_secs = max_wait_secs

    def create_session(self, pause: Callable[[float], bool] | None = None) -> Any:
        """A session that is ready.  ``pause(seconds)`` waits before the next look, and says whether to stop: then it is None."""
        self._scaffold.finalize()
        manager = self._get_session_manager()
        keywords = {} if pause is None else {"pause": pause}
        return manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs, **keywords
        )

    def _get_session_manager(self) -> SessionManager:
        if self._session_manager is None:
            self._session_manager = _manager(self._scaffold)
        return self._session_manager


class LeasedSessionCreator(SessionCreator):
    """Makes the sessions of a process whose job has a lease: those of the chief while the process holds it, else a worker's."""

    def __init__(self, lease: ChiefLease, worker: WorkerSessionCreator, chief: ChiefSessionCreator | None) -> None:
        self._lease, self._worker, self._chief = lease, worker, chief
        self._has_made_one = False

    def create_session(self) -> Any:
        lease, begun = self._lease, math.inf
        patience = lost_seconds()  # a chief that is alive has joined by then

        def pause(seconds: float) -> bool:
            """Whether this process leads.  A job that goes on without its chief, after a loss, waits for it for a while only."""
            if lease.wait(seconds) or not lease.can_lead:
                return lease.number > 0
            return lease.join(begins=self._has_made_one and time.monotonic() - begun >= patience)

        session = None
        while session is None:
            if lease.join() and self._chief is not None:
                session = self._chief.create_session(goes_on=self._goes_on())
            else:
                self._say_who_leads()
                begun = time.monotonic()
                session = self._worker.create_session(pause)
        self._has_made_one = True
        return session

    def _goes_on(self) -> bool:
        """Whether the variables that have values keep them.  A chief that starts takes a synchronous job back to one step."""
        if self._has_made_one or not self._lease.is_chief:
            return True
        assert self._chief is not None
        return self._lease.went_on and self._chief.keeps_values()

    def _say_who_leads(self) -> None:
        if self._lease.is_chief and self._lease.holder:
            log.warning(
                "%s is the chief of this job now. %s restores nothing, goes on as a worker, and stands in line.",
                self._lease.holder, self._lease.who,
            )  # fmt: skip


def _manager(scaffold: Scaffold) -> SessionManager:
    return SessionManager(
        local_init_op=scaffold.local_init_op, ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op, graph=context.get_default_graph(),
    )  # fmt: skip


def _checked_scaffold(scaffold: Any) -> Scaffold:
    if scaffold is None:
        return Scaffold()
    if not isinstance(scaffold, Scaffold):
        raise TypeError(f"scaffold must be a tf.train.Scaffold, got {scaffold!r} {at()}")
    return scaffold
