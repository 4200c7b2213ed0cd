"""Makes tests/golden/sample_results/*.bin: every op's samples, forward and gradient, run by real TensorFlow.

Runs with Headrace's interpreter; HEADRACE_TF_PYTHON names one that has tensorflow.  Families on the command line, all by
default; `--to FOLDER` writes elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

from conformance.call import blank  # noqa: E402 - the path is set above
from conformance.oracle import Oracle  # noqa: E402
from conformance.wire import digest  # noqa: E402
from golden import sample_results  # noqa: E402


def make(oracle: Oracle, family: str) -> dict[str, list[Any]]:
    """TensorFlow's results of one family."""
    made: dict[str, list[Any]] = {}
    for name, given in sample_results.samples(family).items():
        entries = made.setdefault(name, [])
        for sample, call in sample_results.calls(name, given):
            if call is None:
                entries.append(None)
                continue
            result = oracle.ask(call)
            if "unknown" in result:
                raise SystemExit(
                    f"TensorFlow has no op {name}; list it in NOT_COMPARED of tests/golden/sample_results.py with the reason"
                )
            entries.append({"call": digest(call), "result": shorten(result, sample_results.random(name, sample))})
    return made


def shorten(result: dict[str, Any], random: bool) -> dict[str, Any]:
    """Without the values where they are drawn at random, and without most of an error's message."""
    if "error" in result:
        return {**result, "message": result["message"][:80]}
    return blank(result) if random else result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=sample_results.FAMILIES)
    parser.add_argument("--to", type=Path, default=sample_results.FOLDER)
    chosen = parser.parse_args()
    chosen.to.mkdir(parents=True, exist_ok=True)
    total = 0
    with Oracle() as oracle:
        for family in chosen.families:
            made = make(oracle, family)
            if not made:
                continue
            size = sample_results.save(chosen.to, family, made)
            total += size
            print(f"{family}: {len(made)} ops, {sum(map(len, made.values()))} samples, {size} bytes")
    print(f"{total} bytes, TensorFlow {oracle.version}")


if __name__ == "__main__":
    main()
