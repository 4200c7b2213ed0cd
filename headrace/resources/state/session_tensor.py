"""Values that stay on their device between the steps of a session, by name (``tf.get_session_handle``)."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from headrace.resources.state.container import Containers

_numbers = itertools.count()


class SessionTensors:
    """Values by handle: ``name of the node;number;device``.  Thread-safe.  Nobody changes a value that is here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, Any] = {}

    @staticmethod
    def of(containers: Containers, owner: int) -> SessionTensors:
        """Those of one session."""
        return containers.get_or_create("", "session tensors", SessionTensors, SessionTensors, owner=owner)

    def add(self, name: str, device: str, value: Any) -> str:
        """Keeps the value; returns its handle, which no other value of the process has."""
        handle = f"{name};{next(_numbers)};{device}"
        with self._lock:
            self._values[handle] = value
        return handle

    def get(self, handle: str) -> Any:
        """The value; KeyError if it was deleted or never here."""
        with self._lock:
            return self._values[handle]

    def delete(self, handle: str) -> None:
        """Drops the value; KeyError if it is not here."""
        with self._lock:
            del self._values[handle]

    def __len__(self) -> int:
        return len(self._values)
