"""tf.train.ProfilerHook: traces one run every so often, for ``chrome://tracing`` and TensorBoard."""

from __future__ import annotations

import os
from typing import Any

from headrace.core import file
from headrace.core.config import RunOptions
from headrace.library import log
from headrace.library.testing.profiler.timeline import Timeline
from headrace.library.train.hook.event_writer import event_writer
from headrace.library.train.hook.step import checked_global_step
from headrace.library.train.hook.timer import SecondOrStepTimer
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


class ProfilerHook(SessionRunHook):
    """Writes ``timeline-STEP.json`` to ``output_dir`` every ``save_steps`` steps or ``save_secs`` seconds.

    The run is traced (``RunOptions.FULL_TRACE``), which makes it slower; the others are not.  The trace also goes to the event
    file.

    Args:
      save_steps: Global steps between two traced runs.  Exactly one of `save_steps` and `save_secs` must be given.
      save_secs: Seconds between two traced runs.
      output_dir: The folder for the timelines; the working directory by default.
      show_dataflow: Whether the timeline has arrows from each op to those that use its outputs.
      show_memory: Whether the timeline has a counter of the memory in use.

    Example: ``tf.train.ProfilerHook(save_steps=500, output_dir="/tmp/model")``
    """

    def __init__(
        self, save_steps: int | None = None, save_secs: float | None = None, output_dir: str = "",
        show_dataflow: bool = True, show_memory: bool = False,
    ) -> None:  # fmt: skip
        self._output_dir = output_dir
        self._output_file = os.path.join(output_dir, "timeline-{}.json")
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        self._next_step: Any = None
        self._global_step_tensor = checked_global_step(self)
        self._file_writer = event_writer(self._output_dir or ".")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._request_summary = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._request_summary else None
        return SessionRunArgs({"global_step": self._global_step_tensor}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        stale_step = run_values.results["global_step"]
        if self._next_step is None:  # the first run is not traced: it plans
            self._timer.update_last_triggered_step(stale_step)
        step = stale_step + 1
        if self._request_summary:
            step = run_context.session.run(self._global_step_tensor)
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata)
        self._next_step = step + 1

    def end(self, session: Any) -> None:
        if self._file_writer is not None:
            self._file_writer.flush()

    def _save(self, step: Any, run_metadata: Any) -> None:
        path = self._output_file.format(step)
        log.info("Saving timeline for %d into '%s'.", step, path)
        trace = Timeline(run_metadata.step_stats).generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        if self._output_dir:
            file.make_folder(self._output_dir)
        with file.open_file(path, "wb") as out:
            out.write(trace.encode())
        if self._file_writer is not None:
            self._file_writer.add_run_metadata(run_metadata, f"step_{step}")
