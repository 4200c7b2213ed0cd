"""Makes tests/golden/faults.json: how real TensorFlow takes every op's invalid calls.

Runs with Headrace's interpreter; HEADRACE_TF_PYTHON names one that has tensorflow.  Ops on the command line, all by default;
those not named keep what the file has.  `--texts FILE` also writes TensorFlow's messages, to read them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent.parent
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

from conformance.call import from_sample  # noqa: E402 - the path is set above
from conformance.oracle import Oracle  # noqa: E402
from golden import fault_results  # noqa: E402
from golden.fault_results import RUNS  # noqa: E402
from ops.invalid import samples  # noqa: E402

from headrace.core.registry import REGISTRY  # noqa: E402
from headrace.library.testing.opcheck import Sample  # noqa: E402

SECONDS = 20.0  # for one call; some never end
CRASHES = 4  # of one op; its other calls are not asked for


def make(oracle: Oracle, name: str, sample: Sample, texts: IO[str] | None = None) -> dict[str, str] | None:
    """TensorFlow's answers for one op; None where it does not know the op, or cannot run the sample itself."""
    op_def = REGISTRY.get(name)
    if not fault_results.comparable(op_def, sample) or not runs(oracle, name, sample):
        return None
    pairs = []
    most = oracle.crashes + CRASHES
    for fault, call in fault_results.calls(op_def, sample):
        asked = fault_results.defined(name, fault) and oracle.crashes < most
        answer = oracle.ask(call) if asked else {"crash": 0}
        found = fault_results.outcome(answer)
        pairs.append((fault, found))
        if texts is not None and found != RUNS:
            message = answer.get("message") or answer.get("unsupported") or "crash"
            texts.write(f"{name}\t{fault.form}\t{fault.what}\t{found}\t{' '.join(message.split())}\n")
    return {"calls": fault_results.stamp(op_def, sample), **fault_results.by_form(pairs)}


def runs(oracle: Oracle, name: str, sample: Sample) -> bool:
    """Whether TensorFlow runs the sample as it is."""
    return oracle.ask({**from_sample(name, sample), "form": "late"}) == {}


def write(made: dict[str, dict[str, str]]) -> None:
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(made[name])}" for name in sorted(made))
    fault_results.FILE.write_text(f"{{\n{lines}\n}}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*")
    parser.add_argument(
        "--missing", action="store_true", help="only ops that the file does not have, or has of other calls"
    )
    parser.add_argument("--texts", type=Path)
    chosen = parser.parse_args()
    made = fault_results.load() if chosen.ops or chosen.missing else {}
    texts = chosen.texts.open("a") if chosen.texts else None
    with Oracle(limit=SECONDS) as oracle:
        for name, listed in samples().items():
            if (chosen.ops and name not in chosen.ops) or (chosen.missing and not stale(name, listed[0], made)):
                continue
            made.pop(name, None)
            found = make(oracle, name, listed[0], texts)
            print(name, "not compared" if found is None else sum(map(len, found.values())) - 16, flush=True)
            if found is not None:
                made[name] = found
                write(made)
    write(made)
    print(f"{len(made)} ops, TensorFlow {oracle.version}, {oracle.crashes} crashes")


def stale(name: str, sample: Sample, made: dict[str, dict[str, str]]) -> bool:
    op_def = REGISTRY.get(name)
    comparable = fault_results.comparable(op_def, sample)
    return comparable and made.get(name, {}).get("calls") != fault_results.stamp(op_def, sample)


if __name__ == "__main__":
    main()
