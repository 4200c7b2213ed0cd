"""The benchmarks that look for mistakes under stress, for minutes each.  The other tests run some for seconds."""

import subprocess
import sys

import pytest
import rings

from benchmarks import _harness

STRESS = ["soak", "kill --no-save", "faults --no-save", "fuzz --messages 200000", "fuzz --files 200"]


@pytest.mark.parametrize("benchmark", STRESS)
def test_nothing_is_wrong(benchmark: str, full_length: None) -> None:
    name, *options = benchmark.split()
    command = [sys.executable, "-m", f"benchmarks.{name}", *options]
    ended = subprocess.run(command, cwd=_harness.ROOT, capture_output=True, text=True, timeout=rings.LONGEST_S)
    assert ended.returncode == 0, ended.stdout + ended.stderr
