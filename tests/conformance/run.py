"""Random calls of ops against real TensorFlow: `python tests/conformance/run.py`, or `make conformance` for everything.

For each op of `families/`, hypothesis draws shapes, dtypes, attributes and values; both sides run the call; values, dtypes,
shapes, static shapes, errors and gradients are compared.  The smallest example of each kind of mismatch is shown.  Ends
with status 1 if one is found that docs/differences.md does not list.

`--keep 12` writes the first calls of each op, with TensorFlow's results, to tests/golden/drawn_results, which
tests/ops/test_drawn_golden.py compares without TensorFlow.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

from conformance.call import Call, compare, precision, run  # noqa: E402
from conformance.differences import read, unlisted  # noqa: E402
from conformance.draw import Draw  # noqa: E402
from conformance.oracle import Oracle  # noqa: E402
from conformance.part import Part, summary  # noqa: E402
from conformance.wire import digest, encode  # noqa: E402
from golden import sample_results  # noqa: E402
from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402 - the path is set above
from hypothesis import strategies as st  # noqa: E402

from headrace.core.registry import REGISTRY  # noqa: E402

HERE = Path(__file__).parent
DRAWN = ROOT / "tests/golden/drawn_results"
# "unsupported": TensorFlow has no kernel for that dtype or layout; "listed": docs/differences.md says how they differ.
OUTCOMES = ("same", "error", "unsupported", "listed", "mismatch")
FAMILIES = sorted(p.stem for p in (HERE / "families").glob("*.py") if p.stem != "__init__")


class Tally:
    """What came of one op's calls."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.outcomes: Counter[str] = Counter()
        self.smallest: dict[str, tuple[int, Call, str]] = {}
        self.kept: dict[str, dict[str, Any]] = {}  # by digest: calls with TensorFlow's results

    def add(self, call: Call, outcome: str, problems: list[str]) -> None:
        self.outcomes["mismatch" if problems else outcome] += 1
        for problem in problems:
            kind = problem.partition(":")[0]
            if kind == "error":
                kind += " here" if problem.startswith("error: raises") else " there"
            size = len(encode(call))
            if kind not in self.smallest or size < self.smallest[kind][0]:
                self.smallest[kind] = (size, call, problem)


def check(oracle: Oracle, op: str, make: Callable[[Draw], Call], examples: int, number: int) -> Tally:
    """Draws calls of one op and compares."""
    tally, known = Tally(op), read()

    @seed(number)
    @settings(
        max_examples=examples, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def one(data: Any) -> None:
        call = make(Draw(data))
        theirs = oracle.ask(call)
        ours = run(call)
        outcome = "error" if "error" in theirs else "same"
        if "crash" in theirs or theirs.get("unsupported"):
            outcome = "unsupported"
        if outcome != "unsupported":
            tally.kept[digest(call)] = {"call": call, "result": {**theirs, "message": theirs.get("message", "")[:80]}}
        problems = compare(ours, theirs, rtol=precision(call))
        tally.add(call, "listed" if problems else outcome, unlisted(call, problems, known))

    one()
    return tally


def describe(call: Call) -> str:
    """A call in one line."""

    def item(x: Any) -> str:
        if isinstance(x, list):
            return f"[{', '.join(map(item, x))}]"
        text = " ".join(str(x["value"].tolist()).split())
        return f"{x['dtype']}{list(x['value'].shape)} {text if len(text) < 160 else text[:157] + '...'}"

    attrs = ", ".join(f"{k}={v}" for k, v in call["attrs"].items())
    return f"{call['op']}({'; '.join(map(item, call['inputs']))}{' | ' + attrs if attrs else ''})"


def random_calls(
    oracle: Oracle,
    patterns: Sequence[str] = ("*",),
    examples: int = 40,
    number: int = 1,
    keep: int = 0,
    quiet: bool = False,
) -> Part:
    """Random calls of every op that a pattern names."""
    ops, total, differences = 0, Counter[str](), []
    for family in FAMILIES:
        kept: dict[str, list[Any]] = {}
        for op, make in importlib.import_module(f"conformance.families.{family}").OPS.items():
            if op not in REGISTRY or not any(fnmatch.fnmatchcase(x, p) for p in patterns for x in (op, family)):
                continue
            tally = check(oracle, op, make, examples, number)
            ops += 1
            total += tally.outcomes
            kept[op] = list(tally.kept.values())[:keep]
            if not quiet or tally.smallest:
                counts = "  ".join(f"{k} {tally.outcomes[k]:3}" for k in OUTCOMES)
                print(f"{family:14} {op:36} {counts}", flush=True)
            for _, call, problem in tally.smallest.values():
                differences.append(f"{describe(call)}\n        {problem}")
                print(f"    {differences[-1]}", flush=True)
        if keep and kept:
            size = sample_results.save(DRAWN, family, kept)
            print(f"{family}: {sum(map(len, kept.values()))} calls kept in {size} bytes")
    what = {
        "same": "alike",
        "error": "errors in both",
        "unsupported": "TensorFlow cannot run",
        "listed": "listed differences",
    }
    counts = ", ".join(f"{total[outcome]} {words}" for outcome, words in what.items())
    return Part("random calls", f"{sum(total.values())} calls of {ops} ops ({counts})", differences)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"], help="ops or families")
    parser.add_argument("--examples", type=int, default=40, help="calls of each op")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=int, default=0, metavar="N", help="write N calls of each op to tests/golden")
    parser.add_argument("--quiet", action="store_true", help="no table, only what differs")
    chosen = parser.parse_args()
    with Oracle() as oracle:
        print(f"TensorFlow {oracle.version}; seed {chosen.seed}, {chosen.examples} calls of each op")
        found = random_calls(oracle, chosen.patterns, chosen.examples, chosen.seed, chosen.keep, chosen.quiet)
    print(summary([found], oracle.version))
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main())
