"""What compilations leave on disk: found again, whole, and only if this user wrote it."""

import os
import subprocess
import sys

import pytest

from headrace.runtime.compiler import archive
from headrace.runtime.compiler.own_folder import UnsafeFolder


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    return tmp_path / "headrace" / "code"


def test_what_was_kept_is_found(place):
    assert archive.find("a") is None
    archive.keep("a", {"b": [1, None], "files": []})
    assert archive.find("a") == {"b": [1, None], "files": []}
    assert os.listdir(place) == ["a.json"]


def test_what_another_user_wrote_is_not_read(monkeypatch):
    archive.keep("a", {"files": []})
    another = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)
    with pytest.raises(UnsafeFolder, match="belongs to"):
        archive.find("a")


def test_a_file_that_is_not_whole_is_not_taken(place):
    archive.keep("a", {"files": []})
    for text in ('{"files": [', "[]", "{}", '{"files": 3}'):
        (place / "a.json").write_text(text)
        assert archive.find("a") is None


def test_without_a_place_to_write_nothing_is_kept(place):
    place.parent.mkdir()
    place.write_text("a file where the folder should be")
    archive.keep("a", {"files": []})
    assert archive.find("a") is None


def test_code_whose_files_are_gone_is_not_taken(tmp_path):
    library = tmp_path / "kernel.so"
    library.write_text("")
    archive.keep("a", {"files": [str(library)]})
    assert archive.find("a") is not None
    library.unlink()
    assert archive.find("a") is None


def test_names_differ_with_the_content_and_are_the_same_in_every_process():
    name = archive.key({"a": 1})
    assert name == archive.key({"a": 1}) != archive.key({"a": 2})
    program = "from headrace.runtime.compiler import archive; print(archive.key({'a': 1}))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == name
