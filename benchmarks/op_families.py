"""Every family of ops beside TensorFlow: several ops at three sizes, forward and gradient, interpreted.

Both libraries build the same graphs, from `_families`, in processes of their own with as many threads, and must give the
same results before they are timed in turn. Headrace interprets (HEADRACE_COMPILE=off): each op is a kernel call of its own.
A time is that of one op: a step's, less that of an empty step, over the number of copies of the op in the graph.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
import zlib
from typing import Any

import numpy as np

from benchmarks import _families, _family_table, _harness

SAMPLE_S = 0.015
CASE_S = 0.4  # fewer rounds, but at least three, if they would take longer
EMPTY_CALLS = 20
SPREAD = 200  # numbers compared of each result
MODULE = "benchmarks.op_families"
THREADS, CLOCK = "HEADRACE_BENCH_THREADS", "HEADRACE_BENCH_CLOCK"
CLOCKS = {"elapsed": time.perf_counter, "processor": time.process_time}
clock = CLOCKS[os.environ.get(CLOCK, "elapsed")]


# ---- in a worker


class OpStep:
    """A call runs every copy of the op; the time is corrected to that of one."""

    def __init__(self, case: _families.Case, tf: Any) -> None:
        self._prepared = _families.Prepared(tf, case, int(os.environ[THREADS]))
        self.close = self._prepared.close

    def __call__(self) -> None:
        self._prepared.step()

    def correct(self, seconds: float) -> float:
        begin = clock()
        for _ in range(EMPTY_CALLS):
            self._prepared.empty()
        empty = (clock() - begin) / EMPTY_CALLS
        return max(seconds - empty, seconds / 20) / self._prepared.copies

    def values(self) -> list[dict[str, Any]]:
        """Shape, type and some numbers of each result."""
        return [_described(array) for array in self._prepared.values()]


def _described(array: np.ndarray) -> dict[str, Any]:
    flat = array.reshape(-1)
    flat = flat[:: max(len(flat) // SPREAD, 1)]
    numbers: list[float]
    if flat.dtype.kind == "S":
        numbers = [float(zlib.crc32(text)) for text in flat]
    elif flat.dtype.kind == "c":
        numbers = [*flat.real.tolist(), *flat.imag.tolist()]
    else:
        numbers = flat.astype(np.float64).tolist()
    kind = "string" if array.dtype.kind == "S" else str(array.dtype)
    return {"shape": array.shape, "dtype": kind, "numbers": numbers}


CASES = {name: functools.partial(OpStep, case) for name, case in _families.CASES.items()}


# ---- the comparison


def main(argv: list[str] | None = None) -> int:
    """Prints the table and saves the samples; returns 1 if a case could not be compared."""
    options = _options(argv)
    names = [n for n, c in _families.CASES.items() if _chosen(c, options)]
    environment = {"HEADRACE_COMPILE": "off", THREADS: str(options.threads), CLOCK: options.clock}
    python = _harness.tensorflow_python(options.tf_python)
    result: dict[str, Any] = {"threads": options.threads, "clock": options.clock, "rounds": options.rounds, "cases": {}}
    with _harness.side_by_side(MODULE, python, **environment) as (ours, theirs):
        result["headrace"], result["tensorflow"] = ours.version, theirs.version
        for name in names:
            result["cases"][name] = _case(ours, theirs, name, options.rounds)
            if options.verbose:
                print(_family_table.line(name, result["cases"][name]), flush=True)
    print(_harness.table(*_family_table.plain(result)))
    failed = {name: entry["error"] for name, entry in result["cases"].items() if "error" in entry}
    for name, error in failed.items():
        print(f"NOT COMPARED: {name}: {error}")
    if not (options.families or options.ops or options.sizes):
        print(f"saved to {_harness.save(options.out, result)}")
    return bool(failed)


def _case(ours: _harness.Worker, theirs: _harness.Worker, name: str, rounds: int) -> dict[str, Any]:
    """The samples of both, or why there are none."""
    try:
        if wrong := difference(ours.values(name), theirs.values(name), _families.CASES[name]):
            return {"error": wrong}
        found = _harness.interleave(ours, theirs, name, rounds, CASE_S)
    except _harness.CaseError as error:
        return {"error": str(error)}
    finally:
        for worker in (ours, theirs):
            worker.forget(name)
    return {"headrace": found.ours, "tensorflow": found.theirs, "ratio": min(found.ours) / min(found.theirs)}


def difference(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], case: _families.Case) -> str:
    """In what the results differ; nothing if they agree."""
    if len(ours) != len(theirs):
        return f"{len(ours)} results where TensorFlow gives {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if (a["shape"], a["dtype"]) != (b["shape"], b["dtype"]):
            return f"result {i} is {a['dtype']} {a['shape']} where TensorFlow gives {b['dtype']} {b['shape']}"
        x, y = np.array(a["numbers"]), np.array(b["numbers"])
        if case.check == "values" and not np.allclose(x, y, rtol=0, atol=case.tolerance * np.max(np.abs(y), initial=0)):
            worst = int(np.argmax(np.abs(x - y)))
            return f"result {i} has {x[worst]} where TensorFlow gives {y[worst]}"
    return ""


def _chosen(case: _families.Case, options: argparse.Namespace) -> bool:
    return (
        (not options.families or case.family in options.families)
        and (not options.sizes or case.size in options.sizes)
        and (not options.ops or any(op in case.op for op in options.ops))
    )


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks op_families", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    families = list(dict.fromkeys(case.family for case in _families.CASES.values()))
    add("--families", nargs="+", choices=families, metavar="NAME", help=f"which of {', '.join(families)}; not saved")
    add("--ops", nargs="+", metavar="TEXT", help="ops whose names contain one of these; not saved")
    add("--sizes", nargs="+", choices=_families.SIZES, help="not saved")
    add("--rounds", type=int, default=5, help="samples of each case (default: %(default)s)")
    add("--threads", type=int, default=1, help="of each kernel, for both (default: %(default)s)")
    add("--clock", choices=CLOCKS, default="elapsed", help="processor: less disturbed by other work on one thread")
    add("--out", default="op_families", help="name of the file in results (default: %(default)s)")
    add("--tf-python", help="a Python that has TensorFlow")
    add("--verbose", action="store_true", help="print each case")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
