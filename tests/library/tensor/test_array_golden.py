"""Array functions against TensorFlow: nodes, static shapes, dtypes, values and errors (tests/golden/make_arrays.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
from golden import make_arrays

import headrace as tf

WANT = json.loads((Path(make_arrays.__file__).parent / "arrays.json").read_text())

# The oracle is TensorFlow 2's compatibility mode; where it builds other nodes than TF 1.15 did, ours follow 1.15, or
# use the plain op of the family where 1.15 used its second version with constant arguments.
OTHER_NODES = (
    "tf.eye(", "tf.matrix_", "tf.ones_like(y)", "tf.strided_slice(y, [0, 0, 0], [1, 2, 3])", "tf.transpose(z)",
    "tf.meshgrid", "tf.batch_gather", "y[k - 1:, 0]", "y[:, k - 1, :k]",
)  # fmt: skip


def _same(a, b):
    try:
        return np.allclose(np.array(a, dtype=float), np.array(b, dtype=float), rtol=1e-4, atol=1e-4)
    except (TypeError, ValueError):
        return a == b


def test_golden_file_is_complete():
    assert list(WANT) == make_arrays.expressions()


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize("expression", WANT)
def test_expression(expression):
    want, have = WANT[expression], make_arrays.evaluate(tf, expression)
    assert have.get("error") == want.get("error")
    if "error" in want:
        return
    assert have["static"] == want["static"]
    assert have["dtypes"] == want["dtypes"]
    assert len(have["value"]) == len(want["value"])
    for a, b in zip(have["value"], want["value"], strict=True):
        assert _same(a, b), (a, b)
    if not expression.startswith(OTHER_NODES):
        assert have["nodes"] == want["nodes"]
