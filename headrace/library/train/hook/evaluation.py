"""Hooks of evaluations: StopAfterNEvalsHook, SummaryAtEndHook, and the variable that counts their steps."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library import log
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable_scope import get_variable
from headrace.library.summary.summary import merge_all
from headrace.library.train.hook.event_writer import event_writer
from headrace.library.train.hook.step import checked_global_step
from headrace.library.train.session.run_hook import (
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


def get_or_create_eval_step() -> Any:
    """The local variable that counts the steps of an evaluation.

    Returns:
      An int64 variable in the collections LOCAL_VARIABLES and EVAL_STEP.

    >>> tf.contrib.training.get_or_create_eval_step().name
    'eval_step:0'
    """
    graph = context.get_default_graph()
    steps = graph.get_collection(GraphKeys.EVAL_STEP)
    if len(steps) > 1:
        raise ValueError(f"Multiple tensors added to tf.GraphKeys.EVAL_STEP: {steps} {at()}")
    if steps:
        return steps[0]
    with graph.name_scope(None):
        return get_variable(
            GraphKeys.EVAL_STEP, shape=[], dtype=dtypes.int64, initializer=Zeros(), trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
        )  # fmt: skip


class StopAfterNEvalsHook(SessionRunHook):
    """Asks for an end after ``num_evals`` runs of an evaluation; None: when the input ends.

    Args:
      num_evals: How many runs to make; None for no limit.
      log_progress: Whether to log how many runs are done, ten times in all, or after each without a limit.

    >>> one = tf.constant(1)
    >>> with tf.train.MonitoredSession(hooks=[tf.contrib.training.StopAfterNEvalsHook(2)]) as sess:
    ...     while not sess.should_stop():
    ...         print(sess.run(one))
    1
    1
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals = num_evals
        self._log_progress = log_progress
        self._log_frequency = max(num_evals // 10, 1) if num_evals else 1
        self._evals_completed = 0

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._evals_completed = 0

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._evals_completed = completed = self._evals_completed + 1
        if self._log_progress:
            if self._num_evals is None:
                log.info("Evaluation [%d]", completed)
            elif completed % self._log_frequency == 0 or self._num_evals == completed:
                log.info("Evaluation [%d/%d]", completed, self._num_evals)
        if self._num_evals is not None and completed >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes ``summary_op`` (default: all summaries) once, at the end, to ``summary_writer`` or the event file of ``log_dir``.

    Args:
      log_dir: The folder of an event file.  Exactly one of `log_dir` and `summary_writer` must be given.
      summary_writer: A `tf.summary.FileWriter`.
      summary_op: The summary to compute at the end; None for all summaries of the graph, merged.
      feed_dict: What to feed when the summary is computed.

    Example: ``tf.contrib.training.SummaryAtEndHook(log_dir="/tmp/model/eval")``
    """

    def __init__(
        self, log_dir: Any = None, summary_writer: Any = None, summary_op: Any = None, feed_dict: Any = None
    ) -> None:
        if summary_writer is not None and log_dir is not None:
            raise ValueError(f"Either log_dir or summary_writer is allowed, not both {at()}")
        if summary_writer is None and log_dir is None:
            raise ValueError(f"Either log_dir or summary_writer should be provided {at()}")
        self._summary_op = summary_op
        self._replace_summary_op = summary_op is None
        self._feed_dict = feed_dict
        self._summary_writer = summary_writer
        self._log_dir = log_dir

    def begin(self) -> None:
        if self._replace_summary_op:  # the graph may be another one than in the evaluation before
            self._summary_op = merge_all()
        self._global_step = checked_global_step(self)

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._summary_writer is None and self._log_dir:
            self._summary_writer = event_writer(self._log_dir)

    def end(self, session: Any) -> None:
        if self._summary_op is not None and self._summary_writer is not None:
            step = session.run(self._global_step)
            self._summary_writer.add_summary(session.run(self._summary_op, self._feed_dict), step)
        if self._summary_writer is not None:
            self._summary_writer.flush()
