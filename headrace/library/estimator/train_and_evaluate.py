"""``train_and_evaluate``: one call that trains, evaluates whenever a checkpoint is saved, and exports."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.library import log
from headrace.library.estimator.estimator import Estimator, checked_listeners
from headrace.library.estimator.estimator_spec import checked_hooks
from headrace.library.estimator.exporter import Exporter
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

    Returns the last evaluation and what each exporter returned for it.
    """
    for what, value, wanted in (
        ("estimator", estimator, Estimator), ("train_spec", train_spec, TrainSpec), ("eval_spec", eval_spec, EvalSpec),
    ):  # fmt: skip
        if not isinstance(value, wanted):
            raise TypeError(f"`{what}` must have type `tf.estimator.{wanted.__name__}`, given {value!r} {at()}")
    if sum(estimator.config.cluster_spec.num_tasks(job) for job in estimator.config.cluster_spec.jobs) > 1:
        raise NotImplementedError(
            "train_and_evaluate runs in one process: TF_CONFIG describes a cluster of several tasks, "
            f"{estimator.config.cluster_spec.as_dict()}. Call estimator.train and estimator.evaluate in the tasks {at()}"
        )
    return _run(estimator, train_spec, eval_spec)


def _run(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> tuple[Any, list[Any]]:
    listener = _EvaluatingListener(estimator, train_spec, eval_spec)
    log.info("Start train and evaluate loop. The evaluate will happen after every checkpoint.")
    estimator.train(
        train_spec.input_fn, hooks=list(train_spec.hooks), max_steps=train_spec.max_steps,
        saving_listeners=[*train_spec.saving_listeners, listener],
    )  # fmt: skip
    return listener.result, listener.exports


class _EvaluatingListener(CheckpointSaverListener):
    """Evaluates new checkpoints while the training pauses."""

    def __init__(self, estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
        self._estimator = estimator
        self._max_steps = train_spec.max_steps
        self._spec = eval_spec
        self._timer = SecondOrStepTimer(every_secs=eval_spec.throttle_secs)
        self._is_first = True
        self.result: dict[str, Any] | None = None
        self.exports: list[Any] = []

    def begin(self) -> None:
        self._timer.reset()
        self._is_first = True

    def after_save(self, session: Any, global_step_value: Any) -> bool:
        if self._is_first:  # the checkpoint before the first step
            self._is_first = False
            self._timer.update_last_triggered_step(global_step_value)
            return False
        if not self._timer.should_trigger_for_step(global_step_value):
            log.info("Skip the current checkpoint eval due to throttle secs (%s secs).", self._spec.throttle_secs)
            return False
        self._evaluate(global_step_value)
        self._timer.update_last_triggered_step(global_step_value)
        return False

    def end(self, session: Any, global_step_value: Any) -> None:
        if self.result is None or global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value, is_last=True)

    def _evaluate(self, step: Any, is_last: bool = False) -> None:
        spec = self._spec
        path = self._estimator.latest_checkpoint()
        self.result = self._estimator.evaluate(
            spec.input_fn, steps=spec.steps, hooks=list(spec.hooks), checkpoint_path=path, name=spec.name
        )
        is_last = is_last or (self._max_steps is not None and step >= self._max_steps)
        base = os.path.join(self._estimator.model_dir, "export")
        self.exports = [
            exporter.export(
                self._estimator, os.path.join(base, exporter.name), path, self.result, is_the_final_export=is_last
            )
            for exporter in spec.exporters
        ]


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
