"""``TPUEstimatorSpec``: what a model function for TPUs returns, and how it becomes an ``EstimatorSpec``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.library.estimator.estimator_spec import EstimatorSpec, checked_hooks
from headrace.library.estimator.mode_keys import MODES
from headrace.library.summary.summary_writer import flush, summary_writer_initializer_op
from headrace.library.train.session.run_hook import SessionRunArgs, SessionRunHook


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metrics: Any
    export_outputs: Any
    scaffold_fn: Any
    host_call: Any
    training_hooks: Any
    evaluation_hooks: Any
    prediction_hooks: Any


class TPUEstimatorSpec(_Fields):
    """The ops of a model in one mode, with what a TPU cannot compute given as functions.

    ``eval_metrics`` and ``host_call`` are pairs of a function and its arguments, a list or dictionary of tensors, whose first
    dimension is the batch.  Without a TPU the functions are called where the spec is made into an `tf.estimator.EstimatorSpec`.

    Args:
      mode: One of `tf.estimator.ModeKeys`.
      predictions: A tensor or a dict of tensors.
      loss: A scalar tensor.
      train_op: The op that takes a step of training.
      eval_metrics: A pair (function, tensors), whose function returns a dict of results of ``tf.metrics``.
      export_outputs: A dict of `tf.estimator.export.ExportOutput`.
      scaffold_fn: A function without arguments that returns a `tf.train.Scaffold`.
      host_call: A pair (function, tensors), whose function returns what is run with each step, such as summaries.
      training_hooks: Hooks for training.
      evaluation_hooks: Hooks for evaluation.
      prediction_hooks: Hooks for prediction.

    >>> spec = tf.contrib.tpu.TPUEstimatorSpec(
    ...     tf.estimator.ModeKeys.EVAL, loss=tf.constant(1.0),
    ...     eval_metrics=(lambda values: {"mean": tf.metrics.mean(values)}, [tf.constant([1.0, 3.0])]))
    >>> sorted(spec.as_estimator_spec().eval_metric_ops)
    ['mean']
    """

    __slots__ = ()

    def __new__(
        cls, mode: str, predictions: Any = None, loss: Any = None, train_op: Any = None, eval_metrics: Any = None,
        export_outputs: Any = None, scaffold_fn: Any = None, host_call: Any = None, training_hooks: Any = None,
        evaluation_hooks: Any = None, prediction_hooks: Any = None,
    ) -> TPUEstimatorSpec:  # fmt: skip
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(map(repr, MODES))}, got {mode!r} {at()}")
        _check_call("eval_metrics", eval_metrics)
        _check_call("host_call", host_call)
        if scaffold_fn is not None and not callable(scaffold_fn):
            raise TypeError(
                f"scaffold_fn must be a function that returns a tf.train.Scaffold, got {scaffold_fn!r} {at()}"
            )
        return super().__new__(
            cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn, host_call,
            checked_hooks("training_hooks", training_hooks), checked_hooks("evaluation_hooks", evaluation_hooks),
            checked_hooks("prediction_hooks", prediction_hooks),
        )  # fmt: skip

    def as_estimator_spec(self) -> EstimatorSpec:
        """Makes a `tf.estimator.EstimatorSpec` of it: calls ``eval_metrics``, ``host_call`` and ``scaffold_fn``."""
        metrics = None if self.eval_metrics is None else _call(*self.eval_metrics)
        hooks = () if self.host_call is None else (_HostCallHook(_call(*self.host_call)),)
        return EstimatorSpec(
            self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=self.training_hooks + hooks,
            evaluation_hooks=self.evaluation_hooks + hooks,
            prediction_hooks=self.prediction_hooks + hooks,
        )


class _HostCallHook(SessionRunHook):
    """Runs with each step what a host call returned; the files that its summaries write to are open meanwhile."""

    def __init__(self, results: Any) -> None:
        self._results = results

    def begin(self) -> None:
        self._open = list(summary_writer_initializer_op())
        self._flush = [flush(operation.inputs[0]) for operation in self._open]

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._open)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._results)

    def end(self, session: Any) -> None:
        session.run(self._flush)


def _call(function: Callable[..., Any], tensors: Any) -> Any:
    return function(**tensors) if isinstance(tensors, Mapping) else function(*tensors)


def _check_call(name: str, pair: Any) -> None:
    """Refuses anything but a function and tensors that it can be called with."""
    if pair is None:
        return
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"{name} should be a tuple or list of two: a function and its tensors, got {pair!r} {at()}")
    function, tensors = pair
    if not callable(function):
        raise TypeError(f"{name}[0] should be a function, got {function!r} {at()}")
    if not isinstance(tensors, (tuple, list, Mapping)):
        raise ValueError(f"{name}[1] should be a tuple, list or dict of tensors, got {tensors!r} {at()}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of C: calling it will tell
        return
    try:
        signature.bind(**tensors) if isinstance(tensors, Mapping) else signature.bind(*tensors)
    except TypeError as e:
        received = sorted(tensors) if isinstance(tensors, Mapping) else f"{len(tensors)} tensors"
        raise RuntimeError(
            f"{name}: the function takes {list(signature.parameters)}, but {name}[1] has {received}: {e} {at()}"
        ) from None
