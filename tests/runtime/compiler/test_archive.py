"""What compilations leave on disk: found again, whole, and only if this user wrote it."""

import os
import subprocess
import sys

import pytest

from headrace.runtime.compiler import archive


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    return tmp_path / "headrace"


def test_what_was_kept_is_found(place):
    assert archive.find("step", "a") is None
    archive.keep("step", "a", {"b": [1, None]})
    assert archive.find("step", "a") == {"b": [1, None]}
    assert os.listdir(place / "step") == ["a.json"]


def test_what_another_user_wrote_is_not_read(monkeypatch):
    archive.keep("step", "a", True)
    another = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)
    assert archive.find("step", "a") is None


def test_a_file_that_is_not_whole_is_not_taken(place):
    archive.keep("step", "a", [1, 2, 3])
    (place / "step" / "a.json").write_text("[1, 2")
    assert archive.find("step", "a") is None


def test_without_a_place_to_write_nothing_is_kept(place):
    place.write_text("a file where the folder should be")
    archive.keep("step", "a", True)
    assert archive.find("step", "a") is None


def test_code_whose_files_are_gone_is_not_taken(tmp_path):
    library = tmp_path / "kernel.so"
    library.write_text("")
    archive.keep("code", "a", {"files": [str(library)]})
    assert archive.find_code("a") is not None
    library.unlink()
    assert archive.find_code("a") is None


def test_names_differ_with_the_content_and_are_the_same_in_every_process():
    name = archive.key({"a": 1})
    assert name == archive.key({"a": 1}) != archive.key({"a": 2})
    program = "from headrace.runtime.compiler import archive; print(archive.key({'a': 1}))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == name


def test_the_cost_is_learnt_little_by_little():
    assert archive.cost_factor() == 1.0
    archive.learn_cost(2.0)
    assert archive.cost_factor() == pytest.approx(1.3)
    for _ in range(50):
        archive.learn_cost(1e9)
    assert archive.cost_factor() == pytest.approx(archive.MOST)
