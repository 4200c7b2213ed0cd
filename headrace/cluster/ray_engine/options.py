"""Options: what a cluster on Ray is to be; checked before anything starts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.cluster.ray_engine.program import FLAGS, TaskName, flags_of


@dataclass(frozen=True, slots=True)
class Script:
    """``command``: the script's path in the directory, and its arguments.  ``flags``: those of ``FLAGS`` that it is to get."""

    directory: str
    command: list[str]
    flags: list[str]


@dataclass(frozen=True, slots=True)
class Options:
    """What ``headrace.cluster.ray`` takes; see there."""

    ps: int = 0
    workers: int = 1
    program: Sequence[str] | None = None
    chief: bool = False
    gpus_per_worker: float = 0
    cpus_per_worker: float = 1
    cpus_per_ps: float = 1
    address: str | None = None
    working_dir: str | None = None
    flags: bool | None = None
    wait: float | None = None
    restarts: int = 3
    restart_window: float = 600.0

    def check(self) -> None:
        if self.ps < 0:
            raise ValueError(f"ps, the number of parameter servers, must be 0 or more: received {self.ps}")
        if self.workers < 1:
            raise ValueError(f"workers, their number, must be 1 or more: received {self.workers}")
        if self.gpus_per_worker < 0:
            raise ValueError(f"gpus_per_worker must be 0 or more: received {self.gpus_per_worker:g}")
        for name in ("cpus_per_worker", "cpus_per_ps"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0: received {getattr(self, name):g}")
        if self.restarts < 0:
            raise ValueError(f"restarts, of each task, must be 0 or more: received {self.restarts}")
        if not self.restart_window > 0:
            raise ValueError(f"restart_window must be more than 0 seconds: received {self.restart_window:g}")
        if self.program is not None and not self.program:
            raise ValueError("program must be a script and its arguments: received an empty list")

    def names(self) -> tuple[list[TaskName], list[TaskName]]:
        """The parameter servers, and the workers, the chief first."""
        chief = [TaskName("chief", 0)] if self.chief else []
        workers = [TaskName("worker", i) for i in range(self.workers - len(chief))]
        return [TaskName("ps", i) for i in range(self.ps)], chief + workers

    @property
    def ps_resources(self) -> dict[str, float]:
        return {"CPU": self.cpus_per_ps}

    @property
    def worker_resources(self) -> dict[str, float]:
        gpus = {"GPU": self.gpus_per_worker} if self.gpus_per_worker else {}
        return {"CPU": self.cpus_per_worker, **gpus}

    def script(self) -> Script | None:
        """The program's script, which must be a file; None if tasks only serve."""
        if self.program is None:
            return None
        path = os.path.abspath(self.program[0])
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no script {self.program[0]!r} in {os.getcwd()}")
        directory = os.path.abspath(self.working_dir or os.curdir)
        relative = os.path.relpath(path, directory)
        if self.working_dir is not None and relative.startswith(os.pardir):
            raise ValueError(f"the script {self.program[0]!r} is not in the working_dir {self.working_dir!r}")
        with open(path, encoding="utf-8", errors="replace") as file:
            defined = flags_of(file.read())
        flags = defined if self.flags is None else list(FLAGS) if self.flags else []
        return Script(directory, [relative, *self.program[1:]], flags)
