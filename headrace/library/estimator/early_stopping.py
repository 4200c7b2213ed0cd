"""Hooks that end a training early: when a function says so, or when a metric of the evaluations does not get better.

The chief asks and sets a variable, ``signal_early_stopping/STOP``, which the other workers read.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes, file
from headrace.core.source import at
from headrace.graph.collection import GraphKeys
from headrace.library import log
from headrace.library.estimator.estimator import Estimator
from headrace.library.state import assign
from headrace.library.state.global_step import get_global_step
from headrace.library.state.initializers import Constant
from headrace.library.state.variable_scope import AUTO_REUSE, get_variable, variable_scope
from headrace.library.train.hook.timer import SecondOrStepTimer
from headrace.library.train.session.run_hook import SessionRunArgs, SessionRunHook
from headrace.resources.file.event_file import summary_iterator

Better = Callable[[Any, Any], bool]


def _stop_variable() -> Any:
    with variable_scope("signal_early_stopping", reuse=AUTO_REUSE):
        return get_variable(
            "STOP", shape=[], dtype=dtypes.bool, initializer=Constant(False), trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
        )  # fmt: skip


class _StopOnPredicateHook(SessionRunHook):
    """Asks the function now and then, and tells all workers."""

    def __init__(self, should_stop_fn: Callable[[], bool], run_every_secs: Any, run_every_steps: Any) -> None:
        if not callable(should_stop_fn):
            raise TypeError(f"`should_stop_fn` must be callable, got {should_stop_fn!r} {at()}")
        self._should_stop_fn = should_stop_fn
        self._timer = SecondOrStepTimer(every_secs=run_every_secs, every_steps=run_every_steps)

    def begin(self) -> None:
        self._global_step = get_global_step()
        self._stop_op = assign.assign(_stop_variable(), True)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = run_values.results
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop_fn():
            log.info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._stop_op)
            run_context.request_stop()


class _CheckForStoppingHook(SessionRunHook):
    """Ends this worker's training when the chief has said so."""

    def begin(self) -> None:
        self._stop = _stop_variable()

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._stop)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results:
            log.info("Early stopping requested, suspending run.")
            run_context.request_stop()


