"""Runs one workload in several frameworks, each in its own process, and gathers the step times: for `steps` and `gpu`.

All workers of a workload are started first, one after the other; their first losses must agree. Then they are asked for one
short sample after the other, in rounds, so that whatever slows the machine down for a while slows all of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import _harness
from benchmarks._peers import workload as suites

OURS = ("headrace", "headrace-compiled")
BEFORE = ("headrace-before", "headrace-compiled-before")  # an earlier commit, in a checkout of its own
LINE_S = 120.0  # the longest a sample may outlast what was asked for


class WorkerError(Exception):
    """A worker stopped, failed, or took too long."""


@dataclass(frozen=True)
class Order:
    """What every worker of a run is told."""

    suite: str
    device: str = "cpu"
    threads: int = 0
    start_s: float = 900.0
    cache: str = ""
    tf_python: str = sys.executable
    jax_python: str = sys.executable
    before: str = ""  # the checkout of the earlier commit

    def python(self, framework: str) -> str:
        return {"tensorflow": self.tf_python, "jax": self.jax_python}.get(framework, sys.executable)


class StepWorker:
    """A process that runs one workload in one framework.

    Compiles into a cache folder of its own, empty at first; or into the one that is kept, so that a second start is short.
    """

    def __init__(self, framework: str, workload: str, order: Order) -> None:
        self.framework = framework
        self._kept = bool(order.cache)
        self._cache = os.path.join(order.cache, framework) if self._kept else tempfile.mkdtemp(prefix="headrace-bench-")
        os.makedirs(self._cache, exist_ok=True)
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in close()
        plain = framework.removesuffix("-before")
        fields = {"framework": plain, "workload": workload, "suite": order.suite, "device": order.device}
        command = [order.python(framework), "-m", "benchmarks._step_worker"]
        self.spawned = time.time()
        self._process = subprocess.Popen(
            [*command, json.dumps({**fields, "threads": order.threads, "spawned": self.spawned})],
            cwd=_harness.ROOT if plain == framework else order.before, env=_environment(self._cache, order),
            text=True, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip
        try:
            begin = time.perf_counter()
            self.start: dict[str, Any] = self._answer(order.start_s)
            self.start["process_s"] = time.perf_counter() - begin
        except WorkerError:
            self.close()
            raise

    def sample(self, seconds: float) -> dict[str, Any]:
        """The step times of a sample that long."""
        return self._ask(f"{seconds}", seconds)

    def until(self, step: int, seconds: float) -> dict[str, Any]:
        """When the step of this number was done, counted from the start of the process; gives up after that many seconds."""
        return self._ask(f"{step} {seconds}", seconds)

    def _ask(self, line: str, seconds: float) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer will say why
        return self._answer(seconds + LINE_S)

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        end = time.monotonic() + seconds
        while True:
            with selectors.DefaultSelector() as selector:
                selector.register(self._process.stdout, selectors.EVENT_READ)
                if not selector.select(max(end - time.monotonic(), 0.0)):
                    raise WorkerError(f"no answer within {seconds:.0f} s")
            line = self._process.stdout.readline()
            if not line:
                raise WorkerError(f"stopped: {self._last_error()}")
            if line.startswith("{"):  # else some library's chatter
                answer: dict[str, Any] = json.loads(line)
                return answer

    def _last_error(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        lines = [line for line in self._errors.read().splitlines() if line.strip()]
        return " | ".join(lines[-3:])[-800:] if lines else f"exit status {self._process.returncode}"

    def close(self) -> None:
        """Ends the process, and whatever it started, immediately."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._errors.close()
        if not self._kept:
            shutil.rmtree(self._cache, ignore_errors=True)


