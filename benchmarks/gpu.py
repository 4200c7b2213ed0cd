"""Step times on one CUDA GPU: Headrace beside PyTorch, eager and compiled with CUDA graphs, and JAX; TF32 everywhere.

The batches are those of the paper's Table 1 and stay on the device, as there. Needs nothing but Python, PyTorch and, for that
column, JAX ($HEADRACE_JAX_PYTHON, else this Python). Ends within `--minutes`: what does not fit is skipped, with a note; the
results so far are saved after every workload.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks import _harness, _step_runner, _step_table
from benchmarks._peers import workload

FRAMEWORKS = ("headrace", "headrace-compiled", "torch", "torch-compiled", "torch-graphs", "jax")
MARGIN_S = 20.0  # kept back for the tables


def main(argv: list[str] | None = None) -> None:
    """Measures, prints the tables, saves the numbers."""
    options = _options(argv)
    if options.device == "cuda" and not _harness.gpus():
        print("no CUDA GPU here: nothing is measured")
        return
    end = time.monotonic() + 60.0 * options.minutes - MARGIN_S
    jax_python = os.environ.get("HEADRACE_JAX_PYTHON", sys.executable)
    frameworks = [name for name in options.frameworks if name != "jax" or _has_jax(jax_python)]
    suite = workload.GPU_SMALL if options.small else workload.GPU
    result: dict[str, Any] = {
        "device": options.device, "accelerator": ", ".join(_harness.gpus()) or None, "rounds": options.rounds,
        "seconds": options.seconds, "threads": options.threads, "warm": bool(options.cache),
        "frameworks": frameworks, "skipped": [], "workloads": {},
    }  # fmt: skip
    names = options.workloads or list(suite)
    for i, key in enumerate(names):
        left = end - time.monotonic()
        if left < 20.0:
            result["skipped"] += [f"{suite[name].title}: out of time" for name in names[i:]]
            break
        print(f"[{left:4.0f} s left] {suite[key].title}: ", end="", flush=True)
        try:
            found = _one(key, frameworks, options, jax_python, left, len(names) - i)
            result["workloads"][key] = {"title": suite[key].title, "found": found}
            _print_row(result, key)
        except Exception:  # one workload's trouble must not cost the others
            traceback.print_exc()
            result["skipped"].append(f"{suite[key].title}: {sys.exc_info()[1]!r}")
        _harness.save("gpu", result, options.out)
    for rows in _step_table.all_tables(result):
        print(f"\n{_harness.table(rows[0], rows[1:])}")
    print(*_step_table.errors(result), *result["skipped"], sep="\n")
    print(f"saved to {_harness.save('gpu', result, options.out)}", flush=True)


def _one(
    key: str, frameworks: list[str], options: argparse.Namespace, jax_python: str, left: float, waiting: int
) -> dict[str, Any]:
    """One workload within its share of the time left: twice an equal one, since most take less."""
    budget = min(max(2.0 * left / waiting, 60.0), left)
    suite = "GPU_SMALL" if options.small else "GPU"
    start_s = min(options.start, budget / 2)
    order = _step_runner.Order(
        suite, options.device, options.threads, start_s, options.cache, jax_python=jax_python
    )  # fmt: skip
    return _step_runner.run(key, frameworks, order, options.rounds, options.seconds, budget)


def _print_row(result: dict[str, Any], key: str) -> None:
    rows = _step_table.step_times({**result, "workloads": {key: result["workloads"][key]}})
    print(_harness.table(rows[0], rows[1:]), flush=True)
    for text in _step_table.errors({**result, "workloads": {key: result["workloads"][key]}}):
        print(f"  {text}", flush=True)


def _has_jax(python: str) -> bool:
    if python == sys.executable:
        return importlib.util.find_spec("jax") is not None
    return Path(python).exists()


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    known = list(workload.GPU)
    add("--workloads", nargs="+", choices=known, metavar="NAME", help=f"which of {', '.join(known)} (default: all)")
    add("--frameworks", nargs="+", choices=FRAMEWORKS, default=list(FRAMEWORKS), help="(default: all)")
    add("--rounds", type=int, default=4, help="samples of each, interleaved (default: %(default)s)")
    add("--seconds", type=float, default=0.7, help="length of a sample (default: %(default)s)")
    add("--minutes", type=float, default=8.0, help="within which to end (default: %(default)s)")
    add(
        "--start",
        type=float,
        default=100.0,
        help="seconds in which the first steps must be done (default: %(default)s)",
    )
    add("--threads", type=int, default=0, help="for every framework (default: theirs)")
    add("--out", type=Path, default=_harness.RESULTS, help="folder of the results (default: %(default)s)")
    add("--cache", default="", help="folder of compiled code to keep; first steps are then those of a second run")
    add("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the program out")
    add("--small", action="store_true", help="tiny sizes, to try the program out")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
