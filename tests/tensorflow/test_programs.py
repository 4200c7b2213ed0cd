"""Whole TensorFlow 1 programs, unedited, print on Headrace what they print in TensorFlow (make_programs.py)."""

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as tf
import headrace.tensorflow as alias

FOLDER = Path(__file__).parent / "programs"
EAGER = "enable_eager_execution()"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


@pytest.fixture
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    alias.install()
    yield monkeypatch
    alias.uninstall()
    tf.summary.FileWriterCache.clear()  # estimators leave their writers open, as TensorFlow's do
    tf.keras.backend.clear_session()


def _compare(printed: str, expected: str) -> None:
    """Text and whole numbers exactly; what has a decimal point to about the last digit shown."""
    for number, (found, wanted) in enumerate(zip(printed.splitlines(), expected.splitlines(), strict=True), 1):
        assert NUMBER.sub("#", found) == NUMBER.sub("#", wanted), f"line {number}"
        values = [[float(v) for v in NUMBER.findall(line)] for line in (found, wanted)]
        assert values[0] == pytest.approx(values[1], rel=2e-3, abs=2e-3), f"line {number}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_the_same(name: str, tensorflow: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = FOLDER / f"{name}.py"
    if EAGER in path.read_text():  # for good: in a process of its own
        done = subprocess.run(
            [sys.executable, "-m", "headrace.tensorflow", str(path)], capture_output=True, text=True, timeout=300
        )
        assert not done.returncode, done.stderr
        _compare(done.stdout, path.with_suffix(".txt").read_text())
        return
    tensorflow.setattr(sys, "argv", [str(path)])
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        assert not end.code  # how tf.app.run ends
    _compare(capsys.readouterr().out, path.with_suffix(".txt").read_text())


def test_every_program_has_its_output() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == PROGRAMS
    assert len(PROGRAMS) >= 10
