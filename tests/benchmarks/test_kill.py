"""Jobs that are killed while they save go on as if nothing had happened: six kills; `python -m benchmarks kill` makes 200."""

import subprocess
import sys

import pytest

from benchmarks import _harness, kill


def test_six_kills(full_length):
    """In a process of its own, whose jobs are forked from one that has imported Headrace: about ten seconds."""
    command = [sys.executable, "-m", "benchmarks.kill", "--kills", "6", "--no-save"]
    ended = subprocess.run(command, cwd=_harness.ROOT, capture_output=True, text=True, timeout=110)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "6 kills: every one of" in ended.stdout, ended.stdout


def test_a_lost_save_and_another_value_are_found(tmp_path):
    jobs = kill.Jobs(str(tmp_path), seed=1)
    jobs._take(("saved", 7, ""))
    for step in (6, 9):
        with pytest.raises(SystemExit, match=f"goes on from step {step}; the last save that returned was of 7"):
            jobs._check_start(("restored", step, "a"))
    jobs._check_start(("restored", 8, "a"))
    with pytest.raises(SystemExit, match="step 8 restored: the variables differ"):
        jobs._check_start(("restored", 8, "b"))
