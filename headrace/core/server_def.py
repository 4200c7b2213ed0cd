"""What describes a cluster and one of its tasks: TF1's JobDef, ClusterDef and ServerDef as plain, typed, checked objects.

Owns the fields; how they are checked is in `message`, what a cluster means is the business of ``headrace.cluster``.
"""

from __future__ import annotations

from headrace.core.config import ConfigProto
from headrace.core.message import Message, nested

__all__ = ["ClusterDef", "JobDef", "ServerDef"]


class JobDef(Message):
    """A job: the network addresses of its tasks by their number."""

    name: str = ""
    tasks: dict[int, str] = nested()


class ClusterDef(Message):
    """All jobs of a cluster."""

    job: list[JobDef] = nested()


class ServerDef(Message):
    """One task: the cluster it belongs to, which of its tasks it is, and the configuration of sessions on it."""

    cluster: ClusterDef = nested()
    job_name: str = ""
    task_index: int = 0
    default_session_config: ConfigProto = nested()
    protocol: str = ""
