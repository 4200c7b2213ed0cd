"""``RunConfig``: where a model's files go, how often it saves and logs, and which task of a cluster this process is.

The place of the process comes from the environment variable ``TF_CONFIG``.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.core.config import ConfigProto
from headrace.core.source import at
from headrace.library.distribute.strategy import Strategy
from headrace.library.system.resolver.tf_config import tf_config, tf_config_task

_UNSET: Any = object()
_SAVE_SECS = 600


class TaskType:
    """The names of jobs that a cluster of estimators may have."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


_WORKING = (TaskType.CHIEF, TaskType.MASTER, TaskType.WORKER)


class RunConfig:
    """How an estimator runs.  Not changed after it is made: ``replace`` makes another one.

    A checkpoint is saved every ``save_checkpoints_steps`` steps or ``save_checkpoints_secs`` seconds (600 if neither is
    given; None for both: never).  Steps per second and the loss are logged every ``log_step_count_steps`` steps.
    ``copies_secs``, Headrace's own, is that of `tf.train.MonitoredTrainingSession`.

    Args:
      model_dir: The folder of the checkpoints; None for that of ``TF_CONFIG``, or none.
      tf_random_seed: The seed of each graph; None for random ones.
      save_summary_steps: Steps between two summaries; None or 0 for none.
      save_checkpoints_steps: Steps between two checkpoints.
      save_checkpoints_secs: Seconds between two checkpoints; at most one of the two may be given.
      session_config: A `tf.ConfigProto` for the sessions; None for one that fits the task.
      keep_checkpoint_max: How many checkpoints to keep; None or 0 for all.
      keep_checkpoint_every_n_hours: One checkpoint in so many hours is kept for good.
      log_step_count_steps: Steps between two logs; None for none.
      train_distribute: A `tf.distribute.Strategy` that trains, in which each replica takes an element of the input's
        dataset in a step; None for none.
      device_fn: A function from operations to devices; None for the default.
      protocol: "grpc", which is all that servers speak, or None for the same.
      eval_distribute: A `tf.distribute.Strategy` that evaluates; None for none.
      experimental_distribute: A `tf.contrib.distribute.DistributeConfig`, whose strategies stand for `train_distribute` and
        `eval_distribute`; None for none.
      experimental_max_worker_delay_secs: How much later a worker may begin, at most, which helps the model; None for 60.
      session_creation_timeout_secs: How long a worker waits for the chief.
      copies_secs: Seconds between two copies of the parameter servers; None for none.

    >>> tf.estimator.RunConfig(save_checkpoints_steps=500).replace(keep_checkpoint_max=1).save_checkpoints_steps
    500
    """

    def __init__(
        self, model_dir: Any = None, tf_random_seed: int | None = None, save_summary_steps: int | None = 100,
        save_checkpoints_steps: Any = _UNSET, save_checkpoints_secs: Any = _UNSET, session_config: Any = None,
        keep_checkpoint_max: int | None = 5, keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100, train_distribute: Any = None, device_fn: Any = None,
        protocol: str | None = None, eval_distribute: Any = None, experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: Any = None, session_creation_timeout_secs: float = 7200,
        *, copies_secs: float | None = None,
    ) -> None:  # fmt: skip
        steps, secs = save_checkpoints_steps, save_checkpoints_secs
        if steps is _UNSET and secs is _UNSET:
            steps, secs = None, _SAVE_SECS
        else:
            steps, secs = (None if value is _UNSET else value for value in (steps, secs))
        if experimental_distribute is not None:
            train_distribute, eval_distribute = _strategies(experimental_distribute, train_distribute, eval_distribute)
        environment = tf_config()
        self._values: dict[str, Any] = {
            "model_dir": _model_dir(model_dir, environment), "tf_random_seed": tf_random_seed,
            "save_summary_steps": save_summary_steps, "save_checkpoints_steps": steps, "save_checkpoints_secs": secs,
            "session_config": session_config, "keep_checkpoint_max": keep_checkpoint_max,
            "keep_checkpoint_every_n_hours": keep_checkpoint_every_n_hours,
            "log_step_count_steps": log_step_count_steps, "train_distribute": train_distribute,
            "device_fn": device_fn, "protocol": protocol, "eval_distribute": eval_distribute,
            "experimental_distribute": experimental_distribute,
            "experimental_max_worker_delay_secs": experimental_max_worker_delay_secs,
            "session_creation_timeout_secs": session_creation_timeout_secs, "copies_secs": copies_secs,
        }  # fmt: skip
        _check(self._values)
        self._task = _Task(environment)

    def __repr__(self) -> str:
        changed = {name: value for name, value in self._values.items() if value is not None}
        return f"RunConfig({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    # ---- the settings

    @property
    def model_dir(self) -> str | None:
        """The folder of the checkpoints, or None."""
        return self._values["model_dir"]

    @property
    def tf_random_seed(self) -> int | None:
        """The seed of each graph, or None."""
        return self._values["tf_random_seed"]

    @property
    def save_summary_steps(self) -> int | None:
        """Steps between two summaries."""
        return self._values["save_summary_steps"]

    @property
    def save_checkpoints_steps(self) -> int | None:
        """Steps between two checkpoints, or None."""
        return self._values["save_checkpoints_steps"]

    @property
    def save_checkpoints_secs(self) -> float | None:
        """Seconds between two checkpoints, or None."""
        return self._values["save_checkpoints_secs"]

    @property
    def session_config(self) -> Any:
        """The `tf.ConfigProto` for the sessions, or None."""
        return self._values["session_config"]

    @property
    def keep_checkpoint_max(self) -> int | None:
        """How many checkpoints are kept."""
        return self._values["keep_checkpoint_max"]

    @property
    def keep_checkpoint_every_n_hours(self) -> float:
        """One checkpoint in so many hours is kept for good."""
        return self._values["keep_checkpoint_every_n_hours"]

    @property
    def log_step_count_steps(self) -> int | None:
        """Steps between two logs."""
        return self._values["log_step_count_steps"]

    @property
    def train_distribute(self) -> Any:
        """The strategy that trains, or None."""
        return self._values["train_distribute"]

    @property
    def eval_distribute(self) -> Any:
        """The strategy that evaluates, or None."""
        return self._values["eval_distribute"]

    @property
    def device_fn(self) -> Any:
        """The function from operations to devices, or None."""
        return self._values["device_fn"]

    @property
    def protocol(self) -> str | None:
        """How the tasks of a cluster talk to each other, or None."""
        return self._values["protocol"]

    @property
    def experimental_max_worker_delay_secs(self) -> Any:
        """How much later a worker may begin, at most."""
        return self._values["experimental_max_worker_delay_secs"]

    @property
    def session_creation_timeout_secs(self) -> float:
        """How long a worker waits for the chief."""
        return self._values["session_creation_timeout_secs"]

    @property
    def copies_secs(self) -> float | None:
        """How often parameter servers copy their variables to each other, Headrace's own; None: never."""
        return self._values["copies_secs"]

    # ---- this task

    @property
    def cluster_spec(self) -> ClusterSpec:
        """The cluster that ``TF_CONFIG`` describes; an empty one without it."""
        return self._task.cluster

    @property
    def task_type(self) -> str | None:
        """The job of this process, such as "chief" or "worker"."""
        return self._task.type

    @property
    def task_id(self) -> int | None:
        """The number of this process in its job."""
        return self._task.index

    @property
    def global_id_in_cluster(self) -> int | None:
        """The task's number among all that work: chief, workers, then the rest; None for an evaluator."""
        return self._task.global_id

    @property
    def master(self) -> str:
        """The target of the sessions that train; "" for this process."""
        return self._task.master

    @property
    def evaluation_master(self) -> str:
        """The target of the sessions that evaluate; "" for this process."""
        return self._task.evaluation_master

    @property
    def num_ps_replicas(self) -> int:
        """How many parameter servers the cluster has."""
        return self._task.num_ps

    @property
    def num_worker_replicas(self) -> int:
        """How many processes train, the chief among them."""
        return self._task.num_workers

    @property
    def is_chief(self) -> bool:
        """Whether this process initialises and saves the model."""
        return self._task.is_chief

    @property
    def service(self) -> Any:
        """What ``TF_CONFIG`` says of how long tasks live, or None."""
        return self._task.service

    def replace(self, **kwargs: Any) -> RunConfig:
        """Another configuration with these settings instead."""
        unknown = sorted(set(kwargs) - set(self._values))
        if unknown:
            raise ValueError(f"Replacing {unknown} is not supported; settings are {sorted(self._values)} {at()}")
        values = dict(self._values)
        ways = ("save_checkpoints_steps", "save_checkpoints_secs")
        if any(way in kwargs for way in ways):  # a new one of the two takes the place of the old
            values.update(dict.fromkeys(ways))
        values.update(kwargs)
        values["model_dir"] = _model_dir(values["model_dir"], {})
        _check(values)
        config = copy.copy(self)
        config._values = values
        return config


