"""One side of a comparison: `python -m benchmarks._worker headrace|torch|jax|tensorflow|tensorflow-v2 <module>`.

Reads names of workloads from standard input, one a line, and answers each with one line of JSON: the seconds a call took, or for
a name after `= ` the numbers that a call gives. A name after `- ` is let go. What fails is answered with `error`. A workload is a
function `module.CASES[name](tf)` that prepares and returns what is to be called; that may have methods of its own: `values()`
instead of the numbers, `correct(seconds)`, `close()`; and the module its own `SAMPLE_S` and `clock`.
`tensorflow-v2` is TensorFlow with its second kind of control flow.
"""

import gc
import importlib
import json
import sys
import time

import numpy as np

SAMPLE_S = 0.1


def main(library: str, module: str) -> None:
    """Answers until the input ends."""
    tf = _import(library)
    workloads = Workloads(tf, importlib.import_module(module))
    gc.collect()
    gc.freeze()  # collections between samples need not look at the libraries
    print(json.dumps({"version": tf.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(workloads, line.rstrip("\n"))), flush=True)


def _answer(workloads, line):
    """What a line asks for; why not, if it fails."""
    try:
        if line.startswith("= "):
            return {"values": workloads.values(line[2:])}
        if line.startswith("- "):
            return {"forgotten": workloads.forget(line[2:])}
        return {"seconds": workloads.sample(line)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:1000]}


class Workloads:
    """The workloads of a module, each prepared when first asked for."""

    def __init__(self, tf, module):
        self._tf, self._cases = tf, module.CASES
        self._sample_s = getattr(module, "SAMPLE_S", SAMPLE_S)
        self._clock = getattr(module, "clock", time.perf_counter)
        self._prepared = {}
        self._counts = {}

    def values(self, name):
        call = self._prepare(name)
        return call.values() if hasattr(call, "values") else _numbers(call())

    def sample(self, name):
        call = self._prepare(name)
        if name not in self._counts:
            self._counts[name] = _calls_per_sample(call, self._sample_s, self._clock)
        correct = getattr(call, "correct", None)
        seconds = _measure(call, self._counts[name], self._clock)
        return correct(seconds) if correct else seconds

    def forget(self, name):
        self._counts.pop(name, None)
        call = self._prepared.pop(name, None)
        if hasattr(call, "close"):
            call.close()

    def _prepare(self, name):
        if name not in self._prepared:
            self._prepared[name] = self._cases[name](self._tf)
        return self._prepared[name]


def _import(library: str):
    if not library.startswith("tensorflow"):
        return importlib.import_module(library)
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    if library == "tensorflow-v2":
        tf.enable_control_flow_v2()
    return tf


def _numbers(result) -> list[float]:
    """Up to a hundred numbers of each array of the result, evenly spread."""
    arrays = result if isinstance(result, (list, tuple)) else [result]
    found = []
    for array in arrays:
        flat = np.asarray(array.detach() if hasattr(array, "detach") else array, np.float64).reshape(-1)
        found += flat[:: max(len(flat) // 100, 1)].tolist()
    return found


def _calls_per_sample(call, sample_s, clock) -> int:
    """Also warms up: the first calls plan, trace and allocate."""
    call()
    count = 1
    while (seconds := _measure(call, count, clock) * count) < sample_s / 4:
        count *= 2
    return max(round(count * sample_s / seconds), 1)


def _measure(call, count: int, clock) -> float:
    gc.collect()
    begin = clock()
    for _ in range(count):
        call()
    return (clock() - begin) / count


if __name__ == "__main__":
    main(*sys.argv[1:])
