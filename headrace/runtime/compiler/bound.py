"""How much compiled code is kept: when there is more than the bound, what was used least recently goes.

Whoever compiles looks, before it compiles and at most once an hour for a folder: mostly the compiling process, which no step
waits for.  Processes may share the folder.  One of them looks at a time, and none removes what was used in the last hour, which
another may be about to load.  What is gone is compiled again; what is loaded stays loaded.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

log = logging.getLogger("headrace.compile")

GIGABYTES: Final = 5.0  # HEADRACE_CACHE_GB wins; a precompiled header, of which each environment has one, takes 0.16
EVERY: Final = 3600.0  # seconds between two looks
RECENT: Final = 3600.0  # seconds since its last use in which nothing is removed
SMALL: Final = 1024  # bytes; less is not worth it, and such files are locks, and the names of precompiled headers


class Entry(NamedTuple):
    """What belongs to one compilation and goes together: a file, or a folder."""

    path: Path
    size: int
    used: float  # when it was last read or written


def most_bytes() -> float:
    """The bound."""
    setting = os.environ.get("HEADRACE_CACHE_GB", "")
    if setting == "off":
        return float("inf")
    try:
        gigabytes = float(setting) if setting else GIGABYTES
    except ValueError:
        gigabytes = 0.0
    if not gigabytes > 0:
        raise ValueError(f"HEADRACE_CACHE_GB must be a number of gigabytes above 0, or off, got {setting!r}")
    return gigabytes * 1e9


def look(place: Path) -> None:
    """Sees to the bound, if nobody has in the last hour and nobody does now."""
    most, stamp = most_bytes(), place / "looked"
    with contextlib.suppress(OSError):  # the folder cannot be written, or another process looks
        if stamp.exists() and time.time() - stamp.stat().st_mtime < EVERY:
            return
        number = os.open(stamp, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.utime(number)
            if removed := keep_within(place, most):
                log.info("%.1f MB of compiled code removed from %s, the least recently used", removed / 1e6, place)
        finally:
            os.close(number)  # which ends the lock


def keep_within(place: Path, most: float) -> int:
    """Removes what was used least recently until no more than ``most`` bytes are left; returns how many bytes went."""
    found = sorted(entries(place), key=lambda entry: entry.used)
    total, removed, recent = sum(entry.size for entry in found), 0, time.time() - RECENT
    for entry in found:
        if total - removed <= most or entry.used >= recent:
            break
        if entry.size >= SMALL:
            removed += _remove(entry)
    return removed


def prune(place: Path, seconds: float) -> int:
    """Removes what was not used for so many seconds; returns how many bytes went."""
    before = time.time() - seconds
    return sum(_remove(entry) for entry in entries(place) if entry.used < before)


def measure(place: Path) -> tuple[int, int]:
    """How many files there are below a folder, and their bytes."""
    sizes = [state.st_size for state in _states(place)]
    return len(sizes), sum(sizes)


def entries(place: Path) -> Iterator[Entry]:
    """What there is: files in torch's folders, which have the beginnings of names, and ours.  No link is followed."""
    for top in sorted(place.iterdir()):
        inner = top / "code" if top.name == "headrace" else top
        paths = sorted(inner.iterdir()) if inner.is_dir() and not top.is_symlink() else [top]
        for path in paths:
            states = list(_states(path))
            if states:
                yield Entry(path, sum(s.st_size for s in states), max(max(s.st_atime, s.st_mtime) for s in states))


def _states(path: Path) -> Iterator[os.stat_result]:
    """Of the file, or of all files below the folder."""
    files = [path]
    if path.is_dir() and not path.is_symlink():
        files = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
    for file in files:
        with contextlib.suppress(FileNotFoundError):  # another process has removed it
            yield os.lstat(file)


def _remove(entry: Entry) -> int:
    if entry.path.is_dir() and not entry.path.is_symlink():
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        entry.path.unlink(missing_ok=True)
    return entry.size
