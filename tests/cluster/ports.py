"""Addresses for the servers of tests."""

from __future__ import annotations

import random
import socket

RANGE = range(15_000, 32_000)  # below the ports that systems give to connections: none of these takes one meanwhile


def free_ports(count: int) -> list[int]:
    """Different ports of this machine that nobody listens on now."""
    ports: list[int] = []
    for port in random.SystemRandom().sample(RANGE, 100 + count):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise RuntimeError(f"no {count} ports are free among those tried of {RANGE}")


def free_addresses(count: int) -> list[str]:
    """Different addresses of this machine that nobody listens on now."""
    return [f"localhost:{port}" for port in free_ports(count)]
