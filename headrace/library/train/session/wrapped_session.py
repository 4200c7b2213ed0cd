"""The layers of a monitored session, from the session up: hooks, the coordinator of its threads, recovery.

    RecoverableSession(CoordinatedSession(HookedSession(Session)))

Each layer runs the one below and adds one thing.  `CoordinatedSessionCreator` makes the lower two; recovery makes them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.config import RunMetadata, RunOptions
from headrace.core.errors import AbortedError, UnavailableError
from headrace.core.source import at
from headrace.graph.collection import GraphKeys
from headrace.library import log
from headrace.library.train.coordinator import Coordinator
from headrace.library.train.queue_runner import start_queue_runners
from headrace.library.train.session.run_hook import SessionRunArgs, SessionRunContext, SessionRunValues
from headrace.library.train.session.termination import Doing, doing

PREEMPTION_ERRORS = (AbortedError, UnavailableError)
"""Errors that say a task was lost: a new session can go on from the last checkpoint."""

_ADVICE = (
    "This error may also occur when memory or network of the parameter servers are overloaded. If it occurs repeatedly, try more "
    "parameter servers. Error: %s"
)


class WrappedSession:
    """A layer around a session or another layer."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess

    @property
    def graph(self) -> Any:
        return self._sess.graph

    @property
    def sess_str(self) -> str:
        return self._sess.sess_str

    def should_stop(self) -> bool:
        """Whether this layer or one below asks for an end, or the session is closed."""
        if self._check_stop():
            return True
        if self._sess is None:
            return True
        return isinstance(self._sess, WrappedSession) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        """Whether this layer itself asks for an end."""
        return False

    def close(self) -> None:
        if self._sess is not None:
            try:
                self._sess.close()
            except PREEMPTION_ERRORS as error:
                log.error("An error occurred when attempting to close the session: %s", error)
            finally:
                self._sess = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Callable[[Any], Any], raw_session: Any, make_context: Callable[..., Any]) -> Any:
        """Calls the function with a context whose ``run_with_hooks`` is this layer's ``run``."""
        return step_fn(make_context(raw_session, self.run))


# ---- recovery


class RecoverableSession(WrappedSession):
    """Makes a new session and runs the step again when a task was lost."""

    def __init__(self, creator: Any) -> None:
        self._creator = creator
        super().__init__(self._create_session())

    def _create_session(self) -> Any:
        while True:
            try:
                return self._creator.create_session()
            except PREEMPTION_ERRORS as error:
                log.info(
                    "An error was raised while a session was being created. This may be due to a preemption of a connected "
                    "worker or parameter server. A new session will be created. " + _ADVICE,
                    error,
                )

    def _check_stop(self) -> bool:
        if self._sess is None:
            return True
        try:
            return isinstance(self._sess, WrappedSession) and bool(self._sess._check_stop())
        except PREEMPTION_ERRORS as error:
            log.info(
                "An error was raised while considering whether the session is complete. This may be due to a preemption in a "
                "connected worker or parameter server. The current session will be closed and a new session will be created. "
                + _ADVICE,
                error,
            )
            self._note_loss()
            self.close()
            self._sess = self._create_session()
            return False
        except Exception:  # `close` raises it
            return True

    def _note_loss(self) -> None:
        if isinstance(self._sess, CoordinatedSession):  # a creator of the user's may make others
            self._sess.note_loss()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._again(lambda: self._sess.run(*args, **kwargs))

    def run_step_fn(self, step_fn: Callable[[Any], Any], raw_session: Any, make_context: Callable[..., Any]) -> Any:
        def call() -> Any:
            return self._sess.run_step_fn(step_fn, self._creator.tf_sess, make_context)

        return self._again(call)

    def _again(self, call: Callable[[], Any]) -> Any:
        while True:
            if self._sess is None:
                self._sess = self._create_session()
            try:
                return call()
            except PREEMPTION_ERRORS as error:
                log.info(
                    "An error was raised. This may be due to a preemption in a connected worker or parameter server. The "
                    "current session will be closed and a new session will be created. " + _ADVICE,
                    error,
                )
                self._note_loss()
                self.close()  # joins its threads; what they report of the loss is logged


# ---- threads


class CoordinatedSessionCreator:
    """Makes a session, starts the graph's queue runners, tells the hooks, and wraps it."""

    def __init__(self, creator: Any, hooks: Sequence[Any], stop_grace_period_secs: float) -> None:
        self._creator = creator
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.coord: Coordinator | None = None
        self.tf_sess: Any = None

    @doing(Doing.MAKING)
    def create_session(self) -> CoordinatedSession:
        self.tf_sess = self._creator.create_session()
        self.coord = Coordinator(clean_stop_exception_types=[])  # the caller of run is told of the end of the input
        if self.tf_sess.graph.get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(sess=self.tf_sess, coord=self.coord)
        session = CoordinatedSession(HookedSession(self.tf_sess, self._hooks), self.coord, self._stop_grace_period_secs)
        try:
            for hook in self._hooks:
                hook.after_create_session(self.tf_sess, self.coord)
        except BaseException:
            session.abandon()
            raise
        return session


