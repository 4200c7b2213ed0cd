"""Hooks about the global step: StopAtStepHook, GlobalStepWaiterHook, and how hooks find it."""

from __future__ import annotations

import time
from typing import Any

from headrace.core.source import at
from headrace.library import log
from headrace.library.state.global_step import get_global_step
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

_WAITER_POLL_SECS = 0.5


def checked_global_step(hook: SessionRunHook) -> Any:
    """The global step of the default graph; a hook cannot work without one."""
    step = get_global_step()
    if step is None:
        raise RuntimeError(
            f"Global step should be created to use {type(hook).__name__}. Call tf.train.get_or_create_global_step(), and pass "
            f"it to the optimizer's minimize {at()}"
        )
    return step


class StopAtStepHook(SessionRunHook):
    """Asks for an end after ``num_steps`` more steps, or when the global step reaches ``last_step``.

    Args:
      num_steps: How many steps to make from where the session starts.  Exactly one of the two must be given.
      last_step: The global step at which to stop; a session that restores a later one stops after one run.

    >>> train = tf.train.get_or_create_global_step().assign_add(1)
    >>> with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(num_steps=2)]) as sess:
    ...     while not sess.should_stop():
    ...         print(sess.run(train))
    1
    2
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError(f"One of num_steps or last_step must be specified. {at()}")
        if num_steps is not None and last_step is not None:
            raise ValueError(f"Only one of num_steps or last_step can be specified. {at()}")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        self._global_step_tensor = checked_global_step(self)

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = session.run(self._global_step_tensor) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        assert self._last_step is not None
        # The run may have read the step before or after it was counted, or not have counted it at all.
        if run_values.results + 1 >= self._last_step:
            if run_context.session.run(self._global_step_tensor) >= self._last_step:
                run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Holds back the first run until others have brought the global step to ``wait_until_step``.

    Args:
      wait_until_step: The global step to wait for; 0 or less to wait for nothing.

    Example: ``tf.train.GlobalStepWaiterHook(wait_until_step=1000 * task_index)``
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._worker_is_started = False
        self._global_step_tensor = checked_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> None:
        if self._worker_is_started:
            return
        if self._wait_until_step <= 0:
            self._worker_is_started = True
            return
        log.info("Waiting for global step %d before starting training.", self._wait_until_step)
        logged = 0
        while True:
            step = run_context.session.run(self._global_step_tensor)
            if step >= self._wait_until_step:
                self._worker_is_started = True
                return
            if step - logged > 1000:
                log.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step,
                    step,
                )
                logged = step
            time.sleep(_WAITER_POLL_SECS)
