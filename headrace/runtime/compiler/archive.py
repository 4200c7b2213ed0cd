"""What earlier compilations left on disk: compiled code by region, which plan of a step was faster, and how long compiling takes.

A file for each region and step, in a folder of the cache, written whole or not at all: programs may run side by side.  Only
what this user has written is read, for compiled code is executed (``own_folder``).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch

from headrace.runtime.compiler import own_folder
from headrace.runtime.compiler.own_folder import UnsafeFolder, open_own, processor

CODE, STEP = "code", "step"
WEIGHT: Final = 0.3  # of the last compilation among those before
MOST: Final = 5.0  # times longer or shorter than reckoned
_PACKAGE: Final = Path(__file__).parents[2]


def folder() -> Path:
    """Our folder beside what torch's compiler keeps.  Raises UnsafeFolder if other users may write there."""
    return own_folder.folder() / "headrace"


def key(content: Any) -> str:
    """The name of what belongs to this content under these versions, on a machine like this."""
    text = json.dumps([content, _versions()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def find(kind: str, name: str) -> Any:
    """What was kept under the name; None if nothing was, or somebody else wrote it."""
    try:
        with open(open_own(folder() / kind / f"{name}.json"), "rb") as file:
            return json.load(file)
    except (OSError, ValueError, UnsafeFolder):
        return None


def keep(kind: str, name: str, content: Any) -> None:
    """Keeps JSON values; without a place to write, nothing is kept."""
    with contextlib.suppress(OSError, UnsafeFolder):
        place = folder() / kind
        unfinished = place / f"{name}.{os.getpid()}"
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished.write_text(json.dumps(content))
        os.replace(unfinished, place / f"{name}.json")


def find_code(name: str) -> dict[str, Any] | None:
    """The compiled code of a region, if the files that it loads are still there, and this user's.

    Raises UnsafeFolder if other users may write to the folder: then nothing is compiled either.
    """
    folder()
    code: dict[str, Any] | None = find(CODE, name)
    try:
        for path in code["files"] if code is not None else ():
            os.close(open_own(path))
    except (OSError, UnsafeFolder):
        return None
    return code


def cost_factor() -> float:
    """How much longer compilations took on this machine than reckoned."""
    factor = find(STEP, "cost_accelerator")
    return factor if isinstance(factor, float) and factor > 0 else 1.0


def learn_cost(factor: float) -> None:
    """Notes how much longer one compilation took than reckoned."""
    keep(STEP, "cost_accelerator", (1 - WEIGHT) * cost_factor() + WEIGHT * min(max(factor, 1 / MOST), MOST))


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
