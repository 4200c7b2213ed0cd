"""Test modules in the style of TensorFlow 1's own run on Headrace as they do in TensorFlow, unedited.

`make conformance`, or HEADRACE_TF_PYTHON=<python with tensorflow and pytest>, runs them in TensorFlow too.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "old_tests"
MODULES = sorted(path.name for path in FOLDER.glob("*_test.py"))
TENSORFLOW = os.environ.get("HEADRACE_TF_PYTHON")
FLAGS = ("-q", "--tb=short", "-W", "ignore::DeprecationWarning")


def _run(command: Sequence[str], **environment: str) -> int:
    """Runs all modules in one process, which costs one start; the number of tests that passed."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, "-m", "pytest", *FLAGS, *MODULES],
        cwd=FOLDER, env={**inherited, **environment}, capture_output=True, text=True, timeout=550,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout
    return int(passed[1])


@pytest.mark.timeout(600)
def test_on_headrace() -> None:
    repository = str(FOLDER.parents[2])
    passed = _run((sys.executable, "-m", "headrace.tensorflow"), PYTHONPATH=repository, HEADRACE_COMPILE="off")
    assert passed >= 220


@pytest.mark.timeout(600)
@pytest.mark.skipif(not TENSORFLOW, reason="HEADRACE_TF_PYTHON is not set")
def test_in_tensorflow() -> None:
    assert TENSORFLOW is not None
    # With oneDNN, on x86, a convolution of an image of two dimensions ends the process.
    assert _run((TENSORFLOW,), CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0") >= 220


def test_ten_families() -> None:
    assert len(MODULES) >= 10
    for module in MODULES:
        text = (FOLDER / module).read_text()
        assert "headrace" not in text.lower(), f"{module} knows where it runs"
