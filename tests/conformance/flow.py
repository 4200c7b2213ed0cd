"""Every program of tests/golden/control_flow_cases.py in the three ways to run it, against the kept results of TensorFlow.

`state_programs` does so with those of state_flow_cases.py, which read and write variables, and with drawn ones, which must give
what their statements give in plain Python.

`make conformance` runs them interpreted and lowered; compiling all of them takes torch's compiler hours, so that is asked for:
`python tests/conformance/flow.py` runs all three ways, `--seeds 64:80` takes some of the programs, `--ways interpreted,lowered`
some of the ways, and `--drawn 20` adds programs that TensorFlow has not seen, whose ways must agree with one another.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
ROOT = Path(__file__).parent.parent.parent
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402 - the path is set above
from conformance.part import Part  # noqa: E402
from golden import state_flow_cases as state_flow  # noqa: E402
from golden.control_flow_cases import DRAWN, SEEDS, record  # noqa: E402

import headrace as tf  # noqa: E402

KEPT = ROOT / "tests/golden/control_flow.json"
WAYS = {
    "interpreted": tf.ConfigProto(compile="off"),
    "lowered": tf.ConfigProto(control_flow="lowered"),
    "compiled": tf.ConfigProto(compile="always"),
}
Rows = list[list[float]]


def difference(found: Rows, wanted: Rows) -> str:
    """What is wrong with the rows, or nothing."""
    for i, (got, expected) in enumerate(zip(found, wanted, strict=False)):
        if not np.allclose(got, expected, rtol=1e-6, atol=1e-8):
            return f"row {i} is {got} instead of {expected}"
    return "" if 1 < len(found) <= len(wanted) else f"{len(found)} rows instead of {len(wanted)}"


def check(seed: int, way: str, order: int, wanted: Rows | None) -> tuple[str, Rows]:
    """Runs one program -> what is wrong, and its rows."""
    try:
        found = record(tf, seed, WAYS[way], order=order)
    except Exception as e:  # noqa: BLE001 - every failure is reported
        return f"{type(e).__name__}: {e}", []
    return (difference(found, wanted) if wanted is not None else ""), found


def programs(
    oracle: object = None,
    seeds: Sequence[int] = SEEDS,
    ways: Sequence[str] = tuple(WAYS),
    drawn: int = 0,
    order: int = 1,
) -> Part:
    """Runs the programs; compiled ones without second gradients where ``order`` is 1, as they take the compiler long."""
    kept = json.loads(KEPT.read_text())
    more = random.Random(0).sample(range(DRAWN, 10**6), drawn)
    differences = []
    for seed in [*seeds, *more]:
        wanted: Rows | None = kept.get(str(seed))
        for way in ways:
            start = time.time()
            problem, rows = check(seed, way, order if way == "compiled" else 2, wanted)
            wanted = wanted or rows
            differences += [f"program {seed}, {way}: {problem}"] if problem else []
            print(f"{seed:7} {way:12} {time.time() - start:6.1f} s  {problem or 'as expected'}", flush=True)
    return Part("control flow", f"{len(seeds) + drawn} programs, {', '.join(ways)}", differences)


def state_programs(oracle: object = None, ways: Sequence[str] = ("interpreted", "lowered"), drawn: int = 40) -> Part:
    """Runs the programs with state, those kept and as many drawn ones as asked for."""
    kept = json.loads(KEPT.with_name("state_flow.json").read_text())
    more = random.Random(1).sample(range(state_flow.DRAWN, 10**6), drawn)
    differences = []
    for seed in [*state_flow.SEEDS, *more]:
        program = state_flow.grow(seed)
        wanted = kept.get(str(seed)) or state_flow.expected(*program)
        for way in ways:
            found = state_flow.record(tf, *program, WAYS[way])
            if not np.allclose(found, wanted, rtol=1e-9, atol=1e-12):
                differences.append(f"program {seed} with state, {way}: {found} instead of {wanted}")
    return Part("state", f"{len(state_flow.SEEDS) + drawn} programs, {', '.join(ways)}", differences)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default=f"{SEEDS.start}:{SEEDS.stop}", help="first:last+1 of the kept programs")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--drawn", type=int, default=0, help="how many further programs to draw")
    parser.add_argument("--order", type=int, default=1, help="2: second gradients in compiled programs too")
    given = parser.parse_args(arguments)
    first, _, last = given.seeds.partition(":")
    found = programs(None, range(int(first), int(last)), given.ways.split(","), given.drawn, given.order)
    print(found)
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main())
