"""Recurrent layers beside TensorFlow's Keras: outputs, states, masks and gradients (tests/golden/keras_rnn_cases.py)."""

from pathlib import Path

import numpy as np
import pytest
from golden.keras_rnn_cases import CASES, results

import headrace as tf

KEPT = np.load(Path(__file__).parents[3] / "golden" / "keras_rnn.npz")


@pytest.fixture(scope="module")
def found():
    """All cases, run together once."""
    tf.keras.backend.clear_session()
    made = results(tf)
    tf.keras.backend.clear_session()
    return made


@pytest.mark.parametrize("name", CASES)
def test_as_tensorflow(found, name):
    kept = {key for key in KEPT.files if key.startswith(f"{name}/")}
    assert {key for key in found if key.startswith(f"{name}/")} == kept
    for key in sorted(kept):
        np.testing.assert_allclose(found[key], KEPT[key], rtol=2e-4, atol=2e-5, err_msg=key)


def test_every_case_is_kept():
    assert set(CASES) == {key.split("/")[0] for key in KEPT.files}
