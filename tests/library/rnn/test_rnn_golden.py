"""Cells and unrolling beside TensorFlow: names of variables, values, gradients (tests/golden/rnn_cases.py)."""

from pathlib import Path

import numpy as np
import pytest
from golden.rnn_cases import CASES, run, weight

import headrace as tf

KEPT = np.load(Path(__file__).parents[2] / "golden" / "rnn.npz")


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_tensorflow(name):
    tf.reset_default_graph()
    names, values, gradients = run(tf, CASES[name], weight)
    assert names == KEPT[f"{name}/names"].tolist()
    for kind, arrays in (("value", values), ("gradient", gradients)):
        kept = [k for k in KEPT.files if k.startswith(f"{name}/{kind}/")]
        assert len(arrays) == len(kept)
        for i, array in enumerate(arrays):
            np.testing.assert_allclose(array, KEPT[f"{name}/{kind}/{i}"], rtol=2e-5, atol=2e-6, err_msg=f"{kind} {i}")
