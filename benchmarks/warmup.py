"""Wall time from the start of the process to step 1, 10, 100, 1,000 and 10,000: what a user waits for.

Headrace interpreted, by default and compiled before the first step, beside TensorFlow, PyTorch eager and compiled, and JAX. Each
runs in a process of its own, one after the other, with an empty cache of compiled code. Their first losses must agree. What is
not reached within `--seconds` of stepping is reckoned from the recent steps, and marked.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import _harness, _step_runner
from benchmarks._peers import workload

OURS = ("headrace", "headrace-auto", "headrace-compiled")
FRAMEWORKS = (*OURS, "tensorflow", "torch", "torch-compiled", "jax")
STEPS = (1, 10, 100, 1_000, 10_000)
NAMES = {"headrace": "off", "headrace-auto": "auto", "headrace-compiled": "always"}
DEFAULT = ("mlp", "lenet", "lstm_lm", "lstm_dynamic", "transformer", "alexnet")


def main(argv: list[str] | None = None) -> None:
    """Measures, prints a table for each workload, saves the numbers."""
    options = _options(argv)
    end = time.monotonic() + 60.0 * options.minutes
    on_gpu = options.device == "cuda"
    suite = "GPU" if on_gpu else options.suite.upper()
    order = _step_runner.Order(
        suite, options.device, options.threads, options.start,
        tf_python=_harness.tensorflow_python() if "tensorflow" in options.frameworks else "",
        jax_python=_jax_python(options) if "jax" in options.frameworks else "",
    )  # fmt: skip
    _harness.compile_bytecode(*(order.python(framework) for framework in options.frameworks))
    known = getattr(workload, suite)
    result: dict[str, Any] = {
        "device": options.device, "suite": suite, "threads": options.threads, "seconds": options.seconds, "workloads": {},
    }  # fmt: skip
    for key in options.workloads or [name for name in DEFAULT if name in known]:
        if on_gpu:
            # Not counted: reads the GPU's libraries from disk, some of which are large.
            measure("torch", key, order, 0.0)
        found = {}
        for framework in options.frameworks:
            if time.monotonic() > end:
                found[framework] = {"error": "out of time"}
                continue
            found[framework] = measure(framework, key, order, options.seconds)
        _step_runner.check_losses({k: v for k, v in found.items() if "losses" in v}, known[key].tolerance)
        result["workloads"][key] = {"title": known[key].title, "found": found}
        print(f"\n{known[key].title}, seconds from the start of the process to step N (~: reckoned from recent steps)")
        print(_harness.table(["", *(f"{n:,}" for n in STEPS)], rows(found)), flush=True)
        _harness.save(f"warmup-{options.device}", result, options.out)
    print(f"saved to {_harness.save(f'warmup-{options.device}', result, options.out)}")


def measure(framework: str, key: str, order: _step_runner.Order, seconds: float) -> dict[str, Any]:
    """For each number of steps: when it was done, and whether that is reckoned."""
    try:
        worker = _step_runner.StepWorker(framework, key, order)
    except _step_runner.WorkerError as error:
        return {"error": str(error)}
    try:
        at = {"1": worker.start["first_at"] - worker.spawned}
        reckoned: list[str] = []
        end = time.monotonic() + seconds
        last: dict[str, Any] = {}
        for n in STEPS[1:]:
            if not reckoned:
                last = worker.until(n, max(end - time.monotonic(), 0.0))
            if last["steps"] < n:
                reckoned.append(str(n))
            at[str(n)] = last["at_s"] + (n - last["steps"]) * last["recent_s"]
        start = {name: worker.start[name] for name in ("losses", "build_s", "first_s")}
        return {"at_s": at, "reckoned": reckoned, "step_s": last["recent_s"], **start}
    except _step_runner.WorkerError as error:
        return {"error": str(error)}
    finally:
        worker.close()


def rows(found: dict[str, dict[str, Any]]) -> list[list[str]]:
    """A row for each framework, and one that holds `auto` against the best of our modes."""
    table = []
    for framework, entry in found.items():
        name = NAMES.get(framework, framework)
        if "error" in entry:
            table.append([name, entry["error"][:90], *[""] * (len(STEPS) - 1)])
            continue
        cells = [f"{'~' if str(n) in entry['reckoned'] else ''}{entry['at_s'][str(n)]:.2f}" for n in STEPS]
        table.append([name, *cells])
    ours = [found[name]["at_s"] for name in OURS if "at_s" in found.get(name, {})]
    auto = found.get("headrace-auto", {}).get("at_s")
    if auto:
        best = [min(at[str(n)] for at in ours) for n in STEPS]
        table.append(["auto / best of ours", *(f"{auto[str(n)] / b:.2f}" for n, b in zip(STEPS, best, strict=True))])
    peers = [e["at_s"] for name, e in found.items() if name not in OURS and "at_s" in e]
    if auto and peers:
        best = [min(at.get(str(n), math.inf) for at in peers) for n in STEPS]
        table.append(["auto / best peer", *(f"{auto[str(n)] / b:.2f}" for n, b in zip(STEPS, best, strict=True))])
    return table


def _jax_python(options: argparse.Namespace) -> str:
    if options.device == "cuda" and importlib.util.find_spec("jax") is not None:
        return sys.executable
    return _harness.jax_python()


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks warmup", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    known = sorted({*workload.CPU, *workload.GPU})
    add("--workloads", nargs="+", choices=known, metavar="NAME", help=f"(default: {', '.join(DEFAULT)})")
    add("--frameworks", nargs="+", choices=FRAMEWORKS, default=list(FRAMEWORKS), help="(default: all)")
    add("--seconds", type=float, default=60.0, help="of stepping, for each (default: %(default)s)")
    add("--minutes", type=float, default=120.0, help="after which nothing more is begun (default: %(default)s)")
    add("--start", type=float, default=300.0, help="seconds in which the first steps must be done")
    add("--threads", type=int, default=0, help="for every framework (default: theirs)")
    add("--device", choices=["cpu", "cuda"], default="cpu", help="(default: %(default)s)")
    add("--suite", choices=["cpu", "small"], default="cpu", help="small: tiny sizes, to try the program out")
    add("--out", type=Path, default=_harness.RESULTS, help="folder of the results (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.device == "cpu" and not options.threads:
        options.threads = os.cpu_count()
    return options


if __name__ == "__main__":
    main()
