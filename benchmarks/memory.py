"""The most bytes of tensors alive during a training step: Headrace, interpreted and compiled, beside PyTorch eager; and what
recomputation saves.

Each is measured in a process of its own, after three steps, by what torch's CPU allocator hands out and takes back
(`_live_bytes`). Weights, slots and the batch are there before the step and do not count; gradients, activations and whatever a
kernel needs in between do. Takes about four minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from benchmarks import _harness
from benchmarks._peers import workload
from benchmarks.ablation import passes_off

MODELS = ("mlp", "lenet", "alexnet", "lstm_lm", "transformer")
FRAMEWORKS = ("headrace", "headrace-compiled", "torch")
RECOMPUTE = ("kept", "recomputed")  # the same deep network, without and with recompute_grad
MEGABYTE = 1 << 20


def main(argv: list[str] | None = None) -> None:
    """Measures, prints the tables, saves the numbers."""
    options = _options(argv)
    if options.one:
        print(json.dumps(_measure(*options.one, options.suite)), flush=True)
        return
    found: dict[str, Any] = {}
    for model in options.workloads:
        found[model] = {f: _in_process(f, model, options.suite) for f in options.frameworks}
    result = {"suite": options.suite, "peak_bytes": found, "recompute": {}}
    for mode in ("off", "always") if "headrace-compiled" in options.frameworks else ("off",):
        result["recompute"][mode] = {kind: _in_process(kind, mode, options.suite) for kind in RECOMPUTE}
    suite = getattr(workload, options.suite.upper())
    rows = [["peak of live bytes", *(f"{f} MiB" for f in options.frameworks), "ratio to torch"]]
    for model, peaks in found.items():
        ratio = peaks["headrace"] / peaks["torch"] if "torch" in peaks and "headrace" in peaks else float("nan")
        rows.append([suite[model].title, *(f"{b / MEGABYTE:.1f}" for b in peaks.values()), f"{ratio:.2f}"])
    print(_harness.table(rows[0], rows[1:]))
    rows = [["24 layers of 512, batch 512", *(f"{kind} MiB" for kind in RECOMPUTE)]]
    for mode, peaks in result["recompute"].items():
        rows.append([f"compile={mode}", *(f"{b / MEGABYTE:.1f}" for b in peaks.values())])
    print(_harness.table(rows[0], rows[1:]))
    name = f"memory-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"saved to {_harness.save(name, result)}")


def _in_process(kind: str, name: str, suite: str) -> int:
    command = [sys.executable, "-m", "benchmarks.memory", "--suite", suite, "--one", kind, name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=_harness.ROOT)
    if done.returncode:
        raise SystemExit(f"{kind} {name} failed:\n{done.stderr[-3000:]}")
    return int(json.loads(done.stdout.strip().splitlines()[-1]))


def _measure(kind: str, name: str, suite: str) -> int:
    from benchmarks._live_bytes import peak_bytes

    with passes_off("arrays"):  # small values as arrays would not be counted
        step, batch = _prepared(kind, name, suite)
        for _ in range(3):
            step(*batch)
        return peak_bytes(lambda: step(*batch))


def _prepared(kind: str, name: str, suite: str) -> tuple[Any, tuple[Any, ...]]:
    if kind in RECOMPUTE:
        return _deep(kind == "recomputed", name, suite)
    from benchmarks import _step_worker

    chosen = getattr(workload, suite.upper())[name]
    made = _step_worker.PREPARE[kind](chosen, {"threads": 0, "device": "cpu"})
    return made["step"], made["batch"]


def _deep(recompute: bool, mode: str, suite: str) -> tuple[Any, tuple[Any, ...]]:
    """Eight blocks of three layers with several inner values each."""
    import numpy as np

    import headrace as tf

    size = 512 if suite == "cpu" else 32
    x = h = tf.placeholder(tf.float32, [size, size])
    for i in range(8):
        weights = [tf.Variable(np.eye(size, dtype=np.float32), name=f"w{i}_{j}") for j in range(3)]

        def block(v: Any, weights: Any = weights) -> Any:
            for w in weights:
                v = v + tf.tanh(tf.nn.relu(tf.matmul(v, w)))
            return v

        h = tf.recompute_grad(block)(h) if recompute else block(h)
    loss = tf.reduce_mean(h * h)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = tf.Session(config=tf.ConfigProto(compile=mode))
    session.run(tf.global_variables_initializer())
    return lambda value: session.run([loss, train], {x: value}), (np.ones((size, size), np.float32),)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks memory", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--workloads", nargs="+", choices=MODELS, default=list(MODELS), help="default: all")
    add("--frameworks", nargs="+", choices=FRAMEWORKS, default=list(FRAMEWORKS), help="default: all")
    add("--suite", choices=["cpu", "small"], default="cpu", help="small: tiny sizes")
    add("--one", nargs=2, metavar=("KIND", "NAME"), help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
