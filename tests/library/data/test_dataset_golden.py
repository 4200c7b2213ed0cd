"""Chains of transformations, grown from seeds: the same types, shapes, elements and errors as in TensorFlow."""

import json
from pathlib import Path

import pytest
from golden.dataset_cases import SEEDS, found

import headrace as tf

RESULTS = json.loads((Path(__file__).parents[2] / "golden/dataset.json").read_text())


@pytest.mark.parametrize("start", range(0, len(SEEDS), 50))
def test_chains(start):
    different = {}
    for seed in SEEDS[start : start + 50]:
        ours = json.loads(json.dumps(found(tf, seed)))
        if ours != RESULTS[str(seed)]:
            different[seed] = ours, RESULTS[str(seed)]
    assert different == {}


def test_the_chains_are_worth_comparing():
    kinds = [frozenset(result) for result in RESULTS.values()]
    given = [e for result in RESULTS.values() for e in result.get("elements", ())]
    assert len(RESULTS) == len(SEEDS) and len(given) > 1300
    assert 0 < kinds.count(frozenset({"refused"})) < len(kinds) / 4
    assert sum(isinstance(e, str) and e.endswith("Error") for e in given) > 10
