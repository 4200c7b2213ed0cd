"""A mutex that steps hold between two of their nodes.

The thread that holds it may take it again: strands of one step run one after another on one thread, each to its end, so
what they do cannot mix.  It may be given back by another thread.
"""

from __future__ import annotations

import threading


class Mutex:
    """Thread-safe; waits without limit."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._owner: int | None = None
        self._count = 0

    def acquire(self) -> Held:
        """Waits until no other thread holds the mutex."""
        me = threading.get_ident()
        with self._free:
            while self._owner not in (None, me):
                self._free.wait()
            self._owner = me
            self._count += 1
        return Held(self)

    def _release(self) -> None:
        with self._free:
            self._count -= 1
            if not self._count:
                self._owner = None
                self._free.notify()


class Held:
    """The right to go on.  Given up by ``release``, or when a failed step drops it."""

    def __init__(self, mutex: Mutex) -> None:
        self._mutex: Mutex | None = mutex

    def release(self) -> None:
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex._release()

    def __del__(self) -> None:
        self.release()
