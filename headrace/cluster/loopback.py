"""What a message between two tasks of one host takes: between two endpoints of this process, through all that tasks use."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import torch

from headrace.cluster.transport import open_endpoint
from headrace.cluster.transport.interface import Peer
from headrace.core.errors import OpError, UnavailableError

PATIENCE: Final = 5.0  # seconds for an answer
CALLS: Final = 200
LARGE: Final = 8 << 20  # bytes
ROUNDS: Final = 5


def measure(calls: int = CALLS, large: int = LARGE) -> tuple[float, float]:
    """The seconds that a small message takes one way, and the bytes a second of a large one.

    Raises UnavailableError where the two cannot talk to each other.
    """
    server = open_endpoint(_answer, "localhost:0")
    try:
        client = open_endpoint()
        try:
            assert server.address is not None  # it was told to listen
            peer = client.connect(server.address)
            _ask(peer)
            latency = min(_round_trips(peer, calls // ROUNDS) for _ in range(ROUNDS)) / 2
            tensor = torch.zeros(large, dtype=torch.uint8)
            _ask(peer, [tensor])
            seconds = min(_round_trips(peer, 1, [tensor]) for _ in range(ROUNDS)) - 2 * latency
        finally:
            client.close()
    finally:
        server.close()
    return latency, large / max(seconds, 1e-9)


def _answer(peer: Any, method: str, payload: Any, tensors: Any, reply: Any, fail: Any) -> None:
    reply({}, [])


def _round_trips(peer: Peer, calls: int, tensors: Sequence[Any] = ()) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    for _ in range(calls):
        _ask(peer, tensors)
    return (time.perf_counter() - begin) / calls


def _ask(peer: Peer, tensors: Sequence[Any] = ()) -> None:
    over = threading.Event()
    errors: list[OpError | None] = []

    def done(payload: Any, tensors: Any, error: OpError | None) -> None:
        errors.append(error)
        over.set()

    peer.call("echo", {}, list(tensors), done)
    if not over.wait(PATIENCE) or errors[0] is not None:
        raise UnavailableError(
            None, None, f"two endpoints of one process do not reach each other: {errors or 'no answer'}"
        )
