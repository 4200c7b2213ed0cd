"""headrace cache: where compiled code is, how large, and what pruning removes."""

import json
import os
import time

import pytest

from headrace.passes.cost.rates import USUAL
from headrace.runtime.costs import keep
from headrace.tools import cache

OLD = time.time() - 40 * cache.DAY


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = tmp_path / "code"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
    for name, size in (("ab/old.so", 3000), ("ab/new.so", 10), ("headrace/code/old.json", 500), ("fx/graph/1/old", 7)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
        if "old" in name:
            os.utime(path, (OLD, OLD))
    folder.chmod(0o700)
    return folder


def test_it_says_where_and_how_much(place, capsys):
    assert cache.show() == 0
    assert (
        capsys.readouterr().out
        == f"compiled code: {place}\n4 files, 3.5 KB; at most 5.0 GB are kept (HEADRACE_CACHE_GB)\n"
    )


def test_pruning_removes_what_was_not_used(place, capsys):
    assert cache.show(prune_days=30, as_json=True) == 0
    assert json.loads(capsys.readouterr().out) == {
        "folder": str(place), "files": 1, "bytes": 10, "most_bytes": 5e9, "removed_bytes": 3507, "costs": [],
    }  # fmt: skip
    assert (place / "ab/new.so").exists()


def test_what_was_measured_of_the_machine_is_named(place, capsys):
    keep.keep("here", USUAL)
    cache.show()
    assert f"what was measured of this machine: 1 in {place}/headrace/costs" in capsys.readouterr().out
    cache.show(as_json=True)
    assert json.loads(capsys.readouterr().out)["costs"] == [f"{place}/headrace/costs/here.json"]


def test_a_link_to_elsewhere_is_not_followed(place, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("x")
    os.utime(outside / "mine", (OLD, OLD))
    (place / "ab" / "link").symlink_to(outside)
    (place / "all").symlink_to(outside)
    cache.show(prune_days=0.0)
    assert (outside / "mine").exists()


def test_a_folder_that_others_may_write_to_is_an_error(place, capsys):
    place.chmod(0o777)
    assert cache.show() == 1
    assert "other users may write to it" in capsys.readouterr().err


@pytest.mark.parametrize(("size", "words"), [(0, "0 bytes"), (1500, "1.5 KB"), (3_600_000_000, "3.6 GB")])
def test_sizes_in_words(size, words):
    assert cache.in_words(size) == words
