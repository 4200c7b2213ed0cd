"""``python -m headrace.cluster.serve``: the task that ``TF_CONFIG`` describes, as a server until a signal ends it.

A server may also begin without a task (`serve_without_task`), to which tasks of a running cluster are moved then.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Final

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.server import Server

READY: Final = "headrace: the server is ready"
SPARE: Final = "spare"  # the job of a server that has no task of a cluster


def main() -> None:
    """Serves sessions, and goes on when they end, until SIGTERM."""
    config = os.environ.get("TF_CONFIG", "")
    if not config:
        sys.exit("headrace.cluster.serve: TF_CONFIG is not set; it has the cluster and the task as JSON")
    definition = json.loads(config)
    task = definition["task"]
    server = Server(ClusterSpec(definition["cluster"]), task["type"], task["index"])
    print(READY, flush=True)
    server._serve(None)  # ends with an error only


def serve_without_task(address: str) -> Server:
    """A server at "host:port" that can take over tasks."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise ValueError(f"a server without a task needs host:port, as others reach it: received {address!r}")
    return Server({SPARE: [address]})


if __name__ == "__main__":
    main()
