"""tf.train.SummarySaverHook: writes summaries to the event file every so often."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.train.hook.event_writer import add_session_log, event_writer
from headrace.library.train.hook.step import checked_global_step
from headrace.library.train.hook.timer import SecondOrStepTimer
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


class SummarySaverHook(SessionRunHook):
    """Writes ``summary_op`` (one or a list), or that of ``scaffold``, every ``save_steps`` steps or ``save_secs`` seconds.

    They go to ``summary_writer``, or to the event file of ``output_dir``.  The summaries are computed only in the runs that
    write them.

    Args:
      save_steps: Global steps between two writes.  Exactly one of `save_steps` and `save_secs` must be given.
      save_secs: Seconds between two writes.
      output_dir: The folder of an event file.
      summary_writer: A `tf.summary.FileWriter` to use in place of `output_dir`.
      scaffold: A `tf.train.Scaffold`, whose summary op is used.  Exactly one of `scaffold` and `summary_op` must be given.
      summary_op: A summary, or a list of them.

    Example: ``tf.train.SummarySaverHook(save_steps=100, output_dir="/tmp/model", summary_op=tf.summary.merge_all())``
    """

    def __init__(
        self, save_steps: int | None = None, save_secs: float | None = None, output_dir: Any = None,
        summary_writer: Any = None, scaffold: Any = None, summary_op: Any = None,
    ) -> None:  # fmt: skip
        if (scaffold is None) == (summary_op is None):
            raise ValueError(f"Exactly one of scaffold or summary_op must be provided. {at()}")
        self._summary_op = summary_op
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        self._next_step: Any = None
        self._global_step_tensor = checked_global_step(self)
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = event_writer(self._output_dir)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        requests: dict[str, Any] = {"global_step": self._global_step_tensor}
        if self._request_summary:
            summaries = self._summaries()
            if summaries:
                requests["summary"] = summaries
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._summary_writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._next_step is None or self._request_summary:
            step = run_context.session.run(self._global_step_tensor)
        if self._next_step is None:
            add_session_log(self._summary_writer, step, "START")
        if self._request_summary:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _summaries(self) -> list[Any]:
        """The nodes whose values are written."""
        op = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        if op is None:
            return []
        return list(op) if isinstance(op, (list, tuple)) else [op]
