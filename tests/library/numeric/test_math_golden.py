"""The math library against values, gradients and node names recorded with TensorFlow (tests/golden/make_math.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
from golden.math_cases import CASES, NAMED_CASES, names, record

import headrace as tf

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "math.json").read_text())


def _array(plain):
    dtype, shape, flat = plain
    return np.array(flat, dtype).reshape(shape)


def _parts(value):
    value = np.asarray(value)
    return np.stack([value.real, value.imag], -1) if value.dtype.kind == "c" else value


def _compare(got, plain, what):
    expected = _array(plain)
    got = _parts(got)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), what
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-5, err_msg=what)
    else:
        np.testing.assert_array_equal(got, expected, err_msg=what)


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradients(case):
    expected = GOLDEN["values"][case]
    value, gradients = record(tf, case)
    _compare(value, expected["value"], case)
    for name, gradient in expected["gradients"].items():
        assert name in gradients, f"no gradient with respect to {name}"
        _compare(gradients[name], gradient, f"the gradient of {case} with respect to {name}")


@pytest.mark.parametrize("case", NAMED_CASES)
def test_node_names(case):
    assert names(tf, case) == GOLDEN["names"][case]


def test_every_recorded_case_is_compared():
    assert set(GOLDEN["values"]) == set(CASES)
    assert set(GOLDEN["names"]) == set(NAMED_CASES)
