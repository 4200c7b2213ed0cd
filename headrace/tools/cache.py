"""``headrace cache``: where compiled code is kept, how much there is, and how to remove what has not been used for long."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from headrace.core.table import in_words
from headrace.runtime.compiler import own_folder

DAY = 86400.0


def show(prune_days: float | None = None, as_json: bool = False) -> int:
    """Prints the folder, its files and their size; with ``prune_days``, first removes what nobody has read for so many days."""
    try:
        place = own_folder.folder()
    except (OSError, own_folder.UnsafeFolder) as e:
        print(f"headrace cache: {e}")
        return 1
    removed = 0 if prune_days is None else prune(place, prune_days)
    files, size = measure(place)
    if as_json:
        print(json.dumps({"folder": str(place), "files": files, "bytes": size, "removed_bytes": removed}))
        return 0
    print(f"compiled code: {place}\n{files} files, {in_words(size)}")
    if prune_days is not None:
        print(f"{in_words(removed)} removed: not used for {prune_days:g} days")
    return 0


def measure(place: Path) -> tuple[int, int]:
    """How many files there are below a folder, and their bytes."""
    sizes = [state.st_size for _, state in _files(place)]
    return len(sizes), sum(sizes)


def prune(place: Path, days: float) -> int:
    """Removes what was last used so many days ago; returns its bytes.

    What belongs to one compilation is in one folder, and goes together: half of it would be compiled again anyway.
    """
    before, removed = time.time() - days * DAY, 0
    for entry in sorted(_entries(place)):
        states = [os.lstat(entry)] if not entry.is_dir() or entry.is_symlink() else [s for _, s in _files(entry)]
        if any(max(state.st_atime, state.st_mtime) >= before for state in states):
            continue
        removed += sum(state.st_size for state in states)
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
    return removed


def _entries(place: Path) -> Iterator[Path]:
    """What stands for one compilation each: torch's folders by the beginning of a name, and our files."""
    for top in place.iterdir():
        if top.is_dir() and not top.is_symlink():
            yield from top.iterdir() if top.name != "headrace" else (top / "code").glob("*")
        else:
            yield top


def _files(place: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for folder, _, names in os.walk(place):
        for name in names:
            path = Path(folder) / name
            try:
                yield path, os.lstat(path)
            except FileNotFoundError:  # another process has removed it
                continue
