"""The jobs that this user's launchers run on this machine, for ``headrace top`` to find: one small file for each launcher."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from headrace.core.errors import InvalidArgumentError


class Job(NamedTuple):
    """``launcher``: the process that runs it.  ``target``: of one of its tasks."""

    launcher: int
    target: str
    program: str


def _folder() -> Path:
    home = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "headrace" / "jobs"


@contextmanager
def noted(target: str, program: str) -> Iterator[None]:
    """Notes a job of this process while the block runs.  Where nothing can be written the job runs without."""
    file = _folder() / f"{os.getpid()}.json"
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = file.with_suffix(".new")
        draft.write_text(json.dumps({"target": target, "program": program}), encoding="utf-8")
        draft.rename(file)
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def running() -> list[Job]:
    """The jobs whose launchers are alive; notes of others are removed."""
    jobs = []
    for file in sorted(_folder().glob("*.json")):
        if not file.stem.isdigit() or not _is_alive(int(file.stem)):
            file.unlink(missing_ok=True)
            continue
        with suppress(OSError, ValueError, KeyError, TypeError):  # it is gone, or somebody else's text
            note = json.loads(file.read_text(encoding="utf-8"))
            jobs.append(Job(int(file.stem), str(note["target"]), str(note["program"])))
    return jobs


def only_target() -> str:
    """The target of the one job that runs on this machine; an error that names those there are, if there is not one."""
    jobs = running()
    if len(jobs) == 1:
        return jobs[0].target
    if not jobs:
        raise InvalidArgumentError(
            None,
            None,
            "no `headrace launch` of yours runs on this machine: give the target of a task, grpc://host:port",
        )
    listed = "".join(f"\n  {job.target}  {job.program} (process {job.launcher})" for job in jobs)
    raise InvalidArgumentError(None, None, f"{len(jobs)} jobs run on this machine; give the target of one:{listed}")


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user by now
        return False
    return True
