"""Locks that one program, or one part of a program, holds at a time.  The system frees those of a program that has died."""

from __future__ import annotations

import fcntl
import os
import weakref
from typing import Any


class FileLock:
    """A file that is there while somebody holds the lock.  Freed with the object at the latest."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._release: Any = None

    def acquire(self) -> bool:
        """Whether the lock is ours now; it does not wait.  Without effect if it is ours."""
        while self._release is None:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            if _is_at(descriptor, self.path):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"process {os.getpid()}\n".encode())
                self._release = weakref.finalize(self, _freed, descriptor, self.path)
            else:  # whoever had the lock removed the file meanwhile
                os.close(descriptor)
        return True

    def release(self) -> None:
        if self._release is not None:
            self._release()
            self._release = None

    def holder(self) -> str:
        """Who has the lock, as far as the file tells."""
        try:
            with open(self.path) as file:
                return file.read().strip()
        except OSError:
            return ""


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _freed(descriptor: int, path: str) -> None:
    if _is_at(descriptor, path):
        os.unlink(path)
    os.close(descriptor)
