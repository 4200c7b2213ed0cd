"""Programs of tests/golden/v1_flow_cases.py, exported by real TensorFlow with its old control flow, imported and run here.

The suite runs those that are kept; `make conformance` has TensorFlow make others.  `python tests/conformance/v1_flow.py file`
runs those of a file that tests/golden/make_v1_flow.py wrote, in the ways that `--ways` names.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
ROOT = Path(__file__).parent.parent.parent
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402 - the path is set above
from conformance.oracle import VARIABLE  # noqa: E402
from conformance.part import Part  # noqa: E402

import headrace as tf  # noqa: E402

KEPT = ROOT / "tests/golden/v1_flow.json.xz"
MAKE = ROOT / "tests/golden/make_v1_flow.py"
WAYS = {
    "interpreted": tf.ConfigProto(compile="off"),
    "lowered": tf.ConfigProto(control_flow="lowered"),
    "compiled": tf.ConfigProto(compile="always"),
    "primitives": tf.ConfigProto(compile="off"),  # as imported, no loop or conditional raised
}


def load(path: Path = KEPT) -> dict[int, dict[str, Any]]:
    return {int(seed): case for seed, case in json.loads(lzma.decompress(path.read_bytes())).items()}


def imported(case: dict[str, Any]) -> tf.Graph:
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(tf.GraphDef.FromString(case["graph"].encode("latin-1")), name="")
    return graph


def problems(case: dict[str, Any], way: str) -> list[str]:
    """What differs from TensorFlow's results."""
    if "failed" in case:
        return [case["failed"]]
    before = os.environ.get("HEADRACE_PASSES_OFF")
    if way == "primitives":
        os.environ["HEADRACE_PASSES_OFF"] = "raise_primitives"
    try:
        return _run(case, WAYS[way])
    except Exception as e:  # noqa: BLE001 - every failure is reported
        return [f"{type(e).__name__}: {e}"]
    finally:
        if way == "primitives":
            os.environ.pop("HEADRACE_PASSES_OFF")
            if before is not None:
                os.environ["HEADRACE_PASSES_OFF"] = before


def _run(case: dict[str, Any], config: tf.ConfigProto) -> list[str]:
    graph = imported(case)
    found: list[str] = []
    with tf.Session(graph=graph, config=config) as session:
        session.run(case["init"])
        for i, (feed, wanted) in enumerate(zip(case["feeds"], case["results"], strict=True)):
            if case.get("alone"):
                got = [_alone(session, name, feed) for name in case["fetches"]]
                for name in case["targets"]:
                    session.run(name, feed)
            else:
                got = session.run(case["fetches"], feed)
            for name, a, b in zip(case["fetches"], got, wanted, strict=True):
                if not _same(a, b):
                    found.append(f"step {i}: {name} is {a} instead of {b}")
        for name, a, b in zip(case["state"], session.run(case["state"]), case["now"], strict=True):
            if not _same(a, b):
                found.append(f"afterwards {name} is {a} instead of {b}")
    if case["slopes"] is not None:
        found += _slopes(case, graph, config)
    return found


def _slopes(case: dict[str, Any], graph: tf.Graph, config: tf.ConfigProto) -> list[str]:
    """The gradient taken here of the imported program, where TensorFlow's was kept."""
    found = []
    known = all(
        t.shape.is_fully_defined() for op in graph.get_operations() for t in op.outputs if t.dtype == tf.float64
    )
    # TensorFlow also runs the results of an If that have no gradient, for zeros like them (docs/differences.md).
    results = [t for op in graph.get_operations() if op.type == "If" for t in op.outputs if t.dtype == tf.float64]
    with graph.as_default():
        (slope,) = tf.gradients(tf.reduce_sum(graph.get_tensor_by_name("value:0")), [graph.get_tensor_by_name("x:0")])
    if slope is None:  # of an If that does not depend on x in either branch TensorFlow gives zeros
        return ["there is no gradient"] if not case["functional"] or np.any(case["slopes"]) else []
    state: list[str] = []
    for besides in [[], *([results] if known and results else [])]:
        with tf.Session(graph=graph, config=config) as session:
            session.run(case["init"])
            for i, (feed, (wanted,)) in enumerate(zip(case["feeds"], case["slopes"], strict=True)):
                got, *_ = session.run([slope, *besides], feed)
                if not _same(got, wanted):
                    found.append(f"step {i}: the gradient is {got} instead of {wanted}")
            after = zip(case["state"], session.run(case["state"]), case["after"], strict=True)
            state = [f"after the gradients {name} is {a} instead of {b}" for name, a, b in after if not _same(a, b)]
        if not state:
            break
    # TensorFlow knew every shape while it built the program; a value of which a GraphDef does not tell it runs for its shape.
    return found + state if known else found


def _alone(session: tf.Session, name: str, feed: dict[str, Any]) -> Any:
    try:
        return session.run(name, feed)
    except tf.errors.InvalidArgumentError as e:
        if "has no value in this step" not in str(e):
            raise
        return None


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True))


def programs(oracle: object = None, count: int = 10_000, ways: Sequence[str] = ("interpreted", "primitives")) -> Part:
    """Others than those kept, as many as asked for, made by TensorFlow now."""
    found: list[str] = []
    first, endless = 1_000_000, 0
    for start in range(first, first + count, 500):
        end = min(start + 500, first + count)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made.json.xz"
            subprocess.run(
                [os.environ[VARIABLE], MAKE, str(start), str(end), str(path)], check=True, capture_output=True
            )
            cases = load(path)
            more = compared(cases, ways)
        found += more
        endless += end - start - len(cases)
        line = f"{end - first} programs with TensorFlow 1's control flow, {len(found)} differ, {endless} do not end in TensorFlow"
        print("\n".join([*more, line]), flush=True)
    ended = f"{count - endless} programs, {', '.join(ways)} ({endless} more do not end in TensorFlow)"
    return Part("imported control flow", ended, found)


def compared(cases: dict[int, dict[str, Any]], ways: Sequence[str]) -> list[str]:
    return [
        f"program {seed}, {way}: {problem}"
        for seed, case in cases.items()
        for way in ways
        for problem in problems(case, way)[:1]
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default=str(KEPT))
    parser.add_argument("--ways", default="interpreted,primitives")
    parser.add_argument("--seed", type=int, help="only this one")
    given = parser.parse_args(arguments)
    cases = load(Path(given.file))
    if given.seed is not None:
        cases = {given.seed: cases[given.seed]}
    found = compared(cases, given.ways.split(","))
    print("\n".join([*found, f"{len(cases)} programs, {len(found)} differ"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
