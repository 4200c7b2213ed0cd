"""What the benchmarks share: two libraries measured side by side in their own processes, tables, saved results.

A comparison starts one worker for each library (`_worker.py`) with the same workloads and asks them in turn for one
short sample after the other, so that whatever slows the machine down for a while slows both. Each round gives one
ratio; their median is reported with the least and the greatest.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
ENVIRONMENTS = ROOT / ".bench"
CASE_S = 20.0  # a case gets fewer rounds, but at least MIN_ROUNDS, if it would take longer
MIN_ROUNDS = 3


# ---- the peers' environments


def tensorflow_python(given: str | None = None, packages: Sequence[str] = ()) -> str:
    """The Python that has TensorFlow and `packages`, which are installed in the environment of `.bench` only."""
    # some machines have wheels of the second only
    python = peer_python("tensorflow", "HEADRACE_TF_PYTHON", given, ("tensorflow-cpu", "tensorflow"))
    for package in packages:
        found = subprocess.run(
            [python, "-c", f"import importlib.metadata as m; m.version({package!r})"], capture_output=True
        )
        if found.returncode and not Path(python).is_relative_to(ENVIRONMENTS):
            raise SystemExit(
                f"{python} has no {package}: install it there, or set HEADRACE_TF_PYTHON to a Python that has it"
            )
        if found.returncode:
            _install(python, (package,), "HEADRACE_TF_PYTHON")
    return python


def jax_python(given: str | None = None) -> str:
    """The Python that has JAX."""
    return peer_python("jax", "HEADRACE_JAX_PYTHON", given, ("jax",))


def peer_python(name: str, variable: str, given: str | None, packages: Sequence[str]) -> str:
    """A Python that has one of `packages`: `given`, else that of the variable, else one in `.bench`, installed if need be."""
    found = given or os.environ.get(variable)
    if found:
        return found
    environment = ENVIRONMENTS / name
    python, installed = environment / "bin" / "python", environment / ".installed"
    if not installed.exists():
        print(f"installing {packages[-1]} into {environment} (once) ...", flush=True)
        venv.create(environment, with_pip=True)
        _install(str(python), packages, variable)
        installed.touch()
    return str(python)


def _install(python: str, packages: Sequence[str], variable: str) -> None:
    for package in packages:
        if subprocess.run([python, "-m", "pip", "install", "--quiet", package]).returncode == 0:
            return
    raise SystemExit(f"{packages[-1]} could not be installed; set {variable} to a Python that has it")


def compile_bytecode(*pythons: str, root: Path = ROOT) -> None:
    """Makes the bytecode of a checkout for each Python, as installing does, so that no start that is timed has to.

    No import writes it where PYTHONDONTWRITEBYTECODE is set.
    """
    for python in dict.fromkeys(pythons):
        subprocess.run([python, "-m", "compileall", "-q", "headrace", "benchmarks"], cwd=root, check=True)


@contextlib.contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """A folder that holds the repository as it was at this commit, with its bytecode."""
    with tempfile.TemporaryDirectory(prefix="headrace-before-") as folder:
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", folder, revision], check=True)
        try:
            compile_bytecode(sys.executable, root=Path(folder))
            yield Path(folder)
        finally:
            subprocess.run([*git, "remove", "--force", folder], check=True)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


# ---- workers


class CaseError(Exception):
    """A workload failed in its worker, which goes on."""


class Worker:
    """A process that holds one library and the workloads of one module, and measures what it is asked for."""

    def __init__(self, python: str, library: str, module: str, environment: dict[str, str]) -> None:
        command = [python, "-m", "benchmarks._worker", library, module]
        env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.version = self._answer()["version"]

    def sample(self, case: str) -> float:
        """Seconds per call, from one short sample."""
        return float(self._ask(case)["seconds"])

    def values(self, case: str) -> list[Any]:
        """Some of the numbers that a call gives."""
        found: list[Any] = self._ask(f"= {case}")["values"]
        return found

    def forget(self, case: str) -> None:
        """Lets a workload go, and its memory."""
        self._ask(f"- {case}")

    def _ask(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None and self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise SystemExit(f"a worker stopped:\n{self._process.stderr.read()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise CaseError(answer["error"])
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()


# ---- comparing


@dataclass(frozen=True)
class Comparison:
    """One workload: seconds per call of both in every round."""

    case: str
    ours: list[float]
    theirs: list[float]

    @property
    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)


@contextlib.contextmanager
def side_by_side(module: str, tf_python: str, **environment: str) -> Iterator[tuple[Worker, Worker]]:
    """A worker with Headrace and one with TensorFlow, both in this environment."""
    with contextlib.ExitStack() as stack:
        ours = Worker(sys.executable, "headrace", module, environment)
        stack.callback(ours.close)
        theirs = Worker(tf_python, "tensorflow", module, environment)
        stack.callback(theirs.close)
        yield ours, theirs


def interleave(ours: Worker, theirs: Worker, case: str, rounds: int, seconds: float = CASE_S) -> Comparison:
    """Measures a case up to `rounds` times in both, fewer if it takes longer than `seconds`."""
    pair: tuple[list[float], list[float]] = ([], [])
    for worker in (ours, theirs):
        worker.sample(case)  # warms up
    begin = time.perf_counter()
    for i in range(rounds):
        if i >= MIN_ROUNDS and time.perf_counter() - begin > seconds:
            break
        both = [(ours, pair[0]), (theirs, pair[1])]
        for worker, samples in both if i % 2 else reversed(both):
            samples.append(worker.sample(case))
    return Comparison(case, *pair)


def compare(module: str, cases: Sequence[str], rounds: int, tf_python: str, **environment: str) -> tuple[Any, ...]:
    """Measures every case in both: (Headrace's version, TensorFlow's, the comparisons)."""
    with side_by_side(module, tf_python, **environment) as (ours, theirs):
        found = []
        for case in cases:
            found.append(interleave(ours, theirs, case, rounds))
            print(".", end="", flush=True)
        print()
        return ours.version, theirs.version, found


# ---- reporting


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of text as columns: the first to the left, the others to the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            text.ljust(w) if i == 0 else text.rjust(w) for i, (text, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def save(name: str, result: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Writes the result, with the machine it comes from, to `benchmarks/results/<name>.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **machine(), **result}, indent=1) + "\n")
    return path


def gpus() -> list[str]:
    """The names of the GPUs; asked of another process, so that this one holds none of their memory."""
    code = "import torch; print(*(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())), sep='\\n')"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return answer.stdout.split("\n")[:1] if answer.stdout.strip() else []


def machine() -> dict[str, Any]:
    """What the measurements were made on."""
    try:
        lines = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("Model name")]
    kind = {"machine": platform.machine(), "processor": (names or [platform.processor() or "unknown processor"])[0]}
    return {**kind, "cpus": os.cpu_count(), "python": platform.python_version(), "commit": _commit()}


def _commit() -> str:
    """The commit that was measured, marked if files were changed since; empty outside a checkout."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
