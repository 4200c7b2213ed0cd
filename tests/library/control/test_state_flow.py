"""Programs grown from a seed that read and write variables in loops, branches and functions: as TensorFlow, as plain Python."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from golden import state_flow_cases
from golden.state_flow_cases import DRAWN, SEEDS, expected, grow, record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace as tf

INTERPRETED, LOWERED = tf.ConfigProto(compile="off"), tf.ConfigProto(control_flow="lowered")


@functools.cache
def golden() -> dict[str, list[float]]:
    kept: dict[str, list[float]] = json.loads(Path(state_flow_cases.__file__).with_name("state_flow.json").read_text())
    return kept


@pytest.mark.parametrize("seed", SEEDS)
def test_same_as_tensorflow(seed: int) -> None:
    config = LOWERED if seed % 4 in (2, 3) else INTERPRETED
    np.testing.assert_allclose(record(tf, *grow(seed), config), golden()[str(seed)], rtol=1e-9, atol=1e-12)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(DRAWN, 10**9), st.sampled_from([INTERPRETED, LOWERED]))
def test_same_as_one_statement_after_another(seed: int, config: tf.ConfigProto) -> None:
    program = grow(seed)
    np.testing.assert_allclose(record(tf, *program, config), expected(*program), rtol=1e-9, atol=1e-12)
