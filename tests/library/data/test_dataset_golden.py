"""Chains of transformations, grown from seeds: the same types, shapes, elements and errors as in TensorFlow."""

import json
from pathlib import Path

import pytest
from golden.dataset_cases import SEEDS, SOURCES, TRANSFORMATIONS, Chain, found

import headrace as tf

RESULTS = json.loads((Path(__file__).parents[2] / "golden/dataset.json").read_text())
GROUP = 50


SOME = 400  # compared in each run; the ring `full` compares the others too


@pytest.mark.parametrize("start", range(0, SOME, GROUP))
def test_chains(start):
    compare(start)


@pytest.mark.parametrize("start", range(SOME, len(SEEDS), GROUP))
def test_more_chains(start, full_length):
    compare(start)


def compare(start):
    different = {}
    for seed in SEEDS[start : start + GROUP]:
        ours = json.loads(json.dumps(found(tf, seed)))
        if ours != RESULTS[str(seed)]:
            different[seed] = ours, RESULTS[str(seed)]
    assert different == {}


def test_the_chains_are_worth_comparing(tmp_path):
    given = [e for result in RESULTS.values() for e in result.get("elements", ())]
    refused = sum("elements" not in result for result in RESULTS.values())
    assert list(RESULTS) == list(map(str, SEEDS)) and len(SEEDS) == 1000 and len(given) > 3500
    assert 0 < refused < 100
    assert sum(isinstance(e, str) and e.endswith("Error") for e in given) > 200
    with tf.Graph().as_default():
        chains = [Chain(tf, seed, str(tmp_path)) for seed in SEEDS[:150]]
        for chain in chains:
            try:
                chain.grown()
            except (TypeError, ValueError):
                continue
    assert {step for chain in chains for step in chain.steps} == {*SOURCES, *TRANSFORMATIONS}
    assert sum(chain.unordered for chain in chains) > 5
