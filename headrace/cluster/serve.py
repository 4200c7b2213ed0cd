"""``python -m headrace.cluster.serve``: the task that ``TF_CONFIG`` describes, as a server until SIGTERM or Ctrl-C ends it."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Final

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.server import Server

READY: Final = "headrace: the server is ready"


def main() -> None:
    """Serves sessions.  It takes no part in what they do, and does not end when they do."""
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # before there are threads: all of them leave these to sigwait
    config = os.environ.get("TF_CONFIG", "")
    if not config:
        sys.exit("headrace.cluster.serve: TF_CONFIG is not set; it has the cluster and the task as JSON")
    definition = json.loads(config)
    task = definition["task"]
    server = Server(ClusterSpec(definition["cluster"]), task["type"], task["index"])
    print(READY, flush=True)
    signal.sigwait(signals)
    server._stop()


if __name__ == "__main__":
    main()
