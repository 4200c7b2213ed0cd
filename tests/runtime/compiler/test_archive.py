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


WAITS = """
import sys, time
from headrace.runtime.compiler import archive
sleep = time.sleep
time.sleep = lambda seconds: (print("waits", flush=True), sleep(seconds))
with archive.alone(sys.argv[1]):
    print(archive.find(sys.argv[1]), flush=True)
"""


def test_of_two_processes_the_second_finds_what_the_first_has_kept():
    name, other = archive.key(1), archive.key(2)
    with archive.alone(name):
        assert subprocess.check_output([sys.executable, "-c", WAITS, other], text=True) == "None\n"
        second = subprocess.Popen([sys.executable, "-c", WAITS, name], stdout=subprocess.PIPE, text=True)
        assert second.stdout.readline() == "waits\n"
        archive.keep(name, {"files": []})
    assert second.communicate()[0].splitlines()[-1] == "{'files': []}"


def test_a_process_that_never_ends_is_not_waited_for_for_ever(monkeypatch):
    name = archive.key(1)
    monkeypatch.setattr(archive, "PATIENCE", 0.0)
    stuck = subprocess.Popen(
        [sys.executable, "-c", WAITS + "    sys.stdin.read()", name],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert stuck.stdout.readline() == "None\n"
    with archive.alone(name):
        assert stuck.poll() is None
    stuck.communicate()


def test_without_a_place_to_write_nobody_waits(place):
    place.parent.mkdir()
    place.write_text("a file where the folder should be")
    with archive.alone(archive.key(1)), archive.alone(archive.key(1)):
        pass
