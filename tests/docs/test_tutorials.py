"""The tutorials: every command runs in an empty folder with the files of the page, and prints what the page says.

A block after ``<!-- file: train.py -->`` is that file.  A block of text after a block of commands is what those print; after
``<!-- as of writing -->`` it need not be the same.  `docs/first_change.md` begins in a copy of the repository.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.page import DOCS, UPDATE

ROOT = DOCS.parent
MARK = r"(?:<!-- (?P<loose>as of writing) -->\n|<!-- file: (?P<file>\S+) -->\n)?"
BLOCK = re.compile(MARK + r"```(?P<kind>python|diff|sh|text)\n(?P<text>.*?)```", re.DOTALL)


def run(commands: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "120"}
    done = subprocess.run(["bash", "-euc", commands], cwd=folder, env=environment, capture_output=True, text=True)
    log = folder / "log.txt"
    assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}\n{log.read_text() if log.exists() else ''}"
    return done.stdout


def check(name: str, folder: Path) -> None:
    page = (DOCS / name).read_text()
    printed = ""

    def step(block: re.Match[str]) -> str:
        nonlocal printed
        if block["file"]:
            (folder / block["file"]).write_text(block["text"])
        elif block["kind"] == "sh":
            printed = run(block["text"], folder)
        elif block["kind"] == "text":
            assert printed, f"the block before {block['text']!r} prints nothing"
            if not block["loose"] or UPDATE:
                return block[0].replace(block["text"], printed)
        return block[0]

    made = BLOCK.sub(step, page)
    if UPDATE:
        (DOCS / name).write_text(made)
    assert made == page or UPDATE


@pytest.mark.parametrize("page", ["tutorial_old_program.md", "tutorial_parameter_servers.md"])
def test_a_tutorial_prints_what_it_says(page: str, full_length: None, tmp_path: Path) -> None:
    check(page, tmp_path)


def test_the_first_change(full_length: None, tmp_path: Path) -> None:
    folder = tmp_path / "headrace"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    for setting in (["user.name", "A newcomer"], ["user.email", "newcomer@example.org"]):
        subprocess.run(["git", "config", *setting], cwd=folder, check=True)
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    check("first_change.md", folder)
