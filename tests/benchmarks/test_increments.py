"""The benchmark of incremental checkpoints: what it measures, on a small table."""

from __future__ import annotations

import argparse

from benchmarks import increments


def test_increments_are_small_and_restored(tmp_path):
    options = argparse.Namespace(rows=3000, width=16, touched=1.0, rounds=1)
    result = increments.measured(options, str(tmp_path))
    assert len(result["save_s"]["whole"]) == len(result["save_s"]["increment"]) == increments.INCREMENTS
    assert len(result["restore_s"]["increment"]) == 1
    assert max(result["bytes"]["increment"]) < min(result["bytes"]["whole"]) / 10
    header, lines = increments._lines(result)
    assert [len(line) for line in lines] == [len(header)] * 2
