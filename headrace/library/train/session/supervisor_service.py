"""The services of a `Supervisor`: threads that save checkpoints, write summaries, and write steps per second."""

from __future__ import annotations

import time
from typing import Any

from headrace.core import event
from headrace.library import log
from headrace.library.state.global_step import global_step as step_of
from headrace.library.train.hook.event_writer import add_session_log
from headrace.library.train.looper_thread import LooperThread


class SVSummaryThread(LooperThread):
    """Writes the summaries every ``save_summaries_secs``."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        step = None
        if self._sv.global_step is not None:
            summary, step = self._sess.run([self._sv.summary_op, self._sv.global_step])
        else:
            summary = self._sess.run(self._sv.summary_op)
        if self._sv.summary_writer is not None:
            log.info("Recording summary at step %s.", step)
            self._sv.summary_writer.add_summary(summary, step)


class SVStepCounterThread(LooperThread):
    """Writes and logs steps per second every ``save_summaries_secs``."""

    def __init__(self, sv: Any, sess: Any, step_counter: Any = None) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"
        self._last_time = 0.0
        self._last_step = 0

    def start_loop(self) -> None:
        self._last_time = time.monotonic()
        self._last_step = step_of(self._sess, self._step_counter)

    def run_loop(self) -> None:
        step, now = step_of(self._sess, self._step_counter), time.monotonic()
        elapsed = now - self._last_time
        per_second = (step - self._last_step) / elapsed if elapsed > 0 else float("inf")
        self._last_step, self._last_time = step, now
        if self._sv.summary_writer is not None:
            self._sv.summary_writer.add_summary(event.scalar(self._summary_tag.encode(), per_second), step)
        log.info("%s: %g", self._summary_tag, per_second)


class SVTimerCheckpointThread(LooperThread):
    """Saves a checkpoint every ``save_model_secs``, the first immediately."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        log.info("Saving checkpoint to path %s", self._sv.save_path)
        self._sv.saver.save(self._sess, self._sv.save_path, global_step=self._sv.global_step)
        if self._sv.summary_writer is not None and self._sv.global_step is not None:
            step = step_of(self._sess, self._sv.global_step)
            try:
                add_session_log(self._sv.summary_writer, step, "CHECKPOINT", self._sv.save_path)
            except ImportError as error:  # the checkpoint itself is there
                log.debug("Not written to the event file: %s", error)