# ---- checks


def _check(values: Mapping[str, Any]) -> None:
    steps, secs = values["save_checkpoints_steps"], values["save_checkpoints_secs"]
    if steps is not None and secs is not None:
        raise ValueError(
            "Only one of `save_checkpoints_steps` and `save_checkpoints_secs` can be set: got "
            f"save_checkpoints_steps={steps!r} and save_checkpoints_secs={secs!r} {at()}"
        )
    for name in ("train_distribute", "eval_distribute"):
        if values[name] is not None and not isinstance(values[name], Strategy):
            raise TypeError(f"RunConfig({name}=...) takes a tf.distribute.Strategy, got {values[name]!r} {at()}")
    for name in ("save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs", "keep_checkpoint_max"):
        _check_number(name, values[name], least=0)
    for name in (
        "keep_checkpoint_every_n_hours",
        "log_step_count_steps",
        "session_creation_timeout_secs",
        "copies_secs",
    ):
        _check_number(name, values[name], least=None)
    seed, session_config, device_fn = (values[n] for n in ("tf_random_seed", "session_config", "device_fn"))
    if seed is not None and (isinstance(seed, bool) or not hasattr(seed, "__index__")):
        raise ValueError(f"tf_random_seed must be a whole number or None, got {seed!r} {at()}")
    if session_config is not None and not isinstance(session_config, ConfigProto):
        raise ValueError(f"session_config must be a tf.ConfigProto or None, got {session_config!r} {at()}")
    if device_fn is not None and not callable(device_fn):
        raise ValueError(f"device_fn must be a function of an operation, or None, got {device_fn!r} {at()}")
    if values["protocol"] not in (None, "grpc", "grpc+verbs"):
        raise ValueError(f"protocol must be 'grpc', 'grpc+verbs' or None, got {values['protocol']!r} {at()}")


