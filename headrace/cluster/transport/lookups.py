"""Lookups: questions to the network whose answers may take long, on a few threads of their own: none while there are none."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from headrace.cluster.transport.keys import numeric
from headrace.core.errors import InvalidArgumentError

THREADS: Final = 4
_GREETING: Final = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + bytes(32)  # of ZeroMQ, version 3


class Lookups:
    """Thread-safe."""

    def __init__(self) -> None:
        self._questions: deque[Callable[[], None]] = deque()
        self._threads = 0
        self._lock = threading.Lock()

    def submit(self, question: Callable[[], None]) -> None:
        """Runs the question, which tells its answer itself and does not raise."""
        with self._lock:
            self._questions.append(question)
            if self._threads >= THREADS:
                return
            self._threads += 1
        try:
            threading.Thread(target=self._run, name="headrace-lookup", daemon=True).start()
        except BaseException:
            self._threads -= 1
            raise

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._questions:
                    self._threads -= 1
                    return
                question = self._questions.popleft()
            question()


def address_of(host: str) -> str | None:
    """The numeric address of a host; None if its name is not known."""
    try:
        return numeric(host)
    except InvalidArgumentError:
        return None


def is_server(ip: str, port: int, seconds: float) -> bool:
    """Whether somebody listens there and says something; a proxy without its server only hangs up."""
    try:
        with socket.create_connection((ip, port), seconds) as connection:
            connection.settimeout(seconds)
            connection.sendall(_GREETING)
            return bool(connection.recv(1))
    except OSError:
        return False
