"""`fit` of small Keras networks as whole programs: Headrace beside tf_keras on TensorFlow and a loop in PyTorch.

tf_keras runs in both of its manners, TensorFlow 1's graphs and TensorFlow 2's functions; the faster one counts. The peer for
PyTorch is a training loop written by hand. All take turns, each run in a process of its own.

With ``--one-core`` each process keeps to one core and what is compared is the processor's seconds.  Other work on the machine
changes these far less than it changes the time from start to end.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks import _harness
from benchmarks.programs import timed

PEER = Path(__file__).parent / "_peers" / "keras_torch"
NETWORKS = ("mlp", "convnet")


def main(argv: list[str] | None = None) -> None:
    """Measures, prints the table, saves the numbers."""
    options = _options(argv)
    tf_python = _harness.tensorflow_python(packages=("tf_keras",))
    _harness.compile_bytecode(sys.executable, tf_python)
    measure = "cpu" if options.one_core else "wall"
    if options.one_core:
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # processes started from here inherit it
    result: dict[str, Any] = {
        "rounds": options.rounds, "epochs": options.epochs, "one_core": options.one_core, "measure": measure, "seconds": {}
    }  # fmt: skip
    for network in options.networks:
        runs: dict[str, list[float]] = {}
        for _ in range(options.rounds):
            for name, command, program, variables in _runners(tf_python):
                found = timed(command, program, options.epochs, KERAS_NETWORK=network, **variables)
                runs.setdefault(name, []).append(found[measure])
                print(f"{network} {name} {found[measure]:.1f} s, {found['says']}", flush=True)
        result["seconds"][network] = runs
        path = _harness.save("keras", result, options.out)
    print(_harness.table(["", "headrace", "tf_keras", "torch", "to tf_keras", "to torch"], rows(result["seconds"])))
    print(f"saved to {path}")


def _runners(tf_python: str) -> list[tuple[str, list[str], str, dict[str, str]]]:
    return [
        ("headrace", [sys.executable, "-m", "headrace.tensorflow"], "keras_fit", {}),
        ("tf_keras 1", [tf_python], "keras_fit", {"KERAS_MODE": "v1"}),
        ("tf_keras 2", [tf_python], "keras_fit", {"KERAS_MODE": "v2"}),
        ("torch", [sys.executable], str(PEER), {}),
    ]


def rows(seconds: dict[str, dict[str, list[float]]]) -> list[list[str]]:
    """A row for each network: medians, and Headrace's to the faster tf_keras and to PyTorch."""
    table = []
    for network, runs in seconds.items():
        ours, one, two, torch = (
            statistics.median(runs[name]) for name in ("headrace", "tf_keras 1", "tf_keras 2", "torch")
        )
        keras = min(one, two)
        times = [f"{value:.1f} s" for value in (ours, keras, torch)]
        table.append([network, *times, f"{ours / keras:.2f}", f"{ours / torch:.2f}"])
    return table


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks keras", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS), help="which (default: all)")
    add("--rounds", type=int, default=3, help="runs of each, in turn (default: %(default)s)")
    add("--epochs", type=int, default=3, help="epochs of each run (default: %(default)s)")
    add("--one-core", action="store_true", help="keep each process to one core, compare the processor's seconds")
    add("--out", type=Path, default=_harness.RESULTS, metavar="FOLDER", help="where results go (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
