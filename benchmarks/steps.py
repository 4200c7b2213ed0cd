"""Step times of the paper's models on a CPU: Headrace beside TensorFlow, PyTorch eager and compiled, and JAX.

Every framework runs the same maths from the same initial values on the same batch, with the same precision and number of
threads, each workload in a process of its own; a step takes a NumPy batch and returns the loss as a Python float. TensorFlow
and JAX are installed into `.bench` unless $HEADRACE_TF_PYTHON and $HEADRACE_JAX_PYTHON name Pythons that have them.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import time
from typing import Any

from benchmarks import _chart, _harness, _step_runner, _step_table
from benchmarks._peers import workload

FRAMEWORKS = ("headrace", "headrace-compiled", "tensorflow", "torch", "torch-compiled", "jax")


def main(argv: list[str] | None = None) -> None:
    """Measures, prints the tables, saves the numbers and a chart."""
    options = _options(argv)
    order = _step_runner.Order(
        options.suite.upper(), "cpu", options.threads, options.start, options.cache,
        tf_python=_harness.tensorflow_python() if "tensorflow" in options.peers else "",
        jax_python=_harness.jax_python() if "jax" in options.peers else "",
    )  # fmt: skip
    suite = getattr(workload, order.suite)
    before = _step_runner.BEFORE if options.before else ()
    frameworks = [*_step_runner.OURS, *before, *options.peers]
    settings = {
        name: getattr(options, name) for name in ("suite", "threads", "rounds", "seconds", "busy", "cache", "before")
    }
    settings["cache"] = bool(options.cache)  # whether first steps found compiled code
    result: dict[str, Any] = {**settings, "device": "cpu", "frameworks": frameworks, "workloads": {}}
    name = f"steps-{time.strftime('%Y%m%d-%H%M%S')}{'-busy' if options.busy else ''}"
    with contextlib.ExitStack() as stack:
        stack.enter_context(_step_runner.busy(2 if options.busy else 0))
        if options.before:
            order = dataclasses.replace(order, before=str(stack.enter_context(_harness.checkout(options.before))))
        for key in options.workloads or [key for key in suite if key in workload.CPU_DEFAULT]:
            print(f"{suite[key].title}: ", end="", flush=True)
            found = _step_runner.run(
                key,
                frameworks,
                order,
                options.rounds,
                options.seconds,
                statistic="mean_s" if options.busy else "median_s",
            )
            result["workloads"][key] = {"title": suite[key].title, "found": found}
            path = _harness.save(name, result)  # after each, so that nothing is lost
    for rows in _step_table.all_tables(result):
        print(f"\n{_harness.table(rows[0], rows[1:])}")
    print(*_step_table.errors(result), sep="\n")
    print(f"saved to {path}; {_chart.draw(path)}")


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks steps", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    known = sorted(workload.CPU)
    add("--workloads", nargs="+", choices=known, metavar="NAME", help=f"which of {', '.join(known)} (default: all)")
    add(
        "--peers",
        nargs="*",
        choices=FRAMEWORKS[2:],
        default=list(FRAMEWORKS[2:]),
        help="beside Headrace (default: all)",
    )
    add("--rounds", type=int, default=7, help="samples of each, interleaved (default: %(default)s)")
    add("--seconds", type=float, default=2.0, help="length of a sample (default: %(default)s)")
    add("--threads", type=int, default=os.cpu_count(), help="for every framework (default: one a core)")
    add(
        "--start",
        type=float,
        default=900.0,
        help="seconds in which the first steps must be done (default: %(default)s)",
    )
    add("--cache", default="", help="folder of compiled code to keep; first steps are then those of a second run")
    add("--before", default="", metavar="COMMIT", help="measure Headrace as it was at this commit beside")
    add("--busy", action="store_true", help="two busy processes beside, as on shared cores")
    add("--suite", choices=["cpu", "small"], default="cpu", help="small: tiny sizes, to check that all agree")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
