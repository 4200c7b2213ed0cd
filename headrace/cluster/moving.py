"""Moving a task of a running cluster to another process: what a person or a program asks for."""

from __future__ import annotations

from typing import Any, Final

from headrace.cluster.connection import client_endpoint
from headrace.cluster.request import Greeting, Hello, TakenOver, TakeOver, ask
from headrace.cluster.transport.interface import Transport
from headrace.core.device import DeviceSpec
from headrace.core.errors import OpError, with_user_line
from headrace.core.source import at

SCHEME: Final = "grpc://"
REACH_SECONDS: Final = 10.0  # to reach a process


def move_task(target: str, task: str, to: str, port: int = 0, wait_secs: float = 60.0) -> str:
    """Moves a task, and returns its new address: see `headrace.cluster.move`."""
    name = task_name(task)
    address = target.removeprefix(SCHEME)
    try:
        endpoint = client_endpoint(address)
        greeting: Greeting = _ask(endpoint, address, Hello(), REACH_SECONDS)
        request = TakeOver(name, greeting.cluster, greeting.moves, wait_secs, port)
        taken: TakenOver = _ask(endpoint, to.removeprefix(SCHEME), request, None)
    except OpError as e:
        raise with_user_line(e) from None
    return taken.address


def _ask(endpoint: Transport, address: str, request: Hello | TakeOver, seconds: float | None) -> Any:
    peer = endpoint.connect(address, REACH_SECONDS)
    try:
        return ask(peer, request, seconds=seconds)
    finally:
        peer.close()


def task_name(task: str) -> str:
    """The full name of a task that is named "ps:2" or "/job:ps/task:2"."""
    job, colon, number = task.partition(":")
    spec = f"/job:{job}/task:{number}" if colon and "/" not in task else task
    try:
        parts = DeviceSpec.from_string(spec)
    except ValueError:
        parts = DeviceSpec()
    if not parts.job or parts.task is None:
        raise ValueError(f'a task is named "ps:2" or "/job:ps/task:2": received {task!r} {at()}')
    return f"/job:{parts.job}/replica:0/task:{parts.task}"
