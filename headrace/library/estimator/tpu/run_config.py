"""``TPUConfig`` and the ``RunConfig`` that holds one.  Without a TPU its settings are checked and kept, and change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.core.source import at
from headrace.library.estimator import run_config
from headrace.library.system.resolver.resolver import ClusterResolver

_CORES = (1, 2, 4, 8, 16)


class InputPipelineConfig:
    """The ways in which TPUs are fed, for `TPUConfig`.

    >>> tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2
    3
    """

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class _TPUFields(NamedTuple):
    iterations_per_loop: int
    num_shards: int | None
    num_cores_per_replica: int | None
    per_host_input_for_training: int
    tpu_job_name: str | None
    initial_infeed_sleep_secs: float | None
    input_partition_dims: Any
    eval_training_input_configuration: int
    experimental_host_call_every_n_steps: int


class TPUConfig(_TPUFields):
    """The settings of a program for TPUs.  Where there is none they are checked, and change nothing.

    Args:
      iterations_per_loop: Steps that a TPU takes for one step of the session.
      num_shards: How many copies of the model there are.
      num_cores_per_replica: How many cores each copy has: 1, 2, 4, 8, 16, or None.
      per_host_input_for_training: How input reaches the cores: True, False, or one of `InputPipelineConfig`.
      tpu_job_name: The job of the TPU's machines.
      initial_infeed_sleep_secs: How long input waits at first, in seconds.
      input_partition_dims: How input is divided among the cores of a copy: a list of one or two lists or dicts.
      eval_training_input_configuration: `InputPipelineConfig.PER_HOST_V1` or `InputPipelineConfig.SLICED`.
      experimental_host_call_every_n_steps: Steps between two host calls.

    >>> tf.contrib.tpu.TPUConfig(iterations_per_loop=1000, num_shards=8).iterations_per_loop
    1000
    """

    __slots__ = ()

    def __new__(
        cls, iterations_per_loop: int = 2, num_shards: int | None = None, num_cores_per_replica: int | None = None,
        per_host_input_for_training: Any = True, tpu_job_name: str | None = None,
        initial_infeed_sleep_secs: float | None = None, input_partition_dims: Sequence[Any] | None = None,
        eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps: int = 1,
    ) -> TPUConfig:  # fmt: skip
        check_positive("TPUConfig iterations_per_loop", iterations_per_loop)
        if num_shards is not None:
            check_positive("TPUConfig num_shards", num_shards)
        if initial_infeed_sleep_secs is not None:
            check_positive("TPUConfig initial_infeed_sleep_secs", initial_infeed_sleep_secs)
        if num_cores_per_replica is not None and num_cores_per_replica not in _CORES:
            raise ValueError(
                f"num_cores_per_replica must be one of {_CORES} or None, got {num_cores_per_replica!r} {at()}"
            )
        if input_partition_dims is not None and len(input_partition_dims) not in (1, 2):
            raise ValueError(
                f"input_partition_dims must be a list of one or two elements, got {input_partition_dims!r} {at()}"
            )
        if eval_training_input_configuration not in (InputPipelineConfig.PER_HOST_V1, InputPipelineConfig.SLICED):
            raise ValueError(
                "eval_training_input_configuration must be InputPipelineConfig.PER_HOST_V1 or SLICED, got "
                f"{eval_training_input_configuration!r} {at()}"
            )
        if isinstance(per_host_input_for_training, bool):
            ways = InputPipelineConfig
            per_host_input_for_training = ways.PER_HOST_V1 if per_host_input_for_training else ways.PER_SHARD_V1
        return super().__new__(
            cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host_input_for_training, tpu_job_name,
            initial_infeed_sleep_secs, input_partition_dims, eval_training_input_configuration,
            experimental_host_call_every_n_steps,
        )  # fmt: skip


def check_positive(name: str, value: Any) -> None:
    """Refuses anything but a whole number above 0."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number above 0, got {value!r} {at()}")
    if value <= 0:
        raise ValueError(f"{name} must be positive, got {value!r} {at()}")


class RunConfig(run_config.RunConfig):
    """A `tf.estimator.RunConfig` that also holds a `TPUConfig` and says where sessions run.

    Args:
      tpu_config: A `TPUConfig`; None for the default one.
      evaluation_master: The target of the sessions that evaluate; None for `master`.
      master: The target of the sessions that train; None for what ``TF_CONFIG`` or `cluster` says.
      cluster: A `tf.distribute.cluster_resolver.ClusterResolver` that names the master, or None.
      **kwargs: The arguments of `tf.estimator.RunConfig`.

    >>> config = tf.contrib.tpu.RunConfig(tf.contrib.tpu.TPUConfig(num_shards=8), save_checkpoints_steps=1000)
    >>> print(config.tpu_config.num_shards, config.save_checkpoints_steps)
    8 1000
    """

    def __init__(
        self, tpu_config: TPUConfig | None = None, evaluation_master: str | None = None, master: str | None = None,
        cluster: ClusterResolver | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        if master is not None and cluster is not None:
            raise ValueError(f"Both master and cluster are set: got master={master!r} and cluster={cluster!r} {at()}")
        self._tpu_config = TPUConfig() if tpu_config is None else _checked(tpu_config)
        self._cluster = cluster
        self._master = super().master if master is None else master
        if cluster is not None:
            self._master = cluster.master()
        self._evaluation_master = super().evaluation_master if evaluation_master is None else evaluation_master
        is_told = evaluation_master is not None or self.task_type == run_config.TaskType.EVALUATOR
        if not self._evaluation_master and not is_told:
            self._evaluation_master = self._master

    @property
    def tpu_config(self) -> TPUConfig:
        """The settings for TPUs."""
        return self._tpu_config

    @property
    def cluster(self) -> ClusterResolver | None:
        """The resolver, or None."""
        return self._cluster

    @property
    def cluster_spec(self) -> ClusterSpec:
        """The cluster that the resolver names, or else ``TF_CONFIG``."""
        return super().cluster_spec if self._cluster is None else self._cluster.cluster_spec()

    @property
    def master(self) -> str:
        """The target of the sessions that train; "" for this process."""
        return self._master

    @property
    def evaluation_master(self) -> str:
        """The target of the sessions that evaluate; "" for this process."""
        return self._evaluation_master

    def replace(self, **kwargs: Any) -> RunConfig:
        """Another configuration with these settings changed, ``tpu_config`` among them."""
        tpu_config = kwargs.pop("tpu_config", self._tpu_config)
        config = super().replace(**kwargs)
        assert isinstance(config, RunConfig)
        config._tpu_config = _checked(tpu_config)
        return config


def _checked(tpu_config: Any) -> TPUConfig:
    if not isinstance(tpu_config, TPUConfig):
        raise ValueError(f"tpu_config must be a tf.contrib.tpu.TPUConfig, got {tpu_config!r} {at()}")
    return tpu_config