def _environment(cache: str, order: Order) -> dict[str, str]:
    threads = {"OMP_NUM_THREADS": str(order.threads), "NPROC": str(order.threads)} if order.threads else {}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
    jax = {"JAX_PLATFORMS": order.device, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if order.cache:
        jax |= {"JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    # TensorFlow is compared on CPUs only.
    return {**os.environ, **quiet, **jax, **threads, "TORCHINDUCTOR_CACHE_DIR": cache, "TRITON_CACHE_DIR": cache}


# ---- one workload


def run(
    workload: str,
    frameworks: Sequence[str],
    order: Order,
    rounds: int,
    seconds: float,
    budget_s: float = 1e9,
    statistic: str = "median_s",
) -> dict[str, Any]:
    """Measures one workload: for every framework what it reported, its samples, or why there are none.

    `statistic` is what stands for a sample: the median step, or the mean, which counts the times when others had the core.
    """
    end = time.monotonic() + budget_s
    found: dict[str, dict[str, Any]] = {}
    workers: list[StepWorker] = []
    try:
        for framework in frameworks:
            try:
                if time.monotonic() > end:
                    raise WorkerError("skipped: out of time")
                workers.append(StepWorker(framework, workload, order))
                found[framework] = {**workers[-1].start, "samples": []}
                _note(f"{framework} {_harness.duration(workers[-1].start['first_s'])}; ")
            except WorkerError as error:
                found[framework] = {"error": str(error)}
                _note(f"{framework} FAILED; ")
        check_losses(found, getattr(suites, order.suite)[workload].tolerance)
        workers = [worker for worker in workers if "error" not in found[worker.framework]]
        _measure(workers, found, rounds, seconds, end, statistic)
    finally:
        for worker in workers:
            worker.close()
    for entry in found.values():
        _summarise(entry)
    print(flush=True)
    return found


def _measure(workers, found, rounds, seconds, end, statistic):  # type: ignore[no-untyped-def]
    for number in range(-1, rounds):  # the first round warms up
        if number > 0 and time.monotonic() > end:
            return
        for worker in workers if number % 2 else reversed(workers):
            entry = found[worker.framework]
            if "error" in entry:
                continue
            try:
                sample = worker.sample(seconds if number >= 0 else seconds / 2)
            except WorkerError as error:
                entry["error"] = str(error)
                continue
            if number >= 0:
                entry["samples"].append({**sample, "step_s": sample[statistic]})
        _note(".")


def check_losses(found: dict[str, dict[str, Any]], tolerance: float) -> None:
    """Marks those whose losses differ from the first's."""
    reference: list[float] = []
    for entry in found.values():
        if "error" in entry:
            continue
        reference = reference or entry["losses"]
        if any(abs(a - b) > tolerance * abs(b) for a, b in zip(entry["losses"], reference, strict=True)):
            entry["error"] = f"losses {entry['losses']} differ from {reference}"


def _summarise(entry: dict[str, Any]) -> None:
    if samples := entry.get("samples"):
        entry["step_s"] = statistics.median(sample["step_s"] for sample in samples)
        entry["peak_bytes"] = max(sample["peak_bytes"] for sample in samples)
        entry["start_s"] = entry["build_s"] + entry["first_s"]
        entry["compile_s"] = max(entry["first_s"] - entry["step_s"], 0.0)


def _note(text: str) -> None:
    print(text, end="", flush=True)


# ---- what it means


def best(found: dict[str, dict[str, Any]]) -> str | None:
    """The quicker of our two, if any ran."""
    ran = [name for name in OURS if "step_s" in found.get(name, {}) and "error" not in found[name]]
    return min(ran, key=lambda name: found[name]["step_s"], default=None)


def ratios(found: dict[str, dict[str, Any]], peer: str, ours: str | None = None) -> list[float]:
    """The step time of ``ours`` (the better one by default) over the peer's, round by round; empty if one did not run."""
    ours = ours or best(found)
    if ours is None or any("error" in found.get(name, {"error": ""}) for name in (ours, peer)):
        return []
    pairs = zip(found[ours]["samples"], found[peer]["samples"], strict=False)
    return [mine["step_s"] / theirs["step_s"] for mine, theirs in pairs]


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keeps this many processes busy beside what is measured."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
