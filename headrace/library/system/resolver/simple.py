"""Resolvers that ask nobody: ``SimpleClusterResolver`` knows what it is given, ``UnionClusterResolver`` adds others up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.core.source import at
from headrace.library.system.resolver.resolver import ClusterResolver, master_url


class SimpleClusterResolver(ClusterResolver):
    """Answers with what it was made from.

    Args:
      cluster_spec: The `tf.train.ClusterSpec`.
      master: The target of sessions where no task is named; "" for this process.
      task_type: The job of this process, or None.
      task_id: The number of this process in its job, or None.
      environment: Any text that says where the program runs.
      num_accelerators: A dict from types of devices to numbers; None for an empty one.
      rpc_layer: The protocol that goes before addresses, "grpc" or None for none.

    >>> cluster = tf.train.ClusterSpec({"worker": ["host0:2222", "host1:2222"]})
    >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    >>> resolver.master("worker", 1)
    'grpc://host1:2222'
    """

    def __init__(
        self, cluster_spec: ClusterSpec, master: str = "", task_type: str | None = None, task_id: int | None = None,
        environment: str = "", num_accelerators: Mapping[str, int] | None = None, rpc_layer: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(f"cluster_spec must be a `tf.train.ClusterSpec`, got {cluster_spec!r} {at()}")
        if not isinstance(master, str):
            raise TypeError(f"master must be a string, the target of sessions, got {master!r} {at()}")
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self._cluster_spec, self._master, self._environment = cluster_spec, master, environment
        self._num_accelerators = {} if num_accelerators is None else num_accelerators

    @property
    def environment(self) -> str:  # type: ignore[override]
        """What the resolver was told of the place where the program runs."""
        return self._environment

    def cluster_spec(self) -> ClusterSpec:
        """The cluster that the resolver was made from."""
        return self._cluster_spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of the task, or else the resolver's own; the protocol goes before it."""
        is_named = task_type is not None and task_id is not None
        address = self._cluster_spec.task_address(str(task_type), int(task_id or 0)) if is_named else self._master
        return master_url(address, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """The numbers that the resolver was made from, for every task."""
        return self._num_accelerators


class UnionClusterResolver(ClusterResolver):
    """Adds the clusters of several resolvers up; everything else is what the first of them says.

    Lists of tasks of the same job are put one after the other.  If one of them is a dictionary, all are taken as such, and no two
    tasks may have the same number.

    Args:
      *args: The resolvers.
      **kwargs: ``task_type``, ``task_id`` and ``rpc_layer``, in place of those of the first resolver.

    >>> resolvers = [
    ...     tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(cluster))
    ...     for cluster in ({"worker": ["host0:2222"]}, {"ps": ["host1:2222"], "worker": ["host2:2222"]})
    ... ]
    >>> tf.distribute.cluster_resolver.UnionResolver(*resolvers).cluster_spec()
    ClusterSpec({'ps': ['host1:2222'], 'worker': ['host0:2222', 'host2:2222']})
    """

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        unknown = sorted(kwargs.keys() - {"task_type", "task_id", "rpc_layer"})
        if unknown:
            raise ValueError(f"Unexpected arguments {unknown}: accepted are task_type, task_id and rpc_layer {at()}")
        if not args:
            raise ValueError(f"At least one ClusterResolver is required {at()}")
        for one in args:
            if not isinstance(one, ClusterResolver):
                raise TypeError(f"All arguments must be of a subclass of `ClusterResolver`, got {one!r} {at()}")
        self._resolvers = args
        self._own = {name: value for name, value in kwargs.items() if value is not None}

    def _asked(self, name: str) -> Any:
        return self._own[name] if name in self._own else getattr(self._resolvers[0], name)

    @property
    def task_type(self) -> Any:  # type: ignore[override]
        """The job of this process."""
        return self._asked("task_type")

    @task_type.setter
    def task_type(self, task_type: str | None) -> None:
        self._own["task_type"] = task_type

    @property
    def task_id(self) -> Any:  # type: ignore[override]
        """The number of this process in its job."""
        return self._asked("task_id")

    @task_id.setter
    def task_id(self, task_id: int | None) -> None:
        self._own["task_id"] = task_id

    @property
    def rpc_layer(self) -> Any:  # type: ignore[override]
        """The protocol that goes before addresses."""
        return self._asked("rpc_layer")

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: str | None) -> None:
        self._own["rpc_layer"] = rpc_layer

    @property
    def environment(self) -> str:  # type: ignore[override]
        """What the first resolver says."""
        return self._resolvers[0].environment

    def cluster_spec(self) -> ClusterSpec:
        """The tasks of all resolvers; a KeyError where two tasks of a job have the same number."""
        clusters = [resolver.cluster_spec().as_dict() for resolver in self._resolvers]
        jobs = dict.fromkeys(job for cluster in clusters for job in cluster)
        return ClusterSpec({job: _sum(job, [cluster[job] for cluster in clusters if job in cluster]) for job in jobs})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of the task, or else what the first resolver says."""
        if task_type is not None and task_id is not None:
            return master_url(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """What the first resolver says."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _sum(job: str, parts: Sequence[Any]) -> Any:
    """The tasks of a job that several clusters have: lists joined, dictionaries merged."""
    if all(isinstance(part, list) for part in parts):
        return [address for part in parts for address in part]
    tasks: dict[int, str] = {}
    for part in parts:
        numbered = dict(enumerate(part)) if isinstance(part, list) else part
        twice = sorted(tasks.keys() & numbered.keys())
        if twice:
            raise KeyError(
                f"two clusters have task {twice[0]} of job {job!r}: {tasks[twice[0]]!r} and {numbered[twice[0]]!r}"
            )
        tasks.update(numbered)
    return tasks
