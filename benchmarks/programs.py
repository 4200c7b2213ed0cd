"""Whole programs, from the start of the process to its end: Headrace with its defaults beside TensorFlow.

The programs of `_programs` say `import tensorflow.compat.v1 as tf`, and run unchanged under both. Each run is a process of its
own with an empty cache of compiled code; the two take turns. `--steps` is a factor of the programs' steps. `--before COMMIT`
runs them on Headrace as it was then instead of TensorFlow.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import _harness

FOLDER = Path(__file__).parent / "_programs"
STEPS = {
    "logistic": 60_000,
    "mlp": 4_000,
    "convolutional": 300,
    "autoencoder": 2_500,
    "vae": 3_500,
    "gan": 3_500,
    "unrolled_rnn": 1_000,
    "dynamic_rnn": 500,
    "hidden_markov": 300,
    "word2vec": 8_000,
    "dqn": 15_000,
    "policy_gradient": 1_000,
    "towers": 1_000,
    "tree_rnn": 600,
}
BEFORE = "-before"  # behind the name of a framework: an earlier commit of Headrace, in a checkout of its own
FRAMEWORKS = ("headrace", "headrace-off", "headrace-always", "tensorflow")
LIMIT_S = 600.0


def main(argv: list[str] | None = None) -> None:
    """Measures, prints the table, saves the numbers."""
    options = _options(argv)
    frameworks = options.frameworks or (["headrace"] if options.before else ["headrace", "tensorflow"])
    tf_python = _harness.tensorflow_python() if "tensorflow" in frameworks else sys.executable
    _harness.compile_bytecode(sys.executable, tf_python)
    if options.before:
        frameworks = [*frameworks, *(f"{name}{BEFORE}" for name in frameworks if name != "tensorflow")]
    with _harness.checkout(options.before) if options.before else contextlib.nullcontext(_harness.ROOT) as before:
        result, path = _measure(options, frameworks, tf_python, before)
    print(_harness.table(["", *frameworks, "ratio"], rows(result["programs"], frameworks)))
    print(f"saved to {path}")


def _measure(
    options: argparse.Namespace, frameworks: list[str], tf_python: str, before: Path
) -> tuple[dict[str, Any], Path]:
    result: dict[str, Any] = {
        "rounds": options.rounds, "factor": options.steps, "before": options.before, "programs": {}
    }  # fmt: skip
    for name in options.programs or list(STEPS):
        steps = max(1, round(STEPS[name] * options.steps))
        runs: dict[str, list[float]] = {framework: [] for framework in frameworks}
        says: dict[str, str] = {}
        print(f"{name} ({steps} steps):", end="", flush=True)
        for number in range(options.rounds):
            for framework in frameworks if number % 2 == 0 else reversed(frameworks):
                seconds, says[framework] = run(framework, name, steps, tf_python, before)
                runs[framework].append(seconds)
                print(f" {framework} {seconds:.1f}", end="", flush=True)
        print(flush=True)
        result["programs"][name] = {"steps": steps, "seconds": runs, "says": says}
        path = _harness.save("programs-before" if options.before else "programs", result, options.out)
    return result, path


def run(framework: str, name: str, steps: int, tf_python: str, before: Path) -> tuple[float, str]:
    """How long the program took, and what it printed last; an error if it failed."""
    ours = framework != "tensorflow"
    command = [sys.executable, "-m", "headrace.tensorflow"] if ours else [tf_python]
    root = before if framework.endswith(BEFORE) else _harness.ROOT
    compiled = framework.removesuffix(BEFORE).partition("-")[2] or "auto"
    found = timed(command, name, steps, root, HEADRACE_COMPILE=compiled)
    return found["wall"], found["says"]


def timed(command: list[str], name: str, steps: int, root: Path = _harness.ROOT, **variables: str) -> dict[str, Any]:
    """Runs a program in a process of its own: ``wall`` and ``cpu`` seconds, and what it ``says`` last; an error if it fails."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as cache:
        environment = {
            **os.environ, "PYTHONPATH": f"{root}{os.pathsep}{FOLDER}", "TF_CPP_MIN_LOG_LEVEL": "3",
            "TORCHINDUCTOR_CACHE_DIR": cache, **variables,
        }  # fmt: skip
        used, begin = os.times(), time.perf_counter()
        done = subprocess.run(
            [*command, str(FOLDER / f"{name}.py"), str(steps)],
            cwd=root, env=environment, capture_output=True, text=True, timeout=LIMIT_S,
        )  # fmt: skip
        wall, after = time.perf_counter() - begin, os.times()
    if done.returncode:
        raise RuntimeError(f"{name} failed as {' '.join(command)}: {done.stderr[-2000:]}")
    cpu = after.children_user + after.children_system - used.children_user - used.children_system
    return {"wall": wall, "cpu": cpu, "says": done.stdout.strip().splitlines()[-1]}


def rows(programs: dict[str, Any], frameworks: list[str]) -> list[list[str]]:
    """A row for each program, and the geometric mean of the ratios of the first framework to the last."""
    table, ratios = [], []
    for name, entry in programs.items():
        seconds = {framework: statistics.median(runs) for framework, runs in entry["seconds"].items()}
        ratio = ""
        if len(frameworks) > 1:
            ratios.append(seconds[frameworks[0]] / seconds[frameworks[-1]])
            ratio = f"{ratios[-1]:.2f}"
        table.append([name, *(f"{seconds[framework]:.1f} s" for framework in frameworks), ratio])
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        table.append(["geometric mean", *[""] * len(frameworks), f"{mean:.2f}"])
    return table


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks programs", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add(
        "--programs", nargs="+", choices=list(STEPS), metavar="NAME", help=f"which of {', '.join(STEPS)} (default: all)"
    )
    add(
        "--frameworks",
        nargs="+",
        choices=FRAMEWORKS,
        help="the ratio is of the first to the last (default: headrace and tensorflow; with --before headrace)",
    )
    add("--before", default="", metavar="COMMIT", help="run Headrace as it was at this commit beside")
    add("--rounds", type=int, default=3, help="runs of each, in turn (default: %(default)s)")
    add("--steps", type=float, default=1.0, metavar="FACTOR", help="of the programs' steps (default: %(default)s)")
    add("--out", type=Path, default=_harness.RESULTS, help="folder of the results (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
