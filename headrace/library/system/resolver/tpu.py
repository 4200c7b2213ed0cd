"""``TPUClusterResolver``, for programs that make one whether or not they use TPUs.  Headrace has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.core.source import at
from headrace.library.system.resolver.resolver import ClusterResolver


class TPUClusterResolver(ClusterResolver):
    """Stands for no TPU at all: its cluster is empty and its sessions run in this process.

    Headrace runs where PyTorch runs, and not on TPUs: a resolver that is to find one by name is refused.

    Args:
      tpu: The name of a TPU, which must be None, "" or "local".
      zone: The zone of the TPU; not used.
      project: The project of the TPU; not used.
      job_name: The job of the TPU's machines.
      coordinator_name: The job of this process; not used.
      coordinator_address: The address of this process; not used.
      credentials: Google's credentials; not used.
      service: A client of the service "tpu"; not used.
      discovery_url: The address of the service; not used.

    >>> tf.distribute.cluster_resolver.TPUClusterResolver().master()
    ''
    """

    def __init__(
        self, tpu: Any = None, zone: str | None = None, project: str | None = None, job_name: str = "worker",
        coordinator_name: str | None = None, coordinator_address: str | None = None, credentials: Any = "default",
        service: Any = None, discovery_url: str | None = None,
    ) -> None:  # fmt: skip
        if tpu not in (None, "", "local"):
            raise ValueError(
                f"TPUClusterResolver(tpu={tpu!r}) asks for a TPU, and Headrace runs where PyTorch runs: on CPUs and GPUs. Leave "
                f"tpu out and pass use_tpu=False to the estimator {at()}"
            )
        self._job_name = job_name

    def cluster_spec(self) -> ClusterSpec:
        """An empty cluster."""
        return ClusterSpec({})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """This process: ""."""
        return ""

    def get_master(self) -> str:
        """The address of the master: an empty text, for this process."""
        return self.master()

    def get_job_name(self) -> str:
        """The job of the TPU's machines, which the resolver was made with."""
        return self._job_name

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """No TPU: an empty dict."""
        return {}
