"""Copies of a checkpoint's files on a disk of the task: those of older checkpoints go, whoever else removes them."""

from pathlib import Path

import numpy as np
import pytest

from headrace.core import dtypes, file
from headrace.resources.file.bundle.local_copy import LocalCopy, copy_bundle
from headrace.resources.file.bundle.reader import BundleReader
from headrace.resources.file.bundle.writer import BundleWriter, array_pieces


def save(folder: Path, name: str, value: float) -> LocalCopy:
    """A checkpoint of one tensor, by way of the local disk."""
    local = LocalCopy(str(folder / "fast"), str(folder / "slow" / name))
    shard = local.shard(local.prefix)
    array = np.full(10, value, np.float32)
    with BundleWriter(shard) as writer:
        writer.add("v", dtypes.float32, (10,), array_pieces(array))
    copy_bundle(shard, local.prefix, lambda: None)
    local.keep(shard)
    return local


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("fast", "slow"):
        (tmp_path / name).mkdir()
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "fast").rglob("*.*"))


def test_the_files_are_the_checkpoints_own(folder: Path) -> None:
    local = save(folder, "model-1", 3.0)
    assert names(folder) == ["model-1.data-00000-of-00001", "model-1.index"]
    with BundleReader(local.prefix) as reader:
        reader.elsewhere = local.data(reader)
        assert list(reader.elsewhere) == [0]
        assert reader.read("v").tolist() == [3.0] * 10
    assert LocalCopy(local.folder, f"{folder}/slow/model-2").data(reader) == {}


def test_a_checkpoint_of_the_same_name_takes_the_place_of_the_one_before(folder: Path) -> None:
    save(folder, "model", 1.0)
    local = save(folder, "model", 2.0)
    assert names(folder) == ["model.data-00000-of-00002", "model.index"]
    with BundleReader(local.prefix) as reader:
        reader.elsewhere = local.data(reader)
        assert reader.elsewhere
        assert reader.read("v")[0] == 2.0


def test_two_checkpoints_of_a_name_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another task has removed one of the files meanwhile, as those of one host that share the folder do."""
    save(folder, "other-7", 0.0)
    listed = file.beginning_with

    def with_one_more(prefix: str) -> list[str]:
        found = listed(prefix)
        return [*found, f"{prefix}model-0.index"] if prefix.endswith("/") else found

    monkeypatch.setattr(file, "beginning_with", with_one_more)
    for number in range(1, 5):
        save(folder, f"model-{number}", float(number))
    kept = {name.partition(".")[0] for name in names(folder)}
    assert kept == {"model-3", "model-4", "other-7"}
