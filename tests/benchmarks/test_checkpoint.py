"""The benchmark of checkpoints: its sides save and restore; its table and its verdicts."""

import os
from contextlib import closing

import pytest

from benchmarks import _checkpoint_peers, _harness, checkpoint


@pytest.mark.parametrize("name", ["headrace", "torch, mmap", "safetensors"])
def test_a_side_saves_and_restores(tmp_path, name):
    options = type("Options", (), {"megabytes": 8, "tf_python": None})
    with closing(checkpoint._worker(name, str(tmp_path), options)) as worker:
        for case in (checkpoint.SAVE, checkpoint.CACHED, checkpoint.COLD):
            assert worker.sample(case) > 0
        for case in checkpoint.MEMORY.values():
            assert worker.values(case)[0] < 100 * 2**20
    kept = [path for path in tmp_path.rglob("kept*") if path.stat().st_size > 1 << 20]
    assert [8 << 20 <= path.stat().st_size < 9 << 20 for path in kept] == [True]
    assert not list(tmp_path.rglob("saved*"))


def test_the_disk(tmp_path):
    disk = checkpoint.Disk(str(tmp_path), 4)
    assert all(disk.sample(case) > 0 for case in (checkpoint.SAVE, checkpoint.CACHED, checkpoint.COLD))
    assert os.listdir(tmp_path) == ["dd-kept"]


def test_sizes():
    assert sum(_checkpoint_peers.shapes(1024).values()) * 4 == 2**30 + 100 * 4000


def test_verdicts():
    seconds = {"the disk": [1.0, 1.0], "headrace": [1.0, 1.2], "torch": [2.0, 1.0], "safetensors": [2.0, 3.0]}
    memory = {name: {"save": 10.0, "restore": 1000.0} for name in ("headrace", "torch", "safetensors")}
    result = {
        "samples": dict.fromkeys((checkpoint.SAVE, checkpoint.CACHED, checkpoint.COLD), seconds),
        "memory_mb": memory, "steps": {checkpoint.STEPS: [1.0, 1.0], checkpoint.SAVING: [1.02, 1.2]},
    }  # fmt: skip
    lines = list(checkpoint.targets(result))
    assert lines[0] == "a save has 0.91 of the disk's speed; target 0.9: met"
    assert lines[2] == "a save in the background every 50 steps makes a step 1.110 times as long; target 1.05: MISSED"
    assert lines[3] == "save: ahead of all libraries: met"
    seconds["torch"] = [1.0, 1.0]
    assert list(checkpoint.targets(result))[3] == "save: ahead of all libraries: MISSED by torch"
    table = checkpoint.table(result)
    assert table[1][:3] == ("the disk", "1.00 s", "1.10 (1.00-1.20)") and table[2][-2:] == ("10 MB", "1000 MB")
    assert _harness.table(*[table[0], table[1:]])
