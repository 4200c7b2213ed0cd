"""``Experiment`` and ``learn_runner``: a model with its input, run by the name of a schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.source import at
from headrace.library import log
from headrace.library.contrib.learn.estimator import BaseEstimator
from headrace.library.estimator.add_metrics import add_metrics
from headrace.library.estimator.estimator import Estimator
from headrace.library.estimator.run_config import RunConfig
from headrace.library.train.hook.checkpoint_saver import CheckpointSaverListener

SCHEDULES = ("train", "evaluate", "train_and_evaluate", "test")


class Experiment:
    """How a model is trained and evaluated: the estimator, its two inputs, and how long.

    ``estimator`` is of ``tf.estimator`` or of ``tf.contrib.learn``.

    Args:
      estimator: The estimator.
      train_input_fn: A function without arguments that returns the features and labels to train with.
      eval_input_fn: A function without arguments that returns the features and labels to evaluate with.
      eval_metrics: A dictionary of further metrics, for an estimator of `tf.contrib.learn`; for one of `tf.estimator` a
        function as of `tf.estimator.add_metrics`; None for none.
      train_steps: The global step at which to stop; None for the end of the input.
      eval_steps: The number of batches of an evaluation; None for the end of the input.
      train_monitors: A list of hooks for training; None for none.
      eval_hooks: A list of hooks for evaluations; None for none.
      local_eval_frequency: An older name of `min_eval_frequency`.
      eval_delay_secs: Accepted and not used.
      continuous_eval_throttle_secs: Accepted and not used.
      min_eval_frequency: How many steps must be between two evaluations; 0 for one at the end only, None for 1.
      delay_workers_by_global_step: Accepted and not used.
      export_strategies: Not supported, must be None.
      train_steps_per_iteration: Not supported, must be None.
      checkpoint_and_export: Not supported, must be False.
      saving_listeners: A list of `tf.train.CheckpointSaverListener`s; None for none.
      check_interval_secs: Accepted and not used.

    Example: ``tf.contrib.learn.Experiment(estimator, train_input_fn, eval_input_fn, train_steps=1000).train_and_evaluate()``
    """

    def __init__(
        self, estimator: Any, train_input_fn: Any, eval_input_fn: Any, eval_metrics: Any = None,
        train_steps: int | None = None, eval_steps: int | None = 100, train_monitors: Any = None,
        eval_hooks: Any = None, local_eval_frequency: int | None = None, eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60, min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False, export_strategies: Any = None,
        train_steps_per_iteration: int | None = None, checkpoint_and_export: bool = False,
        saving_listeners: Any = None, check_interval_secs: float = 5,
    ) -> None:  # fmt: skip
        del eval_delay_secs, continuous_eval_throttle_secs, delay_workers_by_global_step, check_interval_secs
        if not isinstance(estimator, (Estimator, BaseEstimator)):
            raise ValueError(f"`estimator` must implement `tf.contrib.learn.Evaluable`, got {estimator!r} {at()}")
        if eval_metrics is not None and isinstance(estimator, Estimator) and not callable(eval_metrics):
            raise ValueError(
                "eval_metrics must be None for a tf.estimator.Estimator: return them in its model_fn, or use "
                f"tf.estimator.add_metrics; got {eval_metrics!r} {at()}"
            )
        for name, value in (("export_strategies", export_strategies), ("checkpoint_and_export", checkpoint_and_export),
                            ("train_steps_per_iteration", train_steps_per_iteration)):  # fmt: skip
            if value:
                raise NotImplementedError(
                    f"Experiment({name}={value!r}) is not supported; tf.estimator.train_and_evaluate has exporters {at()}"
                )
        self._estimator = estimator
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._train_monitors = list(train_monitors or ())
        self._eval_hooks = list(eval_hooks or ())
        frequency = local_eval_frequency if min_eval_frequency is None else min_eval_frequency
        self._min_eval_frequency = 1 if frequency is None else frequency
        self._saving_listeners = list(saving_listeners or ())

    @property
    def estimator(self) -> Any:
        """The estimator that is trained and evaluated."""
        return self._estimator

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains up to step ``train_steps``."""
        del delay_secs  # only workers of a cluster wait for the chief
        return self._train([])

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """Evaluates the newest checkpoint."""
        del delay_secs
        return self._evaluate(name or "one_pass")

    def train_and_evaluate(self) -> tuple[dict[str, Any], list[Any]]:
        """Trains, evaluating checkpoints that are ``min_eval_frequency`` steps apart, and evaluates at the end."""
        listeners = [_Evaluations(self, self._min_eval_frequency)] if self._min_eval_frequency else []
        self._train(listeners)
        return self._evaluate(None), []

    def test(self) -> tuple[dict[str, Any], list[Any]]:
        """Trains and evaluates one step, to see that the model works."""
        self._core().train(self._input_fn(), hooks=list(self._train_monitors), steps=1)
        return self._evaluate("one_pass", steps=1), []

    # ---- parts

    def _core(self) -> Estimator:
        return self._estimator if isinstance(self._estimator, Estimator) else self._estimator._estimator

    def _input_fn(self) -> Any:
        """The training input, with features by name where the model wants names."""
        old = self._estimator if isinstance(self._estimator, BaseEstimator) else None
        return self._train_input_fn if old is None else old._named(self._train_input_fn)

    def _train(self, listeners: list[Any]) -> Any:
        self._core().train(
            self._input_fn(), hooks=list(self._train_monitors), max_steps=self._train_steps,
            saving_listeners=[*self._saving_listeners, *listeners],
        )  # fmt: skip
        return self._estimator

    def _evaluate(self, name: str | None, steps: int | None = None) -> dict[str, Any]:
        steps = self._eval_steps if steps is None else steps
        if isinstance(self._estimator, BaseEstimator):
            return self._estimator.evaluate(
                input_fn=self._eval_input_fn, steps=steps, metrics=self._eval_metrics, name=name, hooks=self._eval_hooks
            )
        estimator = add_metrics(self._estimator, self._eval_metrics) if self._eval_metrics else self._estimator
        return estimator.evaluate(self._eval_input_fn, steps=steps, hooks=self._eval_hooks, name=name)


