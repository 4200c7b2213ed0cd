"""`make conformance`: everything is compared with real TensorFlow, and a summary says how much that was and what differs.

The results kept in tests/golden are made again (`goldens`) while random calls are drawn (`run`), programs with control flow run
interpreted and lowered (`flow`, which alone also compiles them), and programs that TensorFlow exports with its old control flow
are imported (`v1_flow`).  Ends with status 1 if anything differs that docs/differences.md does not list.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

from conformance import flow, goldens, run, v1_flow  # noqa: E402 - the path is set above
from conformance.oracle import Oracle  # noqa: E402
from conformance.part import summary  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=40, help="random calls of each op")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--imported", type=int, default=10_000, help="programs with TensorFlow 1's control flow")
    chosen = parser.parse_args()
    with Oracle() as oracle:
        draw = partial(run.random_calls, examples=chosen.examples, number=chosen.seed)
        programs = partial(flow.programs, ways=("interpreted", "lowered"))
        imported = partial(v1_flow.programs, count=chosen.imported)
        parts = goldens.parts(oracle, draw, programs, flow.state_programs, imported)
    print(f"\n{summary(parts, oracle.version)}")
    return 1 if any(part.differences for part in parts) else 0


if __name__ == "__main__":
    sys.exit(main())
