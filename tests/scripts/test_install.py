"""The installer: what it runs, and that it is never silent for long."""

import os
import sys
from pathlib import Path

import pytest

from scripts import install


def test_a_new_environment_is_made_and_gets_pinned_versions(tmp_path: Path) -> None:
    venv, setuptools, headrace, _ = install.commands(tmp_path, dev=False)
    assert venv == [sys.executable, "-m", "venv", str(tmp_path)]
    assert setuptools[-1] == "setuptools"
    assert headrace[-2:] == ["-e", str(install.ROOT)]
    for command in (setuptools, headrace):
        assert command[command.index("-c") + 1] == str(install.ROOT / "constraints.txt")


def test_an_environment_that_is_there_is_kept_and_gets_the_tools(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    _, headrace, _ = install.commands(tmp_path, dev=True)
    assert headrace[-1] == f"{install.ROOT}[dev]"


def test_it_talks_while_the_command_is_silent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command goes on when it was said what is there: its silence is as long as that takes."""
    said: list[str] = []
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def say(line: str) -> None:
        said.append(line)
        if [old for old in said if old.startswith("  Downloading torch (1 GB) ... 5 MB after")] == [line]:
            fifo.write_text("")

    monkeypatch.setattr(install, "say", say)
    program = (
        f"print('Downloading torch (1 GB)'); print('noise'); open({str(fifo)!r}).read(); print('ERROR: no'); exit(3)"
    )
    assert install.run([sys.executable, "-u", "-c", program], lambda: "5 MB", quiet_s=1.0) == 3
    assert said[-1] == "  ERROR: no"
    assert "  Downloading torch (1 GB)" in said
    assert not any("noise" in line for line in said)


def test_a_step_that_fails_ends_it_with_its_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(install, "commands", lambda venv, dev: [[sys.executable, "-c", "exit(7)"], ["never run"]])
    assert install.main(["--into", str(tmp_path)]) == 7
    assert "step 1 failed with status 7" in capsys.readouterr().out
