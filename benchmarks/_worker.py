"""One side of a comparison: `python -m benchmarks._worker headrace|torch|jax|tensorflow|tensorflow-v2 <module>`.

Reads names of workloads from standard input, one a line, and answers each with one line of JSON: the seconds a call
took, or for a name after `= ` the numbers that a call gives. A workload is a function `module.CASES[name](tf)` that prepares and
returns what is to be called. `tensorflow-v2` is TensorFlow with its second kind of control flow.
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
    cases = importlib.import_module(module).CASES
    prepared = {}
    print(json.dumps({"version": tf.__version__}), flush=True)
    for line in sys.stdin:
        name = line.strip().removeprefix("= ")
        if name not in prepared:
            call = cases[name](tf)
            prepared[name] = call, _calls_per_sample(call)
        if line.startswith("= "):
            print(json.dumps({"values": _numbers(prepared[name][0]())}), flush=True)
            continue
        print(json.dumps({"seconds": _measure(*prepared[name])}), flush=True)


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


def _calls_per_sample(call) -> int:
    """Also warms up: the first calls plan, trace and allocate."""
    call()
    count = 1
    while (seconds := _measure(call, count) * count) < SAMPLE_S / 4:
        count *= 2
    return max(round(count * SAMPLE_S / seconds), 1)


def _measure(call, count: int) -> float:
    gc.collect()
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count


if __name__ == "__main__":
    main(*sys.argv[1:])
