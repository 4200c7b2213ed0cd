"""``python -m headrace.cluster.serve``: the task that ``TF_CONFIG`` describes, as a server until a signal ends it."""

from __future__ import annotations

import json
import os
import sys
from typing import Final

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.server import Server

READY: Final = "headrace: the server is ready"


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


if __name__ == "__main__":
    main()
