"""Locks between programs: one holds it, and it is free when that one is dead."""

import os
import subprocess
import sys
from pathlib import Path

from headrace.core.file_lock import FileLock


def test_one_at_a_time(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    first, second = FileLock(path), FileLock(path)
    assert first.acquire() and first.acquire()
    assert not second.acquire()
    assert second.holder() == f"process {os.getpid()}"
    first.release()
    first.release()
    assert not os.path.exists(path) and second.holder() == ""
    assert second.acquire()
    del second
    assert not os.path.exists(path)


def test_a_file_that_was_removed_meanwhile_is_no_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    first = FileLock(path)
    assert first.acquire()
    os.unlink(path)
    second = FileLock(path)
    assert second.acquire()
    first.release()
    assert os.path.exists(path) and not FileLock(path).acquire()


def test_a_killed_program_holds_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    program = (
        "import sys; from headrace.core.file_lock import FileLock\n"
        "lock = FileLock(sys.argv[1]); print(lock.acquire(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == "True\n"
        mine = FileLock(path)
        assert not mine.acquire() and mine.holder() == f"process {other.pid}"
        other.kill()
        other.wait()
        assert os.path.exists(path) and mine.acquire()
    mine.release()
    assert not os.path.exists(path)
