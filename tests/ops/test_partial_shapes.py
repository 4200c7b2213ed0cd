"""Every op's static shapes when little is known of its inputs: never less than TensorFlow infers, and never another shape.

One dimension unknown, one rank unknown, the values that decide shapes unknown, all ranks unknown.  TensorFlow is not needed: its
shapes are in tests/golden/partial.json, made by tests/golden/make_partial.py.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from golden import partial_results
from golden.partial_results import FAILS, SAMPLES
from ops.invalid import samples

from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.library.testing.opcheck import build, flatten, less_known

LISTED = Path(__file__).with_name("partial_differences.txt")
OPS = samples()
KEPT = partial_results.load()
PARTS = 8


def inferred(name: str) -> Iterator[tuple[str, list[TensorShape] | None]]:
    """What is unknown, and our shapes; None where the call cannot be built."""
    op_def = REGISTRY.get(name)
    for number, sample in enumerate(OPS[name][:SAMPLES]):
        slots = flatten(op_def, sample)
        for what, shapes, hosts in less_known(slots):
            label = f"sample {number}, {what}"
            try:
                node = build(op_def, sample, slots, shapes=shapes, hosts=hosts).node
            except (ValueError, TypeError):
                yield label, None
            else:
                yield label, [t.shape for t in node.outputs]


def difference(ours: TensorShape, theirs: TensorShape) -> str | None:
    """How our shape falls short of TensorFlow's; None if it does not."""
    if not ours.is_compatible_with(theirs):
        return "other"
    if theirs.ndims is None:
        return None
    known = ours.as_list() if ours.ndims is not None else [None] * theirs.ndims
    less = ours.ndims is None or any(a is None and b is not None for a, b in zip(known, theirs.as_list(), strict=True))
    return "less known" if less else None


def differences(name: str) -> Iterator[str]:
    for (label, ours), theirs in zip(inferred(name), KEPT[name]["shapes"], strict=True):
        if theirs == FAILS or ours is None:
            if theirs != FAILS:
                yield f"refused\t{name}\t{label}"
            continue
        for i, (a, b) in enumerate(zip(ours, partial_results.shapes(theirs), strict=True)):
            if way := difference(a, b):
                yield f"{way}\t{name}\t{label}, output {i}"


def listed() -> set[str]:
    return {line for line in LISTED.read_text().splitlines() if line and not line.startswith("#")}


@pytest.mark.parametrize("part", range(PARTS))
def test_as_much_is_known_as_in_tensorflow(part: int) -> None:
    problems, known = [], listed()
    for name in sorted(KEPT)[part::PARTS]:
        stale = KEPT[name]["calls"] != partial_results.stamp(REGISTRY.get(name), OPS[name])
        assert not stale, f"the samples of {name} have changed; run {partial_results.UPDATE} {name}"
        found = set(differences(name))
        problems += [f"not in {LISTED.name}: {line}" for line in sorted(found - known)]
        gone = {line for line in known if line.split("\t")[1] == name} - found
        problems += [f"no longer differs, but is in {LISTED.name}: {line}" for line in sorted(gone)]
    assert not problems, "\n".join(problems)


def test_every_op_that_tensorflow_knows_is_compared() -> None:
    assert set(KEPT) <= set(OPS)
    assert len(KEPT) >= 500


@pytest.mark.parametrize(
    ("ours", "theirs", "way"),
    [
        ([2, None], [2, None], None), ([2, 3], [2, None], None), (None, [2], "less known"), ([None], [2], "less known"),
        ([3], [2], "other"), ([2], None, None), ([], [], None),
    ],
)  # fmt: skip
def test_ways_to_fall_short(ours: list[int | None] | None, theirs: list[int | None] | None, way: str | None) -> None:
    assert difference(TensorShape(ours), TensorShape(theirs)) == way
