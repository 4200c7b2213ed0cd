"""Conditionals and loops, nested, with first and second gradients, against TensorFlow (tests/golden/make_control_flow.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
from golden.control_flow_cases import SEEDS, record

import headrace as tf

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "control_flow.json").read_text())
PARTS = ("value", "d/dx", "d/dy", "d/dv", "second d/dx", "second d/dy", "second d/dv")


@pytest.mark.parametrize("seed", SEEDS)
def test_program(seed):
    for part, got, expected in zip(PARTS, record(tf, seed), GOLDEN[str(seed)], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8, err_msg=part)


@pytest.mark.parametrize("seed", SEEDS)
def test_program_lowered_to_primitives(seed):
    def prepare(session):
        session._master.lower = True

    for part, got, expected in zip(PARTS, record(tf, seed, prepare), GOLDEN[str(seed)], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8, err_msg=part)


def test_every_recorded_program_is_compared():
    assert set(GOLDEN) == {str(s) for s in SEEDS}
