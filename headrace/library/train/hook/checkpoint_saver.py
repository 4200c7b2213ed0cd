"""tf.train.CheckpointSaverHook: saves checkpoints every so often, at the beginning and at the end; and those who listen to it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library import log
from headrace.library.summary.file_writer import FileWriter
from headrace.library.system.graph_util import write_graph
from headrace.library.train.hook.event_writer import add_session_log, event_writer
from headrace.library.train.hook.step import checked_global_step
from headrace.library.train.hook.timer import SecondOrStepTimer
from headrace.library.train.saver.meta_graph import export_meta_graph
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


def wait_for_saver(saver: Any) -> None:
    """Waits for a saver that writes in the background; others have written when `save` returns."""
    wait = getattr(saver, "wait", None)
    if wait is not None:
        wait()


class CheckpointSaverListener:
    """Something to do around each checkpoint of a `CheckpointSaverHook`.  Override what you need; these methods do nothing.

    >>> class Report(tf.train.CheckpointSaverListener):
    ...     def after_save(self, session, global_step_value):
    ...         print('saved at step', global_step_value)
    """

    def begin(self) -> None:
        """Called before the session is made: the last chance to add nodes to the graph."""

    def before_save(self, session: Any, global_step_value: Any) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: Any, global_step_value: Any) -> Any:
        """Called when a checkpoint is on the disk; returning True ends the training."""

    def end(self, session: Any, global_step_value: Any) -> None:
        """Called at the end, after the last checkpoint."""


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint to ``checkpoint_dir`` every ``save_secs`` seconds or ``save_steps`` steps.

    There is also one when a session has been made and one at the end.  The saver is ``saver``, that of ``scaffold``, or the only
    one in the graph's collection.  The graph goes to ``graph.pbtxt`` and to the event file.

    Args:
      checkpoint_dir: The folder to save to.
      save_secs: Seconds between two checkpoints.  Exactly one of `save_secs` and `save_steps` must be given.
      save_steps: Global steps between two checkpoints.
      saver: A `tf.train.Saver`; None to take that of `scaffold`.  Pass at most one of the two.
      checkpoint_basename: The file names begin with it; the global step is added.
      scaffold: A `tf.train.Scaffold`, whose saver is used.
      listeners: `tf.train.CheckpointSaverListener` objects to call before and after each save.

    Example: ``tf.train.CheckpointSaverHook("/tmp/model", save_steps=1000)``
    """

    lease: Any = None  # of the job's chief: only its holder saves

    def __init__(
        self, checkpoint_dir: Any, save_secs: float | None = None, save_steps: int | None = None, saver: Any = None,
        checkpoint_basename: str = "model.ckpt", scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> None:  # fmt: skip
        log.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError(f"You cannot provide both saver and scaffold. {at()}")
        self._saver = saver
        self._checkpoint_dir = checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())

    def begin(self) -> None:
        self._global_step_tensor = checked_global_step(self)
        self._summary_writer = event_writer(self._checkpoint_dir)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        step = session.run(self._global_step_tensor)
        self._timer.update_last_triggered_step(step)
        if self._summary_writer is not None:
            self._write_graph(self._summary_writer)
        self._save(session, step)

    def _write_graph(self, writer: FileWriter) -> None:
        graph = context.get_default_graph()
        definition = graph.as_graph_def(add_shapes=True)
        write_graph(definition, self._checkpoint_dir, "graph.pbtxt")
        saver = self._get_saver()
        writer.add_graph(graph)
        writer.add_meta_graph(export_meta_graph(graph_def=definition, saver_def=saver.saver_def if saver else None))

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._scaffold is not None:
            self._scaffold.seen_step = run_values.results
        # The run may have read the step before it was counted.
        if self._timer.should_trigger_for_step(run_values.results + 1):
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session: Any) -> None:
        last_step = session.run(self._global_step_tensor)
        if last_step != self._timer.last_triggered_step():
            self._save(session, last_step)
        wait_for_saver(self._get_saver())
        for listener in self._listeners:
            listener.end(session, last_step)
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _save(self, session: Any, step: Any) -> bool:
        """Saves; returns whether a listener asks for an end."""
        confirm = None if self.lease is None else self.lease.fence()
        for listener in self._listeners:
            listener.before_save(session, step)
        log.info("Saving checkpoints for %d into %s.", step, self._save_path)
        saver = self._get_saver()
        with nullcontext() if confirm is None else saver._confirmed_by(confirm):
            saver.save(session, self._save_path, global_step=step)
        if self._summary_writer is not None:
            add_session_log(self._summary_writer, step, "CHECKPOINT", self._save_path)
        should_stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                log.info("A CheckpointSaverListener requested that training be stopped. listener: %s", listener)
                should_stop = True
        return should_stop

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = context.get_default_graph().get_collection(GraphKeys.SAVERS)
        if not savers:
            raise RuntimeError(
                f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection or provide a saver or "
                f"scaffold. {at()}"
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by passing it to the "
                f"constructor. {at()}"
            )
        self._saver = savers[0]
        return self._saver
