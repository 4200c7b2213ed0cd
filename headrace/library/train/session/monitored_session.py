"""tf.train.MonitoredSession and SingularMonitoredSession: a session with hooks, threads, recovery, and a clean end."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.core.errors import CancelledError, OutOfRangeError
from headrace.core.leaving import Terminated
from headrace.core.source import at
from headrace.graph import context
from headrace.library import log
from headrace.library.train.hook.checkpoint_saver import CheckpointSaverHook
from headrace.library.train.saver.exact_state import PIECES
from headrace.library.train.session.chief_hook import ChiefHook
from headrace.library.train.session.run_hook import checked_hooks
from headrace.library.train.session.scaffold import Scaffold
from headrace.library.train.session.session_creator import ChiefSessionCreator
from headrace.library.train.session.termination import Doing, TerminationWatch, doing
from headrace.library.train.session.wrapped_session import (
    PREEMPTION_ERRORS,
    CoordinatedSessionCreator,
    RecoverableSession,
)

_CLEAN_ENDS = (OutOfRangeError, StopIteration)


class StepContext:
    """What the function of `run_step_fn` gets: the session below, and a ``run`` that calls the hooks."""

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The session below: its ``run`` calls no hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """``MonitoredSession.run``."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """Ends the loop: raises StopIteration, which the ``with`` block of the session takes for a clean end."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class _MonitoredSession:
    """What `MonitoredSession` and `SingularMonitoredSession` share."""

    StepContext = StepContext

    def __init__(
        self, session_creator: Any, hooks: Any, should_recover: bool, stop_grace_period_secs: float = 120
    ) -> None:
        graph = context.get_default_graph()
        self._graph_was_finalized = graph.finalized
        self._hooks = checked_hooks(hooks)
        if session_creator is not None and not hasattr(session_creator, "create_session"):
            raise TypeError(
                "session_creator must have a method create_session(), such as tf.train.ChiefSessionCreator, got "
                f"{session_creator!r} {at()}"
            )
        self._closed = False
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._watch = TerminationWatch(self._tf_sess)
        try:
            self._sess: Any = (
                RecoverableSession(self._coordinated_creator)
                if should_recover
                else self._coordinated_creator.create_session()
            )
        except BaseException:
            self._watch.end()
            if not self._graph_was_finalized:
                graph._unsafe_unfinalize()
            raise

    @property
    def graph(self) -> Any:
        """The graph; None once the session is closed."""
        session = self._coordinated_creator.tf_sess
        return None if session is None else session.graph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """``Session.run`` with the hooks around it.

        After SIGTERM it ends the session, which saves if it has a hook that does, and raises SystemExit(143).
        """
        return self._step(lambda sess: sess.run(fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls ``step_fn(step_context)``, which may run several steps; `StepContext` has the session with and without hooks.

        >>> one = tf.constant(1)
        >>> def step_fn(step_context):
        ...     before = step_context.session.run(one)  # without hooks
        ...     return before + step_context.run_with_hooks(one)
        >>> with tf.train.MonitoredSession() as sess:
        ...     print(sess.run_step_fn(step_fn))
        2
        """
        _check_step_fn(step_fn)
        return self._step(lambda sess: sess.run_step_fn(step_fn, self._coordinated_creator.tf_sess, StepContext))

    def _step(self, call: Callable[[Any], Any]) -> Any:
        self._check_open()
        self._end_if_terminated()
        try:
            with doing(Doing.STEP):
                value = call(self._sess)
        except Terminated:  # of a session within the step, or one that should have been made in place of this
            self._close(Terminated if getattr(self._sess, "_sess", self) is None else None)
            raise
        except CancelledError as error:
            if not self._watch.gave_up:
                raise
            try:
                self._close(CancelledError)  # nothing is saved: the step may be half way
            except Exception as other:
                log.warning("Ignored while the process leaves: %s", other)
            raise Terminated from error
        self._end_if_terminated()
        return value

    def should_stop(self) -> bool:
        """Whether the loop should end: a hook or a thread asks for it, SIGTERM came, or the session is closed."""
        return self._sess is None or self._watch.noted or self._sess.should_stop()

    def close(self) -> None:
        """Ends the hooks and closes the session; not needed after a ``with`` block."""
        if self._sess is None:
            raise RuntimeError(f"Session is already closed. {at()}")
        self._close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, error_type: Any, error: Any, traceback: Any) -> bool:
        if self._closed and error_type is not None and issubclass(error_type, Terminated):
            return False  # `run` has closed the session
        clean = error_type is None or error_type in _CLEAN_ENDS
        self._close(None if clean or issubclass(error_type, Terminated) else error_type)
        return bool(clean)

    def _is_closed(self) -> bool:
        """Whether the session is closed; for subclasses and tests, as in TensorFlow."""
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> Any:
        """The session below, None once it is closed; for subclasses and tests, as in TensorFlow."""
        return self._coordinated_creator.tf_sess

    # ---- the end

    def _check_open(self) -> None:
        if self._sess is None:
            raise RuntimeError(f"Session is already closed: it cannot run anything more {at()}")

    def _end_if_terminated(self) -> None:
        if self._watch.should_exit:
            saves = any(map(_saves, self._hooks))
            log.warning("SIGTERM: the session ends%s.", " and the checkpoint is saved" if saves else "")
            self._close()

    def _close(self, error_type: type[BaseException] | None = None) -> None:
        """Ends the hooks unless there was an error, closes the session, and ends the process if SIGTERM came."""
        try:
            self._close_session(error_type)
        finally:
            terminated = self._watch.should_exit  # the signal may have come while the hooks ended
            self._watch.end()
        if terminated and error_type is None:
            raise Terminated

    def _close_session(self, error_type: type[BaseException] | None) -> None:
        try:
            if error_type is None:
                with doing(Doing.HOOKS):
                    for hook in self._hooks:
                        hook.end(self._coordinated_creator.tf_sess)
                    self._confirm_pieces()
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError(f"Session is already closed. {at()}")
                with doing(Doing.CLOSING):
                    self._sess.close()
            finally:
                self._closed = True
                session = self._coordinated_creator.tf_sess
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized and session is not None:
                    session.graph._unsafe_unfinalize()

    def _confirm_pieces(self) -> None:
        """All steps have ended well, so what they took was trained with."""
        for pieces in self.graph.get_collection(PIECES) if self.graph is not None else ():
            try:
                pieces.confirm()
            except PREEMPTION_ERRORS as error:
                log.warning("What was taken last of some pieces comes again: %s", error)


class MonitoredSession(_MonitoredSession):
    """A session for training loops: hooks run beside each step, queue runners are started and joined, failures are survived.

    When it is made it calls ``hook.begin()``, finalizes the graph, initialises or restores the model, starts the queue runners
    and calls ``hook.after_create_session()``.  Each `run` calls the hooks, and after AbortedError or UnavailableError makes a
    new session from the last checkpoint and runs again.  At the end of the ``with`` block it calls ``hook.end()``, stops the
    threads and closes.  OutOfRangeError and StopIteration are clean ends of the block.

    Args:
      session_creator: A `tf.train.SessionCreator`; None for a `tf.train.ChiefSessionCreator`.
      hooks: A list of `tf.train.SessionRunHook` objects.
      stop_grace_period_secs: How long threads have to end after they were told to stop.

    >>> step = tf.train.get_or_create_global_step()
    >>> train = step.assign_add(1)
    >>> with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=3)]) as sess:
    ...     while not sess.should_stop():
    ...         print(sess.run(train))
    1
    2
    3
    """

    def __init__(self, session_creator: Any = None, hooks: Any = None, stop_grace_period_secs: float = 120) -> None:
        super().__init__(session_creator, hooks, should_recover=True, stop_grace_period_secs=stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """A monitored session that does not recover from failures, and can be passed where a session is asked for.

    Args:
      hooks: A list of `tf.train.SessionRunHook` objects.
      scaffold: A `tf.train.Scaffold`; None for one that is made from the graph.
      master: The session's target; "" for this process.
      config: A `tf.ConfigProto` for the session.
      checkpoint_dir: A folder whose newest checkpoint is restored; None to initialise the model.
      stop_grace_period_secs: How long threads have to end after they were told to stop.
      checkpoint_filename_with_path: The prefix of a checkpoint to restore; pass this or `checkpoint_dir`.

    >>> v = tf.Variable(1)
    >>> with tf.train.SingularMonitoredSession() as sess:
    ...     print(sess.raw_session().run(v))
    1
    """

    def __init__(
        self, hooks: Any = None, scaffold: Scaffold | None = None, master: str = "", config: Any = None,
        checkpoint_dir: Any = None, stop_grace_period_secs: float = 120, checkpoint_filename_with_path: Any = None,
    ) -> None:  # fmt: skip
        creator = ChiefSessionCreator(
            scaffold=scaffold, master=master, config=config, checkpoint_dir=checkpoint_dir,
            checkpoint_filename_with_path=checkpoint_filename_with_path,
        )  # fmt: skip
        super().__init__(creator, hooks, should_recover=False, stop_grace_period_secs=stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The session below: its ``run`` calls no hooks."""
        return self._coordinated_creator.tf_sess


def _saves(hook: Any) -> bool:
    return hook.saves if isinstance(hook, ChiefHook) else isinstance(hook, CheckpointSaverHook)


def _check_step_fn(step_fn: Any) -> None:
    if not callable(step_fn):
        raise TypeError(f"step_fn must be a function of step_context, got {step_fn!r} {at()}")
    arguments = tuple(inspect.signature(step_fn).parameters)
    if arguments != ("step_context",):  # `self` of a bound method is not among them
        raise ValueError(
            "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's an instance "
            f"method. Got {arguments} instead. {at()}"
        )
