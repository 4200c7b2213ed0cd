"""Conditionals and loops, nested, with first and second gradients: as TensorFlow's, and the same in every way they can run.

The values of TensorFlow come from tests/golden/make_control_flow.py.  Hypothesis grows further programs, for which the ways to
run must agree with one another.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from golden.control_flow_cases import DRAWN, SEEDS, record
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as tf

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "control_flow.json").read_text())
INTERPRETED = tf.ConfigProto(compile="off")
LOWERED = tf.ConfigProto(control_flow="lowered")
COMPILED = tf.ConfigProto(compile="always")


def check(found, expected, whole=True):
    """Compares the value, the gradients, then the second gradients; without ``whole`` as many as were found."""
    assert len(found) == len(expected) if whole else 1 < len(found) <= len(expected)
    for part, (got, wanted) in enumerate(zip(found, expected, strict=False)):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8, err_msg=f"row {part}")


@pytest.mark.parametrize("seed", SEEDS)
def test_program(seed):
    check(record(tf, seed, INTERPRETED), GOLDEN[str(seed)])


@pytest.mark.parametrize("seed", SEEDS)
def test_program_lowered_to_primitives(seed):
    check(record(tf, seed, LOWERED), GOLDEN[str(seed)])


@pytest.mark.parametrize("seed", [33, 47])
def test_program_compiled(seed):
    """A handful: ``tests/conformance/flow.py`` compiles all of them."""
    check(record(tf, seed, COMPILED, order=1), GOLDEN[str(seed)], whole=False)


@pytest.mark.parametrize("seed", [82, 86, 77], ids=["growing", "array_in_a_branch", "gradient_in_a_body"])
@pytest.mark.usefixtures("full_length")
def test_shallow_program_compiled(seed):
    check(record(tf, seed, COMPILED, depth=1, order=1), record(tf, seed, INTERPRETED, depth=1, order=1))


def test_every_recorded_program_is_compared():
    assert set(GOLDEN) == {str(s) for s in SEEDS}


@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(st.integers(DRAWN, 10**6))
def test_any_program_is_the_same_interpreted_and_lowered(seed):
    check(record(tf, seed, LOWERED), record(tf, seed, INTERPRETED))


@settings(max_examples=2, deadline=None, derandomize=True, database=None)
@given(st.integers(DRAWN, 10**6))
@pytest.mark.usefixtures("full_length")
def test_any_program_is_the_same_compiled(seed):
    check(record(tf, seed, COMPILED, depth=1, order=1), record(tf, seed, INTERPRETED, depth=1, order=1))
