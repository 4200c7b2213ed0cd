"""Random calls of ops, many dtypes and attributes, against what real TensorFlow made of them.

The calls and results are in tests/golden/drawn_results, made by `tests/conformance/run.py --keep N`.
"""

from pathlib import Path

import pytest
from conformance.call import compare, precision, run
from conformance.differences import read, unlisted
from golden import sample_results

FOLDER = Path(__file__).parent.parent / "golden/drawn_results"
FAMILIES = sorted(path.stem for path in FOLDER.glob("*.bin"))
DRAWN = {(family, op): kept for family in FAMILIES for op, kept in sample_results.load(FOLDER, family).items()}
KNOWN = read()


@pytest.mark.parametrize(("family", "op"), sorted(DRAWN))
def test_drawn_calls_give_what_tensorflow_gives(family, op):
    assert DRAWN[family, op]
    found = []
    for i, entry in enumerate(DRAWN[family, op]):
        call = entry["call"]
        problems = compare(run(call), entry["result"], rtol=precision(call))
        found += [f"call {i} ({call['attrs']}): {p}" for p in unlisted(call, problems, KNOWN)]
    assert not found, "\n".join(found)


def test_there_are_calls_of_every_family():
    families = Path(__file__).parent.parent / "conformance/families"
    assert sorted(p.stem for p in families.glob("*.py") if p.stem != "__init__") == FAMILIES
