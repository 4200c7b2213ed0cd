"""Every example gives the losses it gives under TensorFlow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from examples.run_both import run

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "examples.json").read_text())
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_every_example_has_golden_losses():
    assert sorted(GOLDEN) == [path.stem for path in EXAMPLES]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_losses_as_tensorflow(path, capsys):
    expected = GOLDEN[path.stem]
    losses = run(path, len(expected))
    assert len(losses) >= 30
    np.testing.assert_allclose(losses, expected, rtol=1e-3, atol=1e-3)
    assert "step    0" in capsys.readouterr().out
