"""tf.train.StepCounterHook: steps per second, in the log and in the event file."""

from __future__ import annotations

from typing import Any

from headrace.core import event
from headrace.core.source import at
from headrace.library import log
from headrace.library.train.hook.event_writer import event_writer
from headrace.library.train.hook.step import checked_global_step
from headrace.library.train.hook.timer import SecondOrStepTimer
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

_MOST_WARNINGS = 5


class StepCounterHook(SessionRunHook):
    """Logs steps per second every ``every_n_steps`` steps or ``every_n_secs`` seconds, and writes them as a summary.

    The summary goes to ``summary_writer``, or to the event file of ``output_dir``; without both it is only logged.

    Args:
      every_n_steps: Global steps between two logs.  Exactly one of `every_n_steps` and `every_n_secs` must be given.
      every_n_secs: Seconds between two logs; pass ``every_n_steps=None`` with it.
      output_dir: The folder of an event file, for the summary "global_step/sec".
      summary_writer: A `tf.summary.FileWriter` to use in place of `output_dir`.

    Example: ``tf.train.StepCounterHook(every_n_steps=500, output_dir="/tmp/model")``
    """

    def __init__(
        self, every_n_steps: int | None = 100, every_n_secs: float | None = None, output_dir: Any = None,
        summary_writer: Any = None,
    ) -> None:  # fmt: skip
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError(f"exactly one of every_n_steps and every_n_secs should be provided. {at()}")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._last_global_step: Any = None
        self._warnings = 0

    def begin(self) -> None:
        self._global_step_tensor = checked_global_step(self)
        self._summary_tag = f"{self._global_step_tensor.op.name}/sec"
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = event_writer(self._output_dir)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        stale_step = run_values.results
        if self._timer.should_trigger_for_step(stale_step + 1):
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None:
                    self._log_and_record(seconds, steps, step)
        self._warn_if_not_counted(stale_step)

    def _log_and_record(self, elapsed_time: float, elapsed_steps: Any, global_step: Any) -> None:
        """Called when steps per second are known; a subclass may do something else with them."""
        per_second = elapsed_steps / elapsed_time
        log.info("%s: %g", self._summary_tag, per_second)
        if self._summary_writer is not None:
            self._summary_writer.add_summary(event.scalar(self._summary_tag.encode(), per_second), global_step)

    def _warn_if_not_counted(self, step: Any) -> None:
        """A global step that nobody increases is a mistake: hooks would never be due."""
        if step == self._last_global_step and self._warnings < _MOST_WARNINGS:
            self._warnings += 1
            log.warning(
                "It seems that global step (tf.train.get_global_step) has not been increased. Current value (could be stable): "
                "%s vs previous value: %s. You could increase the global step by passing tf.train.get_global_step() to "
                "Optimizer.apply_gradients or Optimizer.minimize.",
                step,
                self._last_global_step,
            )
        self._last_global_step = step

    def end(self, session: Any) -> None:
        if self._summary_writer is not None:
            self._summary_writer.flush()
