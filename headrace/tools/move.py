"""Moving the tasks of a running cluster between processes, and processes that have none yet.

    headrace serve host3:2222                                              a server without a task
    headrace move grpc://host1:2222 --task ps:2 --to host3:2222            lets it have one
    headrace serve host3:2222 --cluster grpc://host1:2222 --task ps:2      both

The cluster's key is needed, as by every client.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from headrace.cluster.moving import move_task, task_name
from headrace.cluster.serve import serve_without_task
from headrace.cluster.server import Server
from headrace.core.errors import OpError
from headrace.core.leaving import Terminated
from headrace.tools.said import said


def move(target: str, task: str, to: str, port: int = 0, wait: float = 60.0) -> int:
    """Moves a task and says where it is now; returns 0, 1 if it stays where it was, 2 if the arguments are wrong."""
    try:
        address = move_task(target, task, to, port, wait)
    except (OpError, ImportError, ValueError) as e:
        print(f"headrace move: {said(e)}", file=sys.stderr)
        return 2 if isinstance(e, ValueError) else 1
    print(f"{task} is at {address} now")
    return 0


def serve(address: str, cluster: str | None = None, tasks: Sequence[str] = ()) -> int:
    """Serves at an address, without a task or with those that it takes over first, until a signal ends it."""
    if bool(tasks) != bool(cluster):
        print("headrace serve: --task needs --cluster, and --cluster a --task", file=sys.stderr)
        return 2
    try:
        for task in tasks:
            task_name(task)
        server = serve_without_task(address)
    except (OpError, ImportError, ValueError) as e:
        print(f"headrace serve: {said(e)}", file=sys.stderr)
        return 2
    try:
        return _serve(server, address, cluster or "", tasks)
    except (KeyboardInterrupt, Terminated):
        return 0


def _serve(server: Server, address: str, cluster: str, tasks: Sequence[str]) -> int:
    for task in tasks:
        code = move(cluster, task, address)
        if code:
            server._stop()
            return code
    print(f"headrace serve: ready at {address}", flush=True)
    server._serve(None)
    return 0
