"""What a monitored session and its hooks say to each other: arguments, values and context of a run, and the hook itself."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.core.source import at


class SessionRunArgs(NamedTuple):
    """What a hook adds to a run: fetches of its own, values to feed, and options that are merged with those of the caller."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a hook sees after a run: the values of its fetches (None if it had none), the options and the metadata."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One call of ``MonitoredSession.run``, as its hooks see it.

    Args:
      original_args: A `tf.train.SessionRunArgs` with what was passed to ``run``.
      session: The session below the monitored one.

    >>> context = tf.train.SessionRunContext(tf.train.SessionRunArgs(fetches=None), session=None)
    >>> context.request_stop()
    >>> context.stop_requested
    True
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program passed to ``run``, without what hooks add."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session below: its ``run`` calls no hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has asked for an end."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Makes ``MonitoredSession.should_stop`` true after this run."""
        self._stop_requested = True


class SessionRunHook:
    """Something to do beside the steps of a monitored session.  Override what you need; these methods do nothing.

    The order is `begin`, `after_create_session`, then `before_run` and `after_run` for each run, then `end`.  A session that is
    recovered calls `after_create_session` again.  `end` is not called if an error ends the session.

    >>> class Count(tf.train.SessionRunHook):
    ...     runs = 0
    ...     def after_run(self, run_context, run_values):
    ...         self.runs += 1
    ...         if self.runs == 3:
    ...             run_context.request_stop()
    >>> one = tf.constant(1)
    >>> hook = Count()
    >>> with tf.train.MonitoredSession(hooks=[hook]) as sess:
    ...     while not sess.should_stop():
    ...         value = sess.run(one)
    >>> hook.runs
    3
    """

    def begin(self) -> None:
        """Called once, before the session is made: the last chance to add nodes to the graph."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when a session has been made, also after a failure; variables have values, the graph is final."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; returns what to add to it, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run with the values of what `before_run` asked for; not if the run raised an error."""

    def end(self, session: Any) -> None:
        """Called once when the session ends without an error, before it is closed."""


def checked_hooks(hooks: Any, what: str = "hooks") -> list[Any]:
    """The hooks as a list."""
    if hooks is None:
        return []
    if isinstance(hooks, SessionRunHook) or not hasattr(hooks, "__iter__"):
        raise TypeError(f"{what} must be a list of tf.train.SessionRunHook, got {hooks!r} {at()}")
    checked = list(hooks)
    for hook in checked:
        if not all(hasattr(hook, name) for name in ("begin", "after_create_session", "before_run", "after_run", "end")):
            raise TypeError(f"{what} must be a list of tf.train.SessionRunHook, but one of them is {hook!r} {at()}")
    return checked
