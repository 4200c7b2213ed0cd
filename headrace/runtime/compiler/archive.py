"""Compiled code that earlier compilations left on disk.

A file for each region, in a folder of the cache, written whole or not at all: programs may run side by side.  Only
what this user has written is read, for compiled code is executed (``own_folder``).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch

from headrace.runtime.compiler import own_folder
from headrace.runtime.compiler.own_folder import UnsafeFolder, open_own, processor

_PACKAGE: Final = Path(__file__).parents[2]
PATIENCE: Final = 300.0  # seconds for another process to compile; one that is stopped never ends
_LOOK: Final = 0.1  # seconds between two looks whether it has


def folder() -> Path:
    """Our folder beside what torch's compiler keeps.  Raises UnsafeFolder if other users may write there."""
    return own_folder.folder() / "headrace" / "code"


def key(content: Any) -> str:
    """The name of what belongs to this content under these versions, on a machine like this."""
    text = json.dumps([content, _versions()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def find(name: str) -> dict[str, Any] | None:
    """The code that was kept under the name, if the files that it loads are still there, and this user wrote them.

    Raises UnsafeFolder if other users may write to the folder: then nothing is compiled either.
    """
    place = folder()
    try:
        with open(open_own(place / f"{name}.json"), "rb") as file:
            _note_use(file.fileno())
            code: dict[str, Any] = json.load(file)
        for path in code["files"]:
            with open(open_own(path), "rb") as file:
                _note_use(file.fileno())
    except (OSError, ValueError, KeyError, TypeError, UnsafeFolder):  # gone, not whole, or of another form
        return None
    return code


def _note_use(number: int) -> None:
    """Sets the times of an open file: the least recently used go first (``bound``), and many systems note no reads."""
    with contextlib.suppress(OSError):  # a folder that is read-only
        os.utime(number)


def keep(name: str, code: dict[str, Any]) -> None:
    """Keeps code, as JSON values; without a place to write, nothing is kept."""
    with contextlib.suppress(OSError, UnsafeFolder):
        place = folder()
        unfinished = place / f"{name}.{os.getpid()}"
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished.write_text(json.dumps(code))
        os.replace(unfinished, place / f"{name}.json")


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """Of the processes of this user on this machine one at a time is in here with a name; the next finds what it has kept.

    One byte of a file is locked for each name, so nothing is left over, and the end of a process ends its lock.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, UnsafeFolder):  # without a place to write, each compiles for itself
            place = folder()
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            number = os.open(place / "locks", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            stack.callback(os.close, number)  # which ends the lock
            _lock(number, int(name[:8], 16))
        yield


def _lock(number: int, byte: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except BlockingIOError:
            time.sleep(_LOOK)
        else:
            return


@cache
def _versions() -> list[Any]:
    return [torch.__version__, processor(), sorted(_sources())]


def _sources() -> Iterator[tuple[str, int, int]]:
    """The files of this package as they are now: another kernel makes other code."""
    for place, _, files in os.walk(_PACKAGE):
        for file in files:
            if file.endswith(".py"):
                status = os.stat(os.path.join(place, file))
                yield os.path.relpath(place, _PACKAGE) + "/" + file, status.st_mtime_ns, status.st_size