def make_early_stopping_hook(
    estimator: Estimator, should_stop_fn: Callable[[], bool], run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    """A hook that ends the training of all workers when a function says so.

    Args:
      estimator: The estimator that is trained.
      should_stop_fn: A function of nothing; True ends the training. It is called by the chief.
      run_every_secs: Seconds between two calls. One of the two must be None.
      run_every_steps: Steps between two calls.

    Returns:
      A hook.

    >>> estimator = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], model_dir="/tmp/model")
    >>> hook = tf.estimator.experimental.make_early_stopping_hook(estimator, lambda: False)
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)} {at()}")
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError(f"Only one of `run_every_secs` and `run_every_steps` must be set. {at()}")
    if estimator.config.is_chief:
        return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps)
    return _CheckForStoppingHook()


def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, float]]:
    """What evaluations have written to the event files of a folder.

    Args:
      eval_dir: The folder, such as ``estimator.eval_dir()``.

    Returns:
      A dictionary from steps, in order, to dictionaries from names of metrics to numbers.

    >>> tf.contrib.estimator.read_eval_metrics("/tmp/headrace_doctest_nothing")
    {}
    """
    metrics: dict[int, dict[str, float]] = {}
    for path in sorted(file.matching(os.path.join(eval_dir, "*.tfevents.*"))):
        for event in summary_iterator(path):
            values = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
            if values:
                metrics.setdefault(event.step, {}).update(values)
    return dict(sorted(metrics.items()))


def _read(estimator: Estimator, eval_dir: str | None, min_steps: int, metric_name: str) -> list[tuple[int, float]]:
    found = read_eval_metrics(eval_dir or estimator.eval_dir())
    for step, metrics in found.items():
        if step >= min_steps and metric_name not in metrics:
            raise KeyError(f"the evaluation at step {step} has no metric {metric_name!r}; it has {sorted(metrics)}")
    return [(step, metrics[metric_name]) for step, metrics in found.items() if step >= min_steps]


def _crossed(
    better: Better, estimator: Estimator, metric_name: str, threshold: float, eval_dir: str | None, min_steps: int
) -> Callable[[], bool]:
    def should_stop() -> bool:
        for step, value in _read(estimator, eval_dir, min_steps, metric_name):
            if better(value, threshold):
                log.info("At step %s, metric %r has value %s (threshold %s).", step, metric_name, value, threshold)
                return True
        return False

    return should_stop


def _no_progress(
    better: Better, estimator: Estimator, metric_name: str, most_steps: int, eval_dir: str | None, min_steps: int
) -> Callable[[], bool]:
    def should_stop() -> bool:
        best: tuple[int, float] | None = None
        for step, value in _read(estimator, eval_dir, min_steps, metric_name):
            if best is None or better(value, best[1]):
                best = step, value
            elif step - best[0] >= most_steps:
                log.info("No better %r for %s steps; the best is %s, at step %s.", metric_name, most_steps, *best[::-1])
                return True
        return False

    return should_stop


_HELP = """A hook that ends the training {when}.

Args:
  estimator: The estimator that is trained; its evaluations must write to a folder (`tf.estimator.train_and_evaluate`).
  metric_name: The name of the metric in the evaluations.
  {limit}
  eval_dir: The folder of the evaluations; None for ``estimator.eval_dir()``.
  min_steps: Evaluations before this step do not count.
  run_every_secs: Seconds between two looks. One of the two must be None.
  run_every_steps: Steps between two looks.

Returns:
  A hook.

>>> estimator = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], model_dir="/tmp/model")
>>> hook = tf.estimator.experimental.{name}(estimator, "loss", 10)
"""
_THRESHOLD = "threshold: The value that is not to be crossed."


def _documented(hook: Any, when: str, limit: str) -> None:
    hook.__doc__ = _HELP.format(when=when, limit=limit, name=hook.__name__)


def stop_if_higher_hook(
    estimator: Estimator, metric_name: str, threshold: float, eval_dir: str | None = None, min_steps: int = 0,
    run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    reached = _crossed(operator.gt, estimator, metric_name, threshold, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, reached, run_every_secs, run_every_steps)


def stop_if_lower_hook(
    estimator: Estimator, metric_name: str, threshold: float, eval_dir: str | None = None, min_steps: int = 0,
    run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    reached = _crossed(operator.lt, estimator, metric_name, threshold, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, reached, run_every_secs, run_every_steps)


def stop_if_no_increase_hook(
    estimator: Estimator, metric_name: str, max_steps_without_increase: int, eval_dir: str | None = None,
    min_steps: int = 0, run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    stuck = _no_progress(operator.gt, estimator, metric_name, max_steps_without_increase, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stuck, run_every_secs, run_every_steps)


def stop_if_no_decrease_hook(
    estimator: Estimator, metric_name: str, max_steps_without_decrease: int, eval_dir: str | None = None,
    min_steps: int = 0, run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    stuck = _no_progress(operator.lt, estimator, metric_name, max_steps_without_decrease, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stuck, run_every_secs, run_every_steps)


_documented(stop_if_higher_hook, "when a metric of the evaluations is above a threshold", _THRESHOLD)
_documented(stop_if_lower_hook, "when a metric of the evaluations is below a threshold", _THRESHOLD)
for _hook, _word in ((stop_if_no_increase_hook, "increase"), (stop_if_no_decrease_hook, "decrease")):
    _documented(
        _hook, f"when a metric of the evaluations does not {_word} any more",
        f"max_steps_without_{_word}: The steps that it may take from the best evaluation to the next one that is better.",
    )  # fmt: skip