class _Evaluations(CheckpointSaverListener):
    """Evaluates checkpoints that are far enough from the one before; the last one is left to the end."""

    def __init__(self, experiment: Experiment, steps: int) -> None:
        self._experiment = experiment
        self._steps = steps
        self._last: int | None = None

    def after_save(self, session: Any, global_step_value: Any) -> None:
        if self._last is None:
            self._last = int(global_step_value)
            return
        is_over = self._experiment._train_steps is not None and global_step_value >= self._experiment._train_steps
        if global_step_value - self._last >= self._steps and not is_over:
            self._last = int(global_step_value)
            self._experiment._evaluate(None)


def run(
    experiment_fn: Callable[..., Experiment], output_dir: Any = None, schedule: str | None = None,
    run_config: RunConfig | None = None, hparams: Any = None,
) -> Any:  # fmt: skip
    """Makes an experiment and runs it: its method ``schedule``, by default ``train_and_evaluate``.

    ``experiment_fn`` takes ``output_dir``, or with a ``run_config`` that and ``hparams``.

    Args:
      experiment_fn: A function that makes the `Experiment`.
      output_dir: The folder of the model. Give either `output_dir` or `run_config`.
      schedule: "train", "evaluate", "train_and_evaluate" or "test"; None for "train_and_evaluate".
      run_config: A `RunConfig` with a `model_dir`.
      hparams: What `experiment_fn` gets as `hparams`, with a `run_config`.

    Returns:
      What the method of the experiment returns.

    Example: ``tf.contrib.learn.learn_runner.run(experiment_fn, run_config=tf.contrib.learn.RunConfig(model_dir="logs"))``
    """
    if output_dir is not None and run_config is not None:
        raise ValueError(f"Cannot provide both `output_dir` and `run_config` {at()}")
    if not output_dir and run_config is None:
        raise ValueError(f"Must set value for `output_dir` or `run_config` {at()}")
    if not callable(experiment_fn):
        raise TypeError(f"Experiment builder {experiment_fn!r} is not callable {at()}")
    if run_config is None:
        experiment = experiment_fn(output_dir)
    else:
        if not run_config.model_dir:
            raise ValueError(f"Must specify a model directory `model_dir` in `run_config` {at()}")
        experiment = experiment_fn(run_config=run_config, hparams=hparams)
    if not isinstance(experiment, Experiment):
        raise TypeError(f"Experiment builder did not return an Experiment instance, got {experiment!r} instead {at()}")
    schedule = schedule or "train_and_evaluate"
    if schedule not in SCHEDULES:
        raise ValueError(f"Schedule references non-existent task {schedule!r}; schedules are {list(SCHEDULES)} {at()}")
    log.info("Running %s of the experiment", schedule)
    return getattr(experiment, schedule)()