def _check_number(name: str, value: Any, least: float | None) -> None:
    """``least`` None: the number must be above 0."""
    if value is None:
        return
    is_number = isinstance(value, (int, float)) or hasattr(value, "__index__") or hasattr(value, "__float__")
    if isinstance(value, (bool, str)) or not is_number or (value <= 0 if least is None else value < least):
        accepted = "above 0" if least is None else f"at least {least}"
        raise ValueError(f"{name} must be a number {accepted}, or None, got {value!r} {at()}")


# ---- TF_CONFIG


def _model_dir(model_dir: Any, environment: Mapping[str, Any]) -> str | None:
    """The argument, or else what ``TF_CONFIG`` says."""
    told = environment.get("model_dir")
    if model_dir is None:
        model_dir = told
    elif told and os.fspath(model_dir) != told:
        raise ValueError(
            f"model_dir is {model_dir!r} in the RunConfig and {told!r} in TF_CONFIG: set one, or the same {at()}"
        )
    if model_dir == "":
        raise ValueError(f"model_dir should be non-empty {at()}")
    return None if model_dir is None else os.fspath(model_dir)


class _Task:
    """This process's place in the cluster that ``TF_CONFIG`` describes; without one, a chief on its own."""

    def __init__(self, environment: Mapping[str, Any]) -> None:
        task = tf_config_task(environment)
        self.cluster = ClusterSpec(environment.get("cluster", {}))
        self.service = environment.get("service")
        self.master = environment.get("session_master", "")
        self.evaluation_master = environment.get("eval_session_master", "")
        self.num_ps, self.num_workers, self.is_chief = 0, 1, True
        self.global_id: int | None = 0
        if not self.cluster:
            self.type: str | None = task.get("type", TaskType.WORKER)
            self.index: int | None = int(task.get("index", 0))
            if self.type not in (TaskType.WORKER, TaskType.CHIEF, TaskType.MASTER) or self.index != 0:
                raise ValueError(
                    "If \"cluster\" is not set in TF_CONFIG, the task must be number 0 of type 'worker': got type "
                    f"{self.type!r}, index {self.index} {at()}"
                )
            return
        self._find(task)

    def _find(self, task: Mapping[str, Any]) -> None:
        """The task among those of the cluster."""
        jobs = self.cluster.jobs
        chiefs = [job for job in (TaskType.CHIEF, TaskType.MASTER) if job in jobs]
        if len(chiefs) != 1 or self.cluster.num_tasks(chiefs[0]) != 1:
            raise ValueError(
                'If "cluster" is set in TF_CONFIG, it must have one "chief" node (or one "master"): got '
                f"{self.cluster.as_dict()} {at()}"
            )
        if "type" not in task or "index" not in task:
            raise ValueError(
                f'If "cluster" is set in TF_CONFIG, task type and index must be set: got {dict(task)} {at()}'
            )
        self.type, self.index = task["type"], int(task["index"])
        self.is_chief = self.type == chiefs[0]
        if self.type == TaskType.EVALUATOR:
            self.num_workers, self.global_id = 0, None
            self.cluster = ClusterSpec({})  # it has no part in it
            return
        if self.type not in jobs or self.index not in self.cluster.task_indices(self.type):
            raise ValueError(
                f"{self.index} is not a valid task of {self.type!r} in TF_CONFIG; the cluster is {self.cluster.as_dict()} {at()}"
            )
        self.num_ps = self.cluster.num_tasks(TaskType.PS) if TaskType.PS in jobs else 0
        self.num_workers = sum(self.cluster.num_tasks(job) for job in _WORKING if job in jobs)
        if not self.master and sum(self.cluster.num_tasks(job) for job in jobs) > 1:
            self.master = f"grpc://{self.cluster.task_address(self.type, self.index)}"
        order = [*chiefs, TaskType.WORKER, *sorted(set(jobs) - {*chiefs, TaskType.WORKER})]
        before = [job for job in order[: order.index(self.type)] if job in jobs]
        self.global_id = sum(self.cluster.num_tasks(job) for job in before) + self.index


def _strategies(config: Any, train: Any, evaluate: Any) -> tuple[Any, Any]:
    """The strategies of a `tf.contrib.distribute.DistributeConfig`."""
    if not hasattr(config, "train_distribute") or not hasattr(config, "eval_distribute"):
        raise TypeError(
            "RunConfig(experimental_distribute=...) takes a tf.contrib.distribute.DistributeConfig, got "
            f"{config!r} {at()}"
        )
    if getattr(config, "remote_cluster", None) is not None:
        raise NotImplementedError(
            f"DistributeConfig(remote_cluster={config.remote_cluster!r}) is not supported: tasks run the program "
            f"themselves {at()}"
        )
    if train is not None or evaluate is not None:
        raise ValueError(
            "RunConfig takes experimental_distribute or train_distribute and eval_distribute, got both: "
            f"{config!r}, {train!r}, {evaluate!r} {at()}"
        )
    return config.train_distribute, config.eval_distribute
