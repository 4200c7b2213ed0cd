"""``headrace train``: a program runs as it is, and its steps are counted."""

import json
import os
import re
import subprocess
import sys

import pytest

from headrace.tools.train import Progress, train

PROGRAM = """
import sys
import tensorflow as tf

x = tf.placeholder(tf.float32, [], name="x")
y = tf.log(x, name="y")
with tf.Session() as sess:
    for i in range(9):
        sess.run(y, {x: float(8 - i)})
print("the end", sys.argv[1:])
sys.exit(3)
"""


def run(*arguments, folder):
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-c", "from headrace.tools.cli import main; main()", "train", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, env=os.environ)


def test_a_program_keeps_its_output_and_its_exit_code(tmp_path):
    done = run("--json", "--trace", "steps.json", "program.py", "--batch", "4", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert done.stdout == "the end ['--batch', '4']\n"
    last = json.loads(done.stderr.splitlines()[-1])
    assert (last["steps"], last["done"]) == (9, True)
    events = json.loads((tmp_path / "steps.json").read_text())["traceEvents"]
    assert sum(event.get("cat") == "Step" for event in events) == 5


def test_numbers_are_checked(tmp_path):
    done = run("--check-numerics", "--compile", "off", "program.py", folder=tmp_path)
    assert done.returncode == 1
    assert "a number is NaN or infinite: Log y" in done.stderr and "made at program.py:6" in done.stderr
    assert "run at program.py:9" in done.stderr, "the user's line, not one of the tool"
    assert re.search(r"headrace train: 8 steps in .* a second, failed\n", done.stderr)


def test_a_program_that_fails_is_not_done(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", sys.argv[:])
    monkeypatch.setattr(sys, "path", sys.path[:])
    assert train([str(tmp_path / "nothing.py")], Progress(0.0)) == 2
    assert capsys.readouterr().err.endswith(" a second, failed\n")


def test_a_mode_that_is_none(tmp_path):
    done = run("--compile", "sometimes", "program.py", folder=tmp_path)
    assert done.returncode == 2 and "'auto', 'off', 'always'" in done.stderr


@pytest.mark.parametrize("as_json", [False, True])
def test_progress_is_told_now_and_then(capsys, as_json):
    times = iter([0.0, 4.0, 8.0, 12.0, 16.0, 24.0, 30.0])
    progress = Progress(10.0, as_json, lambda: next(times))
    for _ in range(5):
        progress.step()
    progress.end()
    lines = capsys.readouterr().err.splitlines()
    if as_json:
        found = [json.loads(line) for line in lines]
        assert [(f["steps"], f["steps_per_second"], f["done"]) for f in found] == [
            (3, 0.25, False), (5, 0.167, False), (5, 0.167, True)
        ]  # fmt: skip
    else:
        assert lines == [
            "headrace train: 3 steps in 12.0 s, 0.25 a second",
            "headrace train: 5 steps in 24.0 s, 0.167 a second",
            "headrace train: 5 steps in 30.0 s, 0.167 a second, done",
        ]


def test_without_lines_only_the_last_is_told(capsys):
    times = iter([0.0, 40.0, 80.0])
    progress = Progress(0.0, False, lambda: next(times))
    progress.step()
    progress.end()
    assert capsys.readouterr().err == "headrace train: 1 step in 80.0 s, 0.0125 a second, done\n"
