"""Makes tests/golden/partial.json: the static shapes that real TensorFlow infers when little is known.

Runs with Headrace's interpreter; HEADRACE_TF_PYTHON names one that has tensorflow.  Ops on the command line, all by default.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

from conformance.oracle import Oracle  # noqa: E402 - the path is set above
from golden import partial_results  # noqa: E402
from golden.partial_results import FAILS, SAMPLES  # noqa: E402
from ops.invalid import samples  # noqa: E402

from headrace.core.registry import REGISTRY  # noqa: E402
from headrace.library.testing.opcheck import Sample  # noqa: E402


def make(oracle: Oracle, name: str, listed: list[Sample]) -> dict[str, Any] | None:
    """TensorFlow's shapes for one op; None where it does not know the op."""
    op_def = REGISTRY.get(name)
    if not partial_results.comparable(op_def, listed):
        return None
    answers = []
    for sample in listed[:SAMPLES]:
        for _, call in partial_results.calls(op_def, sample):
            answer = oracle.ask(call)
            if "unknown" in answer:
                return None
            answers.append(partial_results.text(answer["static"]) if "static" in answer else FAILS)
    return {"calls": partial_results.stamp(op_def, listed), "shapes": answers}


def main() -> None:
    made = partial_results.load() if sys.argv[1:] else {}
    with Oracle() as oracle:
        for name, listed in samples().items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            found = make(oracle, name, listed)
            if found is not None:
                made[name] = found
    partial_results.save(made)
    print(f"{len(made)} ops, TensorFlow {oracle.version}, {oracle.crashes} crashes")


if __name__ == "__main__":
    main()
