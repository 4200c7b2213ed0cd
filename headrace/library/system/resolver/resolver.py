"""``ClusterResolver``: what every resolver answers, and how an address becomes the target of a session."""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from headrace.client.session import Session
from headrace.cluster.cluster_spec import ClusterSpec
from headrace.graph.graph import Graph


def master_url(address: str, rpc_layer: str | None) -> str:
    """The target of a session: ``grpc://host:2222`` for ``host:2222``; the address itself without a protocol."""
    return f"{rpc_layer}://{address}" if rpc_layer else address


class ClusterResolver(abc.ABC):
    """Names the tasks of a cluster.  A subclass says in ``cluster_spec`` and ``master`` how it finds them.

    The answers may change while a program runs: a resolver looks anew each time that it is asked.

    >>> class Fixed(tf.distribute.cluster_resolver.ClusterResolver):
    ...     def cluster_spec(self):
    ...         return tf.train.ClusterSpec({"worker": ["host0:2222"]})
    ...     def master(self, task_type=None, task_id=None, rpc_layer=None):
    ...         return "grpc://host0:2222"
    >>> Fixed().cluster_spec().jobs
    ['worker']
    """

    task_type: Any = None
    task_id: Any = None
    rpc_layer: Any = None
    environment: ClassVar[Any] = ""

    @abc.abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """The jobs of the cluster and the addresses of their tasks, as they are now."""

    @abc.abstractmethod
    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target for `tf.Session`: that of the named task, or the one that this process is to use."""

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """How many devices of each type a task has, its CPUs left out.  It opens a session at the master to see."""
        with Session(self.master(task_type, task_id), graph=Graph(), config=config_proto) as session:
            devices = session.list_devices()
        if task_type is not None and task_id is not None:
            where = f"/job:{task_type}/replica:0/task:{task_id}/"
            devices = [device for device in devices if where in device.name]
        return Counter(device.device_type for device in devices if device.device_type != "CPU")

    def _master_of(self, task_type: str | None, task_id: int | None, rpc_layer: str | None) -> str:
        """The target of a task, or else of the resolver's own; "" for this process where neither is known."""
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        if job is None or index is None:
            return ""
        return master_url(self.cluster_spec().task_address(job, index), rpc_layer or self.rpc_layer)
