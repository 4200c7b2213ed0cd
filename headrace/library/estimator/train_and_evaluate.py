"""``train_and_evaluate``: one call that trains, evaluates whenever a checkpoint is saved, and exports."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.library import log
from headrace.library.estimator import task_role
from headrace.library.estimator.checkpoint_evaluation import CheckpointEvaluation
from headrace.library.estimator.estimator import Estimator, checked_listeners
from headrace.library.estimator.estimator_spec import checked_hooks
from headrace.library.estimator.exporter import Exporter
from headrace.library.estimator.run_config import TaskType
from headrace.library.train.hook.checkpoint_saver import CheckpointSaverListener
from headrace.library.train.hook.timer import SecondOrStepTimer


class _TrainFields(NamedTuple):
    input_fn: Any
    max_steps: int | None
    hooks: Any
    saving_listeners: Any


class TrainSpec(_TrainFields):
    """How to train: up to step ``max_steps``, or until the input ends."""

    __slots__ = ()

    def __new__(
        cls, input_fn: Any, max_steps: int | None = None, hooks: Any = None, saving_listeners: Any = None
    ) -> TrainSpec:
        _check_input_fn(input_fn)
        _check_positive("max_steps", max_steps)
        return super().__new__(
            cls, input_fn, max_steps, checked_hooks("hooks", hooks), tuple(checked_listeners(saving_listeners))
        )


class _EvalFields(NamedTuple):
    input_fn: Any
    steps: int | None
    name: str | None
    hooks: Any
    exporters: Any
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_EvalFields):
    """How to evaluate: ``steps`` batches, or all input if None, not more often than every ``throttle_secs`` seconds."""

    __slots__ = ()

    def __new__(
        cls, input_fn: Any, steps: int | None = 100, name: str | None = None, hooks: Any = None, exporters: Any = None,
        start_delay_secs: float = 120, throttle_secs: float = 600,
    ) -> EvalSpec:  # fmt: skip
        _check_input_fn(input_fn)
        _check_positive("steps", steps)
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name!r} {at()}")
        for label, secs in (("start_delay_secs", start_delay_secs), ("throttle_secs", throttle_secs)):
            if secs < 0:
                raise ValueError(f"Must specify {label} >= 0, given: {secs!r} {at()}")
        return super().__new__(
            cls, input_fn, steps, name, checked_hooks("hooks", hooks), _checked_exporters(exporters), start_delay_secs,
            throttle_secs,
        )  # fmt: skip


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[Any]]:
    """Trains; evaluates and exports whenever a checkpoint is saved, and at the end.

    Returns the last evaluation and what each exporter returned for it.  Where ``TF_CONFIG`` describes a cluster, the process
    does what its task has to do: a ``ps`` serves variables, the ``chief`` and the ``worker`` tasks train, the ``evaluator``
    evaluates.

    Args:
      estimator: A `tf.estimator.Estimator`.
      train_spec: A `tf.estimator.TrainSpec`: the input, and how many steps to train.
      eval_spec: A `tf.estimator.EvalSpec`: the input, how often to evaluate, and the exporters.

    Returns:
      The last evaluation, a dictionary or None, and a list of what exporters returned.

    Example: ``tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)``
    """
    for what, value, spec_class in (
        ("estimator", estimator, Estimator), ("train_spec", train_spec, TrainSpec), ("eval_spec", eval_spec, EvalSpec),
    ):  # fmt: skip
        if not isinstance(value, spec_class):
            raise TypeError(f"`{what}` must have type `tf.estimator.{spec_class.__name__}`, given {value!r} {at()}")
    config = estimator.config
    evaluation = CheckpointEvaluation(estimator, eval_spec, train_spec.max_steps)
    if not config.cluster_spec and config.task_type != TaskType.EVALUATOR:
        _train_here(estimator, train_spec, eval_spec, evaluation)
    else:
        _play_role(estimator, train_spec, eval_spec, evaluation)
    return evaluation.result, evaluation.exports


def _train_here(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec, evaluation: Any) -> None:
    log.info("Start train and evaluate loop. The evaluate will happen after every checkpoint.")
    estimator.train(
        train_spec.input_fn, hooks=list(train_spec.hooks), max_steps=train_spec.max_steps,
        saving_listeners=[*train_spec.saving_listeners, _EvaluatingListener(evaluation, eval_spec.throttle_secs)],
    )  # fmt: skip


def _play_role(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec, evaluation: Any) -> None:
    """Does what this task of the cluster has to do."""
    role = estimator.config.task_type
    task_role.check_role(estimator.config)
    if role == TaskType.PS:
        task_role.serve(estimator.config)
    elif role == TaskType.EVALUATOR:
        task_role.evaluate(evaluation, eval_spec.start_delay_secs, eval_spec.throttle_secs)
    else:
        listeners = list(train_spec.saving_listeners)
        if role == TaskType.MASTER:  # it evaluates as well
            listeners.append(_EvaluatingListener(evaluation, eval_spec.throttle_secs))
        task_role.train(estimator, train_spec, listeners)


class _EvaluatingListener(CheckpointSaverListener):
    """Evaluates new checkpoints while the training pauses."""

    def __init__(self, evaluation: CheckpointEvaluation, throttle_secs: float) -> None:
        self._evaluation = evaluation
        self._throttle_secs = throttle_secs
        self._timer = SecondOrStepTimer(every_secs=throttle_secs)
        self._is_first = True

    def begin(self) -> None:
        self._timer.reset()
        self._is_first = True

    def after_save(self, session: Any, global_step_value: Any) -> bool:
        if self._is_first:  # the checkpoint before the first step
            self._is_first = False
            self._timer.update_last_triggered_step(global_step_value)
            return False
        if not self._timer.should_trigger_for_step(global_step_value):
            log.info("Skip the current checkpoint eval due to throttle secs (%s secs).", self._throttle_secs)
            return False
        self._evaluate()
        self._timer.update_last_triggered_step(global_step_value)
        return False

    def end(self, session: Any, global_step_value: Any) -> None:
        if self._evaluation.result is None or global_step_value != self._timer.last_triggered_step():
            self._evaluate(is_last=True)

    def _evaluate(self, is_last: bool = False) -> None:
        self._evaluation.evaluate(self._evaluation.newest(), is_last)


# ---- checks


def _check_input_fn(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"input_fn must be a function that returns features and labels, given: {input_fn!r} {at()}")


def _check_positive(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__") or value <= 0):
        raise ValueError(f"Must specify {name} > 0, given: {value!r} {at()}")


def _checked_exporters(exporters: Any) -> tuple[Exporter, ...]:
    if exporters is None:
        return ()
    several = (exporters,) if isinstance(exporters, Exporter) else tuple(exporters)
    names = set()
    for exporter in several:
        if not isinstance(exporter, Exporter):
            raise TypeError(f"`exporters` must be an Exporter or a list of them, given: {exporter!r} {at()}")
        if exporter.name in names:
            raise ValueError(f"`exporter` names must be unique. Name: {exporter.name!r} is there twice {at()}")
        names.add(exporter.name)
    return several