class CoordinatedSession(WrappedSession):
    """Ends with the threads of a coordinator: their first error is raised by ``run`` or ``close``."""

    def __init__(self, sess: Any, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            try:
                super().close()
            except Exception as error:  # `join` has raised what matters
                log.debug("Ignored while closing the session: %s", error)

    def note_loss(self) -> None:
        """A task was lost: the queues that the threads fill stay open for the next session."""
        self._coord.note_lost_session()

    def abandon(self) -> None:
        """Closes after an error that is raised already."""
        try:
            self.close()
        except Exception as error:
            log.debug("Ignored while closing the session: %s", error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._sess.run(*args, **kwargs)
        except PREEMPTION_ERRORS:
            raise
        except Exception as error:
            # A thread that fails closes its queue.  Its error is the cause, that of the step the consequence.
            try:
                self._coord.raise_requested_exception()
            except PREEMPTION_ERRORS:
                raise
            except Exception as cause:
                if cause is not error:
                    raise cause from None
            raise


# ---- hooks


class HookedSession(WrappedSession):
    """Calls hooks before and after each run, with their fetches, feeds and options merged into it."""

    def __init__(self, sess: Any, hooks: Sequence[Any]) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False
        self._no_options, self._no_metadata = RunOptions(), RunMetadata()  # making them takes longer than a small step

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        if self._should_stop:
            raise RuntimeError(
                f"Run called even after should_stop requested. End the loop when should_stop() is true {at()}"
            )
        run_context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        requests = [_checked_request(hook, hook.before_run(run_context)) for hook in self._hooks]
        feeds = _merged_feeds([r.feed_dict for r in requests if r is not None and r.feed_dict], feed_dict)
        options = _merged_options(options, [r.options for r in requests if r is not None and r.options is not None])
        metadata = run_metadata
        if options is None:
            options = self._no_options
        if metadata is None:
            metadata = RunMetadata() if options.trace_level else self._no_metadata
        fetches_of_hooks = {i: r.fetches for i, r in enumerate(requests) if r is not None and r.fetches is not None}
        value, results = self._sess.run(
            (fetches, fetches_of_hooks), feed_dict=feeds, options=options, run_metadata=metadata
        )
        for i, hook in enumerate(self._hooks):
            hook.after_run(run_context, SessionRunValues(results.get(i), options, metadata))
        self._should_stop = self._should_stop or run_context.stop_requested
        return value


def _checked_request(hook: Any, request: Any) -> SessionRunArgs | None:
    if request is None or hasattr(request, "fetches"):
        return request  # type: ignore[no-any-return]
    raise TypeError(
        f"before_run of {type(hook).__name__} must return a tf.train.SessionRunArgs or None, got {request!r} {at()}"
    )


def _merged_feeds(of_hooks: list[Any], of_caller: Any) -> Any:
    if not of_hooks:
        return of_caller
    merged: dict[Any, Any] = {}
    for feeds in of_hooks:
        _check_not_fed_twice(feeds, merged, "Same tensor is fed by two hooks.")
        merged.update(feeds)
    if of_caller:
        _check_not_fed_twice(of_caller, merged, "Same tensor is fed by a SessionRunHook and user.")
        merged.update(of_caller)
    return merged


def _check_not_fed_twice(feeds: Any, merged: dict[Any, Any], message: str) -> None:
    twice = [key for key in feeds if key in merged]
    if twice:
        raise RuntimeError(f"{message} Conflict(s): {twice} {at()}")


def _merged_options(of_caller: RunOptions | None, of_hooks: list[RunOptions]) -> RunOptions | None:
    """The most of what anyone asks for; the caller's message stays as it is."""
    if not of_hooks:
        return of_caller
    merged = RunOptions()
    for options in [*([] if of_caller is None else [of_caller]), *of_hooks]:
        merged.trace_level = max(merged.trace_level, options.trace_level)
        merged.timeout_in_ms = max(merged.timeout_in_ms, options.timeout_in_ms)
        if options.inter_op_thread_pool > 0:
            merged.inter_op_thread_pool = options.inter_op_thread_pool
        merged.output_partition_graphs = merged.output_partition_graphs or options.output_partition_graphs
        merged.debug_options.debug_tensor_watch_opts.extend(options.debug_options.debug_tensor_watch_opts)
        if options.report_tensor_allocations_upon_oom:
            merged.report_tensor_allocations_upon_oom = True
    return merged


# TensorFlow's names for the layers, which tests of programs and subclasses use.
_WrappedSession = WrappedSession
_RecoverableSession = RecoverableSession
_CoordinatedSession = CoordinatedSession
_HookedSession = HookedSession
_PREEMPTION_ERRORS = PREEMPTION_ERRORS
