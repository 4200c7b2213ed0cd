"""The notes by which `headrace top` finds a job of this machine."""

import os
from pathlib import Path

import pytest

from headrace.cluster import jobs
from headrace.core.errors import InvalidArgumentError
from headrace.tools.top import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "headrace" / "jobs"


def test_a_job_is_found_while_it_runs() -> None:
    with jobs.noted("grpc://localhost:2222", "train.py --batch=64"):
        assert jobs.running() == [jobs.Job(os.getpid(), "grpc://localhost:2222", "train.py --batch=64")]
        assert jobs.only_target() == "grpc://localhost:2222"
    assert jobs.running() == []


def test_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "no `headrace launch` of yours runs on this machine" in capsys.readouterr().err


def test_a_launcher_that_was_killed_is_forgotten(folder: Path) -> None:
    with jobs.noted("grpc://localhost:2222", "train.py"):
        (folder / f"{os.getpid()}.json").rename(folder / "4194999.json")  # above the largest number of a process
        assert jobs.running() == []
    assert list(folder.iterdir()) == []


def test_two_jobs_are_listed(folder: Path) -> None:
    with jobs.noted("grpc://localhost:2222", "train.py"):
        note = (folder / f"{os.getpid()}.json").read_text().replace("2222", "3333")
        (folder / f"{os.getppid()}.json").write_text(note)
        with pytest.raises(InvalidArgumentError, match=r"(?s)2 jobs run.*localhost:2222.*train.py"):
            jobs.only_target()


def test_a_job_runs_where_no_note_can_be_written(folder: Path) -> None:
    folder.parent.write_text("a file where the folder belongs")
    with jobs.noted("grpc://localhost:2222", "train.py"):
        assert jobs.running() == []


def test_a_note_that_cannot_be_read_is_passed_over(folder: Path) -> None:
    with jobs.noted("grpc://localhost:2222", "train.py"):
        (folder / f"{os.getppid()}.json").write_text("no note")
        assert jobs.only_target() == "grpc://localhost:2222"
