"""Resolvers that ask a cloud which machines run: Kubernetes and the instance groups of Google Compute Engine.

Their client libraries are imported when a resolver is made without a client of the user's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.core.source import at
from headrace.library.system.resolver.resolver import ClusterResolver


class KubernetesClusterResolver(ClusterResolver):
    """Makes a cluster of the pods that labels select.  All of them must be running.

    Args:
      job_to_label_mapping: A dict from jobs to lists of label selectors; None for pods with ``job-name=tensorflow`` as workers.
      tf_server_port: The port of the servers.
      rpc_layer: The protocol that goes before addresses.
      override_client: A client with the method ``list_pod_for_all_namespaces``; None for one of the package ``kubernetes``, with
        the credentials of ``~/.kube/config``.

    Example: ``tf.distribute.cluster_resolver.KubernetesClusterResolver({"worker": ["job-name=worker"]})``
    """

    def __init__(
        self, job_to_label_mapping: Mapping[str, Sequence[str]] | None = None, tf_server_port: int = 8470,
        rpc_layer: str = "grpc", override_client: Any = None,
    ) -> None:  # fmt: skip
        self._labels = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._port, self.rpc_layer = tf_server_port, rpc_layer
        self._client = _kubernetes_client() if override_client is None else override_client

    def cluster_spec(self) -> ClusterSpec:
        """The running pods of each job, in the order of their names within a selector."""
        return ClusterSpec(
            {job: [one for label in labels for one in self._addresses(label)] for job, labels in self._labels.items()}
        )

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of the task, or of the one in ``task_type`` and ``task_id``; "" where neither is known."""
        return self._master_of(task_type, task_id, rpc_layer)

    def _addresses(self, label: str) -> Iterator[str]:
        pods = self._client.list_pod_for_all_namespaces(label_selector=label).items
        for pod in sorted(pods, key=lambda pod: pod.metadata.name):
            if pod.status.phase != "Running":
                raise RuntimeError(f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}" {at()}')
            yield f"{pod.status.host_ip}:{self._port}"


def _kubernetes_client() -> Any:
    try:
        from kubernetes import client, config
    except ImportError:
        raise ImportError(f"KubernetesClusterResolver needs its client: pip install kubernetes {at()}") from None
    config.load_kube_config()
    return client.CoreV1Api()


class GCEClusterResolver(ClusterResolver):
    """Makes a cluster of the running machines of an instance group of Google Compute Engine.

    Args:
      project: The project of the group.
      zone: The zone of the group.
      instance_group: The name of the group.
      port: The port of the servers.
      task_type: The job that all machines form.
      task_id: The number of this process in the job.
      rpc_layer: The protocol that goes before addresses.
      credentials: Google's credentials; "default" for those of the machine.
      service: A client of the service "compute"; None for one of the package ``google-api-python-client``.

    Example: ``tf.distribute.cluster_resolver.GCEClusterResolver("project", "us-west1-a", "group", 8470)``
    """

    def __init__(
        self, project: str, zone: str, instance_group: str, port: int, task_type: str = "worker", task_id: int = 0,
        rpc_layer: str = "grpc", credentials: Any = "default", service: Any = None,
    ) -> None:  # fmt: skip
        self._place = {"project": project, "zone": zone}
        self._group, self._port = instance_group, port
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self._service = _compute_service(credentials) if service is None else service

    def cluster_spec(self) -> ClusterSpec:
        """The running machines of the group, in the order of their addresses."""
        return ClusterSpec({self.task_type: sorted(self._addresses())})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of the task, or of this process."""
        return self._master_of(task_type, task_id, rpc_layer)

    def _addresses(self) -> Iterator[str]:
        groups, instances = self._service.instanceGroups(), self._service.instances()
        request = groups.listInstances(
            **self._place, instanceGroup=self._group, body={"instanceState": "RUNNING"}, orderBy="name"
        )
        while request is not None:
            response = request.execute()
            for item in response.get("items", ()):
                details = instances.get(**self._place, instance=item["instance"].rpartition("/")[2]).execute()
                yield f"{details['networkInterfaces'][0]['networkIP']}:{self._port}"
            request = groups.listInstances_next(previous_request=request, previous_response=response)


def _compute_service(credentials: Any) -> Any:
    try:
        from googleapiclient import discovery
    except ImportError:
        raise ImportError(f"GCEClusterResolver needs its client: pip install google-api-python-client {at()}") from None
    return discovery.build("compute", "v1", credentials=None if credentials == "default" else credentials)
