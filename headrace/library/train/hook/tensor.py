"""Hooks that look at tensors: LoggingTensorHook, NanTensorHook, FinalOpsHook, and FeedFnHook, which sets them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.core.errors import OutOfRangeError
from headrace.core.source import at
from headrace.graph import context
from headrace.library import log
from headrace.library.train.hook.timer import NeverTriggerTimer, SecondOrStepTimer
from headrace.library.train.session.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors every ``every_n_iter`` runs or ``every_n_secs`` seconds, or with ``at_end`` at the end.

    ``tensors`` is a list of tensors or names, or a dict from tags.  ``formatter`` makes the text from a dict of values.

    Args:
      tensors: A list of tensors or their names, or a dict from tags to them.
      every_n_iter: Runs between two logs.  Pass this or `every_n_secs`, or neither with `at_end`.
      every_n_secs: Seconds between two logs.
      at_end: Whether to log once more when the session ends.
      formatter: A function from a dict of tags and values to the text to log; None for ``tag = value, ...``.

    >>> tf.logging.set_verbosity(tf.logging.INFO)
    >>> loss = tf.constant(0.25)
    >>> with tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook({'loss': loss}, every_n_iter=10)]) as sess:
    ...     value = sess.run(loss)  # INFO:tensorflow:loss = 0.25
    >>> tf.logging.set_verbosity(tf.logging.WARN)
    """

    def __init__(
        self, tensors: Any, every_n_iter: int | None = None, every_n_secs: float | None = None, at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], Any] | None = None,
    ) -> None:  # fmt: skip
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                f"either at_end and/or exactly one of every_n_iter and every_n_secs must be provided. {at()}"
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}. It must be at least 1 {at()}")
        if not isinstance(tensors, Mapping):
            if isinstance(tensors, (str, bytes)) or not hasattr(tensors, "__iter__"):
                raise TypeError(f"tensors must be a list or dict of tensors or their names, got {tensors!r} {at()}")
            self._tag_order = list(tensors)
            tensors = {item: item for item in self._tag_order}
        else:
            self._tag_order = sorted(tensors)
        self._tensors = dict(tensors)
        self._formatter = formatter
        self._timer: Any = (
            NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )
        self._log_at_end = at_end

    def begin(self) -> None:
        self._timer.reset()
        self._iter_count = 0
        graph = context.get_default_graph()
        self._current_tensors = {tag: graph.as_graph_element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: Any) -> None:
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))

    def _log_tensors(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._iter_count)
        if self._formatter is not None:
            log.info("%s", self._formatter(values))
            return
        with np.printoptions(suppress=True):
            text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tag_order)
        log.info("%s", text if seconds is None else f"{text} ({seconds:.3f} sec)")


class NanLossDuringTrainingError(RuntimeError):
    """The loss became NaN: raised by `NanTensorHook`."""

    def __init__(self, message: str = "NaN loss during training.") -> None:
        super().__init__(message)

    def __str__(self) -> str:
        return str(self.args[0])


class NanTensorHook(SessionRunHook):
    """Watches a loss: when it is NaN, raises `NanLossDuringTrainingError`, or with ``fail_on_nan_loss=False`` ends the loop.

    Args:
      loss_tensor: The scalar to watch.
      fail_on_nan_loss: Whether NaN is an error; if False it is logged and ends the training.

    >>> loss = tf.constant(float('nan'))
    >>> with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss)]) as sess:
    ...     value = sess.run(loss)
    Traceback (most recent call last):
    NanLossDuringTrainingError: NaN loss during training.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.any(np.isnan(run_values.results)):
            return
        if self._fail_on_nan_loss:
            log.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        log.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Evaluates ``final_ops`` at the end; the values are in `final_ops_values`.

    Args:
      final_ops: A tensor, or a list or dict of tensors.
      final_ops_feed_dict: What to feed when they are computed.

    >>> total = tf.Variable(0)
    >>> hook = tf.train.FinalOpsHook(total)
    >>> add = total.assign_add(2)
    >>> with tf.train.MonitoredSession(hooks=[hook]) as sess:
    ...     value = sess.run(add)
    >>> print(hook.final_ops_values)
    2
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._final_ops_feed_dict = final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values; None until the session has ended."""
        return self._final_ops_values

    def end(self, session: Any) -> None:
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(self._final_ops, feed_dict=self._final_ops_feed_dict)
        except (OutOfRangeError, StopIteration) as error:
            log.warning(
                "An OutOfRangeError or StopIteration exception is raised by the code in FinalOpsHook. This typically means the "
                "Ops running by the FinalOpsHook have a dependency back to some input source, which should not happen. For "
                "example, for metrics, fetch the value and run the update in the loop. Error: %s",
                error,
            )
            raise


class FeedFnHook(SessionRunHook):
    """Feeds what ``feed_fn()`` returns, a dict, in each run.

    Args:
      feed_fn: A function without arguments that returns a dict from tensors to values; it is called before each run.

    >>> x = tf.placeholder(tf.int32, [])
    >>> twice = 2 * x
    >>> with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: 3})]) as sess:
    ...     print(sess.run(twice))
    6
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]) -> None:
        if not callable(feed_fn):
            raise TypeError(f"feed_fn must be a function that returns a dict to feed, got {feed_fn!r} {at()}")
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        feeds = self.feed_fn()
        if not isinstance(feeds, Mapping):
            raise TypeError(f"feed_fn must return a dict to feed, got {feeds!r} {at()}")
        return SessionRunArgs(fetches=None, feed_dict=feeds)
