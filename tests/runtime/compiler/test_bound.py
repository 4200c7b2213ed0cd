"""The bound of the folder of compiled code: what goes, what stays, who looks and how often."""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.runtime.compiler import archive, bound, own_folder

HOUR = 3600.0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four compilations, by the hours since they were used: 1 MB each, the third a folder."""
    folder = tmp_path / "code"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
    for name, hours in (("ab/old.so", 50), ("headrace/code/older.json", 60), ("fx/graph/1/in", 40), ("ab/new.so", 0)):
        write(folder / name, 1_000_000, hours)
    write(folder / "ab/name.h", 40, 99)
    folder.chmod(0o700)
    return folder


def write(path: Path, size: int, hours: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - hours * HOUR, time.time() - hours * HOUR))


def left(place: Path) -> set[str]:
    return {path.name for path in place.rglob("*") if path.is_file()} - {"looked"}


@pytest.mark.parametrize(
    ("most", "names"),
    [
        (4_100_000, {"old.so", "older.json", "in", "new.so", "name.h"}),
        (3_100_000, {"old.so", "in", "new.so", "name.h"}),
        (2_100_000, {"in", "new.so", "name.h"}),
        (0, {"new.so", "name.h"}),  # what was just used stays, and so does what is small
    ],
)
def test_the_least_recently_used_goes_first(place: Path, most: int, names: set[str]) -> None:
    removed = bound.keep_within(place, most)
    assert left(place) == names
    assert removed == 1_000_000 * (5 - len(names))


def test_reading_is_a_use(place: Path) -> None:
    """Also where the file system notes no reads."""
    code = {"files": [str(place / "ab/old.so")], "text": "x" * 2000}
    archive.keep("a", code)
    stamp = time.time() - 90 * HOUR
    os.utime(place / "headrace/code/a.json", (stamp, stamp))
    assert archive.find("a") == code
    bound.keep_within(place, 0)
    assert left(place) == {"old.so", "a.json", "new.so", "name.h"}


def test_it_looks_once_an_hour(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_GB", "0.0031")
    bound.look(place)
    assert "older.json" not in left(place)
    write(place / "ab/more.so", 1_000_000, 70)
    bound.look(place)
    assert "more.so" in left(place)
    os.utime(place / "looked", (time.time() - 2 * HOUR, time.time() - 2 * HOUR))
    bound.look(place)
    assert "more.so" not in left(place)


def test_one_process_looks_at_a_time(full_length: None, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_GB", "0.001")
    write(place / "looked", 0, 2)
    with open(place / "looked", "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        other = f"import pathlib; from headrace.runtime.compiler import bound; bound.look(pathlib.Path({str(place)!r}))"
        subprocess.run([sys.executable, "-c", other], check=True)
    assert "older.json" in left(place)


def test_a_file_that_another_process_removes_meanwhile_is_no_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(bound.entries(place))
    monkeypatch.setattr(bound, "entries", lambda place: found)
    for path in (place / "ab/old.so", place / "headrace/code/older.json"):
        path.unlink()
    bound.keep_within(place, 0)
    assert left(place) == {"new.so", "name.h"}


def test_whoever_compiles_looks(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_GB", "0.001")
    monkeypatch.setattr(own_folder, "keep_files_in", lambda place, headers: None)
    monkeypatch.setattr(own_folder, "default_folder", lambda: place)
    own_folder.point_compiler()
    assert left(place) == {"new.so", "name.h"}


@pytest.mark.parametrize("setting", ["0", "-1", "many", "nan"])
def test_a_bound_that_makes_no_sense_is_refused(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_GB", setting)
    with pytest.raises(ValueError, match=f"HEADRACE_CACHE_GB must be .* above 0, or off, got '{setting}'"):
        bound.most_bytes()


def test_there_may_be_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_GB", "off")
    assert bound.most_bytes() == float("inf")
