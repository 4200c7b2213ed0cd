"""The RunConfig of contrib.learn: that of ``tf.estimator`` with settings of the session among its arguments."""

from __future__ import annotations

from typing import Any

from headrace.core.config import ConfigProto, GPUOptions
from headrace.library.estimator import run_config

_UNSET: Any = object()


class RunConfig(run_config.RunConfig):
    """How an estimator runs.  ``session_config`` takes the place of the arguments that describe the session.

    Args:
      master: The target of sessions; None for that of the cluster in TF_CONFIG.
      num_cores: The number of threads; 0 to let Headrace choose it.
      log_device_placement: True logs where operations are placed.
      gpu_memory_fraction: The share of an accelerator's memory that the process may take.
      tf_random_seed: The seed of the graph; None for the default.
      save_summary_steps: The steps between two summaries; None for no summaries.
      save_checkpoints_secs: The seconds between two checkpoints; by default 600, unless `save_checkpoints_steps` is given.
      save_checkpoints_steps: The steps between two checkpoints, in place of `save_checkpoints_secs`.
      keep_checkpoint_max: How many checkpoints are kept; None or 0 for all.
      keep_checkpoint_every_n_hours: A checkpoint is kept for good each time that so many hours have passed.
      log_step_count_steps: The steps between two lines of the log with the steps of a second; None for none.
      protocol: The protocol of servers, as of `tf.train.Server`; None for the default.
      evaluation_master: The target of sessions that evaluate; empty for that of the cluster.
      model_dir: The folder of the checkpoints; None for the estimator's.
      session_config: A `tf.ConfigProto` in place of the first settings; None makes one of them.
      session_creation_timeout_secs: How many seconds a worker waits for the chief.

    >>> tf.contrib.learn.RunConfig(save_checkpoints_steps=100).save_checkpoints_steps
    100
    """

    def __init__(
        self, master: str | None = None, num_cores: int = 0, log_device_placement: bool = False,
        gpu_memory_fraction: float = 1, tf_random_seed: int | None = None, save_summary_steps: int | None = 100,
        save_checkpoints_secs: Any = _UNSET, save_checkpoints_steps: Any = None, keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000, log_step_count_steps: int | None = 100,
        protocol: str | None = None, evaluation_master: str = "", model_dir: Any = None, session_config: Any = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:  # fmt: skip
        if save_checkpoints_secs is _UNSET:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        tf_config = ConfigProto(
            log_device_placement=log_device_placement, inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=GPUOptions(per_process_gpu_memory_fraction=float(gpu_memory_fraction)),
        )  # fmt: skip
        super().__init__(
            model_dir=model_dir, tf_random_seed=tf_random_seed, save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps, save_checkpoints_secs=save_checkpoints_secs,
            session_config=tf_config if session_config is None else session_config,
            keep_checkpoint_max=keep_checkpoint_max, keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps, protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )  # fmt: skip
        if master is not None:
            self._task.master = master
        if evaluation_master:
            self._task.evaluation_master = evaluation_master

    @property
    def tf_config(self) -> Any:
        """The older name of ``session_config``."""
        return self.session_config
