"""The examples give the losses, or whatever else they find, that they give under TensorFlow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from examples.run_both import numbers, run

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "examples.json").read_text())
LOSSES, DYNAMIC = GOLDEN["losses"], GOLDEN["dynamic"]
PARTS = {"cartpole", "progress"}  # of other examples


def test_every_example_is_tested():
    names = {path.stem for path in (ROOT / "examples").glob("*.py")} - PARTS
    own = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert names - LOSSES.keys() - own == set()
    assert DYNAMIC.keys() <= names & own


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """No example lasts until compiling pays; on a slow machine one could still begin, and leave its thread behind."""
    monkeypatch.setenv("HEADRACE_COMPILE", "off")


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses_as_tensorflow(name, capsys):
    expected = LOSSES[name]
    losses = run(ROOT / "examples" / f"{name}.py", len(expected))
    assert len(losses) >= 30
    np.testing.assert_allclose(losses, expected, rtol=1e-3, atol=1e-3)
    assert "step    0" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(DYNAMIC))
def test_numbers_as_tensorflow(name):
    found = numbers(ROOT / "examples" / f"{name}.py", DYNAMIC[name]["flags"])
    np.testing.assert_allclose(found, DYNAMIC[name]["numbers"], rtol=1e-3, atol=1e-3)
