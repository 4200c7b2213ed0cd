"""What failed saves of several devices leave: a folder ``<prefix>_temp`` with the shards that were written, or half of one.

A save removes its own when it fails.  A shard that another task was still writing then, or that a killed process left, goes with
the next save: what this saver's failed saves left in any case, and that of others if nothing in it has changed for an hour, since
a save that still runs writes all the time.
"""

from __future__ import annotations

import contextlib
import re
import time
from typing import Final

from headrace.core import errors, file
from headrace.library import log

STALE: Final = 3600.0  # seconds
_FOLDER: Final = "_temp"
_PART: Final = re.compile(r"(_temp/|\.)part-\d{5,}-of-\d{5,}\.[^/]*")  # of S3 there are no folders to list


def remove_parts(prefix: str) -> None:
    """Removes the shards that are not merged into the checkpoint ``prefix``, and no other file."""
    with contextlib.suppress(errors.OpError, OSError):
        for path in _parts(prefix):
            file.remove_if_there(path)
        if file.exists(f"{prefix}{_FOLDER}"):
            file.remove_empty_folder(f"{prefix}{_FOLDER}")


def remove_stale(path: str) -> None:
    """Removes what saves under ``path``, with any number after it, left long ago."""
    pattern = re.compile(rf"{re.escape(path)}(-\d+)?{_FOLDER}")
    with contextlib.suppress(errors.OpError, OSError):
        for found in file.beginning_with(path):
            if pattern.fullmatch(found) and _age(found) > STALE:
                log.warning("removing %s, which a save left that did not end", found)
                remove_parts(found.removesuffix(_FOLDER))


def _parts(prefix: str) -> list[str]:
    found = [*file.beginning_with(f"{prefix}{_FOLDER}/part-"), *file.beginning_with(f"{prefix}.part-")]
    return [path for path in found if _PART.fullmatch(path[len(prefix) :])]


def _age(folder: str) -> float:
    """Seconds since something in the folder changed."""
    return time.time() - max(map(file.changed_at, [folder, *file.beginning_with(f"{folder}/")]))
