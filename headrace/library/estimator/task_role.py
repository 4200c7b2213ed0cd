"""What a task of a cluster does in ``train_and_evaluate``: serve variables, train, or evaluate what others save.

``TF_CONFIG`` says which task this process is.  The tasks share nothing but the cluster and the folder of the checkpoints.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from headrace.cluster.server import Server
from headrace.core.config import ConfigProto
from headrace.core.source import at
from headrace.library import log
from headrace.library.estimator.checkpoint_evaluation import CheckpointEvaluation
from headrace.library.estimator.run_config import RunConfig, TaskType

DELAY_SECS: Final = 5.0  # by which each worker begins later than the one before
MAX_DELAY_SECS: Final = 60.0
LOOK_SECS: Final = 0.2  # between two looks for a new checkpoint, at least
ROLES: Final = (TaskType.CHIEF, TaskType.MASTER, TaskType.WORKER, TaskType.PS, TaskType.EVALUATOR)


def check_role(config: RunConfig) -> None:
    """Raises if no task of this type takes part."""
    if config.task_type not in ROLES:
        raise ValueError(
            f"Task type {config.task_type!r} is not supported. Supported task types are {', '.join(ROLES)} {at()}"
        )
    if config.task_type == TaskType.EVALUATOR and config.task_id:
        raise ValueError(
            "For distributed training, there can only be one `evaluator` task (with task id 0). Given task id "
            f"{config.task_id} {at()}"
        )


def serve(config: RunConfig) -> None:
    """A parameter server: holds variables until no session uses them any more."""
    server = _start_server(config)
    assert server is not None  # a cluster has a chief too
    server.join()


def train(estimator: Any, train_spec: Any, listeners: Sequence[Any]) -> None:
    """A chief or a worker: trains together with the others.  Workers begin a little later, which helps the model to converge."""
    config = estimator.config
    _start_server(config)  # before the delay: the others look for it
    if config.task_type == TaskType.WORKER:
        most = config.experimental_max_worker_delay_secs
        delay = min(MAX_DELAY_SECS if most is None else float(most), (config.task_id + 1) * DELAY_SECS)
        if delay > 0:
            log.info("Waiting %d secs before starting training.", delay)
            time.sleep(delay)
    estimator.train(
        train_spec.input_fn, hooks=list(train_spec.hooks), max_steps=train_spec.max_steps, saving_listeners=listeners
    )


def evaluate(evaluation: CheckpointEvaluation, start_delay_secs: float, throttle_secs: float) -> None:
    """The evaluator: evaluates each new checkpoint until one has the last step; without a last step, for ever."""
    if start_delay_secs:
        log.info("Waiting %f secs before starting eval.", start_delay_secs)
        time.sleep(start_delay_secs)
    while True:
        begun = time.monotonic()
        if evaluation.evaluate_newest() and evaluation.is_last:
            log.info("Exiting evaluation: the last checkpoint is evaluated, global_step=%s", evaluation.step)
            return
        time.sleep(max(throttle_secs - (time.monotonic() - begun), LOOK_SECS))


def _start_server(config: RunConfig) -> Server | None:
    """The server of this task; None where the cluster has no other task."""
    if not config.master:
        log.info("Skip starting Tensorflow server as there is only one node in the cluster.")
        return None
    given = config.session_config or ConfigProto()
    session_config = ConfigProto(gpu_options=given.gpu_options, compile=given.compile)
    return Server(
        config.cluster_spec, config.task_type, config.task_id, protocol=config.protocol, config=session_config
    )
