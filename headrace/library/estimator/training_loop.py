"""The training of one model in one graph: hooks, checkpoints, summaries, and the loop of a monitored session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library import log
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.run_config import RunConfig
from headrace.library.state.global_step import get_global_step
from headrace.library.summary import summary
from headrace.library.train.hook.checkpoint_saver import CheckpointSaverHook
from headrace.library.train.hook.tensor import LoggingTensorHook, NanTensorHook
from headrace.library.train.saver.saver import Saver
from headrace.library.train.session.training_session import MonitoredTrainingSession


def train(
    spec: EstimatorSpec, config: RunConfig, model_dir: str, session_config: Any, hooks: Sequence[Any],
    saving_listeners: Sequence[Any],
) -> Any:  # fmt: skip
    """Runs steps in the default graph until a hook or the input ends them; returns the last loss, None without a step."""
    _add_loss_summary(spec.loss)
    _add_saver(spec, config)
    worker_hooks = [*hooks, NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
        logged = {"loss": spec.loss, "step": get_global_step()}
        worker_hooks.append(LoggingTensorHook(logged, every_n_iter=config.log_step_count_steps))
    worker_hooks += spec.training_hooks
    chief_hooks = _checkpoint_hooks(spec, config, model_dir, worker_hooks, saving_listeners)
    with MonitoredTrainingSession(
        master=config.master, is_chief=config.is_chief, checkpoint_dir=model_dir, scaffold=spec.scaffold,
        hooks=worker_hooks, chief_only_hooks=chief_hooks, save_checkpoint_secs=0,
        save_summaries_steps=config.save_summary_steps, config=session_config,
        max_wait_secs=config.session_creation_timeout_secs, log_step_count_steps=config.log_step_count_steps,
        copies_secs=config.copies_secs,
    ) as session:  # fmt: skip
        loss = None
        while not session.should_stop():
            _, loss = session.run([spec.train_op, spec.loss])
    if loss is None:
        log.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
    return loss


def _add_loss_summary(loss: Any) -> None:
    graph = context.get_default_graph()
    if not any(one.op.name == "loss" for one in graph.get_collection(GraphKeys.SUMMARIES)):
        summary.scalar("loss", loss)
    if not any(one is loss for one in graph.get_collection(GraphKeys.LOSSES)):
        graph.add_to_collection(GraphKeys.LOSSES, loss)


def _add_saver(spec: EstimatorSpec, config: RunConfig) -> None:
    """A saver with the configured options, unless the model function has made one."""
    graph = context.get_default_graph()
    if spec.scaffold.saver is not None or graph.get_collection(GraphKeys.SAVERS):
        return
    saver = Saver(
        sharded=True, max_to_keep=config.keep_checkpoint_max,
        keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours, defer_build=True, save_relative_paths=True,
    )  # fmt: skip
    graph.add_to_collection(GraphKeys.SAVERS, saver)


def _checkpoint_hooks(
    spec: EstimatorSpec, config: RunConfig, model_dir: str, worker_hooks: Sequence[Any], listeners: Sequence[Any]
) -> list[Any]:
    """The chief's hooks.  One of all hooks saves checkpoints, if any is to be saved, and has the listeners."""
    hooks = list(spec.training_chief_hooks)
    steps, secs = config.save_checkpoints_steps, config.save_checkpoints_secs
    saver_hooks = [hook for hook in (*hooks, *worker_hooks) if isinstance(hook, CheckpointSaverHook)]
    if not saver_hooks and (steps or secs):
        saver_hooks = [
            CheckpointSaverHook(model_dir, save_secs=secs or None, save_steps=steps or None, scaffold=spec.scaffold)
        ]
        hooks += saver_hooks
    if listeners:
        if not saver_hooks:
            raise ValueError(
                "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                f"RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs {at()}"
            )
        saver_hooks[0]._listeners.extend(listeners)
    return hooks
