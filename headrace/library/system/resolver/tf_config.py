"""The environment variable ``TF_CONFIG``: its JSON, and ``TFConfigClusterResolver``, which takes the cluster from it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.core.source import at
from headrace.library.system.resolver.resolver import ClusterResolver, master_url


def tf_config() -> Mapping[str, Any]:
    """The object in ``TF_CONFIG``; an empty one where it is not set."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return {}
    try:
        environment = json.loads(text)
    except ValueError as e:
        raise ValueError(f"the environment variable TF_CONFIG must be JSON, got {text!r}: {e} {at()}") from None
    if not isinstance(environment, dict):
        raise ValueError(f"the environment variable TF_CONFIG must be a JSON object, got {text!r} {at()}")
    return environment


def tf_config_task(environment: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part that says which task this process is; an empty one where it is missing."""
    task = environment.get("task", {})
    if not isinstance(task, dict):
        raise ValueError(f"'task' of TF_CONFIG must be an object with 'type' and 'index', got {task!r} {at()}")
    return task


class TFConfigClusterResolver(ClusterResolver):
    """Takes the cluster and this process's place in it from ``TF_CONFIG``, which it reads each time that it is asked.

    Args:
      task_type: The job of this process; None for what ``TF_CONFIG`` says.
      task_id: The number of this process in its job; None for what ``TF_CONFIG`` says.
      rpc_layer: The protocol that goes before addresses; None for what ``TF_CONFIG`` says.
      environment: Any text that says where the program runs.

    >>> import os
    >>> os.environ["TF_CONFIG"] = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}'
    >>> resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    >>> print(resolver.task_type, resolver.task_id, resolver.master(rpc_layer="grpc"))
    worker 1 grpc://b:1
    >>> del os.environ["TF_CONFIG"]
    """

    def __init__(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:  # fmt: skip
        self._task_type, self._task_id = task_type, task_id
        self._rpc_layer, self._environment = rpc_layer, environment

    @property
    def task_type(self) -> str | None:  # type: ignore[override]
        """The job of this process, or None."""
        told = tf_config_task(tf_config()).get("type") if self._task_type is None else self._task_type
        return None if told is None else str(told)

    @task_type.setter
    def task_type(self, task_type: str | None) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:  # type: ignore[override]
        """The number of this process in its job, or None."""
        told = tf_config_task(tf_config()).get("index") if self._task_id is None else self._task_id
        return None if told is None else int(told)

    @task_id.setter
    def task_id(self, task_id: int | None) -> None:
        self._task_id = task_id

    @property
    def rpc_layer(self) -> str | None:  # type: ignore[override]
        """The protocol that goes before addresses, or None."""
        return tf_config().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: str | None) -> None:
        self._rpc_layer = rpc_layer

    @property
    def environment(self) -> str | None:  # type: ignore[override]
        """What the resolver was told of the place where the program runs."""
        return self._environment

    def cluster_spec(self) -> ClusterSpec:
        """The cluster in ``TF_CONFIG``; an empty one without it."""
        return ClusterSpec(tf_config().get("cluster", {}))

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of the task, or of this process; "" for a cluster of one task, ``session_master`` where that is set."""
        told = tf_config().get("session_master")
        if told is not None:
            return str(told)
        cluster = self.cluster_spec()
        if sum(cluster.num_tasks(job) for job in cluster.jobs) <= 1:
            return ""
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        if job is None or index is None:
            raise RuntimeError(
                f"which task? Pass task_type and task_id, or set 'task' in TF_CONFIG; the cluster is {cluster} {at()}"
            )
        return master_url(cluster.task_address(job, index), self.rpc_layer if rpc_layer is None else rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """How many devices of each type the task has, this process's own where none is named."""
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        return super().num_accelerators(job, index, config_proto)
